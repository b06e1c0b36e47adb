"""What a port has to be able to do: which variants cannot, by what probes saw, and what today's callback blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyopbench import capabilities, routes
from pyopbench.errors import BadInput
from pyopbench.model import SIMULATED

if TYPE_CHECKING:
    from pyopbench.candidates import Comparison
    from pyopbench.results import Run

PROBES = {
    "savedmodel": "savedmodel",
    "xla": "xla",
    "second_order": "second_order",
    "distributed": "server_other_process",
    "tflite": "tflite",
}
"""Requirement -> the probe that settles it."""

GPU = "gpu"
"""The requirement that no probe settles, but the copies that `pyopbench placement` counts."""

NAMES = (*PROBES, GPU)

OF_THE_GRADIENT = ("second_order",)
"""Requirements that a variant may meet with one gradient mechanism and not with another."""


CANNOT = "cannot do "
"""What stands between the name of a variant and that of a requirement."""


@dataclass(frozen=True)
class Bar:
    """What a variant cannot do: the requirement, the probe that saw it, and the words that it saw."""

    requirement: str
    probe: str
    told: str

    @property
    def sentence(self) -> str:
        """In words, to follow the name of the variant."""
        return f"{CANNOT}{self.requirement} (probe {self.probe}: {self.told})"


@dataclass(frozen=True)
class Standing:
    """What is known of one label: what bars it, and the requirements of which nothing is known."""

    bars: tuple[Bar, ...] = ()
    unknown: tuple[str, ...] = ()


def check(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of requirements, each once, in the order of `NAMES`.

    Raises:
        BadInput: one is none.
    """
    given = list(names)
    for name in given:
        if name not in NAMES:
            raise BadInput(
                "unknown requirement",
                received=repr(name),
                legal=", ".join(NAMES),
                next_step="name what the model has to be able to do, for example --require savedmodel,xla",
            )
    return tuple(name for name in NAMES if name in given)


def probes_for(requires: Iterable[str]) -> list[str]:
    """Return the probes that settle some requirements."""
    return [PROBES[name] for name in requires if name in PROBES]


def standing(run: Run, label: str, requires: Iterable[str]) -> Standing:
    """Return what is known of a label and some requirements.

    Args:
        run: for what was probed and counted beside it.
        label: `variant` or `variant+gradient`.
        requires: names of requirements.
    """
    bars, unknown = [], []
    for name in requires:
        found = _gpu(run, label) if name == GPU else _probed(run, label, name)
        if found is None:
            unknown.append(name)
        elif isinstance(found, Bar):
            bars.append(found)
    return Standing(tuple(bars), tuple(unknown))


def narrow(comparison: Comparison, run: Run, requires: Sequence[str]) -> Comparison:
    """Return a comparison without the candidates that cannot do what is required."""
    if not requires:
        return comparison
    labels = [comparison.baseline, *(candidate.label for candidate in comparison.candidates)]
    found = {label: standing(run, label, requires) for label in labels}
    return replace(
        comparison,
        candidates=tuple(candidate for candidate in comparison.candidates if not found[candidate.label].bars),
        barred=sentences(found),
        must_change=bool(found[comparison.baseline].bars),
    )


def blocked(run: Run, label: str) -> tuple[str, ...]:
    """Return the requirements that a label is known not to meet."""
    return tuple(bar.requirement for bar in standing(run, label, NAMES).bars)


def _probed(run: Run, label: str, name: str) -> Bar | bool | None:
    """Return what bars a label from a requirement, False if nothing does, None if it was not probed."""
    if run.probes is None:
        return None
    rows = capabilities.rows_of(run.probes)
    row = capabilities.find(rows, PROBES[name], label)
    if row is None and name not in OF_THE_GRADIENT:
        row = capabilities.find(rows, PROBES[name], label.partition("+")[0])
    if row is None or row.status == "does not apply":
        return None
    return (
        Bar(name, row.probe, row.told if row.status == "fails" else f"{row.status}: {row.told}")
        if row.is_bad
        else False
    )


def _gpu(run: Run, label: str) -> Bar | bool | None:
    if run.placement is None:
        return None
    variant = label.partition("+")[0]
    pinned = [
        row
        for row in routes.rows_of(run.placement)
        if row.case.variant == variant and row.pinned == routes.DEVICE and row.case.direction == "forward"
    ]
    if not pinned:
        return None
    if any(not row.refused and row.computes == routes.DEVICE for row in pinned):
        return False
    refused = next((row.refused for row in pinned if row.refused), "")
    # What a simulated device lacks, a compiler for XLA and the kernels of most ops, a real one may have.
    if any(row.case.placement == SIMULATED and not row.python for row in pinned):
        return None
    return Bar(GPU, "placement", f"refused: {refused}" if refused else "pinned to the device, it computes on the host")


def sentences(found: Mapping[str, Standing]) -> tuple[str, ...]:
    """Return what was removed by which probe, and what is not known, each in a sentence."""
    removed = tuple(f"{label} {bar.sentence}" for label, one in found.items() for bar in one.bars)
    unknown: dict[str, list[str]] = {}
    for label, one in found.items():
        for name in one.unknown:
            unknown.setdefault(name, []).append(label)
    return (*removed, *(f"{_unknown(name)} is not known of {', '.join(who)}" for name, who in unknown.items()))


def _unknown(name: str) -> str:
    where = " (pyopbench placement --out RUN/placement.json counts it)" if name == GPU else ""
    return f"whether they can do {name}{where}"
