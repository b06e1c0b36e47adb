"""Every kind of folder and file that pyopbench reads and somebody else may have made, and the commands that read it."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import certificates
import copied_files
import histories
import pairs
import pipelines
import placement_files
import probe_files
import revision_runs
import sharded
import stored
from places import ROOT
from pyopbench.engine import probe
from pyopbench.store import (
    certificate,
    copy_costs,
    counted_copies,
    integrity,
    merge,
    probes,
    run_folder,
    run_sides,
)

Commands = dict[str, list[list[str]]]
"""Name of a file -> command lines that read it; PYTHON is the first word of what Python calls."""

PYTHON = "python"
FOREIGN = [ROOT / "tests/data/foreign" / name for name in ("asv-first.json", "pytest-benchmark-first.json")]
OUT = "out"
VICTIM = "victim"
KNOWN = {**stored.ENVIRONMENT, "commit": None, "dirty": None}
TODAY, NATIVE = "py_function_numpy", "native"
DATA = "data"
"""The folder of the user's own data."""

NUMBERS = (b"1e999", b"-1", b"9" * 400, b"0", b"NaN", b"-0.0", b"1e-400", b"9223372036854775808", b"1.5", b"true")
TEXTS = (
    '"\\ud800"',
    '"\\u202e\\u2028\\u001b[2J"',
    '"constructor"',
    '""',
    '"[/]"',
    '"a/b"',
    "null",
    "[]",
    "{}",
    "[[[]]]",
)
NUMBER = re.compile(rb"-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?")


def make(folder: Path) -> Commands:
    """Write one of every kind of file, and return the command lines that read them, by the name of the file."""
    (folder / VICTIM).write_text("keep me", encoding="utf-8")
    return {
        **_make_run(folder),
        **_make_pipeline(folder),
        **_make_shards(folder),
        **_make_versions(folder),
        **_make_revisions(folder),
        **_make_histories(folder),
        **_make_for_runs(folder),
        **_make_for_programs(folder),
    }


def _files(folder: str, commands: list[list[str]]) -> Commands:
    """Return both files of a run's folder with the commands that read them."""
    return {f"{folder}/{name}": commands for name in (run_folder.RUN_FILE, run_folder.SAMPLES_FILE)}


def _make_run(folder: Path) -> Commands:
    """Write a run with everything that may lie in its folder, and two runs to compare and to pool."""
    cases = [stored.case(variant, size=size) for variant in ("well", NATIVE) for size in (1, 10)]
    content = stored.run(cases, certificate=certificates.as_stored(certificates.certificate()))
    content["catalogue"]["variants"][NATIVE] = {**stored.VARIANT, "kind": "port"}
    lines = [stored.launch_line(0), stored.limits_line(0), *_launches("well")]
    run = stored.write(folder / "run", content, lines)
    probes.write(run / probes.FILE, probe_files.document(probe_files.row("xla", NATIVE, "fails", "no")))
    counted_copies.write(run / counted_copies.FILE, placement_files.document())
    made = copied_files.document(copied_files.row(1, 1e-4), copied_files.row(1_000, 2e-4))
    copy_costs.write(run / copy_costs.FILE, {**made, **copied_files.gpu_document(copied_files.GPU)})
    for number, name in enumerate(("first", "second")):
        pairs.write_run(folder / name, pairs.cases(), seed=number, launches=3)
    report = ["report", "run", "--out", OUT]
    of_run = [["check", "run"], ["check", "--json", "run"], [PYTHON, "read", "run"], report]
    compared = [
        ["compare", "first", "second"],
        ["compare", "second", "first", "--json", "--fail-on", "never"],
        ["compare", "first", "second", "--markdown", f"{OUT}/told.md", "--junit", f"{OUT}/told.xml"],
        ["compare", "first", TODAY, NATIVE, "--axis", "variant"],
        ["check", "first"],
        [PYTHON, "compare", "first", "second"],
        [PYTHON, "read", "first", "second"],
        ["report", "first", "second", "--out", OUT],
    ]
    in_page = [report, [PYTHON, "read", "run"]]
    return {
        **_files("run", [*of_run, ["report", "run", "--allow-changed", "--json", "--out", OUT]]),
        **_files("first", compared),
        **{f"run/{name}": in_page for name in (counted_copies.FILE, copy_costs.FILE)},
        f"run/{probes.FILE}": [
            report,
            ["report", "run", "--require", "xla", "--out", OUT],
            ["probe", f"run/{probes.FILE}"],
            ["probe", "--json", f"run/{probes.FILE}"],
            ["probe", f"run/{probes.FILE}", f"run/{probes.FILE}"],
        ],
    }


def _make_pipeline(folder: Path) -> Commands:
    """Write what `pyopbench pipeline` does."""
    pipelines.write(folder / "pipe", {one.key: 1e-4 / (place + 1) for place, one in enumerate(pipelines.ALL)})
    again = ["pipeline", "double", "--results", "pipe", "--out", f"{OUT}/new"]
    return _files("pipe", [again, [*again, "--json"], [*again, "--step-ms", "5"], ["report", "pipe", "--out", OUT]])


def _make_shards(folder: Path) -> Commands:
    """Write the shards of a run, and of one on several versions, and what they are merged to."""
    parts = [folder / f"shard-{index}" for index in (1, 2)]
    for index, part in enumerate(parts, 1):
        sharded.write_shard(part, index, 2)
        sharded.write_versions(folder / f"versions-{index}", index, 2, ["2.20.0", "2.21.0"])
    merge.merge(parts, folder / "merged")
    together = ["merge", "shard-1", "shard-2", "--out", f"{OUT}/new"]
    of_shards = [
        together,
        [*together, "--allow-changed"],
        ["merge", "shard-1", "--allow-missing", "--out", f"{OUT}/new"],
        ["check", "shard-1"],
    ]
    of_versions = [["merge", "versions-1", "versions-2", "--out", f"{OUT}/new"]]
    of_merged = [["check", "merged"], [PYTHON, "read", "merged"], ["report", "merged", "--out", OUT]]
    return {
        **_files("shard-1", of_shards),
        f"versions-1/{run_sides.FILE}": of_versions,
        **_files("versions-1/tf-2.21.0", of_versions),
        **_files("merged", of_merged),
    }


def _make_versions(folder: Path) -> Commands:
    """Write a run on two versions of TensorFlow."""
    pairs.write_versions(folder / "several", "2.20.0", "2.21.0")
    commands = [
        ["compare", "several", "2.20.0", "2.21.0", "--axis", "tf"],
        ["history", "several", "--by", "tf", "--out", OUT],
        ["check", "several"],
        ["resume", "several"],
        [PYTHON, "read", "several"],
        ["report", "several"],
    ]
    return {f"several/{run_sides.FILE}": commands, **_files("several/tf-2.21.0", commands)}


def _make_revisions(folder: Path) -> Commands:
    """Write a run over two revisions and a control."""
    slower = {histories.CHANGED: 1.2}
    revision_runs.write_revisions(folder / "revisions", {}, slower, different={1: revision_runs.DIFFERENT}, launches=3)
    commands = [
        ["report", "revisions"],
        ["report", "revisions", "--json", "--fail-on", "never"],
        ["compare", "revisions", "r0", "r1", "--axis", "commit"],
        ["check", "revisions"],
        ["resume", "revisions"],
        [PYTHON, "read", "revisions"],
    ]
    of_runs = [one for one in commands if one[0] != "resume"]
    return {f"revisions/{run_sides.FILE}": commands, **_files("revisions/rev-2", of_runs)}


def _make_histories(folder: Path) -> Commands:
    """Write runs of four commits, a change between them that was measured again, and results of other tools."""
    factors = histories.stepped(4, 2, 1.3)
    runs = [f"commits/{path.name}" for path in histories.write_commits(folder / "commits", factors)]
    again = folder / "history" / "reruns" / "again"
    revision_runs.write_revisions(again, {}, {histories.CHANGED: 1.3}, launches=3)
    of_commits = ["history", *runs, "--out", "history"]
    histories.write_asv(folder / "asv", [1.0, 1.0, 1.3, 1.3])
    of_asv = ["history", "asv", "--out", OUT]
    results = sorted((folder / "asv" / "here").glob("*-env.json"))
    for path in FOREIGN:
        shutil.copy(path, folder)
        shutil.copy(path, folder / f"other-{path.name}")
    return {
        **_files(runs[1], [of_commits, [*of_commits, "--json"]]),
        f"history/reruns/again/{run_sides.FILE}": [of_commits],
        **_files("history/reruns/again/rev-2", [of_commits]),
        results[1].relative_to(folder).as_posix(): [of_asv, [*of_asv, "--json"]],
        **{
            path.name: [
                ["compare", path.name, f"other-{path.name}"],
                [PYTHON, "read", path.name],
                ["history", path.name, f"other-{path.name}", "--by", "date", "--out", OUT],
                ["report", path.name, "--out", OUT],
            ]
            for path in FOREIGN
        },
    }


def _kept() -> Path:
    path = probe.path_for(KNOWN)
    assert path is not None
    return path


def _launches(today: str) -> list[dict[str, Any]]:
    lines = []
    for launch in range(3):
        for size in (1, 10):
            both = [stored.case(variant, size=size) for variant in (today, NATIVE)]
            failed = [stored.failure(stored.case("broken", size=size))]
            lines.append(stored.group_line(launch, both, failed, 0.5 + 0.01 * launch))
    return lines


def _make_for_runs(folder: Path) -> Commands:
    """Write what `run` and `resume` read: runs of variants that there are, mixes, and the user's own folder."""
    settings = {**stored.SETTINGS, "baseline": TODAY}
    content = stored.run([stored.case(variant, size=size) for variant in (TODAY, NATIVE) for size in (1, 10)])
    content = {**content, "settings": settings, "environment": KNOWN}
    stored.write(folder / "begun", content, [stored.launch_line(0), *_launches(TODAY)])
    fresh = [stored.launch_line(0), stored.limits_line(0)]  # without samples it ends before a report, which takes long
    stored.write(folder / "fresh", content, fresh)
    stored.write(folder / "wanting", {**content, "settings": {**settings, "tf": "2.21.0"}}, [stored.launch_line(0)])
    (folder / "mix.csv").write_text("size,weight\n1,3\n10,1\n", encoding="utf-8")
    (folder / "shapes.csv").write_text("shape,dtype,weight\n1x1,float32,3\n2x5,float32,1\n", encoding="utf-8")
    data = folder / DATA / "pyopbench"
    for path in (certificate.path_for(KNOWN), _kept()):
        (data / path.parent.name).mkdir(parents=True)
    own = data / "certificates" / certificate.path_for(KNOWN).name
    own.write_bytes(integrity.sealed(certificates.certificate(environment=KNOWN).as_json()))
    known = data / "probes" / _kept().name
    probes.write(known, probe_files.document(probe_files.row("xla", TODAY, "fails", "no")))
    resumed = [["resume", "begun"], ["resume", "begun", "--allow-changed"], ["check", "begun"]]
    mixed = [["resume", "wanting", "--mix"], ["report", "run", "--out", OUT, "--mix"]]
    begun = ["run", "double", "--out", f"{OUT}/new"]
    return {
        **_files("begun", resumed),
        **_files("fresh", [["resume", "fresh"], ["resume", "fresh", "--allow-changed"]]),
        f"wanting/{run_folder.RUN_FILE}": [["resume", "wanting"]],
        "mix.csv": [[*words, "mix.csv"] for words in mixed],
        "shapes.csv": [[*words, "shapes.csv"] for words in mixed],
        own.relative_to(folder).as_posix(): [[*begun, "--no-probes"]],
        known.relative_to(folder).as_posix(): [begun, ["resume", "fresh", "--require", "xla"]],
    }


def _make_for_programs(folder: Path) -> Commands:
    """Write what a recorded program leaves, a recording, and what `scan` parses."""
    counted = {"calls": 3, "raised": 0, "seconds": 0.5, "outside_calls": 3, "outside_seconds": 0.75}
    names = {"file": "source.py", "line": 4, "function": "f", "kind": "py_function", "mode": "graph", "body": "g"}
    shapes = [{"inputs": [{"shape": [2, 5], "dtype": "float32"}], "calls": 3, "seconds": 0.5}]
    part = {"trouble": "", "sites": [{**names, "forward": counted, "gradient": counted, "shapes": shapes}]}
    (folder / "part.json").write_text(json.dumps(part), encoding="utf-8")
    source = "import tensorflow as tf\ndef f(x):\n    return x[1]\ny = tf.numpy_function(f, [1], tf.float32)\n"
    (folder / "source.py").write_text(source, encoding="utf-8")
    recording = {"version": 1, "command": ["python"], "exit_code": 0, "sites": part["sites"]}
    stored.seal(folder / "recording.json", recording)
    (folder / "graph.pb").write_bytes(_field(1, _field(1, b"one") + _field(2, b"PyFunc") + _field(5, _TOKEN)))
    text = 'node {\n  name: "one"\n  op: "PyFunc"\n  attr {\n    key: "token"\n    value { s: "pyfunc_3" }\n  }\n}\n'
    (folder / "graph.pbtxt").write_text(text, encoding="utf-8")
    leaving = ["sh", "-c", 'cp -a part.json "$PYOPBENCH_RECORD/1.json" 2> /dev/null']
    draft = ["scan", "--draft", "source.py:4"]
    return {
        "part.json": [["record", "--out", f"{OUT}/r.json", "--", *leaving]],
        "source.py": [["scan", "source.py"], ["scan", "--json", "source.py"], [*draft, "--out", f"{OUT}/my_op.py"]],
        "recording.json": [[*draft, "--recording", "recording.json"]],
        "graph.pb": [["scan", "graph.pb"]],
        "graph.pbtxt": [["scan", "graph.pbtxt"]],
    }


def _field(number: int, content: bytes) -> bytes:
    """Return a field of a protocol buffer, of at most 127 bytes."""
    return bytes([number << 3 | 2, len(content)]) + content


_TOKEN = _field(1, b"token") + _field(2, _field(2, b"pyfunc_3"))


def of_bytes(content: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(content))
    return rng.choice(
        [
            lambda: content[:place],
            lambda: content[:place] + bytes([rng.randrange(256)]) + content[place + 1 :],
            lambda: content[:place] + rng.randbytes(rng.randrange(1, 9)) + content[place:],
            lambda: content[:place] + content[place + rng.randrange(1, 40) :],
            lambda: content + content,
            lambda: b"\xef\xbb\xbf" + content,
            lambda: content.decode().encode("utf-16"),
            lambda: b"",
            lambda: b"[" * 100_000,
        ]
    )()


def of_numbers(content: bytes, rng: random.Random) -> bytes:
    places = [match.span() for match in NUMBER.finditer(content)]
    start, end = rng.choice(places)
    return content[:start] + rng.choice(NUMBERS) + content[end:]


def of_structure(content: bytes, rng: random.Random) -> bytes:
    """Change a value, a key or an item of JSON; of samples in one line, with a checksum that fits it."""
    lines = content.splitlines() if content.count(b"\n{") > 2 else [content]
    number = rng.randrange(len(lines))
    try:
        value = json.loads(lines[number])
    except ValueError:
        return of_bytes(content, rng)
    places = list(stored.places_in(value))
    path = rng.choice(places)
    new = _other_value(value, places, rng)
    changed = _with_other_key(value, path, rng) if path and rng.random() < 0.3 else stored.put(value, path, new)
    if len(lines) == 1:
        return _sealed(changed)
    before = integrity.checksum_of(lines[number - 1]) or 0 if number else 0
    if isinstance(changed, dict):
        changed = {key: inner for key, inner in changed.items() if key != integrity.KEY}
    text = json.dumps(changed, separators=(",", ":")).encode()
    lines[number] = integrity.sealed_line(text, before) if text.endswith(b"}") and len(text) > 2 else text
    return b"\n".join(lines) + b"\n"


def _other_value(value: Any, places: list[tuple[Any, ...]], rng: random.Random) -> Any:
    """Return a value to put into JSON: a strange one, a number, or one of its own from another place.

    The last is often of the right type, so that it gets past the schema to what relies on one part fitting another.
    """
    kind = rng.random()
    if kind < 0.4:
        return json.loads(rng.choice(TEXTS))
    if kind < 0.6:
        return rng.choice([-5, 1e300, 2**62, True, None, 0.5, 0, 1])
    return functools.reduce(lambda outer, step: outer[step], rng.choice(places), value)


def _sealed(changed: Any) -> bytes:
    if isinstance(changed, dict) and integrity.KEY in changed:
        kept = {key: inner for key, inner in changed.items() if key != integrity.KEY}
        return integrity.sealed(json.dumps(kept, indent=1))
    return json.dumps(changed).encode()


def _with_other_key(value: Any, path: tuple[Any, ...], rng: random.Random) -> Any:
    """Return JSON without what is at a path, or with it under another key."""
    *above, last = path
    outer = value
    for step in above:
        outer = outer[step]
    changed = dict(outer) if isinstance(outer, dict) else list(outer)
    inner = changed.pop(last)
    if isinstance(changed, list) and rng.random() < 0.3:
        changed += [inner, inner]
    elif isinstance(changed, dict) and rng.random() < 0.5:
        changed[str(json.loads(rng.choice(TEXTS)))] = inner
    return stored.put(value, tuple(above), changed)


def of_kind(path: Path, rng: random.Random) -> None:
    """Put something else in place of a file."""
    path.unlink()
    rng.choice(
        [
            lambda: os.mkfifo(path),
            path.mkdir,
            lambda: path.symlink_to("/dev/zero"),
            lambda: path.symlink_to(path),
            lambda: path.symlink_to(path.with_name("missing")),
            lambda: path.symlink_to(Path(VICTIM).absolute()),
            lambda: path.hardlink_to(VICTIM),
            lambda: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC), 3 << 30),
            lambda: None,
        ]
    )()


CHANGES: list[Callable[[bytes, random.Random], bytes]] = [of_bytes, of_numbers, *[of_structure] * 4]
"""Most bytes and numbers that are changed are found by a checksum; what changes the structure makes that anew."""


def mutate(path: Path, rng: random.Random) -> None:
    """Change a file in one way, or in several."""
    if rng.random() < 0.1:
        of_kind(path, rng)
        return
    content = path.read_bytes()
    for _ in range(rng.choice([1, 1, 1, 1, 2, 4])):
        change = rng.choice(CHANGES)
        with contextlib.suppress(
            IndexError, ValueError, RecursionError
        ):  # an earlier change has left nothing for this one
            content = change(content, rng)
    path.write_bytes(content)
