"""SARIF: one result a callback, and the same callback is known again wherever its line went."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from places import ROOT
from pyopbench.cli.app import app
from pyopbench.find.sarif import FINGERPRINT, RULES, document, new_results
from pyopbench.find.scan import scan
from pyopbench.model.errors import BadInput

HEAD = "import tensorflow as tf\n"
PIPELINE = HEAD + "def g(x):\n    return tf.numpy_function(f, [x], 1)\nds.map(g, num_parallel_calls=8)\n"
CELL = {"cell_type": "code", "source": [HEAD, "y = tf.py_function(f, [1], tf.int32)\n"]}
NOTEBOOK = json.dumps({"cells": [CELL], "metadata": {}, "nbformat": 4}, indent=1)
PROGRAMS = {
    "a pipeline": {"a file [1].py": PIPELINE, "broken.py": "def f(:\n"},
    "a notebook": {"a.ipynb": NOTEBOOK},
    "nothing": {"a.py": "x = 1\n"},
}


def written(folder: Path, files: dict[str, str]) -> dict[str, Any]:
    for name, content in files.items():
        (folder / name).write_text(content)
    return document(scan([folder]), folder)


def test_a_result_has_place_risks_and_fixes(tmp_path: Path) -> None:
    log = written(tmp_path, PROGRAMS["a pipeline"])
    (result,) = log["runs"][0]["results"]
    (site,) = scan([tmp_path]).sites
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "a%20file%20%5B1%5D.py", "uriBaseId": "ROOT"}
    assert place["region"] == {"startLine": 3, "startColumn": 12}
    assert result["properties"]["risks"] == ["parallel", "no_shape"] == [risk.name for risk in site.risks]
    assert all(risk.text in result["message"]["text"] and risk.fix in result["message"]["text"] for risk in site.risks)
    assert log["runs"][0]["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    assert len(log["runs"][0]["invocations"][0]["toolExecutionNotifications"]) == 1


def test_what_is_new_has_the_path_that_an_editor_opens(tmp_path: Path) -> None:
    (tmp_path / "a file [1].py").write_text(PIPELINE)
    found = scan([tmp_path])
    assert new_results(document(found, tmp_path, Counter())) == ["a file [1].py:3"]
    assert new_results(document(found, tmp_path / "b", Counter())) == [f"{tmp_path / 'a file [1].py'}:3"]


def test_every_kind_of_callback_is_a_rule(tmp_path: Path) -> None:
    assert {site.kind for site in scan([ROOT / "examples"]).sites} <= set(RULES)


def marks(log: dict[str, Any]) -> list[str]:
    return [result["partialFingerprints"][FINGERPRINT] for result in log["runs"][0]["results"]]


def test_a_callback_that_moves_keeps_its_fingerprint_and_an_equal_one_has_another(tmp_path: Path) -> None:
    before = marks(written(tmp_path, {"a.py": PIPELINE}))
    assert marks(written(tmp_path, {"a.py": "# a comment\n" + PIPELINE})) == before
    twice = marks(
        written(tmp_path, {"a.py": PIPELINE.replace("    return", "    tf.numpy_function(f, [x], 1)\n    return")})
    )
    assert len({*twice}) == 2
    assert {*before} < {*twice}


def call(*words: str | Path) -> Any:
    return CliRunner().invoke(app, ["scan", *map(str, words)])


def test_only_a_new_callback_fails(tmp_path: Path) -> None:
    source, baseline, log = tmp_path / "a.py", tmp_path / "base.sarif", tmp_path / "now.sarif"
    source.write_text(PIPELINE)
    assert call(source, "--sarif", baseline).exit_code == 0
    assert call(source, "--baseline", baseline, "--fail-on", "new").exit_code == 0
    source.write_text("\n\n" + PIPELINE)
    assert call(source, "--baseline", baseline, "--fail-on", "new").exit_code == 0
    source.write_text(PIPELINE + "y = tf.py_function(h, [1], tf.int32)\n")
    assert call(source, "--baseline", baseline).exit_code == 0
    assert call(source, "--baseline", baseline, "--fail-on", "new", "--sarif", log).exit_code == 1
    results = json.loads(log.read_text())["runs"][0]["results"]
    assert [one["baselineState"] for one in results] == ["unchanged", "new"]
    source.write_text(HEAD)
    assert call(source, "--baseline", baseline, "--fail-on", "new").exit_code == 0


@pytest.mark.parametrize("content", [None, "", "[]", '{"runs": 1}', '{"runs": [{"results": [{}]}]}'])
def test_a_baseline_that_is_none_is_bad_input(tmp_path: Path, content: str | None) -> None:
    (tmp_path / "a.py").write_text(PIPELINE)
    if content is not None:
        (tmp_path / "base.sarif").write_text(content)
    done = call(tmp_path, "--baseline", tmp_path / "base.sarif")
    assert isinstance(done.exception, BadInput)
    assert done.exception.exit_code == 2


def test_new_against_nothing_is_bad_input(tmp_path: Path) -> None:
    assert isinstance(call(tmp_path, "--fail-on", "new").exception, BadInput)
