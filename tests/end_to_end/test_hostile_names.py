"""Results whose every name and message is hostile are shown as text by every command that reads them."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any
from unicodedata import category

import pytest

import probe_files
import stored
from pyopbench.cli import app
from pyopbench.results import probes

NASTY = "\x1b]0;owned\x07 \x9b2J \u202egnp.exe\u2028[/] [bold]x :bomb: \\"
OBEYED = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
OPS = ("constructor", "__proto__", f"bad {NASTY.replace('/', '')}")
SCRIPT = re.compile("<script>.*?</script>", re.DOTALL)


def nasty(value: Any) -> Any:
    """Return JSON with every text that is free made hostile."""
    return {key: f"{inner} {NASTY}" if isinstance(inner, str) else inner for key, inner in value.items()}


def write_run(folder: Path, **environment: str) -> Path:
    cases = [stored.case(variant, op, size) for op in OPS for variant in ("well", "native") for size in (1, 10)]
    content = stored.run(cases, environment=nasty({**stored.ENVIRONMENT, **environment}), command=["pyopbench", NASTY])
    content["catalogue"]["ops"] = {op: nasty(stored.OP) for op in OPS}
    content["catalogue"]["variants"]["native"] = {**stored.VARIANT, "kind": "port", "summary": NASTY}
    content["skips"] = [{**stored.failure(stored.case("other"), "unsupported", None), "reason": NASTY}]
    lines = []
    for launch in range(3):
        lines.append(stored.launch_line(launch))
        for op in OPS:
            for size in (1, 10):
                both = [stored.case(variant, op, size) for variant in ("well", "native")]
                failed = [{**stored.failure(stored.case("broken", op, size)), "reason": NASTY}]
                lines.append(stored.group_line(launch, both, failed, 0.5 + 0.01 * launch))
    return stored.write(folder, content, lines)


def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["pyopbench", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        app.main()
    told = capsys.readouterr()
    return int(ended.value.code or 0), told.out + told.err


def is_shown_as_text(text: str) -> bool:
    return not {category(one) for one in set(text) - set("\n\t")} & OBEYED


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = write_run(tmp_path / "run")
    row = probe_files.row(NASTY, f"native {NASTY}", "fails", NASTY)
    probes.write(folder / probes.FILE, probe_files.document(row, tensorflow=NASTY))
    return folder


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_report_obeys_nothing_that_results_say(
    folder: Path, options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = call(monkeypatch, capsys, "report", folder, *options)
    assert (code, is_shown_as_text(told)) == (0, True)
    for name in ("report.md", "report.html"):
        assert is_shown_as_text(SCRIPT.sub("", (folder / name).read_text(encoding="utf-8")))
    charts = re.findall(r'<script\stype="application/json">(.*?)</script>', (folder / "report.html").read_text())
    assert charts
    assert all(is_shown_as_text(json.dumps(json.loads(chart), ensure_ascii=False)) for chart in charts)
    assert not any("{}[datum" in chart or "}[datum" in chart for chart in charts)


def test_a_comparison_obeys_nothing_that_results_say(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_run(tmp_path / "other", cpu="another")
    for options in ([], ["--json"], ["--markdown", "-"]):
        code, told = call(monkeypatch, capsys, "compare", folder, other, *options)
        assert (code, is_shown_as_text(told)) == (0, True)


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_probes_obey_nothing_that_their_file_says(
    folder: Path, options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / probes.FILE
    other = path.with_name("other.json")
    probes.write(other, probe_files.document(probe_files.row(NASTY, f"native {NASTY}"), tensorflow=f"[/{NASTY}"))
    for files in ([path], [path, other]):
        code, told = call(monkeypatch, capsys, "probe", *files, *options)
        assert (code, is_shown_as_text(told)) == (0, True)


@pytest.mark.parametrize("command", [["report", "FOLDER"], ["scan", "--draft", "x.py:1"], ["run", "double"]])
def test_nothing_is_no_place_to_write_to(
    folder: Path, command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(Path().iterdir())
    words = [folder if word == "FOLDER" else word for word in command]
    code, _ = call(monkeypatch, capsys, *words, "--out", "")
    assert (code, sorted(Path().iterdir())) == (2, before)
