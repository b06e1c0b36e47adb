"""Twenty and more kinds of bad input: exit code 2, and what was wrong, the value, what to do next.

There is a traceback only where `--debug` asks for one, before the command or behind it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import stored
from commands import told
from pyopbench.cli import app, output
from pyopbench.engine import worker_process
from pyopbench.model.errors import InternalError
from pyopbench.store import run_folder

HOSTILE = "<script>alert(1)</script>\n[red]\x1b]0;title\x07../../x"

KINDS: dict[str, list[str]] = {
    "a command that is none": ["runn"],
    "an option that is none": ["run", "--launchs", "3"],
    "a global option that is none": ["--nosuch"],
    "an option without its value": ["run", "--launches"],
    "a word for a number": ["run", "--launches", "many"],
    "a number that is too small": ["run", "--launches=1"],
    "an argument that is missing": ["report"],
    "an argument too many": ["version", "extra"],
    "an op that is none": ["run", "sihn"],
    "an op with a path": ["run", "../../etc/passwd"],
    "an op of markup and control characters": ["run", HOSTILE],
    "an empty op": ["run", ""],
    "a variant that is none": ["run", "--variant", "nativ"],
    "a size below one": ["run", "--axis", "size=0"],
    "an axis that is none": ["run", "--axis", "colour=red"],
    "a mechanism that is none": ["run", "--gradient", "magic"],
    "a device that is none": ["run", "--device", "tpu"],
    "a duration that is none": ["run", "--budget", "soon"],
    "an amount of memory that is none": ["run", "--memory-limit", "lots"],
    "too little memory for TensorFlow": ["run", "--memory-limit", "64M"],
    "a share above one": ["run", "--min-effect", "3"],
    "a mix that is not there": ["run", "--mix", "nosuch.csv"],
    "a folder that is a file": ["run", "--out", __file__],
    "a run that is not there": ["resume", "nosuch"],
    "a version that cannot be had": ["run", "--tf", "1.15"],
    "results that are not there": ["report", "nosuch"],
    "a comparison with nothing": ["compare", "nosuch", "neither"],
    "a threshold that is none": ["compare", "a", "b", "--fail-on", "sometimes"],
    "sources that are not there": ["scan", "nosuch"],
    "a path of ops that is no folder": ["list"],
}


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command in this process, where no worker can be started."""
    monkeypatch.setattr(worker_process, "COMMAND", ("no program of this name",))

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["pyopbench", *arguments])
        with pytest.raises(SystemExit) as ended:
            app.main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return run


@pytest.mark.parametrize("kind", KINDS)
def test_bad_input_is_told_with_what_value_and_next(
    call: Callable[..., tuple[int, str, str]], kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    if kind == "a path of ops that is no folder":
        monkeypatch.setenv("PYOPBENCH_PATH", str(tmp_path / "nosuch"))
    code, out, err = call(*KINDS[kind])
    assert (code, out) == (2, "")
    assert "Traceback" not in err
    what, *rest = err.splitlines()
    assert re.fullmatch(r"error: \S.{4,}", what)
    for name in ("received", "next"):
        assert any(re.fullmatch(rf"  {name}: +\S.*", line) for line in rest), f"{name} is missing: {err}"
    assert not list(tmp_path.iterdir()), "nothing is left of it"
    assert "\x1b" not in err, "a terminal would obey it"


@pytest.mark.parametrize("arguments", [["--debug", "run", "sihn"], ["run", "sihn", "--debug"]])
def test_debug_shows_the_traceback_before_the_message(
    call: Callable[..., tuple[int, str, str]], arguments: Sequence[str]
) -> None:
    code, _, err = call(*arguments)
    assert code == 2
    message = call("run", "sihn")[2]
    assert message.splitlines()[:2] == ["error: unknown op", "  received: 'sihn'"], "it is for one command"
    traced = err.removesuffix(message).splitlines()
    assert traced[0] == "Traceback (most recent call last):"
    assert "require_known" in "".join(traced)
    assert err.endswith(f"\n{message}")


@pytest.mark.parametrize(("package", "code"), [("pandas", 2), ("a_package_of_nobody", InternalError.exit_code)])
def test_a_package_of_an_extra_that_is_not_installed_is_bad_input_with_what_installs_it(
    package: str,
    code: int,
    call: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    def stumble(folder: Path) -> dict[str, object]:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)

    folder = stored.write(tmp_path / "run", stored.run([stored.case("well")]), [])
    monkeypatch.setattr(run_folder, "open_side", stumble)
    ended, _, err = call("report", str(folder))
    assert ended == code
    assert package in err
    assert ("pyopbench[report]" in err) == (code == 2)


def test_a_bug_is_neither_a_slowdown_nor_bad_input_nor_a_traceback(
    call: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stumble(folder: Path) -> dict[str, object]:
        raise ZeroDivisionError("by nothing")

    folder = stored.write(tmp_path / "run", stored.run([stored.case("well")]), [])
    monkeypatch.setattr(run_folder, "open_side", stumble)
    code, _, err = call("report", str(folder))
    assert code == InternalError.exit_code
    assert err == told(
        "an internal error of pyopbench, or input that it does not handle",
        received="ZeroDivisionError: by nothing",
        hint="run the same command with --debug, and report what it shows",
    )
    assert stumble.__name__ in call("--debug", "report", str(folder))[2]


def test_nothing_at_all_is_answered_with_the_help(call: Callable[..., tuple[int, str, str]]) -> None:
    _, out, err = call()
    assert out + err == call("--help")[1]


def test_what_a_terminal_would_obey_is_shown_instead() -> None:
    assert output.printable("a\x1b[31m\x07b\r\n\tµ×\xa0") == "a\\x1b[31m\\x07b\\r\n\tµ×\xa0"
