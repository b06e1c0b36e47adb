"""What machines come to is said in words, with its numbers."""

from __future__ import annotations

import pytest

from pyopbench.judge.answer import DiffersByMachine, KindAnswer
from pyopbench.judge.machines import MachineAnswers
from pyopbench.model import formatting
from pyopbench.report.wording.decisions import caveat_text
from pyopbench.report.wording.machines import heterogeneity_text, kind_text, summary_text

PORT = KindAnswer("fast, 8 cores", 3, "port", "native", 0.5, 0.4, 0.6, 12)
KEEP = KindAnswer("slow, 1 core", 1, "keep", None, -0.2, -0.3, -0.1, 4)


def answers(i_squared: float | None, between: float | None = 0.02, machines: int = 4) -> MachineAnswers:
    return MachineAnswers(
        "sinh", "inference", "node", "float32", "cpu", machines, "native", between, i_squared, False, (PORT,)
    )


@pytest.mark.parametrize(
    ("i_squared", "words"),
    [
        (0.0, "machines agree, as far as launches can tell"),
        (0.24, "machines agree, as far as launches can tell"),
        (0.25, "machines differ a little"),
        (0.5, "machines differ moderately"),
        (0.75, "machines differ much"),
        (1.0, "machines differ much"),
    ],
)
def test_i_squared_has_words(i_squared: float, words: str) -> None:
    told = heterogeneity_text(answers(i_squared))
    assert told.startswith(f"{words}: I² is {round(100 * i_squared)}%")
    assert "2%" in told


def test_one_machine_says_nothing_of_others() -> None:
    assert heterogeneity_text(answers(None, None, 1)) == "measured on one machine"
    assert heterogeneity_text(answers(None, None, 4)) == "no candidate on several machines"


def test_other_answers_are_all_told() -> None:
    told = caveat_text(DiffersByMachine((PORT, KEEP)))
    assert told == (
        "the answer differs by kind of machine: port to native on fast, 8 cores (3 machines, saves "
        f"{formatting.saved_at_least(0.5, 0.4)}); keep on slow, 1 core (1 machine)"
    )
    assert kind_text(KEEP) in told


def test_a_summary_counts_machines_kinds_and_answers_that_differ() -> None:
    one, none, some, two = (summary_text(4, kinds, many, 3) for kinds, many in ((1, 0), (2, 0), (2, 1), (2, 2)))
    assert none == one.replace("kind", "kinds", 1).replace("1", "2", 1) + " None differs by kind of machine."
    assert some == none[: -len("None differs by kind of machine.")] + "1 of 3 decisions differs by kind of machine."
    assert two == none[: -len("None differs by kind of machine.")] + "2 of 3 decisions differ by kind of machine."
