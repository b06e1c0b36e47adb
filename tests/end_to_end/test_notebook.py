"""The notebook in `examples/` runs as it is stored, and its stored outputs are of such a run."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from places import ROOT

pytestmark = pytest.mark.slow

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
