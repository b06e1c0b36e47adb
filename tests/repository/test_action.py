"""The action for pull requests: its shell steps do what they say, whatever names and options hold."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from places import ROOT
from workflow_steps import action, install, measure_inputs, run_step

yaml = pytest.importorskip("yaml", reason="the action is read with PyYAML, which the extra `docs` brings")

WORKFLOWS = ROOT / ".github" / "workflows"
STUB = """#!/bin/sh
for word in "$@"; do printf '[%s]' "$word"; done > "$RECORD"
mkdir -p "$FOLDER"; [ -z "$WRITES" ] || echo '### the comment' > "$FOLDER/comment.md"
exit "$ENDS_WITH"
"""


def run_stubbed(name: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the shell of a step with a stub in place of a program, which records its words."""
    for program in ("pyopbench", "python"):
        install(folder, program, STUB)
    told = {"RECORD": str(folder / "record"), "WRITES": "", "ENDS_WITH": "0", "FOLDER": str(folder / "results")}
    return run_step(name, folder, folder, **{**told, **environment})


def measured(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the step that measures, with the inputs of the action that are given and the usual others."""
    return run_stubbed("Measure", folder, **measure_inputs(FOLDER=str(folder / "results"), **inputs))


def test_two_revisions_are_measured_in_one_run(tmp_path: Path) -> None:
    done = measured(tmp_path, OPS="ops/my_op.py\nsinh\n", WRITES="yes")
    assert done.returncode == 0, done.stderr
    words = ["run", "ops/my_op.py", "sinh", "--rev", "HEAD^1", "--rev", "HEAD", "--fail-on", "slower:5%"]
    told = [*words, "--out", str(tmp_path / "results"), "--quick"]
    assert (tmp_path / "record").read_text(encoding="utf-8") == "".join(f"[{word}]" for word in told)
    assert (tmp_path / "output").read_text(encoding="utf-8") == "code=0\n"
    assert (tmp_path / "summary").read_text(encoding="utf-8") == "### the comment\n"


@pytest.mark.parametrize("code", [1, 2, 3])
def test_the_exit_code_is_kept_until_the_results_are_uploaded(tmp_path: Path, code: int) -> None:
    done = measured(tmp_path, ENDS_WITH=str(code))
    assert done.returncode == 0
    assert (tmp_path / "output").read_text(encoding="utf-8") == f"code={code}\n"
    assert not (tmp_path / "summary").exists(), "nothing is summed up of a run that wrote nothing"
    names = [one.get("name", one.get("uses")) for one in action()["runs"]["steps"]]
    uploading = names.index("actions/upload-artifact@v4")
    assert uploading == names.index("Decide") - 1
    assert action()["runs"]["steps"][uploading]["if"] == "always()"
    assert run_stubbed("Decide", tmp_path, CODE=str(code)).returncode == code


def test_names_are_words_and_nothing_of_them_is_run(tmp_path: Path) -> None:
    """A branch may be called anything that git lets it be, by whoever opens a pull request."""
    measured(tmp_path, BASE="$(touch${IFS}ran);`touch ran`", OPS="a;b $(touch ran)", ARGUMENTS="")
    assert not (tmp_path / "ran").exists()
    branch = "[--rev][$(touch${IFS}ran);`touch ran`]"
    assert branch in (tmp_path / "record").read_text(encoding="utf-8")


def test_the_action_installs_itself_and_what_is_asked_for(tmp_path: Path) -> None:
    done = run_stubbed("Install", tmp_path, GITHUB_ACTION_PATH="/a path", REQUIREMENTS="-r\nrequirements.txt")
    assert done.returncode == 0
    words = ["-m", "pip", "install", "--editable", "/a path[cpu,numba]", "-r", "requirements.txt"]
    assert (tmp_path / "record").read_text(encoding="utf-8") == "".join(f"[{word}]" for word in words)


def test_expressions_stay_out_of_shells() -> None:
    """What GitHub puts into a script is run; into a variable it is text."""
    scripts = [one["run"] for one in action()["runs"]["steps"] if "run" in one]
    assert scripts
    assert not [one for one in scripts if "${{" in one]


@pytest.mark.parametrize(
    "path",
    [*sorted(WORKFLOWS.glob("*.yml")), *sorted((ROOT / "examples" / "workflows").glob("*.yml"))],
    ids=lambda path: path.stem,
)
def test_actionlint_finds_nothing(path: Path) -> None:
    """In a workflow of this repository it checks the action's inputs too, and shell scripts where shellcheck is."""
    program = shutil.which("actionlint")
    if program is None and "GITHUB_ACTIONS" not in os.environ:  # where a workflow has installed it
        pytest.skip("actionlint is not installed: https://github.com/rhysd/actionlint")
    assert program
    done = subprocess.run([program, str(path)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", [".github/workflows/benchmarks.yml", "examples/workflows/pyopbench.yml"])
def test_workflows_give_the_action_what_it_takes(name: str) -> None:
    workflow = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))
    steps = [one for job in workflow["jobs"].values() for one in job["steps"] if "with" in one]
    given = [set(one["with"]) for one in steps if one["uses"] == "./" or "pyopbench" in one["uses"]]
    assert given
    assert all(one <= set(action()["inputs"]) for one in given)
    depths = [one["with"]["fetch-depth"] for one in steps if "fetch-depth" in one["with"]]
    assert depths == [2], "the commit that HEAD is compared with is fetched too"


def test_sources_are_scanned_for_code_scanning(tmp_path: Path) -> None:
    done = run_stubbed("Scan", tmp_path, SCAN="src $(touch ran)")
    assert done.returncode == 0, done.stderr
    words = ["scan", "--sarif", f"{tmp_path / 'results'}.sarif", "--", "src $(touch ran)"]
    assert (tmp_path / "record").read_text(encoding="utf-8") == "".join(f"[{word}]" for word in words)
    assert not (tmp_path / "ran").exists()
