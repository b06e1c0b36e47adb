"""`pyopbench port`."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pyopbench.cli.app import app
from pyopbench.engine.port import WrittenPort
from pyopbench.model.own_target import Target


def test_it_names_what_it_wrote_and_what_was_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, out = tmp_path / "mine.py", tmp_path / "ported.py"
    source.write_text("def body(x):\n    return x\n")
    asked: list[tuple[Target, str]] = []

    def write(target: Target, variant: str, path: Path, seconds: float, timed_seconds: float) -> WrittenPort:
        asked.append((target, variant))
        return WrittenPort(path, "ported", path.with_name("test_ported.py"), ("test_values",), (), (), True)

    monkeypatch.setattr("pyopbench.engine.port.write_port", write)
    command = ["port", f"{source}:body", "--input", "np.ones(3)", "--to", "traced", "--out", str(out)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[:2] == [f"written: {out}", f"written: {tmp_path / 'test_ported.py'}"]
    assert result.output.splitlines()[2].split()[-1] == "test_values"
    label, _, printed = result.output.splitlines()[-1].partition(": ")
    assert label == "run its test"
    python, test = shlex.split(printed)
    assert test == str(tmp_path / "test_ported.py")
    assert subprocess.run([python, "-c", "import sys; print(sys.prefix)"], stdout=-1, text=True, check=True).stdout == (
        f"{sys.prefix}\n"
    ), "the Python that has what the port needs"
    assert [(target.function, variant) for target, variant in asked] == [("body", "traced")]
