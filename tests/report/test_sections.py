"""What each section says."""

from __future__ import annotations

import itertools
from dataclasses import replace
from types import SimpleNamespace

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pipelines
import thread_calls
from certificates import certificate
from judgements import decision, failures, hostile, hostile_versions, plain
from pyopbench.judge.decision import Crossover, Decision, SizeTrend
from pyopbench.judge.findings import FasterBaseline, FasterVariant, MeasuredGain, MoreLaunches, StillOpen, summary_text
from pyopbench.judge.noise import Disturbance
from pyopbench.model import formatting
from pyopbench.model.case import BASELINE, Case, Failure
from pyopbench.report import sections, terminal
from pyopbench.report.certificate_text import effect_text, made_text
from pyopbench.report.sections import (
    Bullets,
    Cell,
    Chart,
    Code,
    Paragraph,
    Table,
    decisions,
    discover,
    environment,
    holes,
    method,
    pipeline,
    threads,
)
from pyopbench.report.sections import certificate as certificate_section
from pyopbench.report.sections import crossovers as crossovers_section
from pyopbench.report.sections import latency as latency_section
from pyopbench.report.sections import noise as noise_section
from pyopbench.report.sections import ratios as ratios_section
from pyopbench.report.write import render
from pyopbench.store.certificate import Pairs
from pyopbench.store.promises import misses_of
from pyopbench.store.warnings import UnfinishedLine


@pytest.fixture(scope="module")
def judged():
    return plain()


def tables(blocks) -> list[Table]:
    return [block for block in blocks if isinstance(block, Table)]


def words(blocks) -> str:
    return "\n".join(block.text for block in blocks if isinstance(block, Paragraph))


def texts(table: Table) -> list[list[str]]:
    return [[str(cell) for cell in row] for row in table.rows]


def with_run(judgement, **fields):
    return replace(judgement, run=SimpleNamespace(**{**vars(judgement.run), **fields}))


def expand(pattern: str) -> list[str]:
    """Expand braces, on its own."""
    parts = [part[1:-1].split(",") if part.startswith("{") else [part] for part in pattern.split("/")]
    return ["/".join(choice) for choice in itertools.product(*parts)]


def nothing_measured(judgement):
    empty = judgement.latencies.iloc[:0]
    nothing = with_run(judgement, frame=judgement.run.frame.iloc[:0], failures=(), launches=())
    return replace(nothing, latencies=empty, verdicts=(), decisions=())


def test_sections_are_found_in_order_each_under_the_name_of_its_file():
    found = discover(hostile_versions())
    assert [section.name for section in found] == [
        "source", "decisions", "machines", "automatic", "versions", "devices", "worth", "requirements", "latency",
        "by_version", "nodes", "threads", "pipeline", "ratios", "checks", "crossovers", "placement", "split",
        "copies", "holes", "noise", "certificate", "environment", "method",
    ]  # fmt: skip
    assert [section.order for section in found] == sorted({section.order for section in found})
    on_one = [section.name for section in discover()]
    assert on_one == [section.name for section in found if section.name not in ("versions", "by_version")]


@pytest.mark.parametrize("make", [plain, hostile, lambda: plain(launches=1), lambda: nothing_measured(plain())])
def test_every_row_of_every_table_has_a_cell_for_each_column(make):
    judgement = make()
    for section in discover(hostile_versions() if make is hostile else None):
        for table in tables(section.build(judgement)):
            assert table.rows or section.name == "environment"
            assert {len(row) for row in table.rows} <= {len(table.columns)}
            assert 1 <= table.headings <= len(table.columns)


# decisions


def test_the_answer_comes_first(judged):
    first, glance, *_ = decisions.build(judged)
    assert isinstance(first, Paragraph)
    assert isinstance(glance, Table)
    actions = [made.action for made in judged.decisions]
    assert first.text == summary_text(actions, 3, judged.baseline)


def costs_of(made: Decision) -> str:
    """What one op costs before and after, at the smallest and at the largest size."""
    ends = dict.fromkeys((made.seconds[0], made.seconds[-1])) if made.choice else ()
    shown = [f"{formatting.change_of_seconds(one.today, one.after)} at {formatting.size(one.size)}" for one in ends]
    return ", ".join(shown) or formatting.MISSING


def test_every_decision_has_its_answer_what_it_saves_and_its_reason(judged):
    evidence = [table for table in tables(decisions.build(judged)) if table.columns[-1] == "why"]
    assert {table.columns for table in evidence} == {("use", "dtype", "answer", "saves (at least)", "one op", "why")}
    assert [row for table in evidence for row in texts(table)] == [
        [
            made.use, made.dtype, made.answer.text(), formatting.saved_at_least(made.saved, made.saved_low),
            costs_of(made), made.why(),
        ]
        for made in judged.decisions
    ]  # fmt: skip


def test_sizes_crossovers_and_what_would_change_it_are_told_where_there_are_any(judged):
    found = (FasterBaseline("today", 2.0, "native"), FasterVariant("today", 0.03))
    made = decision("native", op="sinh", would_change=found[:1])
    other = decision("xla", op="sinh", would_change=found[1:], ranges=(), crossovers=())
    blocks = decisions.build(replace(judged, decisions=(made, other)))
    by_size, crossovers, changes = tables(blocks)[2:]
    assert [row[2:] for row in texts(by_size)] == [
        [
            formatting.sized(part.low, "elements", part.high),
            part.answer.text(),
            formatting.saved_at_least(part.saved, part.saved_low),
        ]
        for part in made.ranges
    ]
    assert [row[-1] for row in changes.rows] == [change.text() for change in found]
    assert [row[-1] for row in crossovers.rows] == [made.crossovers[0].text("elements")]


def test_one_answer_for_all_sizes_is_not_told_by_size(judged):
    made = decision("native", crossovers=(), ranges=decision("native").ranges[:1], would_change=())
    assert len(tables(decisions.build(replace(judged, decisions=(made,))))) == 2


def test_an_undecided_one_says_so_and_why(judged):
    none = {"choice": None, "saved": None, "saved_low": None, "saved_high": None, "ranges": (), "crossovers": ()}
    settled = MoreLaunches("native", 4, 9)
    reason = StillOpen("today", 0.03, (MeasuredGain("native", 0.1, -0.1, 0.3, 4),), settled)
    made = decision("sinh", action="undecided", reason=reason, would_change=(settled,), loss=None, as_good=(), **none)
    glance, evidence, *others = tables(decisions.build(replace(judged, decisions=(made,))))
    assert not others  # what would settle it is in the reason, and is not told again
    assert glance.rows[0][1] == Cell("undecided", "warn")
    assert [str(cell) for cell in evidence.rows[0][-4:]] == [
        made.answer.text(),
        formatting.MISSING,
        formatting.MISSING,
        made.why(),
    ]


def test_long_details_are_folded(judged):
    many = tuple(decision(f"v_{i:02}", op="sinh") for i in range(decisions.MOST_ROWS))
    folded = {table.caption: table.folded for table in tables(decisions.build(replace(judged, decisions=many)))}
    assert folded["Answers at a glance"] is False
    assert folded["sinh: the evidence"] is False
    assert folded["sinh: where the answer depends on the size"] is True


def test_an_op_whose_settings_agree_is_one_row_with_what_is_saved_at_least(judged):
    places = (decision("xla", op="sinh"), decision("xla", op="sinh", dtype="float64", saved=0.5, saved_low=0.4))
    (row,) = tables(decisions.build(replace(judged, decisions=places)))[0].rows
    assert (row[1].text, row[1].tone) == (places[0].answer.text(), "good")
    assert formatting.saved_at_least(0.5, 0.4) in row[1].note
    unsure = replace(places[1], is_provisional=True)
    (provisional,) = tables(decisions.build(replace(judged, decisions=(places[0], unsure))))[0].rows
    assert provisional[1].note != row[1].note, "an answer that may cost much is told apart"
    other = decision("traced", op="sinh", dtype="float64")
    (row,) = tables(decisions.build(replace(judged, decisions=(places[0], other))))[0].rows
    assert row[1] == Cell("depends", "warn", "port to xla in 1 and port to traced in 1 of 2 settings")


def test_confidence_is_the_launches_that_answers_stand_on(judged):
    made = (decision("xla", op="sinh", launches=3), decision("xla", op="sinh", use="training", launches=5))
    left = decision("xla", op="sinh", action="undecided", choice=None, dtype="float64", launches=7)
    for decided, told in ((made, "95%, 3 to 5 launches"), ((*made, left), "95%, 3 to 5 launches: 1 of 3 open")):
        (row,) = tables(decisions.build(replace(judged, decisions=decided)))[0].rows
        assert str(row[-1]) == told


def test_the_gain_of_every_decision_is_in_the_chart(judged):
    (chart,) = [block for block in decisions.build(judged) if isinstance(block, Chart)]
    drawn = sorted((row["op"], row["use"], row["answer"]) for row in chart.spec["datasets"]["rows"])
    assert drawn == sorted((made.op, made.use, made.answer.text()) for made in judged.decisions)


def test_noise_that_leaves_no_decision_open_is_not_put_as_a_warning(judged):
    noisy = replace(judged.disturbance, unresolved=7, smallest_effect=0.5)
    told = [block for block in decisions.build(replace(judged, disturbance=noisy)) if isinstance(block, Paragraph)]
    assert told[-1].tone == "muted"
    assert told[-1].text == (
        f"All {len(judged.decisions)} decisions are clear in spite of the noise, but not every single comparison is. "
        f"{noisy.warning_text()}"
    )
    left = (decision("xla", action="undecided", choice=None), *judged.decisions)
    told = [
        block
        for block in decisions.build(replace(judged, disturbance=noisy, decisions=left))
        if isinstance(block, Paragraph)
    ]
    assert told[-1].tone == "warn"
    assert told[-1].text == f"1 of {len(left)} decisions is undecided. {noisy.warning_text()}"


def test_warnings_of_the_files_stand_beside_the_answer(judged):
    warning = UnfinishedLine("samples.jsonl", 6)
    blocks = decisions.build(with_run(judged, warnings=(warning,)))
    assert Paragraph(f"Warning: {warning.text()}", "warn") in blocks
    nothing = decisions.build(with_run(nothing_measured(judged), warnings=(warning,)))
    assert Paragraph(f"Warning: {warning.text()}", "warn") in nothing


# latency and ratios


def test_every_latency_is_in_a_chart_and_in_a_table(judged):
    blocks = latency_section.build(judged)
    rows = [row for block in blocks if isinstance(block, Chart) for row in block.spec["datasets"]["rows"]]
    cells = [cell for table in tables(blocks) for row in table.rows for cell in row[table.headings :]]
    assert sum("seconds" in row for row in rows) == len(judged.latencies)
    crossovers = [(made.use, one.size) for made in judged.decisions for one in made.crossovers]
    assert sorted(row["at"] for row in rows if "at" in row) == sorted(size for _, size in crossovers)
    shown = sorted(
        formatting.seconds_interval(row.seconds, row.low, row.high) for row in judged.latencies.itertuples(index=False)
    )
    assert sorted(str(cell) for cell in cells if str(cell) != formatting.MISSING) == shown


def test_a_chart_is_told_in_words(judged):
    table = judged.latencies
    there = table[(table["direction"] == "forward") & (table["dtype"] == "float32")]
    expected = []
    for op, size in (("sinh", 100_000), ("edit_distance", 100)):
        largest = there[(there["op"] == op) & (there["size"] == size)]
        fast, slow = (largest.loc[place] for place in (largest["seconds"].idxmin(), largest["seconds"].idxmax()))
        expected.append(
            f"Time per call of {op} for 4 variants. Forward · float32 at {formatting.sized(size, 'elements')}: "
            f"{fast['label']} is fastest with {formatting.seconds(fast['seconds'])}, {slow['label']} slowest with "
            f"{formatting.seconds(slow['seconds'])}."
        )
    alts = [block.alt for block in latency_section.build(judged) if isinstance(block, Chart)]
    assert [alt for alt in alts if alt in expected] == expected


def test_every_verdict_is_in_a_chart_and_in_a_table_with_its_outcome(judged):
    blocks = ratios_section.build(judged)
    rows = [row for block in blocks if isinstance(block, Chart) for row in block.spec["datasets"]["rows"]]
    assert sorted(row["outcome"] for row in rows) == sorted(verdict.outcome for verdict in judged.verdicts)
    cells = [
        cell
        for table in tables(blocks)
        if "settle" not in table.caption
        for row in table.rows
        for cell in row[table.headings :]
    ]
    shown = [f"{formatting.ratio_interval(v.ratio, v.low, v.high)} {v.outcome}" for v in judged.verdicts]
    assert sorted(str(cell) for cell in cells if str(cell) != formatting.MISSING) == sorted(shown)


def test_an_unresolved_verdict_has_its_reason():
    judgement = plain(launches=1)
    left = [table for table in tables(ratios_section.build(judgement)) if "settle" in table.caption]
    cells = [cell for table in left for row in texts(table) for cell in row[table.headings :]]
    assert {verdict.outcome for verdict in judgement.verdicts} == {"unresolved"}
    assert sum(cell != formatting.MISSING for cell in cells) == len(judgement.verdicts)
    said = {f"about {one.needed:,}, not 1" if one.needed else one.reason.text() for one in judgement.verdicts}
    assert said == set(cells) - {formatting.MISSING}


def test_directions_of_one_dtype_stand_side_by_side(judged):
    charts = [block for block in latency_section.build(judged) if isinstance(block, Chart)]
    assert charts[0].spec["facet"]["sort"] == [
        f"{direction} · {dtype}"
        for dtype in ("float32", "float64")
        for direction in ("forward", "backward", "forward + backward")
    ]


# crossovers


def test_every_candidate_has_its_crossover_or_an_answer(judged):
    found = tables(crossovers_section.build(judged))
    ops = {f"{made.op}: crossovers with {judged.baseline}": made.op for made in judged.decisions}
    shown = [[ops[table.caption], *row] for table in found for row in texts(table)]
    asked = [(made.op, made.use, made.dtype, one.label) for made in judged.decisions for one in made.size_trends]
    assert sorted(tuple(row[:4]) for row in shown) == sorted(asked)
    crossing = [row for row in shown if row[:4] == ["sinh", "inference", "float32", "native"]]
    # By hand: native leaves 9.6e-5 / 1.3e-4 of the time at 10,000 and 9.06e-4 / 4.9e-4 at 100,000, 0.738 and 1.849; the
    # line through them is 1 at 10,000 * 10 ** (0.262 / 1.111), which is 17,200.
    (crossover,) = next(
        trend.crossovers
        for made in judged.decisions
        for trend in made.size_trends
        if (made.op, made.use, made.dtype, trend.label) == ("sinh", "inference", "float32", "native")
    )
    assert crossover.size == pytest.approx(17_200, rel=0.05)
    assert 13_000 < crossover.low <= crossover.size <= crossover.high < 23_000
    ((*_, answer, size, span),) = crossing
    assert answer == "faster below, slower above"
    assert size == formatting.about_size(crossover.size) + " elements"
    assert span == formatting.about_sizes(crossover.low, crossover.high)


def test_a_candidate_that_does_not_cross_says_where_it_differs(judged):
    size_trends = (
        SizeTrend("a", "faster", (10, 100), (10, 100)),
        SizeTrend("b", "slower", (10, 100), (100,)),
        SizeTrend("c", "unclear", (10, 100), ()),
        SizeTrend("d", "crosses", (10, 100), (10, 100), (Crossover("native", "d", 12.3, 11.0, 23.4),)),
    )
    made = decision("sinh", size_trends=size_trends)
    (table,) = tables(crossovers_section.build(replace(judged, decisions=(made,))))
    none, (crossover,) = ["none in range", formatting.MISSING], size_trends[-1].crossovers
    assert [row[-3:] for row in texts(table)] == [
        *([trend.text(), *none] for trend in size_trends[:-1]),
        [
            crossover.change_text("d"),
            f"{formatting.about_size(12.3)} elements",
            formatting.about_sizes(crossover.low, crossover.high),
        ],
    ]


def test_a_leader_that_changes_has_the_sizes_at_which_it_may_be(judged):
    made = decision("sinh", crossovers=(Crossover("a", "b", 34_567.0, 21_000.0, None),))
    table = tables(decisions.build(replace(judged, decisions=(made,))))[3]
    assert table.rows[0][-1] == made.crossovers[0].text("elements")


# holes


def test_forty_cases_of_one_reason_are_one_row(judged):
    (table,) = tables(holes.build(judged))
    rows = {row[2]: row for row in texts(table)}
    assert rows["no numba body"][:2] == ["unsupported", "40"]
    assert sorted(row[0] for row in rows.values())[:2] == ["crashed", "not measured"]


def test_many_reasons_are_told_in_words_before_a_folded_table(judged):
    found = [Failure(f"sinh/xla/none/forward/call/float32/{n}/cpu", "raised", f"reason {n:03}") for n in range(1, 20)]
    for many in (holes.MOST_ROWS, holes.MOST_ROWS + 1):
        blocks = holes.build(with_run(judged, failures=found[:many], cases=()))
        (table,) = tables(blocks)
        assert (len(table.rows), table.folded) == (many, many > holes.MOST_ROWS)
        assert any(isinstance(block, Bullets) for block in blocks) == table.folded


def test_a_reason_that_many_ops_have_is_told_once(judged):
    case = Case("sinh", "autograph", "none", "forward", "call", "float32", 1_000)
    lacking = [Failure(replace(case, op=op).id, "unsupported", "no python body") for op in ("sinh", "log")]
    (bullets,) = holes.brief(with_run(judged, failures=lacking, cases=()))
    assert bullets.items == ("2 cases unsupported, of sinh and log: no python body",)


def test_every_case_without_a_number_is_accounted_for(judged):
    (table,) = tables(holes.build(judged))
    told = [case for row in texts(table) for pattern in row[3].split("; ") for case in expand(pattern)]
    measured = set(judged.latencies["case"])
    missing = {case for case in judged.run.cases if case not in measured}
    assert sorted(told) == sorted({failure.case for failure in judged.run.failures} | missing)
    assert "sinh/xla/none/forward/call/float32/1000/cpu" in told


def test_a_case_that_failed_in_one_launch_and_was_measured_in_others_says_so(judged):
    (table,) = tables(holes.build(judged))
    assert [row[2] for row in texts(table) if row[0] == "crashed"] == [
        "signal 11 (1 of these measured in other launches)"
    ]


def test_what_is_no_case_is_shown_as_it_is():
    assert holes.compact(["what/ever", "a/b/none/forward/call/float32/1/cpu"]) == [
        "a/b/none/forward/call/float32/1/cpu",
        "what/ever",
    ]


def test_no_hole_is_said_so(judged):
    measured = tuple(judged.latencies["case"])
    assert "None" in words(holes.build(with_run(judged, failures=(), cases=measured)))


cases = st.builds(
    Case,
    op=st.sampled_from("ab"), variant=st.sampled_from("cde"), gradient=st.sampled_from(["none", "tape"]),
    direction=st.sampled_from(["forward", "backward"]), mode=st.sampled_from(["call", "eager"]),
    dtype=st.sampled_from(["float32", "float64"]), size=st.sampled_from([1, 10, 100]),
)  # fmt: skip


@settings(max_examples=200)
@given(st.lists(cases, max_size=60))
def test_patterns_stand_for_exactly_their_cases_each_once(chosen):
    ids = [case.id for case in chosen]
    expanded = [case for pattern in holes.compact(ids) for case in expand(pattern)]
    assert sorted(expanded) == sorted(set(ids))


# noise


NOT_DROPPED = (
    "Nothing is dropped: medians over rounds give outliers little weight, and intervals include the differences "
    "between launches."
)


TOO_FEW_BLOCKS = "No case has enough blocks in one launch to find outliers."


def least_text(disturbance: Disturbance) -> str:
    return f"{disturbance.spread_text()} The minimum effect is 3%."


def seen_text(far: str, stolen: int, busy: str = "") -> str:
    """Return what is said of four launches: of their blocks, in how many others had the processors, of other work."""
    return (
        f"{far} In {stolen} of 4 launches other virtual machines took more than 1% of the processors."
        f"{busy} {NOT_DROPPED}"
    )


def test_every_launch_says_what_went_on(judged):
    spread, seen, table = noise_section.build(judged)
    assert spread.text == least_text(judged.disturbance)
    assert seen.text == seen_text(TOO_FEW_BLOCKS, 0)
    # By hand: of 4 rows of 10 s on 2 cores, one for each bench, 0.02 s each were stolen.
    assert texts(table)[0][:6] == ["0", "0.1%", "0.250", "2,500 to 2,600", "0.500", "0"]
    assert not table.folded


def test_a_disturbed_launch_stands_out_and_is_counted(judged):
    launches = judged.disturbance.launches
    loud = (*launches[:-1], replace(launches[-1], steal_share=0.2, far_share=0.3, mhz_low=None, load=2.5))
    _, seen, table = noise_section.build(replace(judged, disturbance=replace(judged.disturbance, launches=loud)))
    far = (
        "On average 30% of the timed blocks are outliers, more than 5 robust standard deviations above the "
        "median of their launch."
    )
    assert seen.text == seen_text(far, 1, " In 1 the load was above the 2 cores, so other work was running.")
    assert table.rows[-1][1:3] == (Cell("20%", "warn", number=0.2), Cell("2.50", "warn", number=2.5))
    assert table.rows[-1][3] == Cell(formatting.MISSING)
    assert table.rows[-1][-1] == Cell("30%", "warn", number=0.3)


def test_what_is_not_told_is_not_made_up(judged):
    launches = tuple(
        replace(one, steal_share=None, load=None, switches_per_second=None, collections=None, far_share=None)
        for one in judged.disturbance.launches
    )
    _, seen, table = noise_section.build(replace(judged, disturbance=replace(judged.disturbance, launches=launches)))
    untold = "This system does not report what other virtual machines take."
    assert seen.text == f"{TOO_FEW_BLOCKS} {untold} {NOT_DROPPED}"
    assert [texts(table)[0][place] for place in (1, 2, 4, 5, 7)] == [formatting.MISSING] * 5


def test_a_machine_that_was_too_noisy_says_so_again_in_its_section(judged):
    noisy = replace(judged.disturbance, smallest_effect=0.5, usual_spread=0.4, unresolved=3)
    first = noise_section.build(replace(judged, disturbance=noisy))[0]
    assert first == Paragraph(noisy.warning_text(), "warn")
    resolved = replace(noisy, unresolved=0)
    (first, *_) = noise_section.build(replace(judged, disturbance=resolved))
    assert first == Paragraph(f"{least_text(resolved)} Every verdict is resolved all the same.")


# environment and method


def test_the_command_can_be_pasted(judged):
    blocks = environment.build(with_run(judged, command=("pyopbench", "run", "--out", "my results")))
    assert [block.text for block in blocks if isinstance(block, Code)] == ["pyopbench run --out 'my results'"]


def test_environment_and_settings_are_shown_whole(judged):
    found = {row[0]: row[1] for table in tables(environment.build(judged))[:2] for row in texts(table)}
    assert found["memory_bytes"] == "8.00 GiB"
    assert found["tensorflow_build.cuda"] == "no"
    assert found["governor"] == "unknown"
    assert found["budget_seconds"] == "150 s"
    assert set(found) == set(environment.flat(judged.run.environment)) | set(msgspec.to_builtins(judged.run.settings))


def test_launches_tell_what_differs(judged):
    table = tables(environment.build(judged))[2]
    assert table.columns == ("launch", "pid")
    assert texts(table) == [[str(i), str(100 + i)] for i in range(4)]
    said = "4 launches, each a process of its own under TensorFlow 2.21.0, which differ in pid."
    assert Paragraph(said) in environment.build(judged)


def judged_texts(verdicts: int, mix: str) -> tuple[str, ...]:
    """Return how so many verdicts were made, and decisions by a mix."""
    intervals = (
        "Each launch gives one number per case, and only launches count as independent. Intervals are t intervals over "
        "launches; from six launches on, or from nine if little else shows their spread, the mean is trimmed (Yuen "
        "1974). The spread of few launches is moved towards what the size of the ratio and the noise within rounds "
        "predict (Smyth 2004). Ports are allowed to shift by 4% from run to run."
    )
    corrected = (
        f"{verdicts} verdicts against py_function_numpy are corrected together (Holm), and for 1 analysis of the data "
        "(Bonferroni): the chance of any false verdict is at most 5%. Faster or slower means a difference of clearly "
        "more than 3%, equivalent clearly less; anything else is unresolved."
    )
    chosen = (
        f"In a decision {mix}. The answer is the variant that takes the least work among those within 3% of the best, "
        "or within twice that if the data leave it open. What it may cost against the best is bounded for all "
        "candidates at once (Hsu 1981), and a change must clearly save more than 3%. More in docs/statistics.md."
    )
    return intervals, corrected, chosen


def test_the_method_has_the_figures_of_the_run(judged):
    measured, *how = method.build(judged)[:4]
    assert measured.text == (
        f"{len(judged.latencies)} cases timed in 4 launches, each a fresh process, with 5 timed blocks per "
        "case and launch. Variants of one op, size, dtype and mode are interleaved in balanced random order, "
        "so that drift of the machine affects all of them alike. Values and gradients are checked before "
        "anything is timed. Backward is timed directly, not as a difference of totals. More in "
        "docs/how-it-measures.md."
    )
    mix = "the callback's time is spread evenly over the logarithm of the size"
    assert tuple(one.text for one in how) == judged_texts(len(judged.verdicts), mix)


def test_the_share_of_the_clock_is_that_of_the_blocks(judged):
    """One pair of readings for a forward block; one per call of backward, two where forward is timed too."""
    frame = judged.run.frame.iloc[:3].assign(
        direction=["forward", "backward", "forward_backward"], calls=[100, 10, 10], seconds=[1e-3, 1e-3, 1e-3],
        timer_seconds=1e-7, timer_error_seconds=1e-9,
    )  # fmt: skip
    assert method.build(with_run(judged, frame=frame))[4] == Paragraph(
        "Reading the clock twice costs up to 100 ns. Forward blocks have one pair, at most 0.01% of their "
        "time. Backward blocks have one or two pairs per call, at most 0.2% of their time. This is subtracted "
        "from all times. The remaining uncertainty (half the interquartile range of that cost) is at most "
        "0.002%."
    )


def test_a_clock_that_was_not_recorded_is_not_made_up(judged):
    frame = judged.run.frame.assign(timer_seconds=float("nan"))
    assert method.build(with_run(judged, frame=frame))[4] == Paragraph(
        "These results do not record what the clock costs."
    )


def test_the_floor_is_the_op_that_only_crosses_the_bridges(judged):
    (table,) = tables(method.build(judged))
    assert [row[0] for row in texts(table)] == ["native", "py_function_numpy"]
    assert "1k elements" in table.caption
    without = replace(judged, latencies=judged.latencies[judged.latencies["op"] != "identity"])
    assert method.build(without)[-1] == Paragraph(
        "The bridge baseline was not measured; add the op `identity` to see what an empty callback costs."
    )


def test_the_mix_is_told(judged):
    how = method.build(replace(judged, mix={100_000: 1.0, 1_000: 10.0}))[1:4]
    given = "calls are mixed as you gave them (10.0 of 1k, 1.00 of 100k)"
    assert tuple(one.text for one in how) == judged_texts(len(judged.verdicts), given)


def test_a_section_says_when_there_is_nothing_to_show(judged):
    silent = [section.name for section in sections.discover() if not section.build(nothing_measured(judged))]
    assert silent == [
        "source",
        "machines",
        "automatic",
        "devices",
        "worth",
        "requirements",
        "nodes",
        "threads",
        "pipeline",
        "checks",
        "placement",
        "copies",
    ], "left out of every report without such data"


# threads and pipelines


REFUSED = Failure(thread_calls.case_of("native", 8), "wrong", "not so", 0)


def called(judgement, made):
    fields = ("frame", "waits", "cases", "failures", "catalogue")
    return with_run(judgement, **{name: getattr(made, name) for name in fields})


def test_calls_from_threads_have_a_row_for_each_variant_and_number_of_threads(judged):
    rates = {BASELINE: {1: 1000.0, 4: 900.0}, "native": {1: 2000.0, 4: 6000.0}}
    _, table, refusals = threads.build(called(judged, thread_calls.run(rates, failures=[REFUSED])))
    found = [" ".join(row[:2]) for row in texts(table)]
    assert found == ["native 1", "native 4", f"{BASELINE} 1", f"{BASELINE} 4"]
    assert len(refusals.items) == 1


def test_a_ticket_and_a_terminal_say_what_fewest_and_most_threads_come_to(judged):
    made = thread_calls.run({BASELINE: {1: 1000.0, 2: 1000.0, 4: 900.0}, "native": {4: 6000.0}}, failures=[REFUSED])
    table, refusals = threads.brief(called(judged, made))
    port, current = texts(table)
    assert len(table.columns) == len(current) == 7
    assert current[-3] != formatting.MISSING
    assert (current[-1], port[-3]) == (formatting.MISSING, formatting.MISSING), "no ratio to itself, and no such case"
    assert port[-1] != formatting.MISSING
    assert len(refusals.items) == 1
    (shown,) = (one for one in terminal.tables(called(judged, made)) if one.columns == table.columns)
    assert [list(row) for row in shown.rows] == [list(row) for row in texts(table)]


def test_dtypes_are_told_apart_where_there_are_several(judged):
    single, double = (thread_calls.run({BASELINE: {1: 900.0}}, dtype=dtype) for dtype in ("float32", "float64"))
    (table,) = threads.brief(called(judged, thread_calls.together(single, double)))
    assert [row[0] for row in texts(table)] == ["double float32", "double float64"]


def test_one_number_of_threads_has_one_column(judged):
    (table,) = threads.brief(called(judged, thread_calls.run({BASELINE: {4: 900.0}, "native": {4: 6000.0}})))
    assert len(table.columns) == len(table.rows[0]) == 6


def test_a_pipeline_beside_the_run_is_shown_with_its_answer_charts_and_rows(judged):
    seconds = {pipelines.CURRENT.key: 1e-4, pipelines.PARALLEL.key: 1e-4, pipelines.PORT.key: 1e-5}
    answer, _, throughput, scaling, table, left_out = pipeline.build(with_run(judged, pipeline=pipelines.rows(seconds)))
    assert pipelines.PORT.code in answer.text
    assert {throughput.kind, scaling.kind} == {"chart"}
    assert len(table.rows) == 3
    assert left_out.says_why


def test_the_charts_of_a_pipeline_are_in_the_page_as_those_of_the_run_are(judged):
    without, beside = (
        render(with_run(judged, pipeline=made))["report.html"].count('class="chart')
        for made in (None, pipelines.rows({pipelines.CURRENT.key: 1e-4, pipelines.PORT.key: 1e-5}))
    )
    assert beside == without + 2


# certificate


def certified(judged, made, **environment):
    found = with_run(judged, certificate=made, environment={**made.environment, **environment})
    return certificate_section.build(found)


def is_warning(block) -> bool:
    return isinstance(block, Paragraph) and block.tone == "warn"


MISSED = Paragraph("Not as good as promised:", "bad")
MANY_APART = Pairs(0, 100, 5, 5, 90, 0, 1.0, 0.16, 0.83)


def test_the_run_effect_is_told_in_short_too(judged):
    made = certificate()
    found = with_run(judged, certificate=made, environment=made.environment)
    items = [item for block in certificate_section.brief(found) if isinstance(block, Bullets) for item in block.items]
    assert f"{certificate_section.RUN_EFFECT}: {effect_text(made.run_effect)}" in items


def test_decisions_of_a_quick_certificate_are_promised_nothing(judged):
    (table,) = tables(certified(judged, certificate(quick=True)))
    rows = {row[0]: row[1:] for row in texts(table)}
    assert {rows[what][1] for what in ("decisions that changed", "cost of wrong answers")} == {formatting.MISSING}


def test_a_machine_without_a_certificate_is_said_to_have_none(judged):
    (told,) = certificate_section.build(judged)
    assert told == Paragraph(
        "This machine was never certified, so the rates of false verdicts and missed slowdowns are unknown. "
        "Run `pyopbench certify`.",
        "warn",
    )


def test_the_figures_of_the_certificate_are_shown(judged):
    blocks = certified(judged, certificate())
    (table,) = tables(blocks)
    rows = {row[0]: row[1:] for row in texts(table)}
    assert rows["A/A controls, found different"] == [
        "1 of 1,080 (0.0926%, at most 0.44%)",
        "at most 0.1% (upper bound: at most 5%)",
    ]
    assert rows["A/A controls, found equivalent"] == ["1,070 of 1,080 (99.1%, at least 98.5%)", "at least 95%"]
    assert rows["slowed by 5%, found"] == ["118 of 120 (98.3%, at least 95%)", "at least 95%"]
    assert rows["run effect"][0] == effect_text(certificate().run_effect)
    assert rows["decisions that changed"] == ["1 of 24, made 3 times", "at most 8.33%"]
    assert rows["answers beyond their bound"] == ["0 of 72", "none"]
    assert rows["overhead on 20.0 µs"] == ["0.05%", "at most 2%"]
    assert made_text(certificate()) in words(blocks)
    assert [block.items for block in blocks if isinstance(block, Bullets)] == [
        ("sinh, training: keep, then undecided, then port to native",)
    ]
    assert MISSED not in blocks


def test_what_a_certificate_misses_is_shown(judged):
    blocks = certified(judged, certificate(identical=MANY_APART, decisions=None))
    assert MISSED in blocks
    (misses,) = (block.items for block in blocks if isinstance(block, Bullets))
    expected = misses_of(certificate(identical=MANY_APART, decisions=None))
    assert misses == tuple(miss.text() for miss in expected)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, None),
        ({"commit": "abc"}, "commit unknown there, abc here"),
        ({"pyopbench": "0.2.0"}, "version 0.1.0 there, 0.2.0 here"),
        ({"dirty": True}, "uncommitted changes no there, yes here"),
    ],
)
def test_a_certificate_of_another_pyopbench_is_told(judged, change, told):
    found = certified(judged, certificate(), **change)
    expected = (
        f"The certificate is of another pyopbench ({told}); run `pyopbench certify` again for figures of this one."
    )
    assert [block for block in found if is_warning(block)] == ([Paragraph(expected, "warn")] if told else [])


def test_two_checkouts_with_changes_need_not_be_the_same(judged):
    made = certificate(environment={**certificate().environment, "dirty": True})
    assert [block for block in certified(judged, made) if is_warning(block)] == [
        Paragraph(
            ("Both were made with uncommitted changes; run `pyopbench certify` again for figures of this one."), "warn"
        )
    ]


def test_the_failures_of_these_tests_are_many():
    assert len({failure.case for failure in failures()}) == 42
