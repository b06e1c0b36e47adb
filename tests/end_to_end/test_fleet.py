"""What is in `examples/fleet` runs: each step of the workflow for each machine of its matrix, and an array of Slurm."""

from __future__ import annotations

import json
import shlex
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import sharded
import stored
from caches import with_charts
from forked_programs import ForkedPrograms
from places import ROOT
from pyopbench.judge.judge import Judging, judge
from pyopbench.store import run_folder
from pyopbench.store.read import read_one
from workflow_steps import BASH, install, run_shell

yaml = pytest.importorskip("yaml", reason="the workflow is read with PyYAML, which the extra `docs` brings")

pytestmark = [pytest.mark.slow, pytest.mark.long]

EXAMPLES = ROOT / "examples" / "fleet"
FEW = "--until end --launches 2 --settings rounds=2"
"""Of every run, so that the fake workers are soon done."""
PROGRAM = f"""#!/bin/sh
if [ "$1" = run ]; then set -- "$@" {FEW} ${{{{PROBES-"--no-probes"}}}}; fi
exec {{fake}} "$@"
"""
OPS = ("sinh", "cube")


@pytest.fixture
def place(tmp_path: Path, forked_programs: ForkedPrograms) -> Path:
    """A folder to work in, with a pyopbench whose workers measure nothing, and a plan for them."""
    fake = forked_programs.write(tmp_path / "fake" / "pyopbench", "fake_pyopbench")
    install(tmp_path, "pyopbench", PROGRAM.format(fake=shlex.quote(str(fake))))
    with_charts(tmp_path / "cache")
    plan = sharded.plan([key for key in sharded.CASES if key.startswith(OPS)])
    kept = {key: plan[key] for key in ("cases", "skips", "catalogue", "environment")}
    (tmp_path / "plan.json").write_text(json.dumps(kept), encoding="utf-8")
    return tmp_path


def shell(place: Path, command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command there; `host` names the machine that it is to be on."""
    told = {"FAKE_WORKER_PLAN": str(place / "plan.json"), "XDG_CACHE_HOME": str(place / "cache")}
    told["XDG_DATA_HOME"] = str(place / "data")
    return run_shell(command, place, {**told, "GITHUB_STEP_SUMMARY": str(place / "summary"), **environment})


def job(name: str) -> dict[str, Any]:
    """Return a job of the workflow."""
    found: dict[str, Any] = yaml.safe_load((EXAMPLES / "github.yml").read_text(encoding="utf-8"))["jobs"][name]
    return found


def step(name: str, of: str) -> dict[str, Any]:
    """Return a step of a job."""
    found: dict[str, Any] = next(one for one in job(of)["steps"] if one.get("name") == name)
    return found


@pytest.mark.parametrize("probes", ["--no-probes", ""])
def test_the_workflow_measures_on_each_machine_and_merges(place: Path, probes: str) -> None:
    matrix = job("measure")["strategy"]["matrix"]
    measure = step("Measure", "measure")
    assert measure["env"] == {"PART": "${{ matrix.part }}", "FIRST": "${{ matrix.machine.first }}"}
    for part, machine in product(matrix["part"], matrix["machine"]):
        values = {"PART": str(part), "FIRST": str(machine["first"])}
        values |= {"PYOPBENCH_HOST": f"{machine['os']}-{part}", "PROBES": probes}
        done = shell(place, [*BASH, measure["run"]], **values)
        assert done.returncode == 0, done.stderr
    done = shell(place, [*BASH, step("Merge", "merge")["run"]])
    assert done.returncode == 0, done.stderr
    merged = read_one([place / "merged"])
    assert sorted(merged.cases) == sorted(key for key in sharded.CASES if key.startswith(OPS))
    hosts = merged.frame.assign(host=merged.frame["launch"].map(merged.hosts)).groupby("op")["host"].nunique()
    assert dict(hosts) == {"cube": 2, "sinh": 2}
    assert (merged.probes is None) == bool(probes), "found once for each machine, and once in the whole"
    assert "Machines" in (place / "summary").read_text(encoding="utf-8")


def test_expressions_stay_out_of_shells() -> None:
    """What GitHub puts into a script is run; into a variable it is text."""
    steps = [one for name in ("measure", "merge") for one in job(name)["steps"]]
    assert not [one["run"] for one in steps if "${{" in one.get("run", "")]


def slurm(place: Path, task: int, *words: str, shards: str = "2") -> subprocess.CompletedProcess[str]:
    """Start a task of an array as Slurm does, on a node of its own."""
    told = {"SHARDS": shards} if shards else {}
    node = {"SLURM_ARRAY_TASK_ID": str(task), "SLURMD_NODENAME": f"node-{task}"}
    return shell(place, [str(EXAMPLES / "slurm.sh"), *words], **told, **node)


def test_an_array_of_slurm_measures_a_plan(place: Path) -> None:
    words = ("sinh", "cube", "--settings", "seed=1")
    for task in (1, 2):
        done = slurm(place, task, *words)
        assert done.returncode == 0, done.stderr
    done = shell(place, ["pyopbench", "merge", "shards/shard-1", "shards/shard-2", "--out", "merged"])
    assert done.returncode == 0, done.stderr
    assert set(read_one([place / "merged"]).hosts.values()) == {"node-1", "node-2"}


def test_a_task_that_slurm_starts_again_goes_on(place: Path) -> None:
    words = ("sinh", "cube", "--settings", "seed=1")
    assert slurm(place, 1, *words).returncode == 0
    samples = place / "shards" / "shard-1" / run_folder.SAMPLES_FILE
    whole = samples.read_bytes()
    lines = whole.splitlines(keepends=True)
    samples.write_bytes(b"".join(lines[: len(lines) // 2])[:-5])  # as a node leaves it that loses its power
    done = slurm(place, 1, *words)
    assert done.returncode == 0, done.stderr
    assert len(read_one([samples.parent]).frame) == len(read_one([samples.parent]).frame.drop_duplicates())
    assert read_one([samples.parent]).ended is not None


def test_an_array_without_the_number_of_shards_is_refused(place: Path) -> None:
    """The size of an array is another one where some of it is measured again."""
    done = slurm(place, 1, shards="")
    assert done.returncode != 0
    assert "SHARDS" in done.stderr
    assert not (place / "shards").exists()


def test_shards_of_processes_give_the_plan_the_cases_and_the_decisions_of_one_run(place: Path) -> None:
    plan = sharded.plan()
    kept = {key: plan[key] for key in ("cases", "skips", "catalogue", "environment")}
    (place / "plan.json").write_text(json.dumps(kept), encoding="utf-8")
    words = ["--settings", "seed=1"]
    for index in range(1, 5):
        folder = f"shards/shard-{index}"
        shard = ["--shard", f"{index}/4", "--out", folder]
        done = shell(place, ["pyopbench", "run", *words, *shard], PYOPBENCH_HOST=f"host-{index}")
        assert done.returncode == 0, done.stderr
    shards = sorted((place / "shards").iterdir())
    assert len({stored.read_run(folder)["shard"]["plan"] for folder in shards}) == 1
    cases = [key for folder in shards for key in stored.read_run(folder)["cases"]]
    assert sorted(cases) == sorted(sharded.CASES), "each case once"
    done = shell(place, ["pyopbench", "merge", *map(str, shards), "--out", "merged"])
    assert done.returncode == 0, done.stderr
    assert shell(place, ["pyopbench", "run", *words, "--out", "whole"]).returncode == 0
    merged, whole = (judge([place / name], Judging("py_function_numpy", 0.03)) for name in ("merged", "whole"))
    assert [(one.op, one.answer) for one in merged.decisions] == [(one.op, one.answer) for one in whole.decisions]
    assert len(merged.run.frame) == len(whole.run.frame)
