"""Results whose every name and message is hostile are shown as text by every command that reads them."""

from __future__ import annotations

import ast
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from unicodedata import category

import pytest
import typer

import certificates
import copied_files
import fleet_fakes
import placement_files
import probe_files
import sharded
import stored
from hostile_names import NASTY, OPS, nasty, write_run
from pyopbench.api.listeners import describe
from pyopbench.cli import app, sources, verify
from pyopbench.engine import certify, copies, doctor, git
from pyopbench.engine import plan as planning
from pyopbench.engine.budget import Progress
from pyopbench.engine.fleet import facts, scheduler
from pyopbench.engine.verify import Finding
from pyopbench.model.case import Failure
from pyopbench.store import probes, run_folder
from pyopbench.store.certificate import Loss

OBEYED = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
SCRIPT = re.compile("<script>.*?</script>", re.DOTALL)


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


def test_a_check_obeys_nothing_that_lines_say(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = folder / run_folder.SAMPLES_FILE
    lines = samples.read_bytes().splitlines(keepends=True)
    lines[1:3] = [lines[1].replace(b"0.5", b"0.6"), json.dumps({"kind": NASTY, NASTY: NASTY}).encode() + b"\n"]
    samples.write_bytes(b"".join(lines))
    named = folder.rename(folder.with_name(NASTY.replace("/", "")))
    for options in ([], ["--json"]):
        code, told = call(monkeypatch, capsys, "check", named, *options)
        assert (code, is_shown_as_text(told)) == (1, True)


@pytest.mark.parametrize(
    "changes",
    [
        {"environment": {**stored.ENVIRONMENT, "commit": NASTY}},
        {"own": {NASTY: {"words": [NASTY], "fingerprint": NASTY}}},
        {"settings": {**stored.SETTINGS, "tf": NASTY}},
        {"cases": [stored.case("native", f"op{NASTY.replace('/', '')}")]},
        {"cases": [stored.case(f"native{NASTY.replace('/', '')}")]},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_resume_obeys_nothing_that_a_run_says(
    tmp_path: Path, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = stored.run([stored.case("native")], environment={**stored.ENVIRONMENT, "commit": None})
    settings = {**stored.SETTINGS, "baseline": "native"}
    folder = stored.write(tmp_path / f"run{NASTY.replace('/', '')}", {**run, "settings": settings, **changes}, [])
    monkeypatch.setattr(git, "commit_of_package", lambda: {"commit": None, "dirty": None})
    code, told = call(monkeypatch, capsys, "resume", folder)
    assert (code, is_shown_as_text(told)) == (2, True)


def test_the_bar_of_progress_shows_a_group_as_text() -> None:
    step = Progress("sampling", 1, "", 0, 0, f"{NASTY}/{NASTY}", 0, 1, 1, None)
    assert is_shown_as_text(describe(step))


def test_a_scan_obeys_nothing_that_sources_and_graphs_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = NASTY.replace("/", "")
    tree = tmp_path / f"tree{name}"
    (tree / f".hidden{name}").mkdir(parents=True)
    site = f"y = tf.numpy_function(table[{NASTY!r}], [1], tf.float32)\n"
    (tree / f"a{name}.py").write_text(f"import tensorflow as tf\n# {NASTY}\n{site}", encoding="utf-8")
    (tree / f"broken{name}.py").write_text(f"def {NASTY}", encoding="utf-8")
    token = json.dumps(NASTY)
    node = f'node {{ name: {token} op: "PyFunc" attr {{ key: "token" value {{ s: {token} }} }} }}'
    (tree / f"graph{name}.pbtxt").write_text(node, encoding="utf-8")
    (tree / f"broken{name}.pb").write_bytes(NASTY.encode())
    for words in ([tree], ["--json", tree], ["--draft", f"{tree / f'a{name}.py'}:9"], ["--draft", f"{NASTY}:9"]):
        code, told = call(monkeypatch, capsys, "scan", *words)
        assert (code in (0, 2), is_shown_as_text(told)) == (True, True)


def test_a_recording_obeys_nothing_that_a_program_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    counted = {"calls": 3, "raised": 0, "seconds": 0.5, "outside_calls": 3, "outside_seconds": 0.75}
    names = dict.fromkeys(("file", "function", "kind", "mode", "body"), NASTY)
    shapes = [{"inputs": [{"shape": [2], "dtype": NASTY}], "calls": 3, "seconds": 0.5}]
    site = {**names, "line": 3, "forward": counted, "gradient": counted, "shapes": shapes}
    (tmp_path / "part.json").write_text(json.dumps({"trouble": NASTY, "sites": [site]}), encoding="utf-8")
    leave = ["sh", "-c", f'cp "{tmp_path / "part.json"}" "$PYOPBENCH_RECORD/1.json"']
    code, told = call(monkeypatch, capsys, "record", "--out", tmp_path / f"r{NASTY.replace('/', '')}", "--", *leave)
    assert (code, is_shown_as_text(told)) == (0, True)


def test_an_advice_obeys_nothing_that_a_program_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    counted = {"calls": 3, "raised": 0, "seconds": 0.5, "outside_calls": 3, "outside_seconds": 0.75}
    names = dict.fromkeys(("file", "function", "kind", "mode", "body"), NASTY)
    site = {**names, "line": 3, "forward": counted, "gradient": counted, "shapes": []}
    (tmp_path / "part.json").write_text(json.dumps({"trouble": NASTY, "sites": [site]}), encoding="utf-8")
    (tmp_path / "program").mkdir()
    monkeypatch.chdir(tmp_path / "program")
    for program in (f'cp "{tmp_path / "part.json"}" "$PYOPBENCH_RECORD/1.json"', f"echo {NASTY!r} >&2; exit 3"):
        out = tmp_path / f"{len(program)}{NASTY.replace('/', '')}"
        code, told = call(monkeypatch, capsys, "advise", "--out", out, "--", "sh", "-c", program)
        assert (code in (0, 1, 2, 3), is_shown_as_text(told)) == (True, True), told


def test_a_merge_obeys_nothing_that_shards_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = NASTY.replace("/", "")
    said = {"command": ["pyopbench", NASTY], "environment": nasty(stored.ENVIRONMENT)}
    shards = [sharded.write_shard(tmp_path / f"{name}-{index}", index, 4, **said) for index in (1, 2)]
    odd = sharded.write_shard(tmp_path / f"odd {name}", 3, 4, environment={**stored.ENVIRONMENT, "numpy": NASTY})
    for folders, options, code in (
        (shards, [], 2),
        ([*shards, odd, tmp_path / name], ["--allow-missing"], 2),
        (shards, ["--allow-missing"], 0),
    ):
        ended, told = call(monkeypatch, capsys, "merge", *folders, "--out", tmp_path / f"out {name}", *options)
        assert (ended, is_shown_as_text(told)) == (code, True), told
    code, told = call(monkeypatch, capsys, "report", tmp_path / f"out {name}")
    assert (code, is_shown_as_text(told)) == (0, True)


def _nasty_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let own ops and variants, of files that one was given, say what they like."""
    case = stored.case(f"native{NASTY.replace('/', '')}", f"op{NASTY.replace('/', '')}")
    failure = Failure(case, "raised", NASTY, None)
    described = {op: nasty(stored.OP) for op in OPS}
    catalogue = {"ops": described, "variants": {NASTY: {**stored.VARIANT, "summary": NASTY}}, "gradients": {}}
    skip = {"case": case, "status": "unsupported", "reason": NASTY, "launch": None}
    plan = {"cases": [case], "skips": [skip], "catalogue": catalogue, "environment": nasty(stored.ENVIRONMENT)}
    kernels = {"libraries": {NASTY: f"/{NASTY}/x.so"}, "reasons": {NASTY: NASTY}, "without": [NASTY]}
    placed = placement_files.document(tensorflow=NASTY)
    placed["failures"] = [{"case": placed["rows"][0]["case"], "pinned": NASTY, "status": NASTY, "reason": NASTY}]
    copied = copied_files.document(copied_files.row(1, 1e-4, bridge=NASTY), copied_files.row(9, 1e-3, bridge=NASTY))
    renamed = tuple(replace(one, op=NASTY) for one in certificates.DECISIONS.renamed)
    decisions = replace(certificates.DECISIONS, renamed=renamed, worst=Loss(NASTY, "inference", 0.5))
    environment = nasty(certificates.ENVIRONMENT)
    certificate = certificates.certificate(decisions=decisions, environment=environment, created=NASTY)
    monkeypatch.setattr(planning, "ask_for_plan", lambda *_, **__: plan)
    monkeypatch.setattr(verify, "verify_cases", lambda *_: [Finding(case, None, failure)])
    monkeypatch.setattr(sources, "ask_once", lambda request, own: {**kernels, "gpu": {**kernels, "reason": NASTY}})
    monkeypatch.setattr(copies, "count", lambda *_: placed)
    monkeypatch.setattr(copies, "measure_bridges", lambda: {**copied, "environment": {"tensorflow": NASTY}})
    monkeypatch.setattr(certify, "certify", lambda *_, **__: certificate)
    lack = doctor.Check(NASTY, NASTY, "missing", NASTY, NASTY)
    machine = fleet_fakes.facts("a", cpu=NASTY, os=NASTY, python=NASTY)
    monkeypatch.setattr(doctor, "examine", lambda: doctor.Examination(machine, (lack,)))


@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["list", "--cases"],
        ["list", "--json"],
        ["verify"],
        ["verify", "--json"],
        ["build"],
        ["build", "--json"],
        ["placement"],
        ["placement", "--json"],
        ["copies"],
        ["copies", "--json"],
        ["certify"],
        ["doctor"],
        ["doctor", "--json"],
        ["new", "op", f"no{NASTY}folder/x.py"],
        [NASTY],
        ["report", NASTY],
        ["history", NASTY],
        ["run", "double", "--shard", NASTY],
        ["port", NASTY, "--to", NASTY, "--out", "x.py"],
        ["pipeline", NASTY],
        ["report", f"--{NASTY}"],
        ["fleet", "run", NASTY, "--scheduler", NASTY],
        ["fleet", "resume", NASTY, "--scheduler", "tcp://127.0.0.1:1"],
        ["fleet", "doctor", "--scheduler", NASTY],
    ],
    ids=" ".join,
)
def test_what_own_ops_and_arguments_say_is_shown_as_text(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _nasty_worker(monkeypatch)
    code, told = call(monkeypatch, capsys, *words)
    assert (code in (0, 1, 2), is_shown_as_text(told)) == (True, True), told


def test_a_fleet_obeys_nothing_that_hosts_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = fleet_fakes.FakeHosts(tmp_path, 2, {"a": "tcp://1"}, lambda host, shard: "fails", said=NASTY)
    monkeypatch.setattr(scheduler, "Scheduler", lambda *_: hosts)
    words = ("--shards", "2", "--out", tmp_path / "out", "--scheduler", "tcp://127.0.0.1:1", "--patience", "0.01")
    code, told = call(monkeypatch, capsys, "fleet", "run", NASTY, *words)
    assert (code, is_shown_as_text(told)) == (2, True)
    code, told = call(monkeypatch, capsys, "fleet", "run", "double", *words)
    assert (code, is_shown_as_text(told)) == (3, True)


def test_a_look_at_hosts_obeys_nothing_that_they_say(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nasty = fleet_fakes.facts(
        "a", cpu=NASTY, governor=NASTY, compiler=NASTY, gpus=(NASTY,), lock=NASTY, pyopbench=NASTY, dask=(NASTY,)
    )
    known = facts.Host("tcp://1", nasty)
    hosts = fleet_fakes.FakeHosts(Path(), 2, {"a": "tcp://1"}, known=known)
    monkeypatch.setattr(scheduler, "Scheduler", lambda *_: hosts)
    for options in ([], ["--json"]):
        code, told = call(monkeypatch, capsys, "fleet", "doctor", "--scheduler", "tcp://127.0.0.1:1", *options)
        assert (code, is_shown_as_text(told)) == (0, True)


PRINTS_NO_NAMES = {"version", "schema", "run"}
"""`run` prints as `resume` and `report` do, by the same functions."""


def test_every_command_is_tried_with_hostile_names() -> None:
    """The names of commands stand in the tests of this file."""
    tried = {word for node in ast.walk(ast.parse(Path(__file__).read_text(encoding="utf-8")))
             if isinstance(node, ast.Constant) and isinstance(word := node.value, str)}  # fmt: skip
    commands = set(typer.main.get_command(app.make_app()).commands)  # type: ignore[attr-defined]
    assert commands - PRINTS_NO_NAMES <= tried
