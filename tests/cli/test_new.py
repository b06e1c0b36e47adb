"""`pyopbench new op`."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from pyopbench.cli.app import make_app


def test_it_names_what_it_wrote_and_the_next_commands(tmp_path: Path) -> None:
    path = tmp_path / "my_op.py"
    result = CliRunner().invoke(make_app(), ["new", "op", str(path), "--kernel"])
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        f"written: {path}",
        f"written: {path.with_suffix('.cc')}",
        "replace its body and inputs with yours, then run:",
        f"  pyopbench verify {path}",
        f"  pyopbench run {path} --quick",
    ]
    assert path.with_suffix(".cc").exists()
