"""The report: every output from the same sections, complete, reproducible, and inert whatever names hold."""

from __future__ import annotations

import hashlib
import html
import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest
from markdown_it import MarkdownIt

import pipelines
import stored
import thread_calls
from frames import Bench, run_of
from judgements import HOSTILE, hostile, hostile_report, hostile_versions, plain, plain_report, with_noise_for_today
from places import HELPERS, ROOT
from pyopbench.judge.judge import Judging, judge_run
from pyopbench.model import formatting
from pyopbench.model.case import BASELINE
from pyopbench.model.formatting import printable
from pyopbench.report import write
from pyopbench.report.sections import Chart, Paragraph, Table, sections
from pyopbench.report.sections.answer import answers

NAMES = ["report.html", "report.md", "decisions.json"]
VOID = {"meta", "br", "wbr", "path", "rect", "line", "g"}


class Page(HTMLParser):
    """Collects what a browser would see: elements, attributes, words, and whether every element is closed."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str | None]] = []
        self.words = ""
        self.open: list[str] = []
        self.feed(content)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data

    def values(self, *names: str) -> list[str | None]:
        return [value for name, value in self.attributes if name in names]


def one_line(text: str) -> str:
    return " ".join(text.split())


def shown(text: str) -> str:
    """Return what a page shows of a text, but for code in backticks."""
    return one_line(printable(text)).replace("`", "")


def with_run(judgement, **fields):
    return replace(judgement, run=SimpleNamespace(**{**vars(judgement.run), **fields}))


def nothing_measured():
    judged = plain()
    nothing = with_run(judged, frame=judged.run.frame.iloc[:0], failures=())
    return replace(nothing, latencies=judged.latencies.iloc[:0], verdicts=(), decisions=())


def on_two_devices():
    cpu = Bench({"py_function_numpy": 9e-5, "native": lambda n: 6e-6 + 1e-8 * n}, sizes=(1_000, 1_000_000))
    return judge_run(run_of(cpu, replace(cpu, curves={"py_function_numpy": 4e-4, "native": 5e-5}, placement="gpu")))


def from_threads():
    made = thread_calls.run({BASELINE: {1: 1000.0, 4: 900.0}, "native": {1: 2000.0, 4: 6000.0}})
    fields = ("frame", "waits", "cases", "failures", "catalogue")
    return with_run(plain(), **{name: getattr(made, name) for name in fields})


def in_a_pipeline():
    return with_run(plain(), pipeline=pipelines.rows({pipelines.CURRENT.key: 1e-4, pipelines.PORT.key: 1e-5}))


MADE = {
    "plain": plain,
    "hostile": hostile,
    "nothing": nothing_measured,
    "two devices": on_two_devices,
    "threads": from_threads,
    "pipeline": in_a_pipeline,
    "noise": with_noise_for_today,
}
RENDERED = {"plain": plain_report, "hostile": hostile_report}


@cache
def made(name):
    """Return a judgement, and the texts of its report: most of the time goes into its charts."""
    judged = MADE[name]()
    return judged, RENDERED[name]() if name in RENDERED else write.render(judged)


@pytest.mark.parametrize("name", MADE)
def test_the_page_holds_every_block_of_every_section(name):
    judged, texts = made(name)
    across = hostile_versions() if name == "hostile" else None
    page = Page(texts["report.html"])
    words = one_line(page.words).replace("`", "")
    assert page.open == []
    charts = 0
    for section in sections(across):
        blocks = section.build(judged)
        charts += sum(isinstance(block, Chart) for block in blocks)
        for block in blocks:
            if isinstance(block, Paragraph):
                assert shown(block.text) in words
            if isinstance(block, Table):
                assert {len(row) for row in block.rows} <= {len(block.columns)}, block.caption
                assert all(
                    shown(getattr(cell, "text", cell)) in words.replace("`", "") for row in block.rows for cell in row
                )
    assert page.tags["svg"] == charts


@pytest.mark.parametrize("name", ["plain", "hostile"])
def test_the_page_has_no_script_and_loads_nothing_and_its_links_lead_somewhere(name):
    page = Page(RENDERED[name]()["report.html"])
    assert not page.tags["script"]
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    (policy,) = [value for value in page.values("content") if value and "default-src" in value]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"
    places = page.values("id")
    assert len(places) == len(set(places))
    assert {f"#{one}" for one in places} >= set(page.values("href", "src", "xlink:href"))


def test_every_measured_case_and_every_verdict_is_in_a_table():
    judged = plain()
    words = one_line(Page(plain_report()["report.html"]).words)
    for row in judged.latencies.to_dict("records"):
        assert formatting.seconds_interval(row["seconds"], row["low"], row["high"]) in words
    for verdict in judged.verdicts:
        assert formatting.ratio_interval(verdict.ratio, verdict.low, verdict.high) in words
    assert "signal 11" in words, "why a case has no number"


def test_what_is_absent_has_no_section():
    names = {name: {section.name for section in sections() if section.build(made(name)[0])} for name in MADE}
    assert names["nothing"] >= {"answer", "times", "holes", "about"}
    for section in ("threads", "pipeline"):
        assert {other for other in MADE if section in names[other]} == {section}
    shown = {name for name in MADE if "Where each op should run" in made(name)[1]["report.html"]}
    assert shown == {"two devices"}


def test_the_report_is_three_files(tmp_path):
    cases = [stored.case("native"), stored.case("numpy_function")]
    lines = [stored.launch_line(0), stored.group_line(0, cases), stored.launch_line(1), stored.group_line(1, cases)]
    folder = stored.write(tmp_path / "run", stored.run(cases), lines)
    judgement = write.report_results([folder], tmp_path / "deep" / "out", Judging("numpy_function", 0.05))
    assert (judgement.baseline, judgement.minimum_effect) == ("numpy_function", 0.05)
    found = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "deep" / "out").iterdir()}
    rendered = write.render(judgement)
    assert found == rendered
    assert list(rendered) == NAMES


def test_the_same_judgement_gives_the_same_bytes_in_another_process():
    code = (
        "import hashlib, judgements; from pyopbench.report import write; found = write.render(judgements.plain());"
        "print(*(hashlib.sha256(found[name].encode()).hexdigest() for name in found))"
    )
    here = [hashlib.sha256(plain_report()[name].encode()).hexdigest() for name in NAMES]
    paths = os.pathsep.join([str(ROOT), str(HELPERS)])
    environment = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": paths}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == here


def test_every_decision_is_in_every_output():
    judged = plain()
    page, markdown = one_line(Page(plain_report()["report.html"]).words), text_of(plain_report()["report.md"])
    table = answers(judged)
    documents = json.loads(plain_report()["decisions.json"])["decisions"]
    assert len(judged.decisions) > 4
    for one, found, row in zip(judged.decisions, documents, table.rows, strict=True):
        assert [found[name] for name in ("op", "use", "action", "choice")] == [one.op, one.use, one.action, one.choice]
        assert tuple(map(str, (*row[:2], row[-3]))) == (one.op, one.use, one.answer.text())
        assert found["reason"] == one.why()
        assert one.why() in page
        assert one.why() in markdown


def test_a_cost_that_is_noise_is_a_number_in_no_output():
    """-13.2 us (-6,020 to 5,990) says nothing: tables say so."""
    _, found = made("noise")
    for name in ("report.md", "report.html"):
        assert formatting.TOO_NOISY in found[name]
        assert "13.2 µs" not in found[name]


# Markdown


def as_html(markdown: str) -> str:
    return MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown)


def text_of(markdown: str) -> str:
    return one_line(html.unescape(re.sub(r"<[^>]+>", "", as_html(markdown))))


@pytest.mark.parametrize("name", ["plain", "hostile"])
def test_markdown_tables_have_a_cell_for_each_column(name):
    markdown = RENDERED[name]()["report.md"]
    tables = re.findall(r"<table>(.*?)</table>", as_html(markdown), re.DOTALL)
    assert tables
    for table in tables:
        rows = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
        assert len({len(re.findall(r"<t[hd]", row)) for row in rows}) == 1


def test_hostile_names_are_inert_and_shown():
    page = as_html(hostile_report()["report.md"])
    assert set(re.findall(r"</?([a-z0-9]+)", page)) <= {
        "h1", "h2", "h3", "p", "table", "thead", "tbody", "tr", "th", "td", "strong", "pre", "code", "ul", "li",
        "details", "summary",
    }  # fmt: skip
    words = (text_of(hostile_report()["report.md"]), one_line(Page(hostile_report()["report.html"]).words))
    for name in HOSTILE:
        assert all(one_line(name) in one for one in words)


def test_each_op_is_folded_into_one_line_of_markdown_with_its_reasons():
    judged = plain()
    lines = [line for line in plain_report()["report.md"].splitlines() if line.startswith("<details>")]
    for op, line in zip(dict.fromkeys(one.op for one in judged.decisions), lines, strict=True):
        assert all(one.why() in html.unescape(line) for one in judged.decisions if one.op == op)
