"""Reading what asv, pytest-benchmark and pyperf wrote (files and output of real runs, cut short), and the table."""

from __future__ import annotations

import importlib.util
import io
import json
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from scipy import stats

import against_peers
from peers import asv, own, pyperf, pytest_benchmark, table
from peers.cases import cases, environment_of, handed_over
from peers.figures import Moments, Pair, Row, Stated, ratio_of_means, ratio_of_stated
from peers.processes import PeerFailed, Task, call
from places import DATA, ROOT
from pyopbench.judge.decision import Verdict
from pyopbench.model.errors import BadInput

SAMPLES = DATA / "samples"
SINH = "sinh/native/none/forward/call/float32/1/cpu"
RELU = "relu/numpy_function/none/forward/call/float32/1/cpu"
CALL = "forward.Forward.time_case"

ASV_TABLE = f"""
All benchmarks:

| Change   | Before [b24184ad] <master~1>   | After [fc3c1eba] <master>   |   Ratio | Benchmark (Parameter) |
|----------|--------------------------------|-----------------------------|---------|-----------------------|
| +        | 505±100μs                      | 1.51±0.4ms                  |       3 | {CALL}('{RELU}') |
|          | 380±70μs                       | 380±70μs                    |       1 | {CALL}('{SINH}')         |
"""


def sample(name: str) -> Any:
    return json.loads((SAMPLES / name).read_text(encoding="utf-8"))


def pair(first: float, second: float, **fields: Any) -> Pair:
    return Pair(
        **{"case": SINH, "low": math.nan, "high": math.nan, "different": None, **fields}, first=first, second=second
    )


def row(*pairs: Pair, tool: str = "asv", seconds: float = 90.0, note: str = "how") -> Row:
    return Row(tool, seconds, 2 * seconds, pairs, note)


def shown(rows: list[Row]) -> str:
    console = Console(width=120, file=io.StringIO())
    console.print(table.table_of(rows))
    return console.file.getvalue()  # type: ignore[attr-defined]


class TestFigures:
    def test_a_move_is_the_same_in_both_directions(self) -> None:
        assert pair(1.0, 1.1).move == pytest.approx(0.1)
        assert pair(1.1, 1.0).move == pytest.approx(0.1)

    def test_shares_are_of_cases(self) -> None:
        found = row(pair(1.0, 1.04), pair(1.0, 1.2), pair(1.0, 1.0), pair(1.0, 0.97))
        assert [found.share_moved(threshold) for threshold in (0.03, 0.05, 0.10)] == [0.75, 0.25, 0.25]

    @pytest.mark.parametrize(
        ("low", "high", "resolved", "misses"),
        [
            (0.98, 1.02, True, False),
            (0.98, 1.04, False, False),
            (0.96, 1.02, False, False),
            (1.001, 1.02, True, True),
            (0.9, 0.95, False, True),
            (0.0, math.inf, False, False),
        ],
    )
    def test_resolved_is_within_three_percent_and_missed_is_beside_the_truth(
        self, low: float, high: float, resolved: bool, misses: bool
    ) -> None:
        found = pair(1.0, 1.0, low=low, high=high)
        assert (found.is_resolved, found.misses) == (resolved, misses)

    def test_without_intervals_or_verdicts_there_is_no_share_of_them(self) -> None:
        found = row(pair(1.0, 1.0))
        assert (found.resolved, found.missed, found.called_different) == (None, None, None)

    def test_verdicts_are_counted(self) -> None:
        assert row(*(pair(1.0, 1.0, different=different) for different in (True, False, True))).called_different == 2

    def test_the_content_holds_no_number_that_json_lacks(self) -> None:
        found = row(pair(1.0, 1.0), pair(1.0, 1.0, low=0.0, high=math.inf)).content()
        assert json.loads(json.dumps(found, allow_nan=False))["pairs"][1]["high"] is None


class TestIntervals:
    def test_a_ratio_of_equal_estimates_widens_by_the_root_of_two(self) -> None:
        stated = Stated(2.0, 2.0 / 1.1, 2.0 * 1.1)
        low, high = ratio_of_stated(stated, stated, 0.95)
        assert math.log(high) == pytest.approx(math.sqrt(2) * math.log(1.1))
        assert math.log(low) == pytest.approx(-math.log(high))

    def test_a_stated_interval_of_99_is_narrowed_to_95(self) -> None:
        stated, exact = Stated(1.0, 0.9, 1.1), Stated(1.0, 1.0, 1.0)
        _, high = ratio_of_stated(exact, stated, 0.99)
        assert math.log(high) / math.log(1.1) == pytest.approx(1.959964 / 2.575829, rel=1e-6)

    def test_what_makes_the_first_smaller_makes_the_ratio_larger(self) -> None:
        low, high = ratio_of_stated(Stated(1.0, 0.5, 1.0), Stated(1.0, 1.0, 1.0), 0.95)
        assert (low, high) == (pytest.approx(1.0), pytest.approx(2.0))

    @pytest.mark.parametrize("end", [math.nan, -math.inf, 0.0])
    def test_an_end_that_is_unknown_resolves_nothing(self, end: float) -> None:
        assert ratio_of_stated(Stated(1.0, end, 1.1), Stated(1.0, 0.9, 1.1), 0.99) == (0.0, math.inf)

    def test_the_interval_of_means_is_welchs_for_small_spread(self) -> None:
        """With a spread of 0.1% the log scale is a linear one, and SciPy's interval of the difference applies."""
        rng = np.random.default_rng(3)
        first, second = rng.normal(1.0, 0.001, 12), rng.normal(1.0, 0.003, 7)
        low, high = ratio_of_means(*(Moments(a.mean(), a.std(ddof=1), len(a)) for a in (first, second)))
        expected = stats.ttest_ind(second, first, equal_var=False).confidence_interval(0.95)
        assert (low - 1, high - 1) == (pytest.approx(expected.low, rel=0.01), pytest.approx(expected.high, rel=0.01))

    def test_one_value_gives_no_interval_and_no_spread_a_point(self) -> None:
        assert ratio_of_means(Moments(1.0, math.nan, 1), Moments(1.0, 0.1, 5)) == (0.0, math.inf)
        assert ratio_of_means(Moments(1.0, 0.0, 5), Moments(2.0, 0.0, 5)) == (pytest.approx(2.0), pytest.approx(2.0))


class TestAsv:
    def test_estimates_and_intervals_are_read_by_case(self) -> None:
        found = asv.read(sample("asv.json"))
        assert list(found) == [SINH, RELU]
        assert found[SINH] == Stated(0.0003804120005952427, 0.00031913, 0.0075516)

    def test_a_case_that_failed_is_missed(self) -> None:
        document = sample("asv.json")
        document["results"]["forward.Forward.time_case"][0][1] = None
        found = asv.read(document)
        with pytest.raises(PeerFailed, match=RELU):
            asv.pairs([SINH, RELU], found, found, asv.marks(ASV_TABLE))

    def test_an_open_end_is_taken_for_unknown(self) -> None:
        document = sample("asv.json")
        document["results"]["forward.Forward.time_case"][5][0] = None
        found = asv.read(document)
        first, second = asv.pairs([SINH, RELU], found, found, asv.marks(ASV_TABLE))
        assert first.high == math.inf
        assert second.high < math.inf

    def test_only_marked_cases_are_called_different(self) -> None:
        found = asv.read(sample("asv.json"))
        pairs = asv.pairs([SINH, RELU], found, found, asv.marks(ASV_TABLE))
        assert [one.different for one in pairs] == [False, True]

    def test_a_comparison_without_a_case_is_a_failure(self) -> None:
        found = asv.read(sample("asv.json"))
        with pytest.raises(PeerFailed, match=SINH):
            asv.pairs([SINH], found, found, asv.marks("no table"))


class TestPytestBenchmark:
    said = (
        "Performance has regressed:\n"
        f"\ttest_case[{SINH}] (first) - Field 'median' has failed PercentageRegressionCheck: 535.3 > 5.000000000\n"
    )

    def test_the_statistics_are_read_by_case(self) -> None:
        found = pytest_benchmark.read(sample("pytest_benchmark.json"))
        assert found[SINH]["mean"] == 0.0003310827356940776
        assert list(found) == [SINH, RELU]

    def test_a_gate_counts_for_its_case_and_field_only(self) -> None:
        runs = (pytest_benchmark.read(sample("pytest_benchmark.json")),) * 2
        failed = pytest_benchmark.failed_gates(self.said)
        by_field = {field: pytest_benchmark.pairs([SINH, RELU], runs, field, failed) for field in ("mean", "median")}
        assert [one.different for one in by_field["mean"]] == [False, False]
        assert [one.different for one in by_field["median"]] == [True, False]

    def test_only_means_have_an_interval(self) -> None:
        runs = (pytest_benchmark.read(sample("pytest_benchmark.json")),) * 2
        (mean,) = pytest_benchmark.pairs([SINH], runs, "mean", set())
        (median,) = pytest_benchmark.pairs([SINH], runs, "median", set())
        assert mean.low < 1 < mean.high
        assert math.isnan(median.low)

    def test_a_new_wording_is_not_taken_for_no_regression(self) -> None:
        said = "Performance has regressed: see above"
        with pytest.raises(PeerFailed) as caught:
            pytest_benchmark.failed_gates(said)
        assert str(caught.value) == f"pytest-benchmark words its gates in a new way\n{said}"


class TestPyperf:
    hidden = f"Benchmark hidden because not significant (1): {RELU}\n"
    line = f"{SINH}: Mean +- std dev: [first] 38.3 us +- 14.7 us -> [second] 378 us +- 83 us: 9.87x slower\n"

    def test_values_are_pooled_over_processes_without_warm_ups(self) -> None:
        found = pyperf.read(sample("pyperf.json"))
        assert {case: len(values) for case, values in found.items()} == {SINH: 6, RELU: 6}

    def test_a_file_with_one_benchmark_names_it_at_the_top(self) -> None:
        document = sample("pyperf.json")
        (only,) = document["benchmarks"] = document["benchmarks"][:1]
        document["metadata"].update(only.pop("metadata"))
        assert list(pyperf.read(document)) == [SINH]

    def test_what_is_not_hidden_differs(self) -> None:
        found = pyperf.read(sample("pyperf.json"))
        same = pyperf.insignificant(self.line + "\n" + self.hidden, 2)
        first, second = pyperf.pairs([SINH, RELU], found, found, same)
        assert (first.different, second.different) == (True, False)
        assert first.first == pytest.approx(statistics.fmean(found[SINH]))

    def test_an_answer_for_too_few_cases_is_a_failure(self) -> None:
        with pytest.raises(PeerFailed) as caught:
            pyperf.insignificant(self.hidden, 2)
        assert str(caught.value) == f"pyperf compare_to answers for other than 2 cases\n{self.hidden.strip()}"

    def test_a_cut_is_said_with_what_it_saved(self) -> None:
        rest = (
            "the estimate is the mean, the interval takes the values of all processes for independent, as its own test "
            "does (Welch); the verdict is the t-test of `pyperf compare_to` at 95%."
        )
        # 400 s were for 3 processes and the one that calibrates; 20 and one take 2,100 s.
        cut = "its default of 20 processes for each case was cut to 3; in full a run would take about 35 minutes"
        assert pyperf.note(3, 400.0) == f"pyperf: {cut} instead of 6.7; {rest}"
        assert pyperf.note(20, 400.0) == f"pyperf: default settings; {rest}"


class TestOwn:
    def session(self, ratio: float, seconds: float, outcome: Any) -> own.Session:
        verdict = Verdict("twin", SINH, ratio, ratio * 0.99, ratio * 1.01, 6, 0.01, outcome)
        return own.Session(60.0, {SINH: verdict}, {SINH: Stated(seconds, seconds * 0.9, seconds * 1.1)})

    def test_twins_of_all_sessions_count_and_sessions_are_compared(self) -> None:
        sessions = [self.session(1.0, 1e-4, "equivalent"), self.session(1.06, 2e-4, "slower")]
        twins, ratios, latencies = own.rows([SINH], sessions)
        assert [one.move for one in twins.pairs] == [pytest.approx(0.0), pytest.approx(0.06)]
        assert [one.different for one in twins.pairs] == [False, True]
        assert (twins.resolved, twins.missed) == (0.5, 0.5)
        assert ratios.pairs[0].move == pytest.approx(0.06)
        assert latencies.pairs[0].move == pytest.approx(1.0)
        assert (twins.compare_seconds, ratios.compare_seconds) == (60.0, 120.0)

    def test_every_case_is_planned_with_its_twin(self) -> None:
        request = own._request(cases(), own.SETTINGS)
        assert request.axes.variants == ("native", "numpy_function", "native_twin", "numpy_function_twin")
        assert len(request.axes.ops) * len(request.axes.sizes) * 2 == len(cases()) == 24

    def test_the_path_of_ops_and_variants_is_put_back(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("PYOPBENCH_PATH", raising=False)
        with own._path_of_twins(tmp_path, ["native"]):
            assert (Path(os.environ["PYOPBENCH_PATH"]) / "variants" / "native_twin.py").exists()
        assert "PYOPBENCH_PATH" not in os.environ


class TestTable:
    def test_it_has_a_line_for_each_row(self) -> None:
        rows = [row(pair(1.0, 1.04, low=0.99, high=1.01, different=True)), row(pair(1.0, 1.0), tool="pyperf")]
        lines = shown(rows).splitlines()
        asv_line, pyperf_line = ([part.strip() for part in line.split("│")[1:-1]] for line in lines if "1:30" in line)
        assert asv_line == ["asv", "1:30", "3:00", "100%", "0%", "0%", "100%", "0%", "1 of 1"]
        assert pyperf_line == ["pyperf", "1:30", "3:00", "0%", "0%", "0%", "–", "–", "–"]

    def test_a_note_that_rows_share_stands_once(self) -> None:
        assert table.notes_of([row(pair(1.0, 1.0)), row(pair(1.0, 1.0))]) == ["how"]

    @pytest.mark.parametrize(
        ("cases", "changes", "missed"),
        [
            pytest.param(12, {}, (), id="as-promised"),
            pytest.param(11, {}, ("cases",), id="few-cases"),
            pytest.param(12, {"seconds": 31.0}, ("share_of_asv",), id="slow"),
            pytest.param(12, {"high": 1.2}, ("resolved",), id="unresolved"),
            pytest.param(12, {"second": 1.06}, ("moved",), id="moved"),
            pytest.param(12, {"different": True}, ("different",), id="called-different"),
        ],
    )
    def test_what_is_promised_is_of_cases_time_and_pairs(
        self, cases: int, changes: dict[str, Any], missed: tuple[str, ...]
    ) -> None:
        how = {"seconds": 30.0, "high": 1.01, "second": 1.0, "different": False, **changes}
        twins = row(
            pair(1.0, how["second"], low=0.99, high=how["high"], different=how["different"]),
            tool=table.OWN_TOOL,
            seconds=how["seconds"],
        )
        stored = table.document([row(pair(1.0, 1.0)), twins], {}, ["a"] * cases)
        found = table.goal_of(json.loads(json.dumps(stored)))
        assert found is not None
        assert found.missed == missed

    def test_the_stored_table_is_as_the_page_promises(self) -> None:
        """Of the goal, the page says that only the time is missed."""
        stored = table.goal_of(json.loads((ROOT / "results" / "peers.json").read_text(encoding="utf-8")))
        assert stored is not None
        assert {*stored.missed} <= {"share_of_asv"}, stored.text()

    def test_without_asv_nothing_can_be_held_against_what_is_promised(self) -> None:
        assert table.goal_of(table.document([row(pair(1.0, 1.0), tool="pyperf")], {}, ["a"])) is None


class TestScript:
    def test_a_tool_that_fails_costs_only_its_own_line(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def fails(task: Task) -> list[Row]:
            raise PeerFailed("exit status 3\nthe last line")

        tools = {"asv": fails, "pyperf": lambda task: [row(pair(1.0, 1.0), tool="pyperf")]}
        monkeypatch.setattr(against_peers, "_tools", lambda processes: tools)
        where = tmp_path / "figures.json"
        options = ["--tools", "asv,pyperf", "--cases", "2", "--out", str(tmp_path / "out"), "--json", str(where)]
        assert against_peers.main(options) == 1
        printed = capsys.readouterr()
        assert printed.out.splitlines()[-2:] == ["asv failed: exit status 3", "the last line"]
        assert "1:30" in printed.out
        assert "measuring" in printed.err
        content = json.loads(where.read_text())
        assert list(content["failures"]) == ["asv"]
        assert [one["tool"] for one in content["rows"]] == ["pyperf"]
        assert len(content["cases"]) == 2

    def test_an_error_of_pyopbench_is_a_failed_tool_too(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def fails(task: Task) -> list[Row]:
            raise BadInput("bad", received="this", legal="that")

        monkeypatch.setattr(against_peers, "_tools", lambda processes: {"pyopbench": fails})
        assert against_peers.main(["--tools", "pyopbench", "--out", str(tmp_path)]) == 1

    @pytest.mark.parametrize("options", [["--tools", "asv,gprof"], ["--cases", "0"], ["--pyperf-processes", "x"]])
    def test_bad_usage_ends_with_2(self, options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as ended:
            against_peers.main(options)
        assert ended.value.code == 2

    def test_a_folder_with_files_is_left_alone(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "kept").touch()
        with pytest.raises(SystemExit):
            against_peers.main(["--out", str(tmp_path)])
        error = capsys.readouterr().err.splitlines()[-1]
        assert error == f"{Path(sys.argv[0]).name}: error: --out {tmp_path} holds files already; name a new folder"


class TestProcesses:
    def test_a_failure_shows_the_end_of_what_was_said(self, tmp_path: Path) -> None:
        task = Task((), tmp_path)
        program = "import sys; sys.stderr.write('the reason'); sys.exit(3)"
        with pytest.raises(PeerFailed) as caught:
            call(task, ["-c", program], "log")
        assert str(caught.value) == f"exit status 3 of -c {program}\nthe reason"

    def test_cases_reach_the_process(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        chosen = cases(3)
        task = Task((), tmp_path, environment_of(chosen))
        _, said = call(task, ["-c", "from peers.cases import handed_over; print(len(handed_over()))"], "log")
        assert said.strip() == "3"
        monkeypatch.setenv(*next(iter(environment_of(chosen).items())))
        assert handed_over() == [case.id for case in chosen]


@pytest.mark.parametrize("package", ["asv", "pytest_benchmark", "pyperf"])
def test_the_suite_names_what_the_tool_offers(package: str) -> None:
    """The commands are spelt out in the modules of `peers`; each tool's own help has to know their options."""
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed: make peers")
    help_of = {
        "asv": (["-m", "asv", "run", "--help"], ["--python", "--machine", "--set-commit-hash"]),
        "pytest_benchmark": (["-m", "pytest", "--help"], ["--benchmark-json", "--benchmark-compare-fail"]),
        "pyperf": (
            ["-c", "import pyperf; pyperf.Runner().parse_args()", "--help"],
            ["--copy-env", "--processes", "--output"],
        ),
    }
    command, options = help_of[package]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert not [option for option in options if option not in done.stdout]
