"""Answers over several machines: by kind of machine, and how much of what is saved differs from one to the next."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from pyopbench.core import formatting
from pyopbench.judge.answer import DiffersByMachine, KindAnswer
from pyopbench.stats.machines import MachinesEstimate

if TYPE_CHECKING:
    from pyopbench.judge.choice import Choice
    from pyopbench.judge.decision import Decision
    from pyopbench.results.run import Run

Place: TypeAlias = tuple[str, str, str, str, str]
"""Op, use, mode, dtype and placement of a decision."""


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


def kind_of(environment: Mapping[str, Any]) -> str:
    """Return the kind of a machine: its processor, and how many cores of it may be used."""
    return f"{environment.get('cpu') or 'unknown processor'}, {formatting.count(environment['cores'], 'core')}"


def kinds_in(run: Run) -> dict[str, tuple[str, ...]]:
    """Return the machines of each kind, by name; the kinds with most machines first."""
    found: dict[str, list[str]] = {}
    measured = set(run.hosts.values())
    for name, environment in sorted(run.machines.items()):
        if name in measured:
            found.setdefault(kind_of(environment), []).append(name)
    return {kind: tuple(names) for kind, names in sorted(found.items(), key=lambda one: (-len(one[1]), one[0]))}


def run_on(run: Run, machines: Collection[str]) -> Run:
    """Return what some of the machines of a run have measured, as a run of its own."""
    launches = {launch for launch, host in run.hosts.items() if host in machines}
    return replace(
        run,
        frame=run.frame[run.frame["launch"].isin(launches)].reset_index(drop=True),
        noise=run.noise[run.noise["launch"].isin(launches)].reset_index(drop=True),
        launches=tuple(line for line in run.launches if line["launch"] in launches),
        limits=tuple(line for line in run.limits if line["launch"] in launches),
        failures=tuple(one for one in run.failures if one.launch is None or one.launch in launches),
        costs=replace(
            run.costs,
            frame=run.costs.frame[run.costs.frame["launch"].isin(launches)].reset_index(drop=True),
            crossings=run.costs.crossings[run.costs.crossings["launch"].isin(launches)].reset_index(drop=True),
        ),
        hosts={launch: host for launch, host in run.hosts.items() if launch in launches},
        machines={name: one for name, one in run.machines.items() if name in machines},
    )


def machine_answers(
    decisions: Sequence[Decision],
    choices: Sequence[Choice | None],
    measured_on: Sequence[int],
    by_kind: Mapping[str, Sequence[tuple[Decision, int]]],
) -> tuple[MachineAnswers, ...]:
    """Return for each decision the answers by kind of machine.

    Args:
        decisions: over all machines.
        choices: that they were made from, in their order.
        measured_on: on how many machines each was measured, likewise.
        by_kind: kind -> the decisions on its machines alone, with how many of these measured each.
    """
    answers = {kind: {_place(one): (one, machines) for one, machines in found} for kind, found in by_kind.items()}
    return tuple(
        _answers(decision, choice, machines, answers)
        for decision, choice, machines in zip(decisions, choices, measured_on, strict=True)
    )


def _answers(
    decision: Decision,
    choice: Choice | None,
    machines: int,
    answers: Mapping[str, Mapping[Place, tuple[Decision, int]]],
) -> MachineAnswers:
    place = _place(decision)
    kinds = tuple(
        KindAnswer(kind, many, one.action, one.choice, one.saved, one.saved_low, one.saved_high, one.launches)
        for kind, found in answers.items()
        if place in found
        for one, many in [found[place]]
        if many
    )
    gain = choice.gain if choice else None
    change = gain.change if gain and isinstance(gain.change, MachinesEstimate) else None
    clear = {(one.action, one.choice) for one in kinds if one.action != "undecided"}
    return MachineAnswers(
        *place,
        machines=machines,
        label=gain.label if gain else None,
        between=change.between if change else None,
        i_squared=change.i_squared if change else None,
        differs=len(clear) > 1,
        kinds=kinds,
    )


def _place(decision: Decision) -> Place:
    return decision.op, decision.use, decision.mode, decision.dtype, decision.placement
