"""The content of `run.json` as types: what was planned, on what, with which settings. Prose: results/README.md.

msgspec makes these of the JSON, and everything that plans, measures, judges or shows a run uses them as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct, field, structs

from pyopbench.model import side
from pyopbench.model.arrangement import CURRENT, Action, Arrangement
from pyopbench.model.case import Case, Failure, Until
from pyopbench.model.errors import BadInput
from pyopbench.store.json_file import convert, corrupt

LARGEST_WHOLE = 2**53
"""Of every number that is counted: whole numbers up to here are floats, and no clock and no loop comes near it."""

Positive: TypeAlias = Annotated[float, Meta(gt=0)]
NotNegative: TypeAlias = Annotated[int, Meta(ge=0, le=LARGEST_WHOLE)]
AtLeastOne: TypeAlias = Annotated[int, Meta(ge=1, le=LARGEST_WHOLE)]
PlanHash: TypeAlias = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
CommitHash: TypeAlias = Annotated[str, Meta(pattern="^([0-9a-f]{40}|[0-9a-f]{64})$")]


class Settings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How results were measured, as far as a judgement asks; other tools say no more than this.

    Attributes:
        baseline: the callback that is in use today.
        launches: worker processes at the most for each case.
        rounds: timed blocks of each case in a launch at the most; None for other tools.
        first_rounds: such blocks before the first interim analysis; None for other tools, which hold none.
        until: what ends a run early; None for other tools.
        budget_seconds: for all of the measuring; None for no limit.
        quick: were the quick settings asked for?
        pairs: variant -> what it is paired with in place of the baseline.
    """

    baseline: str
    launches: AtLeastOne
    rounds: AtLeastOne | None = None
    first_rounds: AtLeastOne | None = None
    until: Until | None = None
    budget_seconds: Annotated[float, Meta(ge=0)] | None = None
    quick: bool = False
    pairs: dict[str, str] = {}


class RunSettings(Settings, frozen=True, kw_only=True, omit_defaults=True):
    """How a run of pyopbench is measured; `engine.settings.Settings` says what each means."""

    rounds: AtLeastOne
    first_rounds: AtLeastOne
    until: Until
    budget_seconds: Annotated[float, Meta(ge=0)] | None
    quick: bool
    seed: NotNegative
    block_seconds: Positive
    group_seconds: Positive
    case_timeout_seconds: Positive
    tf: str | None = None
    packages: list[str] = field(default_factory=list, name="with")
    python: str | None = None

    @property
    def environment(self) -> side.Environment:
        """What the workers were asked to import and to be run by."""
        return side.Environment(self.tf, tuple(self.packages), self.python)


class Environment(Struct, frozen=True, kw_only=True):
    """The machine and software of a run, as far as a judgement needs them; results/README.md has all keys."""

    cpu: str | None
    cores: int
    python: str
    numpy: str
    tensorflow: str
    commit: str | None
    dirty: bool | None


class OpFacts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of an op.

    Attributes:
        summary, source: for people.
        sizes, quick_sizes: that it is measured at.
        size_unit: what a size counts.
        dtypes, outputs: of its arrays.
        differentiable: has it a gradient?
        own: is it of the user's own?
        tried: bodies of an op of the user's own that ports were derived from, or tried to be.
    """

    summary: str
    source: str
    sizes: list[int]
    quick_sizes: list[int]
    size_unit: str
    dtypes: list[str]
    outputs: list[str]
    differentiable: bool
    own: bool = False
    tried: list[str] = []


class VariantFacts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of a variant, or of a part that is measured beside callbacks.

    Attributes:
        summary: for people.
        body: that it runs.
        kind: `callback`, `port` or `part`; "" where nothing is known.
        effort: rank of the work to get there; infinite where nothing is known.
        gradients: mechanisms that it can have, the usual one first.
        modes: that it runs in.
        role: what it is measured for.
        automatic: is it derived from another body, so that it may fail?
    """

    summary: str
    body: str
    kind: str
    effort: int | float
    gradients: list[str]
    modes: list[str]
    role: str = "candidate"
    automatic: bool = False


class GradientFacts(Struct, frozen=True, kw_only=True):
    """What is known of a mechanism of gradients."""

    summary: str
    source: str
    works_in: list[str]


UNKNOWN_OP = OpFacts(
    summary="",
    source="",
    sizes=[],
    quick_sizes=[],
    size_unit="elements",
    dtypes=[],
    outputs=[],
    differentiable=False,
)
UNKNOWN_VARIANT = VariantFacts(summary="", body="", kind="", effort=math.inf, gradients=[], modes=[])


class Catalogue(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the ops, variants and gradients of a run are, by name; `parts` explain callbacks."""

    ops: dict[str, OpFacts]
    variants: dict[str, VariantFacts]
    gradients: dict[str, GradientFacts]
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


WORKTREE = "WORKTREE"
"""Names the working tree as it is, with changes that are not committed."""


class Revision(Struct, frozen=True):
    """A revision of the user's repository.

    Attributes:
        asked: how it is named; `WORKTREE` for the working tree as it is.
        commit: its hash; of the working tree that of the commit that is checked out.
        date: of the commit, ISO 8601.
        subject: first line of its message.
        dirty: is it the working tree, with changes that are not committed?
    """

    asked: str
    commit: CommitHash
    date: str
    subject: str
    dirty: bool = False

    @property
    def is_worktree(self) -> bool:
        """Whether it is the working tree."""
        return self.asked == WORKTREE


class OwnOp(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The origin of a user's own op; it is only shown, and never executed from here.

    Attributes:
        words: the words that name it on a command line.
        fingerprint: a hash of its files.
        program: the function that makes the dataset in which it is measured, as `FILE:FUNCTION`; empty for none.
        revision: the commit that was checked out of the repository that has its file; None if there is none, or if
            the run is of a revision.
    """

    words: list[str]
    fingerprint: str
    program: str = ""
    revision: Revision | None = None


# A run of an op in an input pipeline: what its cases, of mode `pipeline:ARRANGEMENT`, stand for.


class StoredArrangement(Struct, frozen=True, kw_only=True):
    """One way in which the body stands in a pipeline, as `model.arrangement.Arrangement`."""

    form: str
    action: Action
    code: str
    parallel: Annotated[int, Meta(ge=-1)]
    batch: NotNegative
    variant: str
    extra_effort: float

    @property
    def arrangement(self) -> Arrangement:
        """It as a noun of the model, with a key and an effort."""
        return Arrangement(**structs.asdict(self))


class ProgramFacts(Struct, frozen=True, kw_only=True):
    """The user's own pipeline, in which a run was measured; it is only shown, and never executed from here.

    Attributes:
        name: file and function that make its dataset.
        stage: file and line of the `map` that calls the body.
        step_elements: number of elements that it returns at a time: the batch size, or 1.
        is_repeatable: did it give the same elements twice, so that their values were compared?
    """

    name: str
    stage: str
    step_elements: AtLeastOne
    is_repeatable: bool


class PipelinePlan(Struct, frozen=True, kw_only=True):
    """What a run of an op in an input pipeline is planned by, and what the first worker found of the body.

    Attributes:
        parallel, batch, processes: as in `worker.pipeline.form.PipelineSettings`.
        step_seconds: what a training step takes for each of its elements; 0 where that is not known.
        step_elements: of a training step.
        minimum_effect: the smallest share of the current time that is worth acting on.
        arrangements: all that there are, those too that cannot be measured.
        elements: that go through each pipeline, over and over.
        body_seconds: what the body takes for an element, called alone.
        program: the user's pipeline in which it was measured; None if only the op was in the pipeline.
        in_program: the key of the arrangement that the program has. It is measured in every launch, however slow it is,
            because others are compared with it.
    """

    parallel: list[Annotated[int, Meta(ge=-1)]]
    batch: list[AtLeastOne]
    processes: AtLeastOne
    step_seconds: Annotated[float, Meta(ge=0)]
    step_elements: AtLeastOne
    minimum_effect: Annotated[float, Meta(ge=0, lt=1)]
    arrangements: list[StoredArrangement]
    elements: AtLeastOne
    body_seconds: float
    program: ProgramFacts | None = None
    in_program: str = CURRENT

    @property
    def by_key(self) -> dict[str, Arrangement]:
        """The arrangements by their keys."""
        return {one.arrangement.key: one.arrangement for one in self.arrangements}

    def check(self, cases: Iterable[Case], place: str) -> None:
        """Check that every case stands for an arrangement, and that the current callback is one of them.

        Raises:
            BadInput: otherwise; names `place`.
        """
        known, keys = self.by_key, [case.arrangement for case in cases]
        unknown = [key for key in keys if key not in known]
        if unknown:
            raise corrupt(place, f"pipeline.arrangements has no {unknown[0]!r}")
        if CURRENT not in keys:
            raise corrupt(place, f"a run in a pipeline has no case of the current callback, pipeline:{CURRENT}")


# Shards: parts of one plan that several machines measure.


def unit_of(case: Case) -> str:
    """Return the unit that a case belongs to, for example `sinh/node/float32`.

    It is an op in one mode and dtype, with all its sizes, variants, directions and placements: whatever is paired, or
    weighed against something else in an answer, is of one unit. So are all numbers of threads.
    """
    return "/".join((case.op, case.kind, case.dtype))


class Shard(Struct, frozen=True, kw_only=True):
    """The part of a plan that a run measures.

    Attributes:
        index: its number, from 1.
        of: how many shards there are.
        plan: hash of the whole plan, the same in every shard of it.
        host: name of the machine that it was begun on.
    """

    index: AtLeastOne
    of: AtLeastOne
    plan: PlanHash
    host: str

    def check(self, place: str) -> None:
        """Check what no type can say.

        Raises:
            BadInput: the numbers do not fit each other; names `place`.
        """
        if self.index > self.of:
            raise corrupt(place, f"shard {self.index} of {self.of}")


class MergedShard(Struct, frozen=True, kw_only=True):
    """A shard that a run was merged from.

    Attributes:
        index: its number, from 1.
        run: name of its run.
        created: when that was begun, ISO 8601.
        host: name of the machine that it was begun on.
        launches: number of its first launch here, and of the first that is of another shard.
    """

    index: AtLeastOne
    run: str
    created: str
    host: str
    launches: tuple[NotNegative, NotNegative]


class Merged(Struct, frozen=True, kw_only=True):
    """What a run was merged from.

    Attributes:
        plan: hash of the plan, the same in every shard of it.
        shards: in the order of their numbers.
        hosts: environment of each machine, by name.
    """

    plan: PlanHash
    shards: list[MergedShard]
    hosts: dict[str, dict[str, Any]]


# The whole.


class RunContent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The content of `run.json`: what was planned, on what, with which settings.

    Attributes:
        run: its name.
        created: date and time, ISO 8601.
        command: the command line that made it.
        settings, environment, catalogue: of the run.
        cases: ids of what is to be measured.
        skips: what cannot be measured, and why.
        own: ops of the user's own, by name.
        revision: that it is of; None for the working tree.
        shard: the part of a plan that it measures; None for all of it.
        merged: what it was merged from; None where it was measured as it is.
        pipeline: what cases of an op in an input pipeline stand for; None in any other run.
    """

    run: str
    created: str
    command: list[str]
    settings: RunSettings
    environment: dict[str, Any]
    catalogue: Catalogue
    cases: list[str]
    skips: list[Failure]
    own: dict[str, OwnOp] = {}
    revision: Revision | None = None
    shard: Shard | None = None
    merged: Merged | None = None
    pipeline: PipelinePlan | None = None

    @property
    def current(self) -> Case:
        """The case of the current callback; only of a run in a pipeline."""
        return next(case for case in map(Case.from_id, self.cases) if case.arrangement == CURRENT)

    def with_changes(self, **changes: Any) -> RunContent:
        """Return it with other values of some fields."""
        return structs.replace(self, **changes)

    def check(self, place: str) -> None:
        """Check what no type can say.

        Raises:
            BadInput: a case id is none, or numbers do not fit each other; names `place`.
        """
        for key in self.cases:
            require_case(key, place)
        check_failures(self.skips, place)
        in_pipelines = [case for case in map(Case.from_id, self.cases) if case.arrangement]
        if self.pipeline is not None:
            self.pipeline.check(in_pipelines, place)
        elif in_pipelines:
            raise corrupt(place, f"{in_pipelines[0].id} is a case in a pipeline, but the file has no key pipeline")
        if self.shard is not None:
            self.shard.check(place)
        convert(self.environment, Environment, f"{place}: environment")
        for name, environment in (self.merged.hosts if self.merged else {}).items():
            convert(environment, Environment, f"{place}: merged.hosts.{name}")


def require_case(key: str, place: str) -> Case:
    """Return the case of an id; an error names `place` if it is none."""
    try:
        return Case.from_id(key)
    except BadInput as error:
        raise corrupt(place, f"{key!r} is not the id of a case") from error


def check_failures(failures: Iterable[Failure], place: str) -> None:
    """Check ids; an error names `place`."""
    for failure in failures:
        require_case(failure.case, place)
