"""What a report says of several versions of TensorFlow: what to do on each, and what changed."""

from __future__ import annotations

import html
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import stored
from judgements import plain_report
from pairs import VARIANTS, cases, write_versions
from pyopbench.judge import judge
from pyopbench.judge.comparison.diff import reach_of
from pyopbench.judge.comparison.gate import VersionComparison, judge_versions, read_gate
from pyopbench.judge.judge import Judgement
from pyopbench.judge.verdicts import Verdict
from pyopbench.model import formatting
from pyopbench.model.errors import NothingMeasured
from pyopbench.report import write
from pyopbench.report.sections import Block, Bullets, Cell, Paragraph, Table
from pyopbench.report.sections import versions as section
from pyopbench.store.run import open_run

Shown: TypeAlias = tuple[Judgement, VersionComparison]
"""What the report of one version is made of."""

SLOW, FAST = cases()[-1], cases()[2]
"""xla at its largest size, native at its smallest."""
CHANGED = {"2.21.0": {"factors": {SLOW: 2.0, FAST: 0.5}}}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    folder = write_versions(tmp_path_factory.mktemp("run"), "2.16.2", "2.21.0", **CHANGED)
    return shown(folder)


def shown(folder: Path, **unmeasured: str) -> Shown:
    """Return what the report of the last version is made of."""
    every = stored.sides_of(folder)
    judging = judge.Judging(VARIANTS[0], 0.03)
    across = judge_versions(open_run(folder), every, judging, read_gate(folder, 0.03), unmeasured)
    return [*across.judgements.values()][-1], replace(across, shown=every[-1].label)


def verdict_of(judged: Shown, case: str) -> Verdict:
    (found,) = [one.verdict for one in judged[1].comparisons["2.21.0"].cases if one.case == case]
    return found


def only(blocks: Any, kind: type[Block], caption: str = "") -> Any:
    (found,) = [one for one in blocks if isinstance(one, kind) and caption in getattr(one, "caption", "")]
    return found


def test_the_answer_is_told_for_each_version(judged: Shown) -> None:
    table = only(section.build(judged[1]), Table, "What to do")
    assert table.columns == ("op", "use", "2.16.2", "2.21.0")
    ((op, use, old, new),) = table.rows
    assert (op, use) == (Cell("double", op="double"), "inference")
    assert old.text == "keep"
    assert new.text == "switch to native"
    (made,) = judged[0].decisions
    assert formatting.saved_at_least(made.saved, made.saved_low) in new.note


def test_what_changed_is_listed_worst_first(judged: Shown) -> None:
    table = only(section.build(judged[1]), Table, "What changed")
    assert [(row[0], row[-1].tone) for row in table.rows] == [("xla 10", "bad"), ("native 1", "good")]
    verdicts = [verdict_of(judged, case) for case in (SLOW, FAST)]
    assert [verdict.outcome for verdict in verdicts] == ["slower", "faster"]
    assert [row[-1].text for row in table.rows] == [
        f"{formatting.ratio_interval(one.ratio, one.low, one.high)} {one.outcome}" for one in verdicts
    ]


def test_versions_that_do_not_differ_have_no_list(tmp_path: Path) -> None:
    alike = shown(write_versions(tmp_path, "2.16.2", "2.21.0"))
    comparison = alike[1].comparisons["2.21.0"]
    assert [case.verdict.outcome for case in comparison.cases] == ["equivalent"] * 6
    _, answers, said = section.build(alike[1])
    assert answers.caption == "What to do, by side"
    assert said == Paragraph(f"2.21.0 against 2.16.2: {comparison.summary()} {reach_of(comparison).text()}")


def test_a_version_without_a_number_is_named_with_its_reason(tmp_path: Path) -> None:
    judged = shown(write_versions(tmp_path, "2.16.2"), **{"2.21.0": "3 failures; the first: it broke"})
    said, _, missing = section.build(judged[1])
    assert isinstance(said, Paragraph)
    assert said.text == "Only 2.16.2 was measured, so there is nothing to compare."
    assert missing == Paragraph("nothing was measured on 2.21.0: 3 failures; the first: it broke", "warn")
    assert section.brief(judged[1])[1] == Bullets((missing.text,))


def test_a_version_that_cannot_be_compared_says_why_in_a_line(judged: Shown) -> None:
    error = NothingMeasured("nothing to compare", received="1 case", legal="more", hint="measure")
    judgement, across = judged
    apart = (judgement, replace(across, comparisons={}, unmatched={"2.21.0": error}))
    assert section.build(apart[1])[-1] == Paragraph("2.21.0: nothing to compare: 1 case", "warn")
    assert section.brief(apart[1])[1] == Bullets(("2.21.0: nothing to compare: 1 case",))


def titles_of(judged: Shown) -> list[str]:
    """Return the title of the section and the captions of its tables."""
    blocks = section.build(judged[1])
    return ["Answers by side", *(block.caption for block in blocks if isinstance(block, Table))]


def test_a_run_on_one_version_says_nothing_of_it(judged: Shown) -> None:
    texts = plain_report()
    for name in ("report.html", "report.md"):
        assert [title for title in titles_of(judged) if title in texts[name]] == []


def test_the_page_holds_it(judged: Shown) -> None:
    page = html.unescape(write.render(*judged)["report.html"])
    assert [title for title in titles_of(judged) if title not in page] == []
