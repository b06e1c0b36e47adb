"""Run `pyopbench advise` on programs, and store what it promised next to what was realised.

    python benchmarks/outside/programs.py FOLDER                      # all: results/outside/programs.json
    python benchmarks/outside/programs.py FOLDER huber spo2           # some; the tables to stdout alone
    python benchmarks/outside/programs.py FOLDER --json OTHER.json --resume
    python benchmarks/outside/programs.py FOLDER iou --same 5         # each callback is replaced by itself, five times
    python benchmarks/outside/programs.py FOLDER huber --kills 10     # the command is killed ten times by signal 9

Each program is a folder with one script (`train.py`, or the first `.py` file). A table `sources.tsv` in FOLDER, with
the columns name, kind, source and rule, describes each and how it was found; none of its code is in the result. A
program takes up to `--budget` (8 minutes) and the time to start everything. Programs run one after another, so that
they can be timed; the machine has to be idle.

A change must not make a program slower, and the realised share should be in the promised interval. Replaced by
itself, a callback must neither promise to save anything nor be found to; killed, the command must change no file of
the program, and continue with what it had. Exit codes: 0 all of this is true, 1 not all of it, 2 bad usage.
"""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import stored_document
from markdown_table import cell, table
from outside import tallies

HERE = Path(__file__).resolve().parent
STORED = tallies.RESULTS / "programs.json"
VERSION = 1
COLUMNS = ("program", "callback", "where", "at most", "answer", "promised", "realised", "within", "losses", "seconds")
KEPT = (
    "file",
    "line",
    "function",
    "kind",
    "where",
    "most",
    "action",
    "variant",
    "draws",
    "why",
    "promised",
    "gain",
    "withdrawn",
)
"""The parts of each callback in a report that are stored."""
MISSING = "–"


def main(arguments: Sequence[str]) -> int:
    """Run the requested part; return the exit code."""
    parser = tallies.parser_of(__doc__)
    parser.add_argument("folder", type=Path, help="of programs")
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs; all if none is named")
    parser.add_argument("--budget", default="8m", help="of each program (8m)")
    parser.add_argument("--out", type=Path, help="keep the folders of results here; by default none is kept")
    parser.add_argument("--json", type=Path, help="write the results here; default: programs.json if all are run")
    parser.add_argument("--resume", action="store_true", help="keep the results that are already in that file")
    parser.add_argument("--same", type=int, default=0, metavar="N", help="replace each callback by itself, N times")
    parser.add_argument("--kills", type=int, default=0, metavar="N", help="kill the command N times")
    options = parser.parse_args(arguments)
    folders = [one for one in sorted(options.folder.iterdir()) if one.is_dir() and list(one.glob("*.py"))]
    folders = [one.resolve() for one in folders if not options.names or one.name in options.names]
    if not folders or len(folders) < len(set(options.names)):
        parser.error(f"no such program in {options.folder}")
    with tempfile.TemporaryDirectory() as scratch:
        out = (options.out or Path(scratch)).resolve()
        out.mkdir(parents=True, exist_ok=True)
        if options.kills:
            return _report([killed(one, out / f"{one.name}-killed", options.kills, options.budget) for one in folders])
        if options.same:
            return _report([same(one, out / f"{one.name}-same", options.same, options.budget) for one in folders])
        return _advise_all(folders, out, options)


def _advise_all(folders: Sequence[Path], out: Path, options: Any) -> int:
    stored = options.json or (None if options.names else STORED)
    document = {**tallies.begin(VERSION, {"budget": options.budget}), "sources": _sources(options.folder)}
    document |= {"programs": []}
    if options.resume and stored is not None and stored.exists():
        document = stored_document.read_to_go_on(stored, document)
    done = {one["program"] for one in document["programs"]}
    for folder in folders:
        if folder.name in done:
            continue
        found = advise(folder, out / folder.name, options.budget)
        document["programs"].append(found)
        print(f"{folder.name}: {found['seconds']:.0f} s", file=sys.stderr, flush=True)
        if stored is not None:
            stored_document.write(stored, document)
    print(f"{programs_table(document)}\n{totals(document)}\n{reasons(document)}")
    counted = _counts(document)
    return 0 if not counted["slower"] and not counted["failed"] and not counted["outside of what was promised"] else 1


def _report(found: Sequence[Mapping[str, Any]]) -> int:
    print(json.dumps(found, indent=1))
    return 0 if all(one["holds"] for one in found) else 1


def _sources(folder: Path) -> dict[str, dict[str, str]]:
    """Return kind, source and rule of each program, by its name."""
    rows = tallies.read_sources(folder)
    return {row["name"]: {key: row[key] for key in ("kind", "source", "rule")} for row in rows}


def script_of(folder: Path) -> Path:
    """Return the script of a program."""
    named = folder / "train.py"
    return named if named.exists() else next(iter(sorted(folder.glob("*.py"))))


def command_of(folder: Path, out: Path, budget: str) -> list[str]:
    """Return the command to try."""
    command = [sys.executable, "-m", "pyopbench", "advise", "--out", str(out), "--budget", budget, "--"]
    return [*command, sys.executable, script_of(folder).name]


def advise(folder: Path, out: Path, budget: str) -> dict[str, Any]:
    """Return what a command reports about a program, and how long it took; a failure is `error`."""
    start = time.perf_counter()
    done = subprocess.run(command_of(folder, out, budget), cwd=folder, capture_output=True, text=True, check=False)
    found: dict[str, Any] = {"program": folder.name, "seconds": time.perf_counter() - start}
    report = out / "report.json"
    if done.returncode or not report.exists():
        last = [line for line in done.stderr.splitlines() if line.strip()]
        return found | {"error": last[-1] if last else f"exit code {done.returncode}"}
    (out.parent / f"{folder.name}.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    content = json.loads(report.read_text(encoding="utf-8"))
    return found | {
        "callbacks": [{key: one[key] for key in KEPT} for one in content["callbacks"]],
        "promised": content["promised"],
        "realised": content["realised"],
        "loss_difference": content["loss_difference"],
        "is_changed": content["patch"] is not None,
    }


def same(folder: Path, out: Path, repetitions: int, budget: str) -> dict[str, Any]:
    """Return how often a callback that is replaced by itself was promised, or found, to be faster."""
    found = []
    for number in range(repetitions):
        place = out / str(number + 1)
        command = [sys.executable, str(HERE / "examine_same.py"), str(place), budget]
        command += [sys.executable, script_of(folder).name]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines()
        is_done = done.returncode == 0 and bool(lines)
        found.append(json.loads(lines[-1]) if is_done else {"error": done.stderr.strip()[-1000:]})
        print(f"{folder.name}, {number + 1}: {found[-1]}", file=sys.stderr, flush=True)
    return {
        "program": folder.name,
        "runs": found,
        "promised": sum(bool(one.get("promised")) for one in found),
        "realised": sum(bool(one.get("realised")) for one in found),
        "holds": all("error" not in one and not one["promised"] and not one["realised"] for one in found),
    }


def killed(folder: Path, out: Path, kills: int, budget: str) -> dict[str, Any]:
    """Return the outcome of a command that was killed many times and then continued to its end."""
    rng = random.Random(1)
    files, kept, changed, made = _digests(folder, "*"), {}, [], 0
    whole = advise(folder, out.with_name(f"{out.name}-whole"), budget)
    while made < kills:
        process = subprocess.Popen(
            command_of(folder, out, budget), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            process.wait(rng.uniform(0.0, 2.0 * whole["seconds"] / kills))
            break  # it has ended before it could be killed
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            made += 1
        now = _digests(out, "*.json") if out.exists() else {}
        changed += [name for name, digest in kept.items() if now.get(name) != digest]
        kept |= {name: digest for name, digest in now.items() if not name.endswith("spent.json")}
    last = advise(folder, out, budget)
    now = _digests(out, "*.json")
    changed += [name for name, digest in kept.items() if now.get(name) != digest]
    is_same = _digests(folder, "*") == files
    answers = [{one["function"]: one["variant"] for one in each.get("callbacks", ())} for each in (whole, last)]
    return {
        "program": folder.name,
        "kills": made,
        "files of the program are as they were": is_same,
        "results that were lost or changed": sorted(set(changed)),
        "answers without and with kills": answers,
        "error": last.get("error", ""),
        "holds": is_same and not changed and "error" not in last and made == kills,
    }


def _digests(folder: Path, pattern: str) -> dict[str, str]:
    """Return a hash of each file, except those that a run of an op or of the program appends to or replaces."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob(pattern))
        if path.is_file()
        and not {"run", "copies", "parts", "__pycache__"} & set(path.relative_to(folder).parts[:-1])
        # What a run of the program writes about itself while it runs; its result is `turns/NAME.json`.
        and path.parent.parent.name != "turns"
    }


def _interval(found: Mapping[str, float] | None) -> str:
    """Return a share with its interval as percentages."""
    if found is None or found["value"] is None:
        return MISSING
    low, high = (found.get(name) for name in ("low", "high"))
    ends = "" if low is None or high is None else f" ({low:.0%} to {high:.0%})"
    return f"{found['value']:.0%}{ends}"


def is_within(promised: Mapping[str, float] | None, realised: Mapping[str, Any] | None) -> bool | None:
    """Return whether the realised share is in the promised interval; None if one of them is missing."""
    if promised is None or realised is None or realised.get("value") is None:
        return None
    return bool(promised["low"] <= realised["value"] <= promised["high"])


def _counts(document: Mapping[str, Any]) -> dict[str, int]:
    programs = document["programs"]
    changed = [one for one in programs if one.get("is_changed")]
    within = [is_within(one["promised"], one["realised"]) for one in changed]
    ends = [one["realised"]["high"] for one in changed]
    return {
        "programs": len(programs),
        "failed": sum("error" in one for one in programs),
        "left as they are": sum("error" not in one and not one["is_changed"] for one in programs),
        "changed": len(changed),
        "within what was promised": within.count(True),
        "outside of what was promised": within.count(False),
        "slower": sum(end is not None and end < 0 for end in ends),
    }


def totals(document: Mapping[str, Any]) -> str:
    """Return how many programs were changed, and how many promises were kept, as Markdown."""
    return table(("programs", "number"), [(name, f"{number}") for name, number in _counts(document).items()])


def programs_table(document: Mapping[str, Any]) -> str:
    """Return a row for each callback and each change that was withdrawn, as Markdown."""
    return table(COLUMNS, [tuple(map(cell, row)) for one in document["programs"] for row in _rows(one)])


def sources_table(document: Mapping[str, Any]) -> str:
    """Return where each program is from and how it was found, as Markdown."""
    names = [one["program"] for one in document["programs"]]
    rows = [(name, *(cell(document["sources"][name][key]) for key in ("kind", "source", "rule"))) for name in names]
    return table(("program", "kind", "source", "how it was found"), rows)


def reasons(document: Mapping[str, Any]) -> str:
    """Return why callbacks were left as they are, as a list in Markdown."""
    return "".join(
        f"- {one['program']}: {cell(callback['why'])}\n"
        for one in document["programs"]
        for callback in one.get("callbacks", ())
        if callback["action"] == "leave"
    )


def _rows(one: Mapping[str, Any]) -> list[tuple[str, ...]]:
    name, seconds = one["program"], f"{one['seconds']:.0f}"
    if "error" in one:
        return [(name, one["error"], *[MISSING] * 7, seconds)]
    rows = []
    for callback in one["callbacks"]:
        title = f"{callback['file']}:{callback['line']} {callback['function'].rpartition('<locals>.')[2]}"
        place = (callback["where"], f"{callback['most']:.1%}")
        is_change = callback["action"] != "leave"
        is_alone = sum(each["action"] != "leave" for each in one["callbacks"]) == 1
        realised = (one["realised"] if is_alone else callback["gain"]) if is_change else None
        answer = callback["variant"] if is_change else "leave it"
        within = is_within(callback["promised"], realised) if is_change else None
        losses = one["loss_difference"] if is_change else None
        shown = (_interval(callback["promised"]) if is_change else MISSING, _interval(realised))
        words = {None: MISSING, True: "yes", False: "no"}[within], MISSING if losses is None else f"{losses:.1g}"
        rows.append((name, title, *place, answer, *shown, *words, seconds))
        for tried in callback["withdrawn"]:
            shown = (_interval(tried["promised"]), _interval(tried["realised"]))
            rows.append((name, title, *place, f"{tried['variant']}: withdrawn", *shown, MISSING, MISSING, MISSING))
    return rows or [(name, "no callback", *[MISSING] * 7, seconds)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
