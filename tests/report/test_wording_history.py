"""What a history found is said in whole sentences."""

from __future__ import annotations

from dataclasses import replace

import pytest

from histories import commit, stepped, write_commits
from pyopbench.judge.comparison.changes import FoundChange
from pyopbench.judge.comparison.history import Options, read_history
from pyopbench.judge.comparison.remarks import (
    AnchorChanged,
    NotMeasured,
    OnlyLatency,
    RunsNotInterleaved,
    SmallChanges,
    TooShort,
    ValuesChanged,
)
from pyopbench.judge.comparison.reruns import Outcome, Rerun
from pyopbench.report.wording import history as wording
from pyopbench.store.limitations import VersionsUnknown

CHANGE = FoundChange(0, 1, "aaa", "bbb", "bbb", "bbb", 1.05, 1.04, 1.06, "suspected", None)


@pytest.mark.parametrize(
    ("remark", "said"),
    [
        (
            OnlyLatency(3, 3),
            (
                "All series are absolute times, with nothing measured in the same rounds to compare with. A "
                "slower machine looks the same as slower code there; only measuring both sides again "
                "distinguishes them."
            ),
        ),
        (
            ValuesChanged("bbb", ("loss",)),
            ("From bbb on, loss computes different values, so times before and after cannot be compared."),
        ),
        (
            ValuesChanged("bbb", ("loss", "norm"), "ccc"),
            (
                "From bbb on, and until ccc, loss and norm compute different values, so times in between cannot be "
                "compared with others."
            ),
        ),
        (NotMeasured("bbb", "no such module"), "bbb is not measured: no such module"),
        (TooShort(1, 5), "1 series has fewer than 5 points and cannot show a change."),
        (SmallChanges(2, 0.03), "2 changes of less than 3% are not listed (--min-effect)."),
        (
            AnchorChanged("x/y", "bbb", 3, 4),
            (
                "At bbb, 3 of the 4 series that are relative to x/y changed in the same direction. Perhaps x/y "
                "itself changed, in the opposite direction."
            ),
        ),
        (VersionsUnknown(), "Installed versions are known only where asv's matrix names them."),
    ],
)
def test_what_a_reader_has_to_know_is_a_sentence(remark, said):
    assert wording.remark_text(remark) == said


def test_some_of_several_are_counted():
    assert wording.remark_text(RunsNotInterleaved(2, 5)).split(" from ")[0] == "2 of 5 series are"


def test_a_change_has_a_direction_a_size_and_a_place():
    assert wording.change_text(CHANGE) == "slower, 1.05× (1.04–1.06)"
    assert wording.place_text(CHANGE) == "aaa to bbb"
    early, late = replace(CHANGE, first="aab"), replace(CHANGE, last="ccc")
    assert wording.place_text(early) == "aaa to bbb, or as early as aab"
    assert wording.place_text(late) == "aaa to bbb, or as late as ccc"
    assert wording.place_text(replace(early, last="ccc")) == "aaa to bbb, or as early as aab or as late as ccc"
    assert wording.again_text(CHANGE) == ""
    again = replace(CHANGE, again=Outcome("slower", 1.05, 1.03, 1.07, 8, "folder"))
    assert wording.again_text(again) == "1.05× (1.03–1.07), slower"


def test_a_command_can_be_pasted():
    found = Rerun("pyopbench", "commit", "a" * 40, "b" * 40, ("f.py:f", "--input", "g(1, 2)"), ())
    assert wording.rerun_text(found).split(" --rev")[0] == "pyopbench run f.py:f --input 'g(1, 2)'"


def test_how_many_changes_there_are_is_one_sentence(tmp_path):
    found = read_history(write_commits(tmp_path, stepped(14, 8, 1.3)), Options())
    assert wording.title(found) == "6 series over 14 commits"
    assert wording.summary(found) == "1 change: 1 suspected."
    assert wording.summary(replace(found, changes=())) == "No change was found."
    assert wording.alarm_text(found).split(". ")[1] == ("Expect about 0.06 false alarms: 1% of 6 series")
    assert {wording.measure_text(one.series).split(" ")[0] for one in found.traced} == {"time"}
    assert found.moments[0].label == commit(0)[:10]
