"""SARIF: one result a callback, with its place, risks and fixes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from pyopbench.cli.app import app
from pyopbench.find.sarif import sarif_log
from pyopbench.find.scan import scan

HEAD = "import tensorflow as tf\n"
PIPELINE = HEAD + "def g(x):\n    return tf.numpy_function(f, [x], 1)\nds.map(g, num_parallel_calls=8)\n"
CELL = {"cell_type": "code", "source": [HEAD, "y = tf.py_function(f, [1], tf.int32)\n"]}


def place_of(result: dict[str, Any]) -> dict[str, Any]:
    place: dict[str, Any] = result["locations"][0]["physicalLocation"]
    return place


def test_a_result_has_place_risks_and_fixes(tmp_path: Path) -> None:
    source = tmp_path / "a file [1].py"
    source.write_text(PIPELINE)
    (tmp_path / "broken.py").write_text("def f(:\n")
    log = tmp_path / "log.sarif"
    assert CliRunner().invoke(app, ["scan", str(tmp_path), "--sarif", str(log)]).exit_code == 0
    (run,) = json.loads(log.read_text())["runs"]
    assert place_of(run["results"][0])["artifactLocation"] == {"uri": source.as_uri()}
    assert len(run["invocations"][0]["toolExecutionNotifications"]) == 1
    (site,) = scan([source]).sites
    (result,) = sarif_log(scan([source]), tmp_path)["runs"][0]["results"]
    assert place_of(result)["artifactLocation"] == {"uri": "a%20file%20%5B1%5D.py"}
    assert place_of(result)["region"] == {"startLine": 3, "startColumn": 12}
    assert result["properties"]["risks"] == ["parallel", "no_shape"] == [risk.name for risk in site.risks]
    assert all(risk.text in result["message"]["text"] and risk.fix in result["message"]["text"] for risk in site.risks)
    assert result["ruleId"] == "numpy_function"


def test_a_result_in_a_notebook_names_its_cell(tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [CELL], "metadata": {}, "nbformat": 4}, indent=1))
    (result,) = sarif_log(scan([tmp_path]), tmp_path)["runs"][0]["results"]
    assert "(cell 1, line 2)" in result["message"]["text"]
    assert [*place_of(result)["region"]] == ["startLine"]
