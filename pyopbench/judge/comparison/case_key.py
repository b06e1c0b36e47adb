"""What a case of one side of a comparison is matched by on the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyopbench.model.case import Case


@dataclass(frozen=True)
class CaseKey:
    """What a case is matched by; `str()` of it is what tables and JSON call the case.

    Attributes:
        name: the id of the case, without variant and gradient where variants are compared; of a benchmark of another
            suite its name.
        parts: the parts of that id; none for a benchmark of another suite.
        environment: name and value of what tells the runs of one side from each other, such as `tensorflow` and
            `2.16.2`; none for a single run.
    """

    name: str
    parts: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.name} in {environment_name(self.environment)}" if self.environment else self.name

    @classmethod
    def whole(cls, case: Case) -> CaseKey:
        """Return the key by which a case is matched with itself."""
        return cls._of(case.parts)

    @classmethod
    def without_variant(cls, case: Case) -> CaseKey:
        """Return the key by which a case is matched with the same one of another variant."""
        return cls._of((case.op, case.direction, case.mode, case.dtype, case.size, case.placement))

    @classmethod
    def _of(cls, parts: tuple[str | int, ...]) -> CaseKey:
        words = tuple(map(str, parts))
        return cls("/".join(words), words)


def environment_name(environment: Iterable[tuple[str, str]]) -> str:
    """Return what tells runs apart; a bare version does not say of what it is, names of machines and commits do."""
    return " ".join(f"TensorFlow {value}" if name == "tensorflow" else value for name, value in environment)
