"""`pyopbench scan`: what is found is no failure, bad input is exit code 2, JSON has a version."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pyopbench.cli.app import make_app
from pyopbench.model.errors import BadInput

SITE = "import tensorflow as tf\ndef f(x):\n    return x[1]\ny = tf.numpy_function(f, [1], tf.float32)\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "[a].py"
    path.write_text(SITE)
    (tmp_path / "broken.py").write_text("def f(:\n")
    return path


def test_sites_and_broken_files_are_listed_with_exit_code_0(source: Path) -> None:
    done = CliRunner().invoke(make_app(), ["scan", str(source.parent)])
    assert done.exit_code == 0
    first, site, *_ = lines = done.stdout.splitlines()
    assert (first, site) == (str(source), "  4:5  numpy_function of f in <module>")
    place = next(at for at, line in enumerate(lines) if line == "Not scanned")
    assert lines[place + 1].startswith(f"{source.parent / 'broken.py'}: ")
    assert lines[place + 2 : place + 4] == ["", "1 callback, 1 file not scanned"]


def test_json_has_a_version_and_every_field(source: Path) -> None:
    done = CliRunner().invoke(make_app(), ["scan", str(source), "--json"])
    content = json.loads(done.stdout)
    assert content["version"] == 1
    assert [(site["line"], site["kind"], site["gradient"]) for site in content["sites"]] == [
        (4, "numpy_function", "none")
    ]
    assert {"nodes", "broken", "skipped", "files", "lines", "common_risks"} <= set(content)


def test_a_draft_is_printed_or_written_and_never_over_another_file(source: Path, tmp_path: Path) -> None:
    printed = CliRunner().invoke(make_app(), ["scan", "--draft", f"{source}:4"])
    assert "return x[1]" in printed.stdout
    out = tmp_path / "ops" / "mine.py"
    out.parent.mkdir()
    assert CliRunner().invoke(make_app(), ["scan", "--draft", f"{source}:4", "--out", str(out)]).exit_code == 0
    assert "OP = OwnOp(" in out.read_text()
    again = CliRunner().invoke(make_app(), ["scan", "--draft", f"{source}:4", "--out", str(out)])
    assert isinstance(again.exception, BadInput)


def test_the_printed_command_is_one_for_a_shell(tmp_path: Path) -> None:
    path = tmp_path / "a folder" / "a file.py"
    path.parent.mkdir()
    path.write_text(SITE)
    last = CliRunner().invoke(make_app(), ["scan", str(path)]).stdout.splitlines()[-1]
    assert f"{path}:4" in shlex.split(last)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["missing"],
        [".", "--out", "a.py"],
        [".", "--draft", "a.py:1"],
        ["--draft", "a.py"],
        *(["--draft", f"{__file__}:16", *more] for more in (["--sarif", "a.sarif"], ["--fail-on", "new"])),
    ],
)
def test_bad_input_says_what_is_legal(arguments: list[str]) -> None:
    done = CliRunner().invoke(make_app(), ["scan", *arguments])
    assert isinstance(done.exception, BadInput)
    assert done.exception.exit_code == 2
