"""Every command of docs/recipes.md runs as it is written there; those that measure take as little time as they can."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import page_commands
from caches import with_charts
from commands import require_whole
from forked_programs import ForkedPrograms
from forked_workers import VARIABLE as WORKER
from places import ROOT
from repositories import git, repository

pytestmark = [pytest.mark.slow, pytest.mark.long]

RECIPES = page_commands.sections((ROOT / "docs" / "recipes.md").read_text(encoding="utf-8"))
SHORT = {
    "run": "--budget 10s --launches 2 --settings rounds=2 --no-probes --no-parts"
    " --variant py_function_numpy,numpy_function",
    "pipeline": "--budget 1s --launches 1 --batch 32 --parallel 1",
    "verify": "--variant numpy_function",
}
"""What the tests add to a command as it is written: the smallest real settings. Of the answer nothing is asserted."""


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository with the examples, where the recipes are run."""
    folder = repository(tmp_path_factory.mktemp("recipes") / "clone")
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / ".gitignore").write_text("results/\n", encoding="utf-8")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "the examples")
    return folder


@pytest.fixture(scope="module")
def program(forked_programs: ForkedPrograms, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return forked_programs.write(tmp_path_factory.mktemp("program") / "pyopbench", "forked_workers")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_charts(tmp_path_factory.mktemp("cache"))


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda title: title.split(":")[0].lower())
def test_a_recipe_runs_as_it_is_written(
    recipe: str, clone: Path, program: Path, forked_worker: Path, cache: Path
) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(cache), WORKER: str(forked_worker)}
    written = page_commands.commands(RECIPES[recipe])
    assert written
    for name, command, *arguments in written:
        assert name == program.name
        short = SHORT.get(command, "").split()
        done = subprocess.run(
            [program, command, *arguments, *short],
            cwd=clone,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"{command} {arguments}\n{done.stdout}{done.stderr}"
        require_whole(done.returncode, (command, *arguments), clone)
