"""What changed when, and what a reader has to know of it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

import stored
from histories import CHANGED, KEYS, commit, stepped, write_asv, write_commits
from pairs import cases, write_run, write_versions
from pyopbench.judge.comparison.changes import FoundChange, Rerun
from pyopbench.judge.comparison.history import read_history
from pyopbench.model.errors import BadInput, NothingMeasured
from pyopbench.store.json_file import encode_in_lines
from pyopbench.store.read import read_one, read_source
from pyopbench.store.run import RUN_FILE
from pyopbench.store.types import Revision, ValueDifference, Values
from revision_runs import write_revisions

VERSIONS = ("2.14.1", "2.15.1", "2.16.2", "2.17.1", "2.18.1", "2.19.1", "2.20.0", "2.21.0")

CHANGE = FoundChange(0, 1, "aaa", "bbb", "bbb", "bbb", 1.05, 1.04, 1.06, None)


def notes(found, kind):
    return [dict(one.values) for one in found.notes if one.kind == kind]


@pytest.fixture(scope="module")
def slowed(tmp_path_factory):
    """Fourteen runs, of which one case takes 1.3 times as long from the ninth on."""
    return read_history(write_commits(tmp_path_factory.mktemp("slowed"), stepped(14, 8, 1.3)))


def test_a_slowdown_is_suspected_where_it_is_and_nothing_else_is(slowed):
    (change,) = slowed.changes
    series = slowed.traced[change.number].series
    assert (series.case, change.before, change.after) == (CHANGED, commit(7)[:10], commit(8)[:10])
    assert change.direction == "slower"
    assert change.low < 1.3 < change.high
    assert slowed.axis == "commit"


def test_what_would_confirm_it_is_a_value_with_its_command(slowed):
    rerun = slowed.changes[0].rerun
    assert (rerun.axis, rerun.before, rerun.after) == ("commit", commit(7), commit(8))
    assert rerun.command == (
        *("pyopbench", "run", "double", "--rev", commit(7), "--rev", commit(8), "--variant", "native"),
        *("--baseline", "native", "--axis", "direction=forward", "--axis", "mode=call", "--axis", "device=cpu"),
        *("--axis", "dtype=float32", "--axis", "size=10"),
    )


def test_what_the_data_cannot_tell_is_said(slowed):
    assert notes(slowed, "only_latency") == [{"many": 2, "of": len(KEYS)}]
    assert notes(slowed, "runs_not_interleaved") == [{"many": len(KEYS), "of": len(KEYS)}]
    assert not notes(slowed, "too_short")


def test_interleaved_versions_show_a_change_that_runs_by_themselves_could_not(tmp_path):
    changed = {label: {"factors": {CHANGED: 1.04}} for label in VERSIONS[5:]}
    found = read_history([write_versions(tmp_path / "run", *VERSIONS, **changed)])
    (change,) = found.changes
    assert (change.before, change.after, change.first, change.last) == ("2.18.1", "2.19.1", "2.19.1", "2.19.1")
    assert change.rerun.command[:7] == ("pyopbench", "run", "double", "--tf", "2.18.1", "--tf", "2.19.1")
    assert not notes(found, "runs_not_interleaved")


def test_small_changes_are_counted_and_not_listed(tmp_path):
    changed = {label: {"factors": {CHANGED: 1.02}} for label in VERSIONS[4:]}
    folder = write_versions(tmp_path / "run", *VERSIONS, **changed)
    found = read_history([folder])
    assert found.changes == ()
    assert notes(found, "small_changes") == [{"many": 1, "minimum_effect": 0.03}]
    assert len(read_history([folder], minimum_effect=0.01).changes) == 1


def test_an_anchor_that_changed_is_told_where_its_ratios_change_together(tmp_path):
    baseline = [key for key in KEYS if "py_function_numpy" in key and key.endswith("/1/cpu")]
    keys = [key for key in KEYS if key.endswith("/1/cpu")]
    more = [keys[1].replace("native", name) for name in ("traced", "autograph")]
    paths = [
        write_run(
            tmp_path / f"run-{number}",
            [*keys, *more],
            seed=number,
            factors={baseline[0]: 1.5} if number >= 8 else {},
            environment={**stored.ENVIRONMENT, "commit": commit(number)},
            created=f"2026-01-{number + 1:02}T10:00:00+00:00",
        )
        for number in range(14)
    ]
    found = read_history(paths)
    ratios = [one for one in found.changes if found.traced[one.number].series.measure == "ratio"]
    assert {one.direction for one in ratios} == {"faster"}
    assert notes(found, "anchor_changed") == [{"anchor": baseline[0], "after": commit(8)[:10], "many": 4, "of": 4}]


def test_short_series_are_told(tmp_path):
    found = read_history(write_commits(tmp_path, [{}] * 3))
    assert notes(found, "too_short") == [{"many": len(KEYS), "fewest": 5}]
    assert found.searched == 0


def test_asv_has_latencies_only(tmp_path):
    noise = np.exp(0.01 * np.random.default_rng(3).standard_normal(40))
    folder = write_asv(tmp_path / "asv", [1.0] * 20 + [1.4] * 20, noise)
    found = read_history([folder])
    assert found.tools == ("asv",)
    assert {one.after for one in found.changes} == {commit(20)[:10]}
    assert len(found.changes) == found.searched == len(found.traced)
    assert notes(found, "only_latency") == [{"many": len(found.traced), "of": len(found.traced)}]
    assert {one.rerun for one in found.changes} == {None}


def test_noise_alone_is_no_change(tmp_path):
    noise = np.exp(0.05 * np.random.default_rng(4).standard_normal(40))
    assert read_history([write_asv(tmp_path / "asv", [1.0] * 40, noise)]).changes == ()


def test_changes_are_in_order_of_what_has_to_be_acted_on(tmp_path):
    factors = [{CHANGED: 1.2, KEYS[4]: 0.5} if number >= 7 else {} for number in range(14)]
    found = read_history(write_commits(tmp_path, factors))
    sizes = [abs(math.log(one.ratio)) for one in found.changes]
    assert len(sizes) == 2
    assert sizes == sorted(sizes, reverse=True)


def test_interleaved_commits_have_their_dates_and_messages_and_no_control(tmp_path, monkeypatch):
    """As a run over revisions stores them."""
    folder = write_versions(tmp_path / "run", "2.16.2", "2.17.1", "2.21.0", "2.21.0")
    differs = Values(1, (ValueDifference("double", 1, "float32", "outputs", "somewhere"),))
    told = [
        Revision(
            asked="WORKTREE" if number == 2 else commit(number),
            commit=commit(number),
            date=f"2026-01-0{4 - number}T10:00:00+00:00",
            subject=f"Change {number}",
            dirty=number == 2,
        )
        for number in range(4)
    ]
    sides = [
        structs.replace(side, revision=told[number], is_control=number == 3, values=differs if number % 3 else Values())
        for number, side in enumerate(stored.sides_of(folder))
    ]
    content = json.loads((folder / RUN_FILE).read_bytes())
    (folder / RUN_FILE).write_bytes(encode_in_lines({**content, "sides": sides}))
    found = read_history([folder], axis="commit")
    assert [(one.date, one.subject) for one in found.moments] == [(one.date, one.subject) for one in told[:3]]
    assert found.moments[2].label == "WORKTREE"
    assert notes(found, "values_changed") == [{"at": tuple(one.label for one in found.moments[1:]), "ops": ("double",)}]


def test_a_revision_that_could_not_be_measured_is_no_silent_gap(tmp_path: Path) -> None:
    folder = write_revisions(tmp_path, {}, {}, {}, problems={1: "no module"})
    found = read_history([folder])
    assert len(found.moments) == 2
    assert notes(found, "not_measured") == [{"label": "r1", "reason": "no module"}]


def test_dates_have_nothing_to_measure_again(tmp_path):
    found = read_history(write_commits(tmp_path, stepped(14, 8, 1.3)), axis="date")
    (change,) = found.changes
    assert change.rerun is None
    assert change.after == "2026-01-09 10:00"


def test_what_is_no_result_or_empty_is_an_error(tmp_path):
    with pytest.raises(BadInput):
        read_history([tmp_path])
    empty = write_asv(tmp_path / "asv", [1.0])
    for path in empty.rglob("*-env.json"):
        path.write_text(
            path.read_text(encoding="utf-8").split('"results"')[0] + '"results": {}, "version": 2}', "utf-8"
        )
    with pytest.raises(NothingMeasured):
        read_history([empty])


def test_a_change_has_a_direction_a_size_and_a_place():
    assert CHANGE.text() == "slower, 1.05× (1.04–1.06)"
    assert CHANGE.place_text() == "aaa to bbb"
    early, late = replace(CHANGE, first="aab"), replace(CHANGE, last="ccc")
    assert early.place_text() == "aaa to bbb, or as early as aab"
    assert late.place_text() == "aaa to bbb, or as late as ccc"
    assert replace(early, last="ccc").place_text() == "aaa to bbb, or as early as aab or as late as ccc"


def test_a_command_can_be_pasted():
    found = Rerun("commit", "a" * 40, "b" * 40, ("f.py:f", "--input", "g(1, 2)"), ())
    assert found.text().split(" --rev")[0] == "pyopbench run f.py:f --input 'g(1, 2)'"


def test_how_many_changes_there_are_is_one_sentence(tmp_path):
    found = read_history(write_commits(tmp_path, stepped(14, 8, 1.3)))
    assert found.title() == "6 series over 14 commits"
    assert found.summary() == "1 suspected change."
    assert replace(found, changes=()).summary() == "No change was found."
    assert found.alarm_text().split(". ")[1] == ("Expect about 0.06 false alarms: 1% of 6 series")
    assert {one.series.measure_text().split(" ")[0] for one in found.traced} == {"time"}
    assert found.moments[0].label == commit(0)[:10]


def own_run(folder: Path, number: int, *, dirty: bool = False) -> Path:
    """Write a run of an own op at a commit of the user's; pyopbench is of one commit in all."""
    revision = {
        "asked": commit(number)[:10],
        "commit": commit(number),
        "date": f"2026-01-{number + 1:02}T10:00:00+00:00",
        "subject": f"change {number}",
        "dirty": dirty,
    }
    return write_run(
        folder / f"run-{number}",
        cases(ops=("mine",)),
        seed=number,
        own={"mine": {"words": ["my_op.py"], "fingerprint": "0", "revision": revision}},
        command=["pyopbench", "run", "my_op.py"],
        environment={**stored.ENVIRONMENT, "commit": "f" * 40, "dirty": False},
        created="2026-02-01T10:00:00+00:00",
    )


def test_runs_of_an_own_op_are_of_the_commits_of_its_repository(tmp_path):
    found = read_history([own_run(tmp_path, number) for number in (2, 0, 1)])
    assert found.axis == "commit"
    assert [one.value for one in found.moments] == [commit(number) for number in range(3)]
    assert [one.subject for one in found.moments] == ["change 0", "change 1", "change 2"]


def test_changed_files_of_an_own_op_are_no_commit(tmp_path):
    paths = [own_run(tmp_path, 0), own_run(tmp_path, 1), own_run(tmp_path, 2, dirty=True)]
    found = read_history(paths)
    assert [one.value for one in found.moments] == [commit(0), commit(1), f"{commit(2)[:10]}-dirty"]


def test_runs_of_an_own_op_are_pooled_though_other_files_were_committed(tmp_path):
    paths = [own_run(tmp_path, number) for number in range(2)]
    one, two = (read_source(path)[0] for path in paths)
    assert (one.environment["commit"], two.environment["commit"]) == ("f" * 40, "f" * 40)
    assert len(read_one(paths).launches) == len(one.launches) + len(two.launches)
