"""Runs `pyopbench advise` on a folder of programs, and prints what it promised next to what was realised.

    python benchmarks/outside/programs.py FOLDER [--out FOLDER] [--only NAME,NAME]

Each program is a folder with one script (`train.py`, or the only `.py` file that no other one imports). No part of a
program is in this repository. Results of earlier calls are reused, so the table can be printed again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from markdown_table import table

COLUMNS = ("program", "callback", "where", "at most", "answer", "promised", "realised", "within", "losses", "seconds")


def script_of(folder: Path) -> Path:
    """Return the script of a program."""
    named = folder / "train.py"
    return named if named.exists() else next(iter(sorted(folder.glob("*.py"))))


def advise(folder: Path, out: Path) -> tuple[dict[str, Any], float]:
    """Return the report of a program, and how long it took; what went wrong is its `error`."""
    script = script_of(folder)
    command = [sys.executable, "-m", "pyopbench", "advise", "--out", str(out), "--", sys.executable, script.name]
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    (out.parent / f"{folder.name}.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    report = out / "report.json"
    if done.returncode or not report.exists():
        last = [line for line in done.stderr.splitlines() if line.strip()]
        return {"callbacks": [], "error": last[-1] if last else f"exit code {done.returncode}"}, seconds
    found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return found, seconds


def share(interval: dict[str, float] | None) -> str:
    """Return a share with its interval as percentages."""
    if interval is None or interval["value"] is None:
        return "–"
    low, high = (interval.get(name) for name in ("low", "high"))
    ends = "" if low is None or high is None else f" ({low:.0%} to {high:.0%})"
    return f"{interval['value']:.0%}{ends}"


def is_within(promised: dict[str, float] | None, realised: dict[str, Any] | None) -> str:
    """Return whether the promised and the realised interval overlap."""
    if promised is None or realised is None or realised.get("low") is None:
        return "–"
    return "yes" if promised["low"] <= realised["high"] and realised["low"] <= promised["high"] else "no"


def rows_of(name: str, report: dict[str, Any], seconds: float) -> list[tuple[str, ...]]:
    """Return a row for each callback of a program; what was realised is of all ports together."""
    if "error" in report:
        return [(name, report["error"], *["–"] * 7, f"{seconds:.0f}")]
    rows = []
    for one in report["callbacks"]:
        is_port = one["action"] == "port"
        realised, losses = report["realised"], report["loss_difference"]
        rows.append(
            (
                name,
                f"{one['file']}:{one['line']} {one['function']}",
                one["where"],
                f"{one['most']:.1%}",
                f"port to {one['variant']}" if is_port else f"leave it: {one['why']}",
                share(one["promised"]),
                share(realised) if is_port or one["withdrawn"] else "–",
                is_within(report["promised"], realised) if is_port else "–",
                "–" if losses is None or not is_port else f"{losses:.1g}",
                f"{seconds:.0f}",
            )
        )
    return rows or [(name, "no callback", *["–"] * 7, f"{seconds:.0f}")]


def main() -> None:
    """Run `pyopbench advise` on each program and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=Path("advice"))
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    names = set(filter(None, given.only.split(",")))
    rows = []
    for folder in sorted(one for one in given.folder.iterdir() if one.is_dir() and (not names or one.name in names)):
        report, seconds = advise(folder.resolve(), (given.out / folder.name).resolve())
        rows += rows_of(folder.name, report, seconds)
        print(f"{folder.name}: {seconds:.0f} s", file=sys.stderr)
    print(table(COLUMNS, rows))


if __name__ == "__main__":
    main()
