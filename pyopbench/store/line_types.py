"""The lines of `samples.jsonl` as types, one type for each kind of line. Prose: results/README.md.

msgspec makes these of the JSON, and everything that measures, judges or shows a run uses them as they are. A row of
samples is `[round, order, calls, seconds]`, and in mode node how many copies of the op a call runs as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from pyopbench.model.arrangement import read_key
from pyopbench.model.case import Case, Failure
from pyopbench.store.json_file import corrupt, decode
from pyopbench.store.run_json import (
    LARGEST_WHOLE,
    AtLeastOne,
    NotNegative,
    Positive,
    check_failures,
    require_case,
)

Sample: TypeAlias = list[int | float]


PLAIN_NAME = re.compile(r"\w+", re.ASCII)


class Line(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind"):
    """What every line has: the number of the launch that it is about, or from which on it holds."""

    launch: NotNegative

    def check(self, place: str) -> None:
        """Check what no type can say.

        Raises:
            BadInput: a value makes no sense; names `place`.
        """


class LaunchLine(Line, frozen=True, kw_only=True, tag="launch"):
    """A worker process has started."""

    environment: dict[str, Any]


class Gpu(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A reading of a GPU, as a worker takes it; None is what it does not report."""

    held_back_by: list[str] | None
    name: str | None = None
    sm_mhz: float | None = None
    sm_mhz_most: float | None = None
    memory_mhz: float | None = None
    memory_mhz_most: float | None = None
    celsius: float | None = None
    watts: float | None = None


class Noise(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What else went on while a group was sampled; `gpus` is None where the cases were on no GPU."""

    wall_seconds: float
    cpu_seconds: float
    steal_seconds: float | None
    switches: int
    load: float | None
    gpus: list[Gpu] | None = None


class LeftBehind(Struct, frozen=True, kw_only=True):
    """What bodies left running when a group was done."""

    threads: int
    processes: int
    cores: float


class PreparedLine(Line, frozen=True, kw_only=True, tag="prepared"):
    """A worker has prepared the cases of a group, which stay so.

    Attributes:
        group: its key.
        failures: of its cases.
        seconds: that it took.
        checked: case -> by how much its values and gradients are off; None where another launch checks the group.
        left_behind: what bodies left running; None for nothing.
        pool_seconds: case in a pipeline -> what starting its processes took, which is in no block.
    """

    group: str
    failures: list[Failure]
    seconds: float
    pool_seconds: dict[str, float] = {}
    checked: dict[str, dict[str, float]] | None = None
    left_behind: LeftBehind | None = None

    def check(self, place: str) -> None:
        """Check ids, as `Line.check`."""
        check_failures(self.failures, place)
        for key in self.pool_seconds:
            if not require_case(key, place).arrangement:
                raise corrupt(place, f"{key} is not a case in a pipeline, and has a pool of processes")


class PortLine(Line, frozen=True, kw_only=True, tag="port"):
    """A port as it is measured: the source of a module, which is shown, and never run from here.

    Attributes:
        op, variant, dtype: what it is the port of: the variant of one, a batched form, or the key of an arrangement.
        text: of the module.
        function: the name of the function of tensors in it.
        not_run: lines of the user's that no example went through: file and line.
        notes: what holds for it, as kinds of findings.
    """

    op: str
    variant: str
    dtype: str
    text: str
    function: str
    not_run: list[tuple[str, int]] = []
    notes: list[str] = []

    def check(self, place: str) -> None:
        """Check names, which are parts of the name of a file, as `Line.check`."""
        for name in (self.op, self.variant, self.dtype):
            if not PLAIN_NAME.fullmatch(name) and (name != self.variant or read_key(name) is None):
                raise corrupt(place, f"{name!r} is not a name of letters, digits and underscores")


class RequirementLine(Line, frozen=True, kw_only=True, tag="requirement"):
    """What came of a requirement (`--require`) that was tried with an op in a variant.

    Attributes:
        requirement: its name.
        op: the op.
        label: `variant` or `variant+gradient`.
        status: `silently wrong` is a wrong result without an error.
        reason: why it does not work, or cannot be tried; if it works, the condition for that, or "".
    """

    requirement: str
    op: str
    label: str
    status: Literal["works", "fails", "silently wrong", "does not apply"]
    reason: str


class CallerWaits(Struct, frozen=True, kw_only=True):
    """How long a caller waits for a call, in seconds, over all calls of the launch so far.

    Attributes:
        calls: how many there were.
        p50, p95, p99: quantiles; None for one with too few calls beyond it.
    """

    calls: AtLeastOne
    p50: Positive | None
    p95: Positive | None
    p99: Positive | None


class GroupLine(Line, frozen=True, kw_only=True, tag="group"):
    """Cases that were measured interleaved, in the same process.

    Attributes:
        group: its key.
        sweep: how often the launch had sampled the group before.
        samples: case -> its rows.
        failures: of its cases.
        waits: case -> how long callers waited; of cases that several threads call.
        timer_seconds, timer_error_seconds: what reading the clock twice costs, and what is left after taking it off.
        noise: what else went on; None where nothing was timed.
    """

    group: str
    sweep: NotNegative = msgspec.field(default=0, name="pass")
    samples: dict[str, list[Sample]]
    failures: list[Failure]
    waits: dict[str, CallerWaits] = {}
    timer_seconds: float
    timer_error_seconds: float
    noise: Noise | None = None

    def check(self, place: str) -> None:
        """Check ids and samples, as `Line.check`."""
        check_failures(self.failures, place)
        for key, samples in self.samples.items():
            case = require_case(key, place)
            if case.group != self.group:
                raise corrupt(place, f"{key} does not belong to the group {self.group}")
            _check_samples(case, samples, place)
        for key in self.waits.keys() - self.samples.keys():
            raise corrupt(place, f"there are waits of {key}, and no samples")


class LostLine(Line, frozen=True, kw_only=True, tag="lost"):
    """A worker hung or died within a group."""

    group: str
    failures: list[Failure]

    def check(self, place: str) -> None:
        """Check ids, as `Line.check`."""
        check_failures(self.failures, place)


class LookLine(Line, frozen=True, kw_only=True, tag="look"):
    """An interim analysis: the data were judged, to see which cases are worth measuring on."""

    open: list[str]

    def check(self, place: str) -> None:
        """Check ids, as `Line.check`."""
        for key in self.open:
            require_case(key, place)


class EndedLine(Line, frozen=True, kw_only=True, tag="ended"):
    """The measuring has ended, and by what."""

    by: Literal["launches", "budget", "look"]
    looks: NotNegative
    seconds: float
    sampling_seconds: float


AnyLine: TypeAlias = (
    LaunchLine | PreparedLine | PortLine | RequirementLine | GroupLine | LostLine | LookLine | EndedLine
)
FAILING = (PreparedLine, GroupLine, LostLine)
"""Lines that say which cases failed."""


def decode_line(content: bytes, place: str) -> AnyLine:
    """Return a line.

    Raises:
        BadInput: it is not JSON, or not of the schema; names `place`.
    """
    line: AnyLine = decode(content, AnyLine, place)  # type: ignore[arg-type]
    line.check(place)
    return line


def _check_samples(case: Case, samples: Sequence[Sequence[float]], place: str) -> None:
    lengths = (4, 5) if case.mode == "node" else (4,)  # 4 is a body alone
    if not samples or _are_right(samples, lengths):
        return
    for sample in samples:
        copies = sample[4:]
        whole = len(sample) in lengths and all(type(number) is int for number in (*sample[:3], *copies))
        if not whole or min(sample) < 0 or max(sample) > LARGEST_WHOLE or sample[2] < 1:
            numbers = "round, order, calls >= 1, seconds >= 0" + (", copies >= 0" if case.mode == "node" else "")
            raise corrupt(place, f"a sample of {case.id} is not [{numbers}]: {sample}")


def _are_right(samples: Sequence[Sequence[float]], lengths: Sequence[int]) -> bool:
    """Whether samples are all as they have to be, a column at a time: one at a time takes longer than to parse them."""
    if len(set(map(len, samples))) != 1 or len(samples[0]) not in lengths:
        return False
    columns = list(zip(*samples, strict=True))
    whole = all(set(map(type, column)) == {int} for column in (*columns[:3], *columns[4:]))
    return whole and min(map(min, columns)) >= 0 and max(map(max, columns)) <= LARGEST_WHOLE and min(columns[2]) >= 1
