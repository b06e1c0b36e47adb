"""Answers over several machines: by kind of machine, and how much of what is saved differs from one to the next."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pyopbench.judge.findings import DiffersByMachine, KindAnswer, finite
from pyopbench.model import formatting
from pyopbench.model.case import GPU
from pyopbench.stats.launch_model import MachinesEstimate
from pyopbench.store import run_folder, run_sides
from pyopbench.store.fleet_findings import OddHost
from pyopbench.store.line_types import FAILING, GroupLine

if TYPE_CHECKING:
    from pyopbench.judge.candidates import Setting
    from pyopbench.judge.choice import Choice
    from pyopbench.judge.decision import Decision
    from pyopbench.store.measured_run import Run


BORDERS = (
    (0.25, "machines agree, as far as launches can show"),
    (0.50, "machines differ a little"),
    (0.75, "machines differ moderately"),
)
"""Of I squared, low, moderate and high in: J. P. T. Higgins et al., "Measuring inconsistency in meta-analyses", BMJ 327
(2003) 557-560."""
FAR = "machines differ much"
WORTH_A_NOTE = 0.5
"""I squared from which a terminal says so too; the report has it of every decision."""

Place: TypeAlias = tuple[str, str, str, str, str]
"""Op, use, mode, dtype and placement of a decision."""

LEAST_HOSTS = 3
"""With two hosts nobody can say which of them is the odd one."""
LEAST_CASES = 10
"""Cases by which a host is judged: fewer say more of the cases than of the host."""
MOST_SPREAD = 3.0
"""Times the typical spread of all hosts: hosts that are alike differ by tens of percent, as cases of shards do."""
LEAST_SPREAD = 0.01
"""A spread that is worth no word, however quiet the others are."""
CALLS, SECONDS, COPIES = 2, 3, 4
"""Which numbers of a sample are the calls of its block, their time, and the copies in the graph."""


def summary_text(machines: int, kinds: int, differing: int, decisions: int) -> str:
    """Return how many machines of how many kinds there are, how they count, and how many answers differ by kind."""
    made = f"{formatting.count(machines, 'machine')} of {formatting.count(kinds, 'kind')}"
    how = (
        "Numbers are averaged per machine, and answers over all machines allow for the differences between them "
        "(random effects, with Hartung and Knapp's interval)."
    )
    if kinds == 1:
        return f"{made}. {how}"
    total = formatting.count(decisions, "decision")
    told = f"{differing:,} of {total} {'differs' if differing == 1 else 'differ'}" if differing else "None differs"
    return f"{made}. {how} {told} by kind of machine."


@dataclass(frozen=True)
class MachineAnswers:
    """What one decision comes to on each kind of machine.

    Attributes:
        op, use, mode, dtype, placement: as of the decision.
        machines: how many have measured it.
        label: the candidate that `between` and `i_squared` are of: the chosen one, else the best; None where none is.
        between: standard deviation between machines of what it saves, a share of the current time; None for one
            machine.
        i_squared: share of the variance between machines' means that launches do not explain, 0 to 1; None likewise.
        differs: does one kind of machine have another answer than another, both of them clear?
        kinds: the answer on each kind that has measured it, those with most machines first.
    """

    op: str
    use: str
    mode: str
    dtype: str
    placement: str
    machines: int
    label: str | None
    between: float | None
    i_squared: float | None
    differs: bool
    kinds: tuple[KindAnswer, ...]

    @property
    def finding(self) -> DiffersByMachine | None:
        """What goes with the reason of the decision; None where kinds of machine do not differ."""
        return DiffersByMachine(self.kinds) if self.differs else None

    def text(self) -> str:
        """Return by how much machines differ in what a candidate saves; a clause, without a full stop."""
        if self.i_squared is None or self.between is None:
            return "measured on one machine" if self.machines == 1 else "no candidate on several machines"
        share, spread = formatting.percent(self.i_squared), formatting.points(self.between)
        words = next((words for border, words in BORDERS if self.i_squared < border), FAR)
        return f"{words}: I² is {share}, by {spread} of the callback's time (standard deviation)"


def kinds_of(run: Run) -> dict[str, str]:
    """Return the kind of each machine, by its name: processor, usable cores, and GPUs if anything ran on one."""
    gpus = _gpus_in(run) if (run.frame["placement"] == GPU).any() else {}
    return {name: _kind(environment, gpus.get(name, ())) for name, environment in sorted(run.machines.items())}


def _kind(environment: Mapping[str, Any], gpus: Sequence[str]) -> str:
    cores = formatting.count(environment["cores"], "core")
    named = (f"{many} x {name}" if many > 1 else name for name, many in Counter(gpus).items())
    return ", ".join((str(environment.get("cpu") or "unknown processor"), cores, *named))


def _gpus_in(run: Run) -> dict[str, tuple[str, ...]]:
    """Return the names of the GPUs of each machine, as its launches told them."""
    found: dict[str, tuple[str, ...]] = {}
    for line in run.launches:
        state = line.environment.get("gpu")
        told = state.get("gpus") if isinstance(state, dict) else None
        if told and isinstance(told, list) and line.launch in run.hosts:
            named = (one.get("name") if isinstance(one, dict) else None for one in told)
            found[run.hosts[line.launch]] = tuple(sorted(str(name or "unknown GPU") for name in named))
    return found


def kinds_in(run: Run) -> dict[str, tuple[str, ...]]:
    """Return the machines of each kind, by name; the kinds with most machines first."""
    found: dict[str, list[str]] = {}
    measured = set(run.hosts.values())
    for name, kind in kinds_of(run).items():
        if name in measured:
            found.setdefault(kind, []).append(name)
    return {kind: tuple(names) for kind, names in sorted(found.items(), key=lambda one: (-len(one[1]), one[0]))}


def run_on(run: Run, machines: Collection[str]) -> Run:
    """Return what some of the machines of a run have measured, as a run of its own."""
    launches = {launch for launch, host in run.hosts.items() if host in machines}
    return replace(
        run,
        frame=run.frame[run.frame["launch"].isin(launches)].reset_index(drop=True),
        noise=run.noise[run.noise["launch"].isin(launches)].reset_index(drop=True),
        launches=tuple(line for line in run.launches if line.launch in launches),
        failures=tuple(one for one in run.failures if one.launch is None or one.launch in launches),
        costs=replace(
            run.costs,
            frame=run.costs.frame[run.costs.frame["launch"].isin(launches)].reset_index(drop=True),
            crossings=run.costs.crossings[run.costs.crossings["launch"].isin(launches)].reset_index(drop=True),
        ),
        hosts={launch: host for launch, host in run.hosts.items() if launch in launches},
        machines={name: one for name, one in run.machines.items() if name in machines},
    )


def kind_answer(kind: str, machines: int, choice: Choice | None) -> KindAnswer:
    """Return the answer on a kind of machine.

    Args:
        kind: of machine.
        machines: how many of them have measured it.
        choice: that was made of what they have measured; None where there was nothing to choose from.
    """
    gain = choice.gain if choice else None
    return KindAnswer(
        machine=kind,
        machines=machines,
        action=choice.action if choice else "undecided",
        choice=choice.label if choice else None,
        saved=finite(gain.saved) if gain else None,
        saved_low=finite(gain.saved_low) if gain else None,
        saved_high=finite(gain.saved_high) if gain else None,
        launches=gain.change.n if gain else None,
    )


def machine_answers(
    decisions: Sequence[Decision],
    choices: Sequence[Choice | None],
    measured_on: Sequence[int],
    answers: Mapping[Place, Sequence[KindAnswer]],
) -> tuple[MachineAnswers, ...]:
    """Return for each decision the answers by kind of machine.

    Args:
        decisions: over all machines.
        choices: that they were made from, in their order.
        measured_on: on how many machines each was measured, likewise.
        answers: on the machines of each kind alone, those with most machines first, by where they hold.
    """
    return tuple(
        _answers(decision, choice, machines, tuple(answers.get(place_of(decision), ())))
        for decision, choice, machines in zip(decisions, choices, measured_on, strict=True)
    )


def _answers(decision: Decision, choice: Choice | None, machines: int, kinds: tuple[KindAnswer, ...]) -> MachineAnswers:
    gain = choice.gain if choice else None
    change = gain.change if gain and isinstance(gain.change, MachinesEstimate) else None
    clear = {(one.action, one.choice) for one in kinds if one.action != "undecided"}
    return MachineAnswers(
        *place_of(decision),
        machines=machines,
        label=gain.label if gain else None,
        between=change.between if change else None,
        i_squared=change.i_squared if change else None,
        differs=len(clear) > 1,
        kinds=kinds,
    )


def place_of(of: Decision | Setting) -> Place:
    """Return where a decision, or what it is about, holds."""
    return of.op, of.use, of.mode, of.dtype, of.placement


@dataclass
class HostResults:
    """What a host has measured.

    Attributes:
        shards: their numbers.
        wrong: ids of cases with wrong values.
        right: of cases with samples.
        spreads: of the blocks of each case in each launch, relative to their median.
    """

    shards: list[int] = field(default_factory=list)
    wrong: set[str] = field(default_factory=set)
    right: set[str] = field(default_factory=set)
    spreads: list[float] = field(default_factory=list)


def results_by_host(shards: Mapping[int, tuple[str, Path]]) -> dict[str, HostResults]:
    """Return what each host has measured.

    Args:
        shards: the host and the folder of each.

    Raises:
        BadInput: a folder is not readable.
    """
    found: dict[str, HostResults] = defaultdict(HostResults)
    for shard, (host, folder) in shards.items():
        found[host].shards.append(shard)
        parts = [one.folder for one in run_sides.read(folder)] if run_sides.is_here(folder) else [folder]
        for part in parts:
            _add(found[host], part)
    return dict(found)


def odd_hosts(found: Mapping[str, HostResults]) -> list[OddHost]:
    """Return the hosts that are unlike the others, wrong values first."""
    return [*_wrong(found), *_noisy(found)]


def _add(results: HostResults, folder: Path) -> None:
    for line in run_folder.read_lines(folder)[0]:
        if isinstance(line, FAILING):
            results.wrong |= {failure.case for failure in line.failures if failure.status == "wrong"}
        if isinstance(line, GroupLine):
            results.right |= set(line.samples)
            results.spreads += [spread for samples in line.samples.values() for spread in _spread(samples)]


def _spread(samples: Sequence[Sequence[float]]) -> list[float]:
    """Return half the distance between the quartiles of the blocks of a case in a launch, relative to their median.

    Blocks of graphs with other numbers of copies, the fifth number of a sample, are not of the same time.
    """
    blocks: dict[tuple[float, ...], list[float]] = defaultdict(list)
    for sample in samples:
        blocks[tuple(sample[COPIES:])].append(sample[SECONDS] / sample[CALLS])
    quartiles = [np.quantile(seconds, (0.25, 0.5, 0.75)) for seconds in blocks.values()]
    return [float((high - low) / 2 / middle) for low, middle, high in quartiles if middle > 0]


def _wrong(found: Mapping[str, HostResults]) -> Iterable[OddHost]:
    several = [host for host, results in found.items() if results.wrong]
    for host, results in found.items():
        right_elsewhere = {case for other, one in found.items() if other != host for case in one.right - one.wrong}
        if here := results.wrong & right_elsewhere:
            yield OddHost(host, "wrong_here", len(here), 0.0, 0.0, tuple(results.shards))
        elif results.wrong and several == [host] and len(found) >= LEAST_HOSTS:
            yield OddHost(host, "wrong_only_here", len(results.wrong), 0.0, 0.0, tuple(results.shards))


def _noisy(found: Mapping[str, HostResults]) -> Iterable[OddHost]:
    spreads = {host: median(one.spreads) for host, one in found.items() if len(one.spreads) >= LEAST_CASES}
    if len(spreads) < LEAST_HOSTS:
        return
    typical = median(spreads.values())
    for host, spread in spreads.items():
        if spread > max(MOST_SPREAD * typical, LEAST_SPREAD):
            results = found[host]
            yield OddHost(host, "noisy", len(results.spreads), spread, typical, tuple(results.shards))
