"""`pyopbench scan`: what is found is no failure, bad input is exit code 2, JSON has a version."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pyopbench.cli.app import app

SITE = "import tensorflow as tf\ndef f(x):\n    return x[1]\ny = tf.numpy_function(f, [1], tf.float32)\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "[a].py"
    path.write_text(SITE)
    (tmp_path / "broken.py").write_text("def f(:\n")
    return path


def test_sites_and_broken_files_are_listed_with_exit_code_0(source: Path) -> None:
    done = CliRunner().invoke(app, ["scan", str(source.parent)])
    assert done.exit_code == 0
    first, site, *_ = lines = done.stdout.splitlines()
    assert (first, site) == (str(source), "  4:5  numpy_function of f in <module>")
    place = next(at for at, line in enumerate(lines) if line == "Not scanned")
    assert lines[place + 1].startswith(f"{source.parent / 'broken.py'}: ")
    assert lines[place + 2 : place + 4] == ["", "1 callback, 1 file not scanned"]


def test_json_has_a_version_and_every_field(source: Path) -> None:
    done = CliRunner().invoke(app, ["scan", str(source), "--json"])
    content = json.loads(done.stdout)
    assert content["version"] == 1
    assert [(site["line"], site["kind"], site["gradient"]) for site in content["sites"]] == [
        (4, "numpy_function", "none")
    ]
    assert {"broken", "skipped", "files", "lines", "common_risks"} <= set(content)
