"""Runs the shell of workflows, scripts and the composite action of this repository as it is run for real."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from places import ROOT

BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c")
"""How GitHub runs a step with `shell: bash`. Source: GitHub's documentation of `jobs.<job_id>.steps[*].shell`."""

HANDED_ON = {"GITHUB_OUTPUT": "output", "GITHUB_STEP_SUMMARY": "summary"}
"""Variables that name files in which a step hands something on, and the names of the files here."""


def install(folder: Path, program: str, script: str) -> None:
    """Put a program of some name into a folder."""
    (folder / program).write_text(script, encoding="utf-8")
    (folder / program).chmod(stat.S_IRWXU)


def action() -> dict[str, Any]:
    """Return the action."""
    yaml = pytest.importorskip("yaml", reason="the action is read with PyYAML, which the extra `docs` brings")
    found: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return found


def step(name: str) -> dict[str, Any]:
    """Return the step of the action that has a name."""
    found: dict[str, Any] = next(one for one in action()["runs"]["steps"] if one.get("name") == name)
    return found


def run_step(name: str, programs: Path, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the shell of a step.

    Args:
        name: of the step.
        programs: a folder with programs that are found before those of the system; gets what the step hands on.
        folder: in which it is run.
        environment: more variables.
    """
    usual = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    places = {key: str(programs / value) for key, value in HANDED_ON.items()}
    command, env = [*BASH, step(name)["run"]], {**usual, **places, **environment}
    return subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, check=False)


def measure_inputs(**inputs: str) -> dict[str, str]:
    """Return the variables of the step that measures: the inputs that are given, and the action's defaults."""
    usual = {name: one["default"] for name, one in action()["inputs"].items()}
    asked = {"OPS": usual["ops"], "BASE": usual["base"], "HEAD": usual["head"]}
    asked |= {"FAIL_ON": usual["fail-on"], "ARGUMENTS": usual["arguments"], "FOLDER": usual["folder"]}
    assert set(step("Measure")["env"]) == set(asked)
    return {**asked, **inputs}
