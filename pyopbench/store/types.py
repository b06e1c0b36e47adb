"""What pyopbench stores, as types: `run.json` (the plan) and the lines of `samples.jsonl`. Prose: results/README.md.

msgspec makes these of the JSON, and everything that plans, measures, judges or shows a run uses them as they are. A row
of samples is `[round, order, calls, seconds]`, and in mode node how many copies of the op a call runs as well.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from pyopbench.model import side
from pyopbench.model.arrangement import CURRENT, Arrangement, read_key
from pyopbench.model.case import Case, Failure, Until
from pyopbench.model.errors import BadInput
from pyopbench.store.json_file import convert, corrupt, decode

LARGEST_WHOLE = 2**53
"""Upper limit of every count: whole numbers up to here are floats, and no clock and no loop comes near it."""

Positive: TypeAlias = Annotated[float, Meta(gt=0)]
NotNegative: TypeAlias = Annotated[int, Meta(ge=0, le=LARGEST_WHOLE)]
AtLeastOne: TypeAlias = Annotated[int, Meta(ge=1, le=LARGEST_WHOLE)]
PlanHash: TypeAlias = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
CommitHash: TypeAlias = Annotated[str, Meta(pattern="^([0-9a-f]{40}|[0-9a-f]{64})$")]


class Settings(Struct, frozen=True, kw_only=True):
    """How a run is measured; the defaults are those of a full run. Of other tools' results only the baseline is known.

    `until`: `decided` ends a case once no answer depends on it, `resolved` once its comparison with the baseline is
    resolved or out of reach as well; `end` measures all cases alike to the end, whatever the data look like.
    """

    baseline: str  # the callback that is in use today
    seed: NotNegative = 0  # makes the order of groups, workers and rounds repeatable
    launches: AtLeastOne = 24  # most worker processes for each case; each gives one number for it
    first_rounds: AtLeastOne = 12  # timed blocks of each case in a launch before the first interim analysis
    rounds: AtLeastOne = 240  # at most so many in a launch, in all its sweeps
    until: Until = "resolved"
    block_seconds: Positive = 0.0005
    group_seconds: Positive = 1.0  # of the rounds of a group in one sweep of one launch; slow cases get fewer rounds
    budget_seconds: Annotated[float, Meta(ge=0)] | None = None  # but two launches are run; None for no limit
    case_timeout_seconds: Positive = 120.0  # how long one case may be silent
    quick: bool = False
    pairs: dict[str, str] = {}  # variant -> what it is paired with in place of the baseline


class EnvironmentFacts(Struct, frozen=True, kw_only=True):
    """The machine and software of a run, as far as a judgement needs them."""

    cpu: str | None
    cores: int
    python: str
    numpy: str
    tensorflow: str
    commit: str | None
    dirty: bool | None


class OpFacts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of an op, which may be nothing."""

    summary: str = ""
    sizes: list[int] = []
    quick_sizes: list[int] = []
    size_unit: str = "elements"
    own: bool = False
    tried: list[str] = []  # bodies of the user's that ports were derived from, or tried to be


class VariantFacts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of a variant, or of a cost component measured next to callbacks; it may be nothing."""

    summary: str = ""
    body: str = ""  # that it runs
    kind: str = ""  # `callback`, `port` or `part`
    effort: int | float = math.inf  # rank of the work to get there
    gradients: list[str] = []  # mechanisms that it can have, the usual one first
    role: str = "candidate"  # what it is measured for
    automatic: bool = False  # is it derived from another body, so that it may fail?


UNKNOWN_OP, UNKNOWN_VARIANT = OpFacts(), VariantFacts()


class Catalogue(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the ops and variants of a run are, by name; `parts` explain callbacks."""

    ops: dict[str, OpFacts]
    variants: dict[str, VariantFacts]
    parts: dict[str, VariantFacts] = {}

    def op(self, name: str) -> OpFacts:
        """Return what is known of an op, which may be nothing."""
        return self.ops.get(name, UNKNOWN_OP)

    def variant(self, name: str) -> VariantFacts:
        """Return what is known of a variant, which may be nothing."""
        return self.variants.get(name, UNKNOWN_VARIANT)

    def parts_of_role(self, role: str) -> list[str]:
        """Return the names of the parts that are measured for this."""
        return [name for name, part in self.parts.items() if part.role == role]


def join_catalogues(catalogues: Sequence[Catalogue]) -> Catalogue:
    """Return one catalogue with everything in these; what several name is as the last says."""
    return Catalogue(
        **{
            part: {name: facts for one in catalogues for name, facts in getattr(one, part).items()}
            for part in Catalogue.__struct_fields__
        }
    )


@cache
def builtin_catalogue() -> Catalogue:
    """Return the facts of the built-in ops and variants, which results of other tools name and do not describe.

    They are kept in a file, because the ops themselves can be asked only where there is TensorFlow; a test compares.
    """
    path = Path(__file__).with_name("catalogue.json")
    return decode(path.read_bytes(), Catalogue, str(path))


WORKTREE = "WORKTREE"
"""Names the working tree as it is, with changes that are not committed."""


class Revision(Struct, frozen=True):
    """A revision of the user's repository."""

    asked: str  # how it is named; `WORKTREE` for the working tree as it is
    commit: CommitHash  # of the working tree, the commit that is checked out
    date: str  # of the commit, ISO 8601
    subject: str  # first line of its message
    dirty: bool = False  # is it the working tree, with changes that are not committed?

    @property
    def is_worktree(self) -> bool:
        """Whether it is the working tree."""
        return self.asked == WORKTREE


class OwnOpFacts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The origin of a user's own op; it is only shown, and never executed from here."""

    words: list[str]  # that name it on a command line
    fingerprint: str  # a hash of its files
    program: str = ""  # `FILE:FUNCTION` that makes the dataset in which it is measured; empty for none
    revision: Revision | None = None  # checked out in its repository; None without one, or in a run of revisions


class ProgramFacts(Struct, frozen=True, kw_only=True):
    """The user's own pipeline, in which a run was measured; it is only shown, and never executed from here."""

    name: str  # file and function that make its dataset
    stage: str  # file and line of the `map` that calls the body
    step_elements: AtLeastOne  # that it returns at a time: the batch size, or 1
    is_repeatable: bool  # did it give the same elements twice, so that their values were compared?


class PipelinePlan(Struct, frozen=True, kw_only=True):
    """The plan of a run of an op in an input pipeline, with the first worker's measurements of the body.

    `parallel`, `batch` and `processes` are as in `worker.pipeline.arrangements.PipelineSettings`.
    """

    parallel: list[Annotated[int, Meta(ge=-1)]]
    batch: list[AtLeastOne]
    processes: AtLeastOne
    step_seconds: Annotated[float, Meta(ge=0)]  # time of a training step for each of its elements; 0 if not known
    step_elements: AtLeastOne  # of a training step
    minimum_effect: Annotated[float, Meta(ge=0, lt=1)]  # the smallest share of the current time worth acting on
    arrangements: list[Arrangement]  # all that there are, those too that cannot be measured
    elements: AtLeastOne  # that go through each pipeline, over and over
    body_seconds: float  # time of the body for an element, called alone
    program: ProgramFacts | None = None  # the user's pipeline; None if only the op was in the pipeline
    # The key of the arrangement that the program has. It is measured in every launch, however slow it is, because
    # others are compared with it.
    in_program: str = CURRENT

    @property
    def by_key(self) -> dict[str, Arrangement]:
        """The arrangements by their keys."""
        return {one.key: one for one in self.arrangements}


# Shards: parts of one plan that several machines measure.


def unit_of(case: Case) -> str:
    """Return the unit that a case belongs to, for example `sinh/node/float32`.

    It is an op in one mode and dtype, with all its sizes, variants, directions and placements: whatever is paired, or
    weighed against something else in an answer, is of one unit. So are all numbers of threads.
    """
    return "/".join((case.op, case.kind, case.dtype))


class Shard(Struct, frozen=True, kw_only=True):
    """The part of a plan that a run measures."""

    index: AtLeastOne  # from 1
    of: AtLeastOne
    plan: PlanHash  # of the whole plan, the same in every shard of it
    host: str  # on which it was begun


class Merged(Struct, frozen=True, kw_only=True):
    """The origins of a merged run: the environment of each machine, by name."""

    hosts: dict[str, dict[str, Any]]


class ValueDifference(Struct, frozen=True):
    """A difference in values between a side and the first one: other outputs or gradients for the same inputs.

    Or the op brings other inputs, the body raises on those of the first side, or it is not known.
    """

    op: str
    size: int
    dtype: str
    kind: Literal["outputs", "gradients", "inputs", "raised", "unknown"]
    reason: str


class Values(Struct, frozen=True):
    """How many inputs of a side were compared with the first side's, and the differences."""

    compared: int = 0
    differences: tuple[ValueDifference, ...] = ()


class Side(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One side of a run: what its cases run on, and its plan, which is empty if the side has a problem."""

    label: str = "here"  # with a number appended if that is asked for more than once
    tf: Annotated[str, Meta(pattern=r"^[0-9]+(\.[0-9]+)*$")] | None = None
    packages: tuple[Annotated[str, Meta(pattern=f"^({side.PIN.pattern})$")], ...] = ()
    python: str | None = None
    revision: Revision | None = None  # None for the working tree
    is_control: bool = False  # is it the first side measured again, as an A/A control?
    problem: str | None = None
    values: Values = Values()  # what it computes differently from the first side
    environment: dict[str, Any] = {}  # machine and software, as its worker found them
    catalogue: Catalogue = Catalogue(ops={}, variants={})
    cases: list[str] = []
    skips: list[Failure] = []
    own: dict[str, OwnOpFacts] = {}

    @property
    def asked(self) -> side.Environment:
        """What its workers import and are run by."""
        return side.Environment(self.tf, self.packages, self.python)

    @property
    def current(self) -> Case:
        """The case of the current callback; only in a pipeline."""
        return next(case for case in map(Case.from_id, self.cases) if case.arrangement == CURRENT)


class Plan(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The content of `run.json`: what was planned, on what, with which settings."""

    run: str  # its name
    created: str  # date and time, ISO 8601
    command: list[str]  # the command line that made it
    settings: Settings
    # What it is measured on; launches of the same number are compared across them.
    sides: Annotated[list[Side], Meta(min_length=1)]
    fail_on: str | None = None  # what the comparison of sides is to fail on, as the option; None if it was not given
    # The smallest difference between sides that counts, as a share; None if it is not known.
    minimum_effect: Annotated[float, Meta(gt=0, lt=1)] | None = None
    shard: Shard | None = None  # the part of a plan that it measures; None for all of it
    merged: Merged | None = None  # what it was merged from; None where it was measured as it is
    pipeline: PipelinePlan | None = None  # what cases of an op in an input pipeline stand for; None in any other run

    def check(self, place: str) -> None:
        """Check ids of cases, and what is needed of environments; an error names `place`."""
        for planned in self.sides:
            if planned.problem is None:
                require_cases([*planned.cases, *(skip.case for skip in planned.skips)], place)
                convert(planned.environment, EnvironmentFacts, f"{place}: environment of {planned.label}")


def require_cases(keys: Iterable[str], place: str) -> None:
    """Check that these are ids of cases; an error names `place` and the id."""
    try:
        for key in keys:
            Case.from_id(key)
    except BadInput as error:
        raise corrupt(place, error.in_a_line) from error


# The lines of `samples.jsonl`.

Sample: TypeAlias = Annotated[
    list[NotNegative | Annotated[float, Meta(ge=0, le=LARGEST_WHOLE)]], Meta(min_length=4, max_length=5)
]


PLAIN_NAME = re.compile(r"\w+", re.ASCII)


class Line(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind"):
    """The fields of every line: the launch that it is about, or from which it applies, and the number of its side."""

    launch: NotNegative
    side: NotNegative = 0


class LaunchLine(Line, frozen=True, kw_only=True, tag="launch"):
    """A worker process has started."""

    environment: dict[str, Any]


class Gpu(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A reading of a GPU, as a worker takes it; None if the GPU does not report it."""

    held_back_by: list[str] | None
    name: str | None = None


class Noise(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The state of the machine while a group was sampled; `gpus` is None where the cases were on no GPU."""

    wall_seconds: float
    steal_seconds: float | None
    load: float | None
    gpus: list[Gpu] | None = None


class PreparedLine(Line, frozen=True, kw_only=True, tag="prepared"):
    """A worker has prepared the cases of a group, which stay so."""

    group: str
    failures: list[Failure]
    seconds: float
    pool_seconds: dict[str, float] = {}  # case in a pipeline -> starting its processes, which is in no block
    # Case -> by how much its values and gradients are off; None where another launch checks the group.
    checked: dict[str, dict[str, float]] | None = None


class PortLine(Line, frozen=True, kw_only=True, tag="port"):
    """A port as it is measured: the source of a module, which is shown, and never run from here."""

    op: str
    variant: str  # or a batched form, or the key of an arrangement
    dtype: str
    text: str
    function: str  # of tensors in it
    not_run: list[tuple[str, int]] = []  # file and line of the user's that no example went through
    notes: list[str] = []  # kinds of notes: keys of `NOTES` in `judge/ports.py`


class RequirementLine(Line, frozen=True, kw_only=True, tag="requirement"):
    """The result of a requirement (`--require`) that was tried with an op in a variant, `label`."""

    requirement: str
    op: str
    label: str  # `variant` or `variant+gradient`
    status: Literal["works", "fails", "silently wrong", "does not apply"]
    reason: str  # why not; if it works, the condition for that, or ""


class CallerWaits(Struct, frozen=True, kw_only=True):
    """How long a caller waits for a call, over all calls of the launch so far; None with too few calls beyond it."""

    calls: AtLeastOne
    p50: Positive | None
    p95: Positive | None
    p99: Positive | None


class GroupLine(Line, frozen=True, kw_only=True, tag="group"):
    """Cases that were measured interleaved, in the same process."""

    group: str  # its key
    # Its number, from 0; a launch skips sweeps of groups that no longer fit the budget.
    sweep: NotNegative = msgspec.field(default=0, name="pass")
    samples: dict[str, list[Sample]]  # case -> its rows
    failures: list[Failure]  # of its cases
    waits: dict[str, CallerWaits] = {}  # of cases that several threads call
    timer_seconds: float  # cost of reading the clock twice
    timer_error_seconds: float  # the error after subtracting it
    noise: Noise | None = None  # the state of the machine; None where nothing was timed


class LostLine(Line, frozen=True, kw_only=True, tag="lost"):
    """A worker hung or died within a group."""

    group: str
    failures: list[Failure]


class LookLine(Line, frozen=True, kw_only=True, tag="look"):
    """An interim analysis: the data were judged, to see which cases are worth measuring further."""

    open: list[str]


class EndedLine(Line, frozen=True, kw_only=True, tag="ended"):
    """The measuring has ended, and why."""

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
    keys = [failure.case for failure in line.failures] if isinstance(line, FAILING) else []
    match line:
        case PreparedLine():
            keys += line.pool_seconds
        case GroupLine():
            keys += [*line.samples, *line.waits]
        case LookLine():
            keys += line.open
        case PortLine():
            for name in (line.op, line.variant, line.dtype):  # parts of the name of a file
                if not PLAIN_NAME.fullmatch(name) and (name != line.variant or read_key(name) is None):
                    raise corrupt(place, f"{name!r} is not a name of letters, digits and underscores")
    require_cases(keys, place)
    return line
