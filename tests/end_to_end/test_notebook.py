"""Notebooks run as they are stored; the stored outputs of the one in `examples/` are of such a run."""

from __future__ import annotations

import json
import linecache
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forked_programs import ForkedPrograms
from forked_workers import VARIABLE as WORKER
from places import ROOT

pytestmark = pytest.mark.slow

TRY = ROOT / "docs" / "try.ipynb"
COMMAND = "!"
"""A line of a cell that begins so is the shell's."""
SHORT = ("--budget", "1s", "--launches", "2", "--settings", "rounds=2", "--no-probes", "--no-parts")
"""What a run is given besides, so that it takes seconds; of its answer nothing is asserted."""
NOTEBOOK = ROOT / "examples" / "from_python.ipynb"
SECONDS = 240


def cells_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in document["cells"] if cell["cell_type"] == "code"]


def html_of(cell: dict[str, Any]) -> str:
    shown = [output.get("data", {}).get("text/html", "") for output in cell["outputs"]]
    return "".join(one if isinstance(one, str) else "".join(one) for one in shown)


def require_whole(document: dict[str, Any]) -> None:
    """Check that every cell ran without an error, and that the run shows its answer and its charts."""
    cells = cells_of(document)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    kinds = {output["output_type"] for cell in cells for output in cell["outputs"]}
    assert kinds <= {"display_data", "execute_result"}
    answer = html_of(cells[1])
    assert "<table" in answer
    assert answer.count("<svg") >= 2
    assert re.search(r"results/\d{8}-\d{6}", answer)  # what is left of the progress
    assert "normalise" in html_of(cells[2])
    assert "seconds" in html_of(cells[3])


def test_the_stored_outputs_are_whole_and_small() -> None:
    content = NOTEBOOK.read_text(encoding="utf-8")
    require_whole(json.loads(content))
    assert len(content) < 400_000
    assert "<script" not in content


@pytest.fixture
def ipython(tmp_path: Path, forked_worker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let notebooks have workers that are forked, by what IPython runs before the first cell."""
    startup = tmp_path / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    command = (sys.executable, "-IS", str(forked_worker))
    code = f"from pyopbench.engine import worker_process\nworker_process.COMMAND = {command!r}\ndel worker_process\n"
    (startup / "worker.py").write_text(code, encoding="utf-8")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))


@pytest.mark.long
@pytest.mark.usefixtures("ipython")
def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ipykernel", reason="notebooks need ipykernel")
    nbformat = pytest.importorskip("nbformat", reason="notebooks need nbformat")
    nbclient = pytest.importorskip("nbclient", reason="notebooks need nbclient")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))))
    document = nbformat.read(NOTEBOOK, as_version=4)
    for cell in cells_of(document):
        cell["outputs"], cell["execution_count"] = [], None
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(document, timeout=SECONDS, kernel_name="python3", resources=resources).execute()
    require_whole(document)
    assert len([*(tmp_path / "results").glob("*/samples.jsonl")]) == 1
    assert len([*(tmp_path / "results").glob("*/report.html")]) == 1


@pytest.mark.long
def test_the_notebook_of_the_pages_runs_cell_by_cell(
    tmp_path: Path, forked_programs: ForkedPrograms, forked_worker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its port has no callback and computes what the function does; its file is verified, measured and read."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv(WORKER, str(forked_worker))
    program = forked_programs.write(tmp_path / "bin" / "pyopbench", "forked_workers")
    names: dict[str, Any] = {"__name__": "__main__"}
    commands = []
    for number, cell in enumerate(cells_of(json.loads(TRY.read_text(encoding="utf-8")))):
        source = "".join(cell["source"])
        if source.startswith(COMMAND):
            name, command, *rest = shlex.split(source.removeprefix(COMMAND))
            assert name == program.name
            commands.append(command)
            done = subprocess.run(
                [program, command, *rest, *(SHORT if command == "run" else ())],
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
        else:
            run_cell(source, f"cell-{number}.py", names)
    x = names["rows"].numpy()
    expected = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
    np.testing.assert_allclose(names["ported"].numpy(), expected, atol=1e-4)
    assert not names["kinds"] & {"PyFunc", "PyFuncStateless", "EagerPyFunc"}
    assert commands == ["verify", "run"]
    assert list(names["decisions"]["op"]) == ["my_op"]


def run_cell(source: str, name: str, names: dict[str, Any]) -> None:
    """Run a cell as IPython does: where its source can be looked up, as a body that is ported needs."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), names)
