"""What a history found is said in whole sentences."""

from __future__ import annotations

from dataclasses import replace

import pytest

from histories import commit, stepped, write_commits
from pyopbench.compare.changes import FoundChange
from pyopbench.compare.history import Options, read_history
from pyopbench.compare.remarks import (
    AnchorChanged,
    OnlyLatency,
    RunsNotInterleaved,
    SmallChanges,
    TooShort,
    ValuesChanged,
)
from pyopbench.compare.reruns import Outcome, Rerun
from pyopbench.report.wording import history as wording
from pyopbench.results.limitations import VersionsUnknown

CHANGE = FoundChange(0, 1, "aaa", "bbb", "bbb", "bbb", 1.05, 1.04, 1.06, "suspected", None)


@pytest.mark.parametrize(
    ("remark", "said"),
    [
        (
            OnlyLatency(3, 3),
            (
                "All series are latencies with nothing measured in the same rounds to compare with. A machine that "
                "became slower, warmer or busier looks the same as slower code; only a re-run of both sides tells "
                "them apart."
            ),
        ),
        (
            ValuesChanged("bbb", ("loss",)),
            (
                "From bbb on, loss computes other values than before. Times of another function are no faster or "
                "slower version of it."
            ),
        ),
        (TooShort(1, 5), "1 series has fewer than 5 points and cannot show a change."),
        (SmallChanges(2, 0.03), "2 changes of less than 3% are not listed (--min-effect)."),
        (
            AnchorChanged("x/y", "bbb", 3, 4),
            (
                "At bbb, 3 of the 4 series that are relative to x/y changed in the same direction. It may be x/y "
                "itself that changed, the other way round."
            ),
        ),
        (VersionsUnknown(), "Which versions were installed is known only as far as asv's matrix names them."),
    ],
)
def test_what_a_reader_has_to_know_is_a_sentence(remark, said):
    assert wording.remark_text(remark) == said


def test_some_of_several_are_counted():
    assert wording.remark_text(RunsNotInterleaved(2, 5)).split(" made ")[0] == "2 of 5 series are"


def test_a_change_has_a_direction_a_size_and_a_place():
    assert wording.change_text(CHANGE) == "slower, 1.05× (1.04–1.06)"
    assert wording.place_text(CHANGE) == "aaa to bbb"
    assert wording.place_text(replace(CHANGE, first="aab", last="ccc")) == "aaa to bbb; between aab and ccc"
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
    assert wording.alarm_text(found).split(". ")[1] == (
        "Of series without any change, 1% show one: of 6 series that is about 0.06 by chance"
    )
    assert {wording.measure_text(one.series).split(" ")[0] for one in found.traced} == {"time"}
    assert found.moments[0].label == commit(0)[:10]
