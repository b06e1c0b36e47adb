"""From stored results to one tidy frame."""

from __future__ import annotations

import math
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import pipelines
import stored
from pyopbench.model.case import Case, Failure
from pyopbench.model.errors import BadInput
from pyopbench.store.measured_run import CASE_COLUMNS, COLUMNS, NOISE_COLUMNS, WAIT_COLUMNS
from pyopbench.store.read import read_one
from pyopbench.store.run import SAMPLES_FILE

WELL, SLOW, FAILED = stored.case("well"), stored.case("slow"), stored.case("raising")
SKIP = stored.failure(stored.case("impossible"), "unsupported", None)
LINES = [
    stored.launch_line(0),
    stored.group_line(0, [WELL, SLOW], [stored.failure(FAILED)], seconds=0.25),
    {"kind": "lost", "launch": 1, "group": stored.group(), "failures": [stored.failure(SLOW, "crashed", 1)]},
    stored.launch_line(1),
    stored.group_line(1, [WELL], seconds=0.75),
]


def make(folder: Path, name: str = "first", lines: list[dict[str, Any]] = LINES, **changes: Any) -> Path:
    content = stored.run([WELL, SLOW, FAILED], run=name, skips=[SKIP], **changes)
    return stored.write(folder / name, content, lines)


def test_every_block_is_a_row(tmp_path: Path) -> None:
    frame = read_one([make(tmp_path)]).frame
    assert tuple(frame.columns) == COLUMNS
    assert len(frame) == 6
    row = frame[(frame["case"] == SLOW) & (frame["round"] == 1)].to_dict("records")
    case = Case.from_id(SLOW)
    assert [math.isnan(one.pop("floor_seconds")) for one in row] == [True]
    assert row == [
        {
            "tool": "pyopbench",
            "run": "first",
            "launch": 0,
            "group": case.group,
            "case": SLOW,
            **{name: getattr(case, name) for name in CASE_COLUMNS},
            "sweep": 0,
            "round": 1,
            "calls": 3,
            "seconds": 0.25,
            "copies": 1,
        }
    ]


def test_seconds_stay_with_their_launch(tmp_path: Path) -> None:
    frame = read_one([make(tmp_path)]).frame
    assert frame[frame["case"] == WELL].groupby("launch")["seconds"].sum().to_dict() == {0: 0.5, 1: 1.5}


def test_own_ops_are_known_by_what_names_them_on_a_command_line(tmp_path: Path) -> None:
    words = ["mine.py:body", "--input", "rng.random(3)"]
    with_own = make(tmp_path, "first", own={"mine": {"words": words, "fingerprint": "0"}})
    assert read_one([with_own]).own == {"mine": tuple(words)}
    assert read_one([make(tmp_path, "second"), with_own]).own == {"mine": tuple(words)}


def test_all_else_is_kept(tmp_path: Path) -> None:
    run = read_one([make(tmp_path)])
    assert run.name == "first"
    assert run.command == ("pyopbench", "run")
    assert run.created == "2026-01-02T03:04:05+00:00"
    assert run.settings == stored.typed(stored.run([WELL])).settings
    assert run.environment == stored.ENVIRONMENT
    assert run.cases == (WELL, SLOW, FAILED)
    assert run.warnings == ()


def test_skips_and_failures_come_in_the_order_of_the_files(tmp_path: Path) -> None:
    assert read_one([make(tmp_path)]).failures == (
        Failure(SKIP["case"], "unsupported", "it did not work", None),
        Failure(FAILED, "raised", "it did not work", 0),
        Failure(SLOW, "crashed", "it did not work", 1),
    )


def test_a_torn_last_line_is_a_warning(tmp_path: Path) -> None:
    folder = make(tmp_path)
    with (folder / SAMPLES_FILE).open("ab") as stream:
        stream.write(b'{"kind": "gro')
    run = read_one([folder])
    assert len(run.frame) == 6
    (warning,) = run.warnings
    assert warning.kind == "unfinished_line"
    assert str(folder.resolve() / SAMPLES_FILE) in warning.text()


def test_runs_of_one_environment_are_pooled_as_launches(tmp_path: Path) -> None:
    first, second = make(tmp_path, "first"), make(tmp_path, "second", LINES[:2])
    run = read_one([first, second])
    assert run.name == "first + second"
    assert sorted(set(run.frame["launch"])) == [0, 1, 2]
    assert run.cases == (WELL, SLOW, FAILED)
    assert [(failure.case, failure.launch) for failure in run.failures] == [
        (SKIP["case"], None),
        (FAILED, 0),
        (SLOW, 1),
        (FAILED, 2),
    ]


def test_noise_is_read_by_launch_and_pooled_with_it(tmp_path: Path) -> None:
    without = [{key: value for key, value in line.items() if key != "noise"} for line in LINES]
    noise = read_one([make(tmp_path, "first"), make(tmp_path, "second", LINES[:2])]).noise
    assert tuple(noise.columns) == NOISE_COLUMNS
    assert noise["launch"].tolist() == [0, 1, 2]
    assert set(noise["steal_seconds"]) == {0.25}
    assert read_one([make(tmp_path, "older", without)]).noise.empty


def test_waits_of_callers_are_those_of_the_last_sweep_by_launch(tmp_path: Path) -> None:
    key = Case("double", "well", "none", "forward", "threads:2", "float32", 1).id

    def line(sweep: int, calls: int) -> dict[str, Any]:
        waits = {"calls": calls, "p50": calls * 1e-5, "p95": 2e-3, "p99": None}
        return {**stored.group_line(0, [key]), "pass": sweep, "waits": {key: waits}}

    def folder(name: str) -> Path:
        lines = [stored.launch_line(0), line(0, 100), line(1, 200)]
        return stored.write(tmp_path / name, stored.run([key], run=name), lines)

    waits = read_one([folder("first"), folder("second")]).waits
    assert tuple(waits.columns) == WAIT_COLUMNS
    assert waits.drop(columns=["run", "p99"]).to_numpy().tolist() == [
        [0, key, 2e-3, 2e-3],
        [1, key, 2e-3, 2e-3],
    ]
    assert waits["p99"].isna().all()


def test_pipelines_of_pooled_runs_are_one_with_the_launches_of_both(tmp_path: Path) -> None:
    folders = [pipelines.write(tmp_path / str(effect), {"map": 1e-3}, minimum_effect=effect) for effect in (0.03, 0.05)]
    one, both = read_one(folders[:1]).pipeline, read_one(folders).pipeline
    assert one is not None
    assert both is not None
    assert both.plan.minimum_effect == 0.03, "planned as the first"
    assert both.cases == one.cases
    assert sorted(set(both.frame["launch"])) == list(range(2 * pipelines.LAUNCHES))


def test_a_pipeline_is_not_pooled_with_a_plain_run(tmp_path: Path) -> None:
    for folders in permutations((pipelines.write(tmp_path / "one", {"map": 1e-3}), make(tmp_path, "plain"))):
        with pytest.raises(BadInput):
            read_one(folders)


def test_of_pooled_runs_the_first_tells_by_how_much_a_case_was_off_its_reference(tmp_path: Path) -> None:
    def checked(name: str, **errors: dict[str, float]) -> Path:
        told = {stored.case(variant): found for variant, found in errors.items()}
        line = {"kind": "prepared", "launch": 0, "group": stored.group(), "failures": [], "seconds": 1.0}
        return make(tmp_path, name, [{**line, "checked": told}])

    first = checked("first", well={"values": 1e-7})
    second = checked("second", well={"values": 1e-3}, slow={"values": 1e-5})
    assert read_one([first, second]).checked == {WELL: {"values": 1e-7}, SLOW: {"values": 1e-5}}
    assert read_one([make(tmp_path, "older")]).checked == {}


def test_catalogues_are_joined(tmp_path: Path) -> None:
    other = stored.write(
        tmp_path / "cube", stored.run([stored.case("native", "cube")]), [stored.group_line(0, [WELL, SLOW])]
    )
    run = read_one([make(tmp_path), other])
    assert set(run.catalogue.ops) == {"double", "cube"}
    assert set(run.catalogue.variants) == {"well", "slow", "raising", "native"}


def test_the_same_folder_twice_is_one_run(tmp_path: Path) -> None:
    folder = make(tmp_path)
    assert len(read_one([folder, folder / "." / ".." / folder.name]).frame) == 6


@pytest.mark.parametrize("key", ["cpu", "cores", "tensorflow", "dirty", "intra_op_threads"])
def test_runs_of_different_environments_are_refused_with_both(tmp_path: Path, key: str) -> None:
    changed = {**stored.ENVIRONMENT, key: {"cores": 64, "dirty": True}.get(key, "another")}
    first, second = make(tmp_path, "first"), make(tmp_path, "second", environment=changed)
    with pytest.raises(BadInput) as caught:
        read_one([first, second])
    assert caught.value.received == f"first: {stored.ENVIRONMENT[key]!r}, second: {changed[key]!r}"


def test_what_explains_callbacks_is_kept_apart_from_what_is_judged(tmp_path: Path) -> None:
    """Two pooled runs: launches of the second are counted on. What failed is a hole like any other."""
    well, alone = stored.case("well"), stored.case("numpy_alone")
    folders = []
    for name in ("first", "second"):
        content = stored.run([well, alone])
        parts = {"numpy_alone": content["catalogue"]["variants"].pop("numpy_alone")}
        catalogue = {**content["catalogue"], "parts": parts}
        prepared = {"kind": "prepared", "launch": 0, "group": stored.group(), "failures": [], "seconds": 1.0}
        lines = [
            stored.launch_line(0),
            prepared,
            stored.group_line(0, [well, alone]),
            {**stored.group_line(0, [], [stored.failure(alone)]), "pass": 1},
        ]
        folders.append(stored.write(tmp_path / name, {**content, "run": name, "catalogue": catalogue}, lines))
    pooled = read_one(folders)
    assert pooled.cases == (well,)
    assert [(one.case, one.launch) for one in pooled.failures] == [(alone, 0), (alone, 1)]
    assert set(pooled.frame["case"]) == {well}
    assert pooled.costs.cases == (alone,)
    assert set(zip(pooled.costs.frame["case"], pooled.costs.frame["launch"], strict=True)) == {(alone, 0), (alone, 1)}


# Costs inside a graph: copies beside the empty function


def in_graph(variant: str) -> str:
    return Case("double", variant, "none", "forward", "node", "float32", 1).id


def test_the_empty_function_stands_beside_every_graph_of_copies_that_was_timed_in_its_round(tmp_path: Path) -> None:
    """By hand: the floor of round 0 is 6 s in 3 calls; round 1 has none; from a body alone nothing is taken off."""
    well, alone, empty = (in_graph(variant) for variant in ("well", "numpy_alone", "empty"))
    content = stored.run([well, alone, empty])
    variants = content["catalogue"]["variants"]
    parts = {name: variants.pop(name) for name in ("numpy_alone", "empty")}
    line = stored.group_line(0, [well])
    samples = {
        well: [[0, 0, 2, 10.0, 8], [0, 3, 2, 4.0, 1], [1, 0, 2, 12.0, 8]],
        alone: [[0, 2, 5, 1.0], [1, 1, 5, 1.0]],
        empty: [[0, 1, 3, 6.0, 0]],
    }
    other = {**line, "launch": 1, "samples": {well: [[0, 0, 2, 10.0, 8]], empty: [[0, 1, 1, 7.0, 0]]}}
    parts["numpy_alone"] = {**parts["numpy_alone"], "role": "body_alone"}
    content["catalogue"] = {**content["catalogue"], "variants": variants, "parts": parts}
    run = read_one([stored.write(tmp_path / "node", content, [{**line, "samples": samples}, other])])
    told = ["launch", "round", "copies", "floor_seconds"]
    assert run.cases == (well,)
    assert set(run.frame["variant"]) == {"well"}
    assert run.frame[told].fillna(-1.0).to_numpy().tolist() == [
        [0, 0, 8, 2.0],
        [0, 0, 1, 2.0],
        [0, 1, 8, -1.0],
        [1, 0, 8, 7.0],
    ]
    beside = run.costs.frame.set_index(["variant", "launch", "round"])
    assert beside.loc[("numpy_alone", 0, 0), "copies"] == 1
    assert beside.loc[("numpy_alone", 0, 0), "floor_seconds"] == 0.0
    assert beside.loc[("empty", 0, 0), "copies"] == 0


def test_a_run_without_the_empty_function_has_no_floor(tmp_path: Path) -> None:
    well = in_graph("well")
    line = {**stored.group_line(0, [well]), "samples": {well: [[0, 0, 1, 1.0, 1], [0, 1, 1, 3.0, 4]]}}
    frame = read_one([stored.write(tmp_path / "old", stored.run([well]), [line])]).frame
    assert frame["floor_seconds"].isna().all()
    assert frame["copies"].tolist() == [1, 4]
