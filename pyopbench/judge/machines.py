"""Answers over several machines: by kind of machine, and how much of what is saved differs from one to the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from pyopbench.judge.findings import DiffersByMachine, KindAnswer, finite
from pyopbench.model import formatting
from pyopbench.model.case import GPU
from pyopbench.stats.launch_model import MachinesEstimate

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
