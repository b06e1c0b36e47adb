"""Take README's picture of a program before and after: the output of `pyopbench advise`, as a terminal.

    cd PROGRAM; pyopbench advise --out advice -- python train.py
    python scripts/picture_advice.py PROGRAM/advice        # writes docs/images/advice.png

Everything in the picture is read from `report.json`, `report.md` and `change.patch` of that folder: the command, the
times, the intervals, the table, and the lines of the program that were changed. Chromium, its driver, and what the
extra `dev` brings have to be installed. Exit codes: 0 done, 2 the folder has no change that was tried.
"""

from __future__ import annotations

import base64
import html
import json
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

from pyopbench.model import formatting

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "images" / "advice.png"
sys.path.insert(0, str(ROOT / "tests" / "helpers"))

import browsers  # noqa: E402 - its folder was just added

WIDTH = 900
SCALE = 2
"""Pixels of the picture for each pixel of CSS: sharp on screens with small pixels."""

STYLE = """
* { box-sizing: border-box; }
body { margin: 0; width: 900px; background: #0d1117; color: #e6edf3; font: 15px/1.45 ui-monospace, monospace; }
main { padding: 18px 22px; }
p { margin: 0 0 12px; } .quiet { color: #9da7b3; } .prompt { color: #7ee787; }
.minus { color: #ffa198; } .plus { color: #7ee787; }
pre { margin: 0 0 14px; padding: 10px 12px; background: #161b22; border-radius: 6px; font: inherit; font-size: 14px;
  white-space: pre-wrap; }
.bar { display: grid; grid-template-columns: 5em 1fr; align-items: center; margin-bottom: 6px; }
.bar i { display: inline-block; height: 20px; border-radius: 3px; margin-right: 10px; vertical-align: middle; }
table { border-collapse: collapse; margin-top: 14px; font-size: 14px; width: 100%; }
th, td { text-align: left; padding: 4px 10px 4px 0; border-bottom: 1px solid #30363d; }
th { color: #9da7b3; font-weight: normal; }
"""
LONGEST_BAR = 560


def changed_lines(patch: str) -> list[str]:
    """Return the lines that a patch removes from files of the program and adds, without imports and new files."""
    found: list[str] = []
    is_new = False
    for line in patch.splitlines():
        word = line.partition(" ")[0]
        if word in {"diff", "new", "---", "+++"}:
            is_new = word != "diff" and (is_new or word == "new")
        elif line[:1] in {"+", "-"} and not is_new and not line[1:].lstrip().startswith(("import ", "from ")):
            found.append(f"{line[0]} {line[1:].strip()}")
    return found


def table_of(markdown: str) -> list[list[str]]:
    """Return the cells of the table of `report.md`, its head first."""
    rows = [line.strip("|").split("|") for line in markdown.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in (rows[0], *rows[2:])]


def page(folder: Path) -> str:
    """Return the page that the picture is taken of.

    Args:
        folder: the output of `pyopbench advise`.
    """
    report: dict[str, Any] = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    realised, patch = report["realised"], folder / "change.patch"
    if realised is None or not patch.exists():
        sys.exit(f"{folder}: no change was tried and kept; run `pyopbench advise` on a program that has one")
    program, *arguments = report["command"]
    unit, before, after = realised["unit"], realised["before_seconds"], realised["after_seconds"]
    longest = max(before, after)
    saved = f"{formatting.points(realised['value'])} less"
    interval = f"{formatting.points(realised['low'])} to {formatting.points(realised['high'])}"
    bars = "".join(
        f'<div class="bar"><span>{name}</span><span><i style="width: {LONGEST_BAR * seconds / longest:.0f}px; '
        f'background: {color}"></i>{formatting.seconds(seconds)}</span></div>'
        for name, seconds, color in (("before", before, "#f85149"), ("after", after, "#3fb950"))
    )
    lines = "\n".join(
        f'<span class="{"plus" if line[0] == "+" else "minus"}">{html.escape(line)}</span>'
        for line in changed_lines(patch.read_text(encoding="utf-8"))
    )
    head, *rows = table_of((folder / "report.md").read_text(encoding="utf-8"))
    cells = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"""<!doctype html><meta charset="utf-8"><style>{STYLE}</style><main>
<p><span class="prompt">$</span> pyopbench advise -- {html.escape(shlex.join([Path(program).name, *arguments]))}</p>
<pre>{lines}</pre>
{bars}
<p class="quiet">time per {unit}: {saved} (95% interval: {interval}), {realised["runs"]} runs each</p>
<table><tr>{"".join(f"<th>{html.escape(cell)}</th>" for cell in head)}</tr>{cells}</table></main>"""


def main(folder: Path) -> None:
    """Take the picture."""
    text = page(folder)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, browsers.browser(Path(profile)) as driver:
        browsers.emulate(driver, WIDTH)
        file = Path(profile) / "page.html"
        file.write_text(text, encoding="utf-8")
        driver.get(file.as_uri())
        height = driver.execute_script("return document.querySelector('main').getBoundingClientRect().height")
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": height, "scale": SCALE}
        taken = driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"format": "png", "clip": clip, "captureBeyondViewport": True}
        )
    PICTURE.write_bytes(base64.b64decode(taken["data"]))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
