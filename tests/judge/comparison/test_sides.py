"""What a command line puts side by side, and how its cases are paired."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pairs
import stored
from foreign_files import asv_folder, document, write
from pairs import cases, write_run, write_versions
from pyopbench.judge.comparison.diff import compare_sides
from pyopbench.judge.comparison.sides import (
    LEAST_CASES,
    LEAST_LAUNCHES,
    NOT_TOLD,
    CaseKey,
    pair_estimates,
    read_sides,
    side_of,
    sweep_logs,
    usual_among,
    usual_over,
)
from pyopbench.model.case import Case
from pyopbench.model.errors import BadInput
from pyopbench.stats.estimate import LEAST_COMPARISONS, UNKNOWN, Estimate
from pyopbench.store.read import read_source
from revision_runs import write_revisions

CASE = Case("sinh", "native", "tape", "backward", "call", "float32", 10)

FIRST, SECOND = "f802358692", "e56cd84e06"


def test_two_variants_of_a_case_have_one_key_without_their_variant() -> None:
    other = replace(CASE, variant="xla", gradient="autodiff")
    assert CaseKey.without_variant(CASE) == CaseKey.without_variant(other)
    assert CaseKey.whole(CASE) != CaseKey.whole(other)
    assert str(CaseKey.without_variant(CASE)) == "sinh/backward/call/float32/10/cpu"


def test_the_text_of_a_key_is_the_id_and_the_environment() -> None:
    key = CaseKey.whole(CASE)
    assert str(key) == CASE.id
    assert str(replace(key, environment=(("tensorflow", "2.16.2"),))) == f"{CASE.id} in TensorFlow 2.16.2"
    assert str(replace(key, environment=(("machine", "here"), ("commit", "abc")))) == f"{CASE.id} in here abc"


def test_samples_stand_under_what_they_are_matched_by(tmp_path: Path) -> None:
    skipped = stored.case("traced")
    (run,) = read_source(write_run(tmp_path / "a", cases(), skips=[stored.failure(skipped, "unsupported", None)]))
    side = side_of("a side", [run], lambda case: CaseKey(f"<{case.id}>"), ())
    assert set(side.frame["case"]) == {f"<{case}>" for case in cases()}
    assert set(side.failures) == {f"<{skipped}>"}
    assert side.keys == {f"<{case}>": CaseKey(f"<{case}>") for case in (*cases(), skipped)}
    assert len(side.frame) == len(run.frame)


def test_several_runs_are_told_apart_by_their_environment(tmp_path: Path) -> None:
    runs = [
        read_source(write_run(tmp_path / name, cases(), environment={**stored.ENVIRONMENT, "machine": name}))[0]
        for name in ("here", "there")
    ]
    side = side_of("both", runs, CaseKey.whole, ("machine",))
    assert set(side.frame["case"]) == {f"{case} in {name}" for case in cases() for name in ("here", "there")}
    assert {key.environment for key in side.keys.values()} == {(("machine", "here"),), (("machine", "there"),)}
    assert side.environment["machine"] == ["here", "there"]
    assert side.environment["commit"] == [NOT_TOLD]
    with pytest.raises(BadInput) as refused:
        side_of("both", runs, CaseKey.whole, ("cpu",))
    assert refused.value.message == "several results on one side that cannot be distinguished"
    assert refused.value.legal == "one for each cpu"


def test_what_is_wrong_has_no_samples(tmp_path: Path) -> None:
    (run,) = read_source(write_run(tmp_path / "a", cases(), skips=[stored.failure(cases()[0], "wrong", 0)]))
    assert cases()[0] not in set(side_of("a side", [run], CaseKey.whole, ()).frame["case"])


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return write_run(tmp_path / "own", cases())


@pytest.fixture
def asv(tmp_path: Path) -> Path:
    return asv_folder(tmp_path / "asv", first=document("asv-first"), second=document("asv-second"))


def refused(words: list[Any], axis: str) -> BadInput:
    with pytest.raises(BadInput) as found:
        read_sides([str(word) for word in words], axis)
    return found.value


def test_two_runs_are_not_paired(own: Path, tmp_path: Path) -> None:
    sides = read_sides([str(own), str(write_run(tmp_path / "other", cases()))], "run")
    assert (sides.first.label, sides.paired, sides.tool) == (str(own), "", "pyopbench")
    assert set(sides.first.frame["case"]) == set(cases())


def test_two_commits_of_one_folder_in_the_order_that_they_are_named(asv: Path) -> None:
    sides = read_sides([str(asv), "e56c", "f8023586"], "commit")
    assert (sides.first.label, sides.second.label) == (SECOND, FIRST)
    assert sides.paired == ""
    assert set(sides.first.frame["case"]) == set(sides.second.frame["case"])


def test_two_variants_of_one_run_are_paired_by_round_and_matched_without_their_name(own: Path) -> None:
    sides = read_sides([str(own), "native", "xla"], "variant")
    assert sides.paired == "round"
    assert set(sides.second.frame["variant"]) == {"xla"}
    assert set(sides.first.frame["case"]) == {"double/forward/call/float32/1/cpu", "double/forward/call/float32/10/cpu"}


def test_variants_of_another_tool_are_not_paired(asv: Path) -> None:
    sides = read_sides([str(asv / "here" / "first.json"), "native", "numpy_function"], "variant")
    assert sides.paired == ""
    assert len(set(sides.first.frame["case"]) & set(sides.second.frame["case"])) == 12


def test_several_environments_of_a_commit_stay_apart(tmp_path: Path) -> None:
    found = {}
    for name in ("asv-first", "asv-second"):
        for version in ("2.9.1", "2.16.2"):
            content = document(name)
            content["env_name"], content["requirements"] = f"uv-tf{version}", {"tensorflow-cpu": version}
            found[f"{name}-{version}"] = content
    folder = asv_folder(tmp_path / "asv", **found)
    by_commit = read_sides([str(folder), "f802", "e56c"], "commit")
    assert len(by_commit.first.runs) == 2
    assert {key.environment for key in by_commit.first.keys.values()} == {
        (("machine", "here"), ("environment", "uv-tf2.9.1")),
        (("machine", "here"), ("environment", "uv-tf2.16.2")),
    }
    assert set(by_commit.first.frame["case"]) <= {str(key) for key in by_commit.first.keys.values()}
    by_tf = read_sides([str(folder)], "tf")
    assert (by_tf.first.label, by_tf.second.label) == ("2.9.1", "2.16.2"), "the older one first"
    assert all(len(set(side.frame["tf"])) == 1 for side in (by_tf.first, by_tf.second))
    assert set(by_tf.first.frame["case"]) == set(by_tf.second.frame["case"])


def test_two_environments_that_nothing_tells_apart_are_refused(tmp_path: Path) -> None:
    folder = asv_folder(
        tmp_path / "asv", first=document("asv-first"), second=document("asv-second"), again=document("asv-first")
    )
    error = refused([folder, "f802", "e56c"], "commit")
    assert error.message == "several results on one side that cannot be distinguished"
    assert error.legal == "one for each machine and environment"


def test_results_of_two_tools_are_never_put_side_by_side(own: Path, asv: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "pb.json", document("pytest-benchmark-first"))
    assert refused([own, file], "run").received == "pyopbench and pytest-benchmark"
    error = refused([asv / "here" / "first.json", file], "run")
    assert error.message == "results of different tools cannot be compared, because each has its own clock"
    assert error.received == "asv and pytest-benchmark"


def test_a_command_line_that_names_no_two_sides_says_what_would(own: Path, asv: Path, tmp_path: Path) -> None:
    def told(words: list[Any], axis: str) -> tuple[str, str]:
        error = refused(words, axis)
        return error.message, str(error.received)

    needed = "give two results, or one result and two labels of an axis"
    assert told([own, own], "run") == ("both sides are the same results", str(own))
    assert told([own], "run") == (needed, f"{own} with --axis run")
    assert told([own, "nowhere"], "run") == (needed, f"{own} nowhere with --axis run; not there: nowhere")
    assert told([own, own], "speed") == ("unknown axis", "'speed'")
    assert told([asv, "f802", "dead"], "commit") == ("no such commit", f"'dead' in {asv}")
    assert told([asv, "f8", "e5"], "commit") == ("no such commit", f"'f8' in {asv}"), "too short to name one"
    assert told([asv], "commit") == ("--axis commit takes two labels", f"{asv} has {FIRST} and {SECOND}")
    assert told([asv], "tf") == ("--axis tf takes two labels", f"{asv} has no tf")
    assert told([own, "native", "native"], "variant") == ("both sides are the same", "native")
    assert refused([own, "native", "magic"], "variant").legal == "native, py_function_numpy or xla"
    two = [asv, asv_folder(tmp_path / "one", first=document("asv-first"))]
    assert told(two, "run") == ("results of several commits on one side", f"{asv}: {SECOND[:8]} and {FIRST[:8]}")
    advice = f"pyopbench compare {asv} {SECOND[:8]} {FIRST[:8]} --axis commit, or name single files"
    assert refused(two, "run").hint == advice


def test_what_failed_is_known_by_what_it_is_matched_by(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", cases(), skips=[stored.failure(stored.case("traced"), "unsupported", None)])
    sides = read_sides([str(run), "native", "traced"], "variant")
    assert sides.second.failures["double/forward/call/float32/1/cpu"].status == "unsupported"
    assert sides.second.frame.empty


def test_versions_of_one_run_are_paired_by_block(tmp_path: Path) -> None:
    folder = str(write_versions(tmp_path / "run", "2.16.2", "2.21.0"))
    sides = read_sides([folder], "tf")
    assert (sides.first.label, sides.second.label, sides.paired) == ("2.16.2", "2.21.0", "block")
    assert (sides.first.environment["numpy"], sides.second.environment["numpy"]) == (["1.0"], ["1.1"])
    found = compare_sides(sides)
    assert {one.verdict.launches for one in found.cases} == {4}
    assert {one.name for one in found.differences} == {"tensorflow", "numpy"}
    assert read_sides([folder, "2.21.0", "2.16.2"], "tf").first.label == "2.21.0"


def test_two_runs_of_several_versions_are_compared_version_by_version(tmp_path: Path) -> None:
    """The order that versions were asked for in is no matter, and a run of one of them has partners too."""
    slow = dict.fromkeys(cases(), 2.0)
    first = write_versions(tmp_path / "a", "2.16.2", "2.21.0", **{"2.21.0": {"factors": slow}})
    second = write_versions(tmp_path / "b", "2.21.0", "2.16.2", **{"2.21.0": {"factors": slow}})
    found = compare_sides(read_sides([str(first), str(second)], "run"))
    assert {str(one.key) for one in found.cases} == {
        f"{case} in TensorFlow {tf}" for case in cases() for tf in ("2.16.2", "2.21.0")
    }
    assert all(0.9 < one.verdict.ratio < 1.1 for one in found.cases)
    assert {one.first_launches for one in found.cases} == {4}


def test_variants_of_a_run_of_several_versions_are_compared_on_each(tmp_path: Path) -> None:
    factors = {case: 2.0 for case in cases() if "/xla/" in case}
    folder = write_versions(tmp_path / "a", "2.16.2", "2.21.0", **{"2.21.0": {"factors": factors}})
    sides = read_sides([str(folder), "native", "xla"], "variant")
    ratios = {str(one.key): round(one.verdict.ratio) for one in compare_sides(sides).cases}
    assert sides.paired == "round"
    assert ratios == {
        f"double/forward/call/float32/{size}/cpu in TensorFlow {tf}": ratio
        for size in (1, 10)
        for tf, ratio in (("2.16.2", 1), ("2.21.0", 2))
    }


def test_a_variant_that_is_wrong_on_one_version_keeps_its_number_on_the_other(tmp_path: Path) -> None:
    wrong = {"2.16.2": {"skips": [stored.failure(cases()[0], "wrong", None)]}}
    sides = read_sides([str(write_versions(tmp_path / "a", "2.16.2", "2.21.0", **wrong))], "tf")
    assert cases()[0] not in set(sides.first.frame["case"])
    assert cases()[0] in set(sides.second.frame["case"])
    assert not sides.second.failures


def estimates(cases: int, launches: int) -> list[Estimate]:
    rng = np.random.default_rng(1)
    return [Estimate.of(rng.standard_normal(launches)) for _ in range(cases)]


@pytest.mark.parametrize(
    ("cases", "launches", "is_known"),
    [
        (LEAST_CASES, LEAST_LAUNCHES, True),
        (LEAST_CASES, LEAST_LAUNCHES - 1, False),
        (LEAST_CASES - 1, LEAST_LAUNCHES, False),
        (LEAST_COMPARISONS, 2, True),
    ],
)
def test_few_cases_show_what_is_usual_if_they_have_more_launches(cases: int, launches: int, is_known: bool) -> None:
    assert (usual_among(estimates(cases, launches)) != UNKNOWN) == is_known
    assert (usual_among([*estimates(cases, launches), Estimate.of([1.0])]) != UNKNOWN) == is_known


def sampled(rng: np.random.Generator, states: Sequence[float], factor: float) -> pd.DataFrame:
    """Return samples of a launch, with as many rounds in each sweep as come: four or fewer."""
    rows = []
    for sweep, state in enumerate(states):
        for number in range(int(rng.integers(2, 5))):
            seconds = factor * state * float(np.exp(0.01 * rng.standard_normal()))
            rows.append({"sweep": sweep, "round": 10 * sweep + number, "seconds": seconds})
    head = {"case": "k", "run": "r", "launch": 3, "block": 3, "mode": "call"}
    return pd.DataFrame(rows).assign(**head, calls=1, copies=1, floor_seconds=np.nan)


@pytest.mark.nightly
def test_what_a_core_does_for_the_time_of_a_sweep_is_common_to_both_sides() -> None:
    """In half of them it is 1.65 times as slow: medians of whole launches lie on either side, as it happens."""
    rng = np.random.default_rng(3)
    off, by_launch = [], []
    for _ in range(40):
        states = np.where(rng.random(61) < 0.5, 1.0, 1.65)
        first, second = (sampled(rng, states, factor) for factor in (1.0, 1.05))
        (value,) = sweep_logs(first, second)["value"]
        off.append(value - np.log(1.05))
        by_launch.append(np.log(second["seconds"].median() / first["seconds"].median()) - np.log(1.05))
    assert np.abs(off).max() < 0.01
    assert np.std(by_launch) > 10 * np.std(off)


def test_a_sweep_that_one_side_lacks_does_not_count() -> None:
    rng = np.random.default_rng(4)
    first, second = sampled(rng, [1.0] * 5, 1.0), sampled(rng, [1.0] * 3 + [1.65] * 2, 1.0)
    (value,) = sweep_logs(first[first["sweep"] < 3], second)["value"]
    assert value == pytest.approx(0.0, abs=0.02)
    assert sweep_logs(first[first["sweep"] > 3], second[second["sweep"] < 3]).empty


def test_several_comparisons_of_one_run_share_what_is_usual(tmp_path: Path) -> None:
    folder = write_revisions(tmp_path, *[{}] * 7, keys=pairs.cases()[:2], launches=2)
    sides = [read_sides([str(folder), "r0", f"r{place}"], "commit") for place in range(1, 7)]
    assert [len(pair_estimates(one)) for one in sides] == [2] * 6
    assert usual_over(sides) is not None
    assert usual_over(sides[:1]) is None, "one comparison tells what it tells by itself"
    assert usual_over(sides[:2]) is None, "too few of two launches"
