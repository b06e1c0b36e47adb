"""What Python gets of results: frames whose columns are those of the docs, a short text, and files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pipelines
import pyopbench
from commands import noisy_results
from pairs import cases, write_run
from places import ROOT
from pyopbench.api.results import AnyResult, ComparisonResult, RunResult
from pyopbench.model.errors import BadInput, NothingMeasured
from pyopbench.report import columns
from refusals import refused

STORED = ROOT / "tests" / "data" / "stored_run"
KEYS = cases(ops=("double", "square", "cube", "sinh"))
SLOW = KEYS[5]


@pytest.fixture(scope="module")
def stored_run() -> RunResult:
    return pyopbench.read(STORED)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> ComparisonResult:
    folder = tmp_path_factory.mktemp("compared")
    before = write_run(folder / "before", KEYS, seed=1)
    after = write_run(folder / "after", KEYS, seed=2, factors={SLOW: 1.6})
    return pyopbench.compare(before, after)


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> AnyResult:
    seconds = {one.key: 1e-4 for one in pipelines.ALL} | {pipelines.BATCH.key: 1e-5}
    return pyopbench.read(pipelines.write(tmp_path_factory.mktemp("pipeline") / "run", seconds))


FIXTURES = {"RunResult": "stored_run", "ComparisonResult": "compared"}


@pytest.mark.parametrize("table", columns.ALL, ids=lambda table: table.owner)
def test_a_frame_has_its_columns_and_their_types(table: columns.Facts, request: pytest.FixtureRequest) -> None:
    owner, name = table.owner.split(".")
    fixture = "pipeline" if table is columns.ARRANGEMENTS else FIXTURES[owner]
    found = getattr(request.getfixturevalue(fixture), name)
    assert list(found.columns) == [one.name for one in table.columns]
    assert [str(dtype) for dtype in found.dtypes] == [columns.TYPES.get(one.unit, "float64") for one in table.columns]


def test_the_page_of_the_api_describes_every_column() -> None:
    assert columns.page() in (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


def test_the_frames_hold_what_decisions_json_holds(stored_run: RunResult, tmp_path: Path) -> None:
    stored_run.report(tmp_path)
    written = json.loads((tmp_path / "decisions.json").read_text(encoding="utf-8"))
    made, decisions = stored_run.decisions, written["decisions"]
    assert made["saved"].tolist() == pytest.approx([one["saved"] for one in decisions])
    assert made["answer"].tolist() == [one["answer"] for one in decisions]
    assert made["choice"].isna().tolist() == [one["choice"] is None for one in decisions]
    assert stored_run.verdicts["ratio"].tolist() == pytest.approx([one["ratio"] for one in written["verdicts"]])
    assert stored_run.verdicts["outcome"].tolist() == [one["outcome"] for one in written["verdicts"]]
    assert len(stored_run.failures) == len(written["failures"])
    assert len(stored_run.latencies) == len(written["latencies"])


def test_a_result_is_a_few_lines_of_text(stored_run: RunResult, compared: ComparisonResult) -> None:
    head, *lines = repr(stored_run).splitlines()
    assert head == f"RunResult of {STORED}: {len(stored_run.decisions)} decisions"
    assert len(lines) == len(stored_run.decisions)
    first = stored_run.decisions.iloc[0]
    assert lines[0].startswith(f"  {first['op']} for {first['use']}: {first['answer']}")
    assert repr(compared).splitlines()[1] == f"  {compared.comparison.summary()}"


def test_a_report_goes_beside_the_results_if_no_folder_is_given(tmp_path: Path) -> None:
    results = noisy_results(tmp_path / "run")
    assert pyopbench.read(results).report() == results / "report.html"


def test_a_comparison_tells_what_is_slower(compared: ComparisonResult, tmp_path: Path) -> None:
    assert list(compared.verdicts["case"][compared.verdicts["outcome"] == "slower"]) == [SLOW]
    assert compared.verdicts["case"].iloc[0] == SLOW
    assert compared.unmatched.empty
    assert compared.report(tmp_path / "out") == tmp_path / "out" / "comparison.md"


def test_a_pipeline_says_which_arrangement_to_use(pipeline: RunResult) -> None:
    (chosen,) = pipeline.arrangements[pipeline.arrangements["is_chosen"]].to_dict("records")
    assert chosen["arrangement"] == pipelines.BATCH.key
    assert chosen["elements_per_second"] == pytest.approx(1 / chosen["seconds"])


def test_a_run_outside_a_pipeline_has_no_arrangements(stored_run: RunResult) -> None:
    with refused("not measured in a pipeline"):
        _ = stored_run.arrangements


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"minimum_effect": 3}, "the minimum effect is out of range"),
        ({"mix": {0: 1.0}}, "not a mix of sizes"),
        ({"mix": {}}, "not a mix of sizes"),
        ({"requires": ["no such"]}, "unknown requirement"),
        ({"baseline": "no such"}, "the baseline is not a variant of this run"),
    ],
)
def test_what_is_wrong_is_an_error_of_the_package(wrong: dict[str, object], what: str) -> None:
    with pytest.raises(BadInput) as error:
        pyopbench.read(STORED, **wrong)  # type: ignore[arg-type]
    assert error.value.message == what
    assert error.value.hint


def test_results_that_are_none_are_named(tmp_path: Path) -> None:
    with refused("no results are named"):
        pyopbench.read()
    with refused("these are not results"):
        pyopbench.read(tmp_path / "nowhere")
    with refused("both sides are the same results"):
        pyopbench.compare(STORED, STORED)
    assert issubclass(pyopbench.NothingMeasured, NothingMeasured)


def test_a_pipeline_is_read_with_the_minimum_effect_that_it_was_planned_for(tmp_path: Path) -> None:
    folder = pipelines.write(tmp_path / "run", {one.key: 1e-4 for one in pipelines.ALL}, minimum_effect=0.1)
    assert pyopbench.read(folder).judgement.minimum_effect == 0.1
    assert pyopbench.read(folder, minimum_effect=0.05).judgement.minimum_effect == 0.05
