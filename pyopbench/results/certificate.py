"""What `pyopbench certify` found out about a machine: its figures, what they promise, and where they are kept.

A certificate holds for one processor, number of cores, TensorFlow, NumPy and minor version of Python; the newest for
these is the one that counts. Every run copies the one that fits it into its `run.json`, so that reports remain
functions of the stored files alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import platformdirs

from pyopbench.results.open_file import CERTIFICATE, read_bytes
from pyopbench.results.strict_json import parse
from pyopbench.results.validation import converted, corrupt

SCHEMA = 1
FILE = "certificate.json"
KEY = ("cpu", "cores", "tensorflow", "numpy", "python")
"""What a certificate depends on; of Python the minor version."""

MOST_FALSE = 0.01
MOST_FALSE_BOUND = 0.02
"""Of identical pairs: the share with a false verdict, and its upper bound (of full certificates: a quick one has too
few pairs to show it)."""
LEAST_FOUND = {5: 0.95, 10: 0.99}
"""Percent of slowdown -> the share of such pairs that are to be called slower. One of 3% is on the minimum effect
itself, where half of all estimates lie below it, so that nothing is promised there."""
MOST_OVERHEAD = 0.001


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """The machine and software of a run or certificate; results/README.md has the keys that are not checked."""

    cpu: str | None
    cores: int
    python: str
    numpy: str
    tensorflow: str
    commit: str | None
    dirty: bool | None


@dataclass(frozen=True)
class Pairs:
    """What was said about pairs that truly differ by `percent`; those of 0 are identical.

    Attributes:
        percent: by how much the second is slower.
        pairs: how many there were; each case counts once in each run.
        faster, slower, equivalent, unresolved: how many were called so.
        ratio: median over pairs of the measured ratio; None if there were none.
        bound: 95% Clopper-Pearson bound of `share`, from above for identical pairs and from below for others.
    """

    percent: int
    pairs: int
    faster: int
    slower: int
    equivalent: int
    unresolved: int
    ratio: float | None
    bound: float

    @property
    def hits(self) -> int:
        """Return how many identical pairs were told apart, or how many slowed ones were called slower."""
        return self.slower if self.percent else self.faster + self.slower

    @property
    def share(self) -> float:
        """Return `hits` as a share of the pairs; 0 without any."""
        return self.hits / self.pairs if self.pairs else 0.0


@dataclass(frozen=True)
class Overhead:
    """Seconds per call of a body that only waits: found by itself, and as the sampling found it."""

    known_seconds: float
    measured_seconds: float

    @property
    def share(self) -> float:
        """Return what timing adds, as a share of what is known."""
        return self.measured_seconds / self.known_seconds - 1


@dataclass(frozen=True)
class Moved:
    """A decision whose answers differ between runs: `op`, `use`, and the answer of each run."""

    op: str
    use: str
    answers: tuple[str, ...]


@dataclass(frozen=True)
class NoIdenticalPairs:
    """No identical pair has a verdict."""


@dataclass(frozen=True)
class ToldApart:
    """More identical pairs were told apart than the share `most`."""

    pairs: Pairs
    most: float


@dataclass(frozen=True)
class MayBeToldApart:
    """The bound of the share of identical pairs that are told apart is above `most`."""

    pairs: Pairs
    most: float


@dataclass(frozen=True)
class SlowdownMissed:
    """Fewer slowed pairs were found than the share `least`."""

    pairs: Pairs
    least: float


@dataclass(frozen=True)
class TooCostly:
    """Timing adds more to a call than the share `most`, or takes more away."""

    overhead: Overhead
    most: float


Miss: TypeAlias = NoIdenticalPairs | ToldApart | MayBeToldApart | SlowdownMissed | TooCostly
"""What of a certificate is not as good as promised."""


@dataclass(frozen=True)
class Certificate:
    """How far the numbers of one machine can be trusted.

    Attributes:
        created: date and time, ISO 8601.
        command: the command line that made it.
        quick: made with the settings of a quick run, from few pairs.
        seconds: how long it took.
        minimum_effect: the difference that verdicts were held against.
        environment: the keys of `KEY`, `pyopbench` (version), `commit` and `dirty`.
        launches: of each run of pairs, how many worker processes it took.
        identical: pairs without a difference.
        injected: pairs with one, by percent.
        effect, effect_90: median and 90th percentile over pairs of the smallest effect that they could have resolved:
            half the width of the corrected interval, as a share; None if no pair had an interval.
        overheads: by the cost of the body.
        timer_seconds, timer_error_seconds: what reading the clock twice costs, and what is left after taking it off.
        decision_runs: how often the decisions of a few ops were made.
        decisions: how many these are in each run.
        moved: those of them that did not come out alike.
    """

    created: str
    command: tuple[str, ...]
    quick: bool
    seconds: float
    minimum_effect: float
    environment: Mapping[str, Any]
    launches: tuple[int, ...]
    identical: Pairs
    injected: tuple[Pairs, ...]
    effect: float | None
    effect_90: float | None
    overheads: tuple[Overhead, ...]
    timer_seconds: float
    timer_error_seconds: float
    decision_runs: int
    decisions: int
    moved: tuple[Moved, ...]

    def misses(self) -> tuple[Miss, ...]:
        """Return what is not as good as promised; empty if all is."""
        return (*self._false_verdicts(), *self._missed_slowdowns(), *self._too_costly())

    def _false_verdicts(self) -> list[Miss]:
        found = self.identical
        if not found.pairs:
            return [NoIdenticalPairs()]
        if found.share > MOST_FALSE:
            return [ToldApart(found, MOST_FALSE)]
        if not self.quick and found.bound > MOST_FALSE_BOUND:
            return [MayBeToldApart(found, MOST_FALSE_BOUND)]
        return []

    def _missed_slowdowns(self) -> list[Miss]:
        promised = [(pairs, LEAST_FOUND[pairs.percent]) for pairs in self.injected if pairs.percent in LEAST_FOUND]
        return [SlowdownMissed(pairs, least) for pairs, least in promised if pairs.share < least]

    def _too_costly(self) -> list[Miss]:
        return [TooCostly(one, MOST_OVERHEAD) for one in self.overheads if abs(one.share) > MOST_OVERHEAD]

    def as_json(self) -> str:
        """Return it as it is stored; results/README.md has the meaning of every key."""
        return json.dumps({"schema": SCHEMA, **asdict(self)}, indent=1, allow_nan=False) + "\n"


def from_dict(content: Mapping[str, Any]) -> Certificate:
    """Return the certificate that `as_json` wrote; `content` has been checked by `check_certificate`."""
    return msgspec.convert(content, Certificate)


def check_certificate(content: Any, place: str) -> None:
    """Check the content of a certificate.

    Raises:
        BadInput: it has another shape; names `place`.
    """
    made = converted(content, Certificate, place)
    converted(content["environment"], Environment, f"{place}: environment")
    if type(content.get("schema")) is not int:
        raise corrupt(place, f"schema: expected int, got {content.get('schema')}")
    durations = [made.seconds, *(one.known_seconds for one in made.overheads)]
    if min(durations) <= 0:
        raise corrupt(place, f"durations that are not above 0: {durations}")


def path_for(environment: Mapping[str, Any]) -> Path:
    """Return where the certificate for an environment is kept, in the user's own data folder."""
    name = "-".join(str(value) for value in _key(environment))
    folder = Path(platformdirs.user_data_dir("pyopbench", appauthor=False)) / "certificates"
    return folder / f"{re.sub('[^A-Za-z0-9.]+', '-', name)[:200]}.json"


def find(environment: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the certificate for an environment as JSON holds it, or None if there is none of this schema.

    Raises:
        BadInput: the file holds something else.
    """
    path = path_for(environment)
    try:
        content = parse(read_bytes(path, CERTIFICATE))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, RecursionError):
        content = None
    if isinstance(content, dict) and content.get("schema", SCHEMA) != SCHEMA:
        return None
    check_certificate(content, str(path))
    found: dict[str, Any] = content
    return found if _key(found["environment"]) == _key(environment) else None


def _key(environment: Mapping[str, Any]) -> tuple[Any, ...]:
    *others, python = (environment[name] for name in KEY)
    return (*others, ".".join(str(python).split(".")[:2]))
