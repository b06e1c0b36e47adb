"""Run `pyopbench advise` on programs, and print what each change saved.

    python benchmarks/outside/programs.py FOLDER --json programs.json     # all; again: goes on where it ended
    python benchmarks/outside/programs.py FOLDER huber spo2               # some

Each program is a folder with one script (`train.py`, or the first `.py` file). A table `sources.tsv` in FOLDER, with
the columns name, kind, source and rule, describes each and how it was found; none of its code is in the result.
Programs run one after another, so that they can be timed; the machine has to be idle.

A change must not make a program slower. Exit codes: 0 none did, 1 one did, or a command failed, 2 bad usage.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tally import Document, new_parser, parse_options, table

COLUMNS = ("program", "callback", "where", "at most", "answer", "saves alone", "realised", "seconds")
KEPT = ("file", "line", "function", "kind", "where", "most", "action", "variant", "why", "saved", "withdrawn")
"""The parts of each callback in a report that are stored."""
MISSING = "–"


def main(arguments: Sequence[str]) -> int:
    """Run the commands; return the exit code."""
    parser = new_parser(__doc__)
    parser.add_argument("folder", type=Path, help="of programs")
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs; all if none is named")
    parser.add_argument("--budget", default="4m", help="of each program (4m)")
    parser.add_argument("--out", type=Path, help="keep the folders of results here; by default none is kept")
    options = parse_options(parser, arguments)
    folders = {one.name: one.resolve() for one in sorted(options.folder.iterdir()) if list(one.glob("*.py"))}
    folders = {name: one for name, one in folders.items() if not options.names or name in options.names}
    if not folders or len(folders) < len(set(options.names)):
        parser.error(f"no such program in {options.folder}")
    document = Document(options.json, {"budget": options.budget})
    with tempfile.TemporaryDirectory() as folder:
        out = (options.out or Path(folder)).resolve()
        out.mkdir(parents=True, exist_ok=True)
        document.add_all(folders, lambda name: advise(folders[name], out / name, options.budget))
    results = {name: document.results[name] for name in folders}
    print(table(COLUMNS, [row for name, one in results.items() for row in _rows(name, one)]))
    counted = counts(results)
    print(table(("programs", "number"), [(name, str(number)) for name, number in counted.items()]))
    print("".join(f"- {name}: {why}\n" for name, one in results.items() for why in _reasons(one)))
    return 1 if counted["slower"] or counted["failed"] else 0


def advise(folder: Path, out: Path, budget: str) -> dict[str, Any]:
    """Return what the command reports about a program, and how long it took; a failure is `failed`."""
    named = folder / "train.py"
    script = named if named.exists() else min(folder.glob("*.py"))
    command = [sys.executable, "-m", "pyopbench", "advise", "--out", str(out), "--budget", budget, "--"]
    began = time.perf_counter()
    command += [sys.executable, script.name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    result: dict[str, Any] = {"seconds": time.perf_counter() - began}
    out.with_suffix(".log").write_text(done.stdout + done.stderr, encoding="utf-8")
    report = out / "report.json"
    if done.returncode or not report.exists():
        return {**result, "failed": (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]}
    content = json.loads(report.read_text(encoding="utf-8"))
    return {
        **result,
        "callbacks": [{key: one.get(key) for key in KEPT} for one in content["callbacks"]],
        "realised": content["realised"],
        "is_changed": content["patch"] is not None,
    }


def counts(results: Mapping[str, Any]) -> dict[str, int]:
    """Return how many programs were changed, and how many became slower."""
    changed = [one for one in results.values() if one.get("is_changed")]
    ends = [one["realised"]["high"] for one in changed]
    failed = sum("failed" in one for one in results.values())
    return {
        "all": len(results),
        "failed": failed,
        "left as they are": len(results) - failed - len(changed),
        "changed": len(changed),
        "slower": sum(end is not None and end < 0 for end in ends),
    }


def _reasons(one: Mapping[str, Any]) -> list[str]:
    return [str(callback["why"]) for callback in one.get("callbacks", ()) if callback["action"] == "leave"]


def _rows(name: str, one: Mapping[str, Any]) -> list[tuple[str, ...]]:
    seconds = f"{one['seconds']:.0f}"
    if "failed" in one:
        return [(name, one["failed"], *[MISSING] * 5, seconds)]
    rows = []
    changes = sum(callback["action"] != "leave" for callback in one["callbacks"])
    for callback in one["callbacks"]:
        title = f"{callback['file']}:{callback['line']} {callback['function'].rpartition('<locals>.')[2]}"
        place = (callback["where"], f"{callback['most']:.1%}")
        is_change = callback["action"] != "leave"
        rows.append(
            (
                name,
                title,
                *place,
                callback["variant"] if is_change else "leave it",
                _share(callback["saved"]),
                _interval(one["realised"] if is_change and changes == 1 else None),
                seconds,
            )
        )
        for tried in callback["withdrawn"]:
            shown = (_share(tried["saved"]), _interval(tried["realised"]))
            rows.append((name, title, *place, f"{tried['variant']}: withdrawn", *shown, MISSING))
    return rows or [(name, "no callback", *[MISSING] * 5, seconds)]


def _share(value: float | None) -> str:
    return MISSING if value is None else f"{value:.0%}"


def _interval(found: Mapping[str, float] | None) -> str:
    """Return a share with its interval as percentages."""
    if found is None or found["saved"] is None:
        return MISSING
    low, high = (found.get(name) for name in ("low", "high"))
    ends = "" if low is None or high is None else f" ({low:.0%} to {high:.0%})"
    return f"{found['saved']:.0%}{ends}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
