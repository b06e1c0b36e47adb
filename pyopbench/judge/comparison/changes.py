"""Changes in the series of a history: where they lie, how large they are, and the command that would confirm each."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from scipy import special

from pyopbench.judge.comparison.series import Axis, Moment, Series
from pyopbench.model import formatting
from pyopbench.model.case import NO_GRADIENT, Case
from pyopbench.model.side import HERE, Environment
from pyopbench.stats.change_points import Segmentation
from pyopbench.stats.estimate import LEVEL
from pyopbench.store.measured_run import Run
from pyopbench.store.types import builtin_catalogue

OPTIONS: Mapping[Axis, str] = {"commit": "--rev", "tf": "--tf"}
"""Which option of `pyopbench run` takes the moments of an axis."""
CARRIED = ("--input", "--seed-with")
"""Options that belong to functions of the user, which are needed to measure them again."""
COMMIT = re.compile("[0-9a-f]{7,64}")
"""The hash of a commit. `WORKTREE` is left out: the files may have changed since."""
OWN = re.compile(r"[\w./-]+\.py(:\w+)?|[\w.]+:\w+")
"""A file or a function of the user on a command line, told from values of options such as folders."""


@dataclass(frozen=True)
class Rerun:
    """Two moments to be measured interleaved.

    Attributes:
        axis: what they are.
        before, after: commits or versions, in full.
        ops: words for the ops on the command line, with what belongs to them.
        cases: ids of the cases.
        environment: TensorFlow, packages and Python of all of them; with `axis` `tf`, without the version.
    """

    axis: Axis
    before: str
    after: str
    ops: tuple[str, ...]
    cases: tuple[str, ...]
    environment: Environment = HERE

    @property
    def command(self) -> tuple[str, ...]:
        """The command line, without where results go."""
        option, where = OPTIONS[self.axis], self.environment
        options = {"--tf": where.tf, "--with": ",".join(where.packages), "--python": where.python}
        return (
            *("pyopbench", "run", *self.ops, option, self.before, option, self.after),
            *(word for name, value in options.items() if value for word in (name, value)),
            *_selection(list(map(Case.from_id, self.cases))),
        )

    def text(self) -> str:
        """Return the command that measures both sides again."""
        return shlex.join(self.command)


def rerun_of(axis: Axis, before: Moment, after: Moment, series: Series, runs: Sequence[Run]) -> Rerun | None:
    """Return what would confirm a change between two moments; None where nothing can be measured anew."""
    named = axis in OPTIONS and (axis != "commit" or all(COMMIT.fullmatch(one.value) for one in (before, after)))
    if not named or series.tool != "pyopbench" or before.value == after.value:
        return None
    run = next(run for run in runs if run.name == after.run)
    where = replace(run.asked, tf=None) if axis == "tf" else run.asked
    return Rerun(axis, before.value, after.value, _words(series, run), (series.case,), where)


def together(reruns: Iterable[Rerun]) -> list[Rerun]:
    """Return one for each pair of moments, of all their ops and cases, in order."""
    by_pair: dict[tuple[str, str, Environment], Rerun] = {}
    for one in reruns:
        key = (one.before, one.after, one.environment)
        known = by_pair.get(key, replace(one, ops=(), cases=()))
        new = [pair for pair in _pairs(one.ops) if pair not in set(_pairs(known.ops))]
        words = (*known.ops, *(word for pair in new for word in pair))
        by_pair[key] = replace(known, ops=words, cases=tuple(dict.fromkeys((*known.cases, *one.cases))))
    return list(by_pair.values())


def _words(series: Series, run: Run) -> tuple[str, ...]:
    """Return how the op of a series is named on a command line: by its name, or as the user named it."""
    op = series.fields.get("op", "")
    if op in builtin_catalogue().ops:
        return (op,)
    pairs = list(_pairs(run.command[2:]))
    own = [pair[0] for pair in pairs if len(pair) == 1 and OWN.fullmatch(pair[0])]
    joined = tuple(f"{name}=" for name in CARRIED)
    carried = [word for pair in pairs if pair[0] in CARRIED or pair[0].startswith(joined) for word in pair]
    return (*own, *carried) if own else (op,)


def _pairs(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield words, an option together with its value."""
    place = 0
    while place < len(words):
        many = 2 if words[place] in CARRIED else 1
        yield tuple(words[place : place + many])
        place += many


def _selection(cases: Sequence[Case]) -> Iterator[str]:
    """Yield the options that name cases, and as few others as options can."""
    if not cases:
        return
    yield from ("--variant", ",".join(dict.fromkeys(case.variant for case in cases)))
    yield from ("--baseline", cases[0].variant)  # a run needs one; moments do not
    axes = {
        "gradient": [case.gradient for case in cases if case.gradient != NO_GRADIENT],
        "direction": [case.direction for case in cases],
        "mode": [case.mode for case in cases if case.threads is None],
        "threads": [str(case.threads) for case in cases if case.threads is not None],
        "device": [case.placement for case in cases],
        "dtype": [case.dtype for case in cases],
        "size": [str(size) for size in sorted({case.size for case in cases})],
    }
    for axis, values in axes.items():
        if values:
            yield from ("--axis", f"{axis}={','.join(dict.fromkeys(values))}")


@dataclass(frozen=True, eq=False)
class Traced:
    """A series with what became of its level."""

    series: Series
    found: Segmentation


@dataclass(frozen=True)
class FoundChange:
    """A change in a series that is as large as the minimum effect.

    Attributes:
        number: of the series in its history.
        place: of the first moment after it, among those of the history.
        before, after: labels of the moments next to it.
        first, last: labels between which the change lies: the first moment that may be after it, and the last.
        ratio: level after over level before.
        low, high: its 95% interval, for the place that was found.
        rerun: what would confirm it; None where nothing can be measured anew.
    """

    number: int
    place: int
    before: str
    after: str
    first: str
    last: str
    ratio: float
    low: float
    high: float
    rerun: Rerun | None

    @property
    def direction(self) -> Literal["slower", "faster"]:
        """Which way it went."""
        return "slower" if self.ratio > 1 else "faster"

    def text(self) -> str:
        """Return how much slower or faster a case became, with the interval."""
        return f"{self.direction}, {formatting.ratio_interval(self.ratio, self.low, self.high)}"

    def place_text(self) -> str:
        """Return at which moment a change is, and how early and late it may be if that is not certain."""
        early = f"as early as {self.first}" if self.first != self.after else ""
        late = f"as late as {self.last}" if self.last != self.after else ""
        others = " or ".join(filter(None, (early, late)))
        return f"{self.before} to {self.after}{others and f', or {others}'}"


def changes_in(
    axis: Axis, moments: Sequence[Moment], traced: Sequence[Traced], runs: Sequence[Run]
) -> Iterator[FoundChange]:
    """Yield the changes of series, whatever their size."""
    reach = float(special.ndtri((1 + LEVEL) / 2))
    for number, one in enumerate(traced):
        places = one.series.places
        for change in one.found.changes:
            # The moments next to the change, and the last between which it lies.
            before, after, last = (moments[places[at]] for at in (change.place - 1, change.place, change.last))
            yield FoundChange(
                number,
                int(places[change.place]),
                before=before.label,
                after=after.label,
                first=moments[places[change.first]].label,
                last=last.label,
                ratio=math.exp(change.step),
                low=math.exp(change.step - reach * change.error),
                high=math.exp(change.step + reach * change.error),
                rerun=rerun_of(axis, moments[places[change.first - 1]], last, one.series, runs),
            )


def importance(change: FoundChange) -> tuple[float, int, str]:
    """Return a sort key: the largest first."""
    return -abs(math.log(change.ratio)), change.number, change.after
