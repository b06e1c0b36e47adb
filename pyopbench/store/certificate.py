"""What `pyopbench certify` found out about a machine: its figures, and where they are kept.

A certificate holds for one processor, number of cores, TensorFlow, NumPy and minor version of Python; the newest for
these is the one that counts. Every run copies the one that fits it into its `run.json`, so that reports remain
functions of the stored files alone. `promises` has what its figures are held to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
import platformdirs

from pyopbench.store.json_file import convert, corrupt, decode

FILE = "certificate.json"
KEY = ("cpu", "cores", "tensorflow", "numpy", "python")
"""What a certificate depends on; of Python the minor version."""


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
        equivalent_bound: the same of `equivalent_share`, from below.
    """

    percent: int
    pairs: int
    faster: int
    slower: int
    equivalent: int
    unresolved: int
    ratio: float | None
    bound: float
    equivalent_bound: float

    @property
    def hits(self) -> int:
        """Return how many identical pairs were told apart, or how many slowed ones were called slower."""
        return self.slower if self.percent else self.faster + self.slower

    @property
    def share(self) -> float:
        """Return `hits` as a share of the pairs; 0 without any."""
        return self.hits / self.pairs if self.pairs else 0.0

    @property
    def equivalent_share(self) -> float:
        """Return how many were shown equivalent, as a share of the pairs; 0 without any."""
        return self.equivalent / self.pairs if self.pairs else 0.0


@dataclass(frozen=True)
class ControlRun:
    """A run of controls: the launches that it took, of at most so many, and what ended it, as `measure.RunEnd.by`."""

    launches: int
    most: int
    ended: str


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
class RunEffect:
    """What ports shift by against callbacks from run to run, beyond what the launches of a run show.

    Attributes:
        deviation: standard deviation between runs, as a part of the share itself.
        low, high: its 95% interval; what is common to all ports of a run is taken for one observation of it.
        allowed: what intervals have to allow for, which is more than `deviation`: few runs tell it badly.
        runs: how many runs it is from.
        cases: how many ports were known well enough in all of them.
    """

    deviation: float
    low: float
    high: float
    allowed: float
    runs: int
    cases: int


@dataclass(frozen=True)
class GivenAnswer:
    """What a run said is to be done, and the label to go to; None to keep or for undecided."""

    action: str
    label: str | None


@dataclass(frozen=True)
class Renamed:
    """A decision whose answers differ between runs: `op`, `use`, and the answer of each run."""

    op: str
    use: str
    answers: tuple[GivenAnswer, ...]


@dataclass(frozen=True)
class Loss:
    """What an answer of one run costs more than the best, in shares of the current time, as the other runs found."""

    op: str
    use: str
    share: float


@dataclass(frozen=True)
class Decisions:
    """What became of decisions that were made several times, each run valued by the others.

    Attributes:
        runs: how often they were made.
        decisions: how many each run made.
        renamed: those whose answers differ.
        mean_loss: over decisions and runs, as a share of the current time.
        worst: the answer that costs most; None without any.
        unbounded: answers whose own bound on that excludes what the others found.
        covered: share of intervals of what is saved that hold what the others found; None without an interval.
    """

    runs: int
    decisions: int
    renamed: tuple[Renamed, ...]
    mean_loss: float
    worst: Loss | None
    unbounded: int
    covered: float | None


@dataclass(frozen=True)
class Certificate:
    """How far the numbers of one machine can be trusted.

    Attributes:
        created: date and time, ISO 8601.
        command: the command line that made it.
        quick: made from few pairs, and from the decisions of a few ops.
        seconds: how long it took.
        mode: that controls were measured in.
        minimum_effect: the difference that verdicts were held against.
        environment: the keys of `KEY`, `pyopbench` (version), `commit` and `dirty`.
        controls: the runs of pairs.
        identical: pairs without a difference.
        injected: pairs with one, by percent.
        effect, effect_90: median and 90th percentile over pairs of the smallest effect that they could have resolved:
            half the width of the corrected interval, as a share; None if no pair had an interval.
        overheads: by the cost of the body.
        timer_seconds, timer_error_seconds: what reading the clock twice costs, and what is left after taking it off.
        decisions: what became of decisions that were made several times; None if they were not.
        run_effect: what these runs differ by; None where they are too few or do not tell.
        undone: names of the runs that there was no time for.
    """

    created: str
    command: tuple[str, ...]
    quick: bool
    seconds: float
    mode: str
    minimum_effect: float
    environment: Mapping[str, Any]
    controls: tuple[ControlRun, ...]
    identical: Pairs
    injected: tuple[Pairs, ...]
    effect: float | None
    effect_90: float | None
    overheads: tuple[Overhead, ...]
    timer_seconds: float
    timer_error_seconds: float
    decisions: Decisions | None
    run_effect: RunEffect | None
    undone: tuple[str, ...]

    def as_json(self) -> str:
        """Return it as it is stored; results/README.md has the meaning of every key."""
        return json.dumps(asdict(self), indent=1, allow_nan=False) + "\n"


def certified_run_effect(certificate: Certificate | None) -> float | None:
    """Return what intervals have to allow for between runs, by the certificate of a run; None where it does not say."""
    return None if certificate is None or certificate.run_effect is None else certificate.run_effect.allowed


def check_certificate(certificate: Certificate, place: str) -> None:
    """Check what no type can say.

    Raises:
        BadInput: it has no identical pairs, or durations that are none; names `place`.
    """
    convert(certificate.environment, Environment, f"{place}: environment")
    if certificate.identical.pairs < 1:
        raise corrupt(place, "a certificate without A/A controls")
    durations = [certificate.seconds, *(one.known_seconds for one in certificate.overheads)]
    if min(durations) <= 0:
        raise corrupt(place, f"durations that are not above 0: {durations}")


def path_for(environment: Mapping[str, Any]) -> Path:
    """Return where the certificate for an environment is kept, in the user's own data folder."""
    name = "-".join(str(value) for value in _key(environment))
    folder = Path(platformdirs.user_data_dir("pyopbench", appauthor=False)) / "certificates"
    return folder / f"{re.sub('[^A-Za-z0-9.]+', '-', name)[:200]}.json"


def find(environment: Mapping[str, Any]) -> Certificate | None:
    """Return the certificate for an environment, or None if there is none.

    Raises:
        BadInput: the file holds something else.
    """
    path = path_for(environment)
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    certificate = read_certificate(content, path)
    return certificate if _key(certificate.environment) == _key(environment) else None


def read_certificate(content: bytes, path: Path) -> Certificate:
    """Return the certificate in the bytes of its file.

    Raises:
        BadInput: they hold something else.
    """
    certificate = decode(content, Certificate, str(path))
    check_certificate(certificate, str(path))
    return certificate


def _key(environment: Mapping[str, Any]) -> tuple[Any, ...]:
    *others, python = (environment[name] for name in KEY)
    return (*others, ".".join(str(python).split(".")[:2]))
