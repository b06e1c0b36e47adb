"""Every command that writes is given a folder full of links to a file of the user's, which stays as it is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import certificates
import copied_files
import fleet_fakes
import pipelines
import placement_files
import probe_files
import sharded
import stored
from commands import REPORT, Call
from places import ROOT
from pyopbench.cli import app
from pyopbench.engine import certify, copies, git, probe
from pyopbench.engine.fleet import folder as fleet_folder
from pyopbench.engine.fleet import scheduler
from pyopbench.store import certificate, run_sides

KEPT = b"keep me"
SITE = "import tensorflow as tf\ndef f(x):\n    return x[1]\ny = tf.numpy_function(f, [1], tf.float32)\n"
RUN = ("run.json", "samples.jsonl", "lock", "probes.json", "placement.json", "copies.json", "certificate.json")
OTHERS = ("sides.json", "compare-2.21.0-2.21.0-2.md", "told.md", "my_op.py", "my_op.cc", "r.json", "r-mix-1.csv")
LATER = (
    "ported.py",
    "test_ported.py",
    "fleet.json",
    "shards",
    "1",
    "1.json",
    "merged",
    "merged-2",
    *(f"history.{kind}" for kind in ("html", "md", "json")),
    *("pipeline.html", "pipeline.md"),
)
NAMES = (*REPORT, *RUN, *OTHERS, *LATER, "pipeline-decision.json", "reruns")
FOREIGN = ROOT / "tests/data/foreign/pytest-benchmark-first.json"

WRITING: dict[str, list[list[str]]] = {
    "run": [["double", "--launches", "2", "--out", "trap"]],
    "resume": [["whole"]],
    "report": [["whole"], ["whole", "--out", "trap"], ["several"], ["foreign.json", "--out", "trap"]],
    "compare": [["whole", "whole", "--markdown", "trap/told.md"]],
    "scan": [["--draft", "source.py:4", "--out", "trap/my_op.py"]],
    "record": [["--out", "trap/r.json", "--", "true"]],
    "advise": [["--out", "trap", "--", "true"]],
    "placement": [["--out", "trap/placement.json"]],
    "copies": [["--out", "trap/copies.json"]],
    "probe": [["--out", "trap/probes.json"]],
    "certify": [["--out", "trap"]],
    "new op": [["trap/my_op.py", "--kernel"]],
    "port": [["own.py:double", "--input", "1.0", "--to", "traced", "--out", "trap/ported.py"]],
    "history": [["whole", "--out", "trap"]],
    "merge": [["shard-1", "shard-2", "--out", "trap"], ["shard-1", "shard-2", "--out", "fresh"]],
    "fleet run": [["double", "--scheduler", "tcp://127.0.0.1:1", "--shards", "2", "--out", "trap"]],
    "fleet resume": [["fleet", "--scheduler", "tcp://127.0.0.1:1"]],
    "pipeline": [["double", "--results", "piped", "--out", "trap"]],
}
"""Command -> arguments with which it writes into a folder that somebody has prepared."""

READING = {"list", "verify", "check", "schema", "version", "fleet doctor"}
IN_CACHE = {"build", "doctor"}
"""Write to the cache alone, which `model/cache_folder` refuses where others can prepare it."""


def links_into(folder: Path, victim: Path, kept: set[str]) -> None:
    """Lay links to a file under every name that a command may write, but for files that it is to read."""
    for name in NAMES:
        number = os.getpid()
        guessed = (
            f".{name}.{number}",
            f"{name}.{number}",
            f"{name}.new",
            f"{name}.tmp",
            f".{name}.tmp",
            f"{name}.part",
        )
        for one in (*(() if name in kept else (name,)), *guessed):
            if not os.path.lexists(folder / one):
                (folder / one).symlink_to(victim)


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planned: Callable[..., None]) -> Iterator[Path]:
    """A folder to work in, with results whose folders are full of links; nothing is measured."""
    planned("native")
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    victim = tmp_path / "victim"
    victim.write_bytes(KEPT)
    cases = [stored.case("py_function_numpy"), stored.case("native")]
    lines = [stored.launch_line(0), stored.group_line(0, cases), stored.launch_line(1), stored.group_line(1, cases)]
    settings = {**stored.SETTINGS, "baseline": "py_function_numpy"}
    whole = stored.write(here / "whole", stored.run(cases, settings=settings), lines)
    named = stored.name_versions(here / "several", ["2.21.0", "2.21.0"])
    for one in named:
        shutil.copytree(whole, one.folder)
    run_sides.write(here / "several", named)
    sharded.write_shards(here, 2)
    (here / "trap").mkdir()
    (here / "fresh").mkdir()
    shutil.copy(FOREIGN, here / "foreign.json")
    (here / "source.py").write_text(SITE, encoding="utf-8")
    (here / "own.py").write_text("def double(x):\n    return 2 * x\n", encoding="utf-8")
    pipelines.write(here / "piped", {one.key: 1e-4 for one in pipelines.ALL})
    for folder in (whole, here / "several", *(one.folder for one in named)):
        links_into(folder, victim, {"run.json", "samples.jsonl", "sides.json"})
    links_into(here / "trap", victim, set())
    links_into(here / "fresh", victim, {"run.json", "samples.jsonl", "sides.json"})
    monkeypatch.setattr(copies, "count", lambda wanted, tell: placement_files.document())
    monkeypatch.setattr(copies, "measure_bridges", lambda: copied_files.document(copied_files.row(1, 1e-4)))
    monkeypatch.setattr(probe, "all_attempts", lambda *wanted: [])
    monkeypatch.setattr(probe, "try_all", lambda *wanted: probe_files.document(probe_files.row("xla", "native")))
    monkeypatch.setattr(certify, "certify", _certified)
    monkeypatch.setattr(certificate, "path_for", lambda environment: here / "trap" / "certificate.json")
    fleet_folder.create(here / "fleet", fleet_fakes.plan(2))
    links_into(here / "fleet", victim, {"fleet.json", "shards"})
    links_into(here / "fleet" / "shards", victim, {"2"})
    hosts = fleet_fakes.FakeHosts(tmp_path, 2, {"a": "tcp://1"})
    monkeypatch.setattr(scheduler, "Scheduler", lambda *_: hosts)
    monkeypatch.setattr(git, "commit_of_package", lambda: {"commit": None, "dirty": None})
    yield here
    assert victim.read_bytes() == KEPT


def _certified(folder: Path, *_: object, **__: Any) -> Any:
    made = certificates.certificate()
    certify._keep(made, folder)
    return made


CALLS = [(name, arguments) for name, every in WRITING.items() for arguments in every]


@pytest.mark.parametrize(("name", "arguments"), CALLS, ids=lambda value: value if isinstance(value, str) else value[0])
def test_a_link_in_a_prepared_folder_is_never_written_through(
    name: str, arguments: list[str], prepared: Path, call: Call
) -> None:
    """The fixture looks at the file in the end; refusing is as good as replacing the link."""
    ended = call(*name.split(), *arguments)
    assert ended.code in (0, 1, 2), ended.err
    assert (prepared.parent / "victim").read_bytes() == KEPT


@pytest.mark.parametrize("leads_to", ["a file", "nothing"])
def test_samples_are_not_appended_through_a_link(prepared: Path, call: Call, leads_to: str) -> None:
    samples, elsewhere = prepared / "whole" / "samples.jsonl", prepared.parent / "elsewhere"
    if leads_to == "a file":
        samples.rename(elsewhere)
    else:
        samples.unlink()
    before = elsewhere.read_bytes() if elsewhere.exists() else None
    samples.symlink_to(elsewhere)
    assert call("resume", "whole").code in (2, 3)
    assert (elsewhere.read_bytes() if elsewhere.exists() else None) == before


def test_every_command_is_one_that_reads_or_is_tried_with_links() -> None:
    whole = typer.main.get_command(app.make_app())
    assert isinstance(whole, typer.core.TyperGroup)
    names = set()
    for name, command in whole.commands.items():
        inner = getattr(command, "commands", None)
        names |= {f"{name} {one}" for one in inner} if inner else {name}
    assert names == {*WRITING, *READING, *IN_CACHE}
