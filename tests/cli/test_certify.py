"""`pyopbench certify`: what it prints, and that its exit code tells whether the promises are kept."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from certificates import as_stored, certificate
from pyopbench.cli import app
from pyopbench.engine import certify as certify_module
from pyopbench.engine.certify import FULL, QUICK, Stage
from pyopbench.report.certificate_text import AFTER_MISSES
from pyopbench.store.certificate import FILE, Certificate, Pairs

Call = Callable[..., tuple[int, str, str]]
MISSED = Pairs(5, 100, 0, 90, 0, 10, 1.05, 0.84, 0.0)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Put a certificate in place of the measuring, and return what that is called with."""
    made: list[dict[str, Any]] = []

    def certify(folder: Path, extent: object, *, tell: Callable[[Stage], None], **options: Any) -> Certificate:
        made.append({"folder": folder, "extent": extent, **options})
        for left in (90.0, 80.0):
            tell(Stage("controls-1: launch 1", left))
        found = certificate(injected=(MISSED,)) if "missed" in folder.name else certificate()
        folder.mkdir(parents=True)
        (folder / FILE).write_text(found.as_json(), encoding="utf-8")
        return found

    monkeypatch.setattr(certify_module, "certify", certify)
    return made


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["pyopbench", "certify", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            app.main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return run


def cells_of(out: str) -> list[list[str]]:
    """Return what stands in the columns of each line."""
    return [re.split(r" {2,}", line.strip()) for line in out.splitlines()]


@pytest.mark.usefixtures("calls")
def test_promises_that_are_kept_end_well_in_eighty_columns(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = call("--out", "well")
    assert code == 0
    lines = out.splitlines()
    assert max(len(line) for line in lines) <= 80
    assert ["what", "found", "promised"] in [line.split() for line in lines]
    assert ["slowed by 10%, found", "120 of 120 (100%, at", "at least 99%"] in cells_of(out)
    assert {"sinh, training: keep, then undecided, then port to native"} <= set(lines)
    assert lines[-1] == f"certificate: well/{FILE}"
    assert err.splitlines() == ["controls-1: launch 1, at most 1 min 30 s left"]


@pytest.mark.usefixtures("calls")
def test_a_missed_promise_is_named_and_ends_with_one(call: Call) -> None:
    code, out, err = call("--out", "missed")
    assert code == 1
    assert {"slowed by 5%, found"} <= {cells[0] for cells in cells_of(out)}
    missed, after = err.splitlines()[1:]
    assert missed == "missed: 90 of 100 slowdowns by 5% were found, 90%; promised: at least 95%"
    assert after.endswith(AFTER_MISSES)


@pytest.mark.usefixtures("calls")
def test_json_is_the_certificate_and_nothing_else(call: Call) -> None:
    code, out, _ = call("--json")
    assert (code, json.loads(out)) == (0, as_stored(certificate()))


def test_how_much_is_measured_and_where(call: Call, calls: list[dict[str, Any]]) -> None:
    call("--quick", "--out", "there")
    call()
    quick, full = calls
    assert (quick["extent"], quick["quick"], quick["folder"]) == (QUICK, True, Path("there"))
    assert quick["command"] == ("pyopbench", "certify", "--quick", "--out", "there")
    assert (full["extent"], full["quick"]) == (FULL, False)
    assert full["folder"].parent == Path("results")
    assert full["folder"].name.startswith("certify-")


def test_an_interrupted_one_certifies_nothing(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(certify_module, "certify", interrupted)
    code, out, err = call("--out", "here")
    assert (code, out) == (130, "")
    assert err.splitlines() == [
        "interrupted; nothing was certified. What was measured is in here",
        "  a certificate cannot be resumed, because its runs must follow one another: start again",
    ]
