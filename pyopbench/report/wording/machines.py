"""What several machines come to, in words: by how much they differ, and the answers of each kind."""

from __future__ import annotations

from pyopbench.judge.answer import DiffersByMachine, KindAnswer
from pyopbench.judge.machines import MachineAnswers
from pyopbench.model import formatting

BORDERS = (
    (0.25, "machines agree, as far as launches can tell"),
    (0.50, "machines differ a little"),
    (0.75, "machines differ moderately"),
)
"""Of I squared, low, moderate and high in: J. P. T. Higgins et al., "Measuring inconsistency in meta-analyses", BMJ 327
(2003) 557-560."""
FAR = "machines differ much"
WORTH_A_NOTE = 0.5
"""I squared from which a terminal says so too; the report has it of every decision."""


def heterogeneity_text(found: MachineAnswers) -> str:
    """Return by how much machines differ in what a candidate saves; a clause, without a full stop."""
    if found.i_squared is None or found.between is None:
        return "measured on one machine" if found.machines == 1 else "no candidate on several machines"
    share, spread = formatting.percent(found.i_squared), formatting.points(found.between)
    words = next((words for border, words in BORDERS if found.i_squared < border), FAR)
    return f"{words}: I² is {share}, by {spread} of the callback's time (standard deviation)"


def answers_text(finding: DiffersByMachine) -> str:
    """Return that kinds of machine have different answers, and all of them; a clause, without a full stop."""
    return f"the answer differs by kind of machine: {'; '.join(map(kind_text, finding.answers))}"


def kind_text(answer: KindAnswer) -> str:
    """Return the answer on one kind of machine."""
    told = answer.action if answer.choice is None else f"{answer.action} to {answer.choice}"
    saved = "" if answer.choice is None else f", saves {formatting.saved_at_least(answer.saved, answer.saved_low)}"
    return f"{told} on {answer.machine} ({formatting.count(answer.machines, 'machine')}{saved})"


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
