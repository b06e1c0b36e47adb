"""What a notebook shows: hostile names stay text, and a run of many ops stays short."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

import stored
from pyopbench.judge.judge import Judging, judge
from pyopbench.report import notebook

NASTY = "<img src=x onerror=alert(1)>"
TODAY = "py_function_numpy"


def results(folder: Path, ops: Sequence[str]) -> Path:
    groups = [[stored.case(variant, op) for variant in (TODAY, "native")] for op in ops]
    content = stored.run([case for group in groups for case in group], settings={**stored.SETTINGS, "baseline": TODAY})
    return stored.write(folder, content, [stored.group_line(launch, group) for launch in range(3) for group in groups])


def test_names_are_text(tmp_path: Path) -> None:
    html = notebook.run_html(judge([results(tmp_path, [NASTY])], Judging(TODAY, 0.03)))
    assert "<img" not in html
    assert escape(NASTY) in html


def test_only_so_many_ops_have_their_chart(tmp_path: Path) -> None:
    many = [f"op_{number}" for number in range(notebook.MOST_CHARTS + 2)]
    html = notebook.run_html(judge([results(tmp_path, many)], Judging(TODAY, 0.03)))
    assert html.count("<svg") == 1 + notebook.MOST_CHARTS
    assert html.count("<figure") == 1 + notebook.MOST_CHARTS
