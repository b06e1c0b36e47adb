"""The report: every output from the same sections, the same bytes each time, and inert whatever names hold."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import html
import itertools
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser

import altair as alt
import jsonschema
import pytest
from markdown_it import MarkdownIt

import stored
from frames import Bench
from judgements import CLOSING, HOSTILE, decision, hostile_report, plain, plain_report, with_noise_for_today
from places import HELPERS, ROOT
from pyopbench.judge import judge
from pyopbench.judge.findings import summary_text
from pyopbench.judge.judge import Judging
from pyopbench.model import formatting
from pyopbench.report import terminal, write
from pyopbench.report.layout import OpPage
from pyopbench.report.page import embedded as embed
from pyopbench.report.sections import Chart, Paragraph, Section, Table, decisions, discover

TODAY = "py_function_numpy"
NAMES = ["report.html", "report.md", "decisions.json"]
VOID = {"meta", "br", "wbr", "img", "hr", "link", "input"}


class Page(HTMLParser):
    """Collects what a browser would see: scripts by type, attributes, and whether every element is closed."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.scripts: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(content)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append((dict(attrs).get("type") or "", ""))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        else:
            self.words.append(data)

    @property
    def specs(self) -> list[str]:
        return [content for kind, content in self.scripts if kind == "application/json"]

    @property
    def code(self) -> list[str]:
        return [content for kind, content in self.scripts if kind != "application/json"]


@pytest.fixture(scope="module")
def judged():
    return plain()


@pytest.fixture(scope="module")
def rendered():
    return plain_report()


@pytest.fixture(scope="module")
def attacked():
    return hostile_report()


def glance_of(judged) -> str:
    """Return the caption of the table that comes first."""
    return next(block.caption for block in decisions.build(judged) if isinstance(block, Table))


def test_the_report_is_three_files(judged, rendered, tmp_path):
    assert list(rendered) == NAMES
    paths = write.write(judged, tmp_path / "deep" / "folder")
    assert [path.name for path in paths] == NAMES
    assert {path.name: path.read_text(encoding="utf-8") for path in paths} == rendered
    assert sorted(path.name for path in paths[0].parent.iterdir()) == sorted(NAMES)


def test_results_are_judged_and_their_report_is_written(tmp_path):
    cases = [stored.case("native"), stored.case("numpy_function")]
    lines = [stored.launch_line(0), stored.group_line(0, cases), stored.launch_line(1), stored.group_line(1, cases)]
    folder = stored.write(tmp_path / "run", stored.run(cases), lines)
    judgement = write.report_results([folder], tmp_path / "out", Judging("numpy_function", 0.05))
    assert (judgement.baseline, judgement.minimum_effect) == ("numpy_function", 0.05)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(NAMES)


def test_the_same_judgement_gives_the_same_bytes_in_another_process(rendered):
    code = (
        "import hashlib, judgements; from pyopbench.report import write; found = write.render(judgements.plain());"
        "print(*(hashlib.sha256(found[name].encode()).hexdigest() for name in found))"
    )
    here = [hashlib.sha256(rendered[name].encode()).hexdigest() for name in NAMES]
    for seed in ("1", "2"):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(HELPERS)]),
        }
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.split() == here


# HTML


def test_the_page_needs_no_network(rendered):
    page = Page(rendered["report.html"])
    links = [value for name, value in page.attributes if name in {"src", "href", "action", "poster", "srcset"}]
    assert all(value.startswith("#") for value in links)
    assert "link" not in page.tags
    assert "@import" not in rendered["report.html"].split("</style>")[0]
    (policy,) = [value for name, value in page.attributes if name == "content" and "default-src" in value]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy.split("script-src")[1]


def test_the_policy_lets_exactly_the_scripts_of_the_page_run(rendered):
    page = Page(rendered["report.html"])
    (policy,) = [value for name, value in page.attributes if name == "content" and "default-src" in value]
    allowed = re.findall(r"'sha256-([^']+)'", policy)
    assert [base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in page.code] == allowed
    assert len(allowed) == 3


def test_the_library_is_in_the_page_once(rendered):
    assert (
        rendered["report.html"].count("window.vegaEmbed = ") + rendered["report.html"].count("window.vegaEmbed=") == 1
    )


def test_every_section_and_chart_is_in_the_page(judged, rendered):
    page = Page(rendered["report.html"])
    assert page.open == []
    charts = [block for section in discover() for block in section.build(judged) if isinstance(block, Chart)]
    found = [unpacked(json.loads(spec)) for spec in page.specs]
    assert sorted(map(as_text, found)) == sorted(as_text(complete(chart.spec)) for chart in charts)
    words = " ".join("".join(page.words).split())
    for section in discover():
        if section.build(judged):
            assert section.title in words
    for op in dict.fromkeys(judged.latencies["op"]):
        assert ("id", f"op-{op}") in page.attributes


def test_every_chart_of_the_page_is_valid_vega_lite(rendered):
    charts = [unpacked(json.loads(spec)) for spec in Page(rendered["report.html"]).specs]
    assert len(charts) > 4
    for spec in charts:
        alt.FacetChart.validate(spec)
    with pytest.raises(jsonschema.ValidationError):
        alt.FacetChart.validate({**charts[0], "columns": "three"})


def as_text(spec) -> str:
    return json.dumps(spec, sort_keys=True)


def unpacked(spec):
    """Undo what the page packs, as its script does."""
    packed = spec["datasets"]["rows"]
    rows = []
    for values in packed["values"]:
        row = dict(zip(packed["columns"], values, strict=True))
        rows.append({n: v if v is None or n not in packed["words"] else packed["words"][n][v] for n, v in row.items()})
    return {**spec, "datasets": {**spec["datasets"], "rows": rows}}


def complete(spec):
    """Return the spec with every column in every row."""
    rows = spec["datasets"]["rows"]
    columns = sorted({name for row in rows for name in row})
    rows = [{name: row.get(name) for name in columns} for row in rows]
    return {**spec, "datasets": {**spec["datasets"], "rows": rows}}


def test_the_page_follows_light_and_dark_and_narrow_screens(rendered):
    media = re.findall(r"@media ([^{]*[^{ ]) *\{", rendered["report.html"])
    assert media.count("(prefers-color-scheme: dark)") == 1
    assert 'name="viewport"' in rendered["report.html"]


def test_hostile_names_are_inert_in_html(rendered, attacked):
    quiet, loud = Page(rendered["report.html"]), Page(attacked["report.html"])
    assert loud.open == []
    assert len(loud.code) == len(quiet.code) == 3
    assert set(loud.tags) <= set(quiet.tags) | {"ul", "li", "wbr"}
    assert not [name for name, _ in loud.attributes if name.startswith("on")]
    for spec in loud.specs:
        assert "<" not in spec
        assert json.loads(spec)["datasets"]["rows"]


def test_hostile_names_are_still_shown(attacked):
    words = " ".join("".join(Page(attacked["report.html"]).words).split())
    for name in HOSTILE:
        assert " ".join(name.split()) in words


# Markdown


def paragraphs_of(markdown: str) -> str:
    return MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown)


@pytest.mark.parametrize("which", ["rendered", "attacked"])
def test_markdown_tables_have_a_cell_for_each_column(which, request):
    page = paragraphs_of(request.getfixturevalue(which)["report.md"])
    tables = re.findall(r"<table>(.*?)</table>", page, re.DOTALL)
    assert len(tables) >= 4
    for table in tables:
        rows = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
        assert len(rows) >= 2
        # markdown-it, like GitHub, cuts what is too much and fills what is missing: neither may happen
        assert len({len(re.findall(r"<t[hd]", row)) for row in rows}) == 1
    lines = request.getfixturevalue(which)["report.md"].splitlines()
    for above, below in itertools.pairwise(lines):
        if above.startswith("|") and below.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", above)) == len(re.findall(r"(?<!\\)\|", below))


def test_hostile_names_are_inert_and_shown_in_markdown(attacked):
    page = paragraphs_of(attacked["report.md"])
    assert set(re.findall(r"</?([a-z0-9]+)", page)) <= {
        "h1", "h2", "h3", "p", "table", "thead", "tbody", "tr", "th", "td", "strong", "pre", "code", "ul", "li",
        "details", "summary",
    }  # fmt: skip
    words = " ".join(html.unescape(re.sub(r"<[^>]+>", "", page)).split())
    for name in HOSTILE:
        assert " ".join(name.split()) in words


def test_markdown_has_the_answer_first_and_what_a_ticket_needs(rendered):
    titles = re.findall(r"^## (.*)$", rendered["report.md"], re.MULTILINE)
    asked = ["decisions", "holes", "certificate", "environment"]
    assert titles == [section.title for section in discover() if section.name in asked]


def test_markdown_of_every_op_is_under_a_hundred_lines():
    made = tuple(decision("xla", op=f"op_{n}", use=use) for n in range(12) for use in ("inference", "training"))
    many = write.render(dataclasses.replace(plain(), decisions=made))["report.md"]
    assert many.count("<details>") >= 12
    assert len(many.splitlines()) < 100


def test_each_op_is_folded_into_one_line_with_its_reasons_and_one_table(judged, rendered):
    lines = [line for line in rendered["report.md"].splitlines() if line.startswith("<details>")]
    for op, line in zip(dict.fromkeys(made.op for made in judged.decisions), lines, strict=True):
        assert f"<summary>{op} · " in line
        assert line.count("<table>") == 1
        for made in judged.decisions:
            assert (made.why() in html.unescape(line)) == (made.op == op) or made.op != op


def test_long_markdown_goes_without_the_tables_of_ops(judged, rendered, monkeypatch):
    whole = rendered["report.md"]
    monkeypatch.setattr(write, "TICKET_CHARACTERS", len(whole) - 1)
    short = write.render(judged)["report.md"]
    assert "<table>" in whole
    assert "<table>" not in short
    assert glance_of(judged) in short


# JSON and terminal


def test_too_noisy_a_machine_is_told_with_the_answers():
    judged = judge.judge_run(Bench({TODAY: 3e-5, "native": 3e-5, "xla": 3e-5}, between=0.2, seed=1).run())
    made = write.render(judged)
    warning = judged.disturbance.warning_text()
    assert warning
    first, _ops = made["report.html"].split(' id="ops"')
    shown = " ".join("".join(Page(first).words).split())
    assert shown.index(glance_of(judged)) < shown.index(warning), "before the first op"
    markdown = html.unescape(re.sub(r"<[^>]+>", "", paragraphs_of(made["report.md"])))
    assert warning in markdown
    noise = json.loads(made["decisions.json"])["noise"]
    assert noise["too_noisy"] is True


def test_a_quiet_machine_has_no_banner(judged, rendered):
    assert not judged.disturbance.too_noisy
    assert judged.disturbance.warning_text() == ""
    told = [block.text for block in decisions.build(judged) if isinstance(block, Paragraph)]
    assert told == [summary_text([made.action for made in judged.decisions], 3, judged.baseline)], "and nothing else"
    noise = json.loads(rendered["decisions.json"])["noise"]
    assert noise["too_noisy"] is False
    assert len(noise["launches"]) == 4


def test_every_decision_is_in_every_output(judged, rendered):
    page = " ".join("".join(Page(rendered["report.html"]).words).split())
    markdown = html.unescape(re.sub(r"<[^>]+>", "", paragraphs_of(rendered["report.md"])))
    document = json.loads(rendered["decisions.json"])
    (table,) = terminal.tables(judged)
    assert len(document["decisions"]) == len(table.rows) == len(judged.decisions) > 4
    for made, found, row in zip(judged.decisions, document["decisions"], table.rows, strict=True):
        assert (found["op"], found["use"], found["action"], found["choice"]) == (
            made.op,
            made.use,
            made.action,
            made.choice,
        )
        assert (*row[:2], row[-3]) == (made.op, made.use, made.answer.text())
        assert found["reason"]["kind"] == made.reason.kind
        assert made.why() in page
        assert made.why() in markdown


def test_names_that_end_scripts_are_in_the_data_and_cannot_end_them():
    embedded = embed({"name": CLOSING})
    assert "<" not in embedded
    assert json.loads(embedded) == {"name": CLOSING}


def test_a_cost_that_is_noise_is_a_number_in_no_output():
    """-13.2 us (-6,020 to 5,990) says nothing: tables say so, and `decisions.json` has the numbers with the reason."""
    judged = with_noise_for_today()
    told = write.render(judged)
    for name in ("report.md", "report.html"):
        assert formatting.TOO_NOISY in told[name]
        assert "13.2 µs" not in told[name]
    assert formatting.TOO_NOISY in terminal.undecided(judged)[0][0]
    (made,) = json.loads(told["decisions.json"])["decisions"]
    assert made["reason"]["kind"] == "baseline_too_noisy"
    assert made["reason"]["seconds"] == pytest.approx(-13.2e-6)


def test_an_answer_whose_costs_are_noise_shows_what_it_saves_and_no_costs():
    """Two launches at 60 and 300 us, on a machine with two speeds: the port takes a tenth in both."""
    judged = with_noise_for_today((60e-6, 300e-6))
    (made,) = judged.decisions
    assert made.seconds[0].today == pytest.approx(180e-6)
    assert made.seconds[0].today_too_noisy
    assert terminal.tables(judged)[0].rows[0][-1] in (formatting.TOO_NOISY, formatting.MISSING)


def page_of(name: str) -> OpPage:
    answers = Table(("use", "answer", "why"), (("inference", "keep", name),), "evidence", says_why=True)
    others = Table(("use", "what would change it"), (("inference", "more launches"),), "flips")
    times = Table(("variant", "1k"), ((name, "1.00 µs"),), "times")
    sections = [Section(key, key, 10, lambda judgement: ()) for key in ("decisions", "latency")]
    return OpPage(name, "op-x", "keep", ((sections[0], (others, answers)), (sections[1], (times, times))))


def test_an_op_has_its_answer_its_reasons_and_one_table():
    line = write.folded(page_of("sinh"), whole=True)
    answer = "<details><summary>sinh · keep</summary><p>inference: sinh</p>"
    table = "<table><tr><th>variant</th><th>1k</th></tr><tr><td>sinh</td><td>1.00 µs</td></tr></table>"
    assert line == f"{answer}<p>times</p>{table}</details>"
    assert write.folded(page_of("sinh"), whole=False) == f"{answer}</details>"


def test_hostile_names_neither_end_the_line_nor_are_markup():
    for name in HOSTILE:
        line = write.folded(page_of(name), whole=True)
        assert "\n" not in line
        assert "<script" not in line
        assert "<img" not in line
        assert "<b>" not in line
