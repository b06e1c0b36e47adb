"""The corpus: every body runs on its least size and its edge cases, the same twice; and the script that examines it."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import corpus
from bodies import find, tables
from pyopbench.model.errors import BadInput
from pyopbench.model.modules import load_file
from pyopbench.model.own_op import OwnOp
from pyopbench.ports.arrays import as_array, as_given, as_tuple
from pyopbench.worker.prepare.checks import central_differences, require_equal

PATHS = find.paths()


@pytest.fixture
def body(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[OwnOp, dict[str, Any]]:
    """Return the op of a file and its edge cases; helpers of its folder are found as they are in a worker."""
    path: Path = request.param
    monkeypatch.setattr(sys, "path", [*sys.path, str(path.parent)])
    module = load_file(path, f"corpus_{path.stem}")
    return module.OP, module.EDGES


def outputs_of(op: OwnOp, inputs: Any) -> list[Any]:
    assert op.numpy is not None
    with np.errstate(all="ignore"):
        return [as_array(one) for one in as_tuple(op.numpy(*as_given([as_array(one) for one in inputs])))]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("body", PATHS, indirect=True, ids=lambda path: path.stem)
def test_a_body_gives_the_same_twice_and_the_same_dtypes_on_its_edge_cases(body: tuple[OwnOp, Any]) -> None:
    op, edges = body
    assert len(op.sizes) == 3
    assert op.source
    assert edges
    drawn = [op.inputs(op.sizes[0], np.random.default_rng(0)) for _ in range(2)]
    first, second = (outputs_of(op, inputs) for inputs in drawn)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)
    for inputs in edges.values():
        before = [np.array(one) for one in inputs]
        found = outputs_of(op, inputs)
        assert [one.dtype for one in found] == [one.dtype for one in first]
        assert [one.ndim for one in found] == [one.ndim for one in first]
        for one, other in zip(inputs, before, strict=True):
            np.testing.assert_array_equal(one, other)
        assert [np.asarray(one).dtype for one in inputs] == [np.asarray(one).dtype for one in drawn[0]]


GRADIENTS = [path for path in PATHS if "numpy_gradient=" in path.read_text()]


@pytest.mark.parametrize("body", GRADIENTS, indirect=True, ids=lambda path: path.stem)
def test_a_gradient_is_that_of_differences(body: tuple[OwnOp, Any]) -> None:
    op, _ = body
    assert op.numpy is not None
    assert op.numpy_gradient is not None
    inputs = [one.astype(np.float64) for one in op.inputs(op.sizes[0], np.random.default_rng(0))]
    weight = np.float64(1.25)
    found = op.numpy_gradient(inputs, (op.numpy(*inputs),), (weight,))
    for position, gradient in enumerate(found):
        expected = central_differences(lambda *moved: float(op.numpy(*moved)) * weight, inputs, position, 2.0**-8)  # type: ignore[misc]
        require_equal(f"gradient {position}", gradient, expected, 5e-3)


def test_there_are_bodies_of_every_family() -> None:
    families = {path.parent.name for path in PATHS}
    assert families >= {"detection", "augmentation", "audio", "text", "losses", "metrics", "simulation", "sparse"}
    assert families >= {"geometry", "tabular"}
    assert len(PATHS) >= 50
    assert len({path.stem for path in PATHS}) == len(PATHS)


def test_bodies_are_found_by_name_and_family_and_helpers_are_none() -> None:
    assert [path.stem for path in find.paths(["dice"])] == ["dice"]
    assert {path.parent.name for path in find.paths(["audio"])} == {"audio"}
    assert "audio_utils" not in {path.stem for path in PATHS}
    with pytest.raises(BadInput) as refused:
        find.paths(["dicee"])
    assert refused.value.received == "dicee"


def form(name: str, kind: str, became: str, **more: Any) -> dict[str, Any]:
    return {"form": name, "kind": kind, "became": became, "at": "", "reason": "", "error": "", **more}


def body_of(name: str, *forms: dict[str, Any]) -> dict[str, Any]:
    return {"body": name, "family": "losses", "summary": f"{name}.", "found_in": "here", "forms": list(forms)}


def test_bodies_are_counted_by_what_is_right_and_faster() -> None:
    bodies = [
        body_of("a", form("tnp", "port", "right", gains=[0.5, 0.9]), form("njit", "callback", "right", gains=[2.0])),
        body_of("b", form("tnp", "port", "wrong"), form("njit", "callback", "right", gains=[1.0])),
        body_of("c", form("tnp", "port", "failed"), form("njit", "callback", "lost")),
        body_of(
            "d", form("traced_map", "port", "right", batch=8, gains=[9.0]), form("tnp_map", "port", "wrong", batch=8)
        ),
    ]
    assert list(tables.counts(bodies, timed=True, batched=True).values()) == [1, 2, 1, 1, 0, 1, 2]
    assert list(tables.counts(bodies, timed=False, batched=False).values()) == [1, 2, 1]


def document_of(bodies: list[dict[str, Any]], *, timed: bool = False, batch: int = 0) -> dict[str, Any]:
    return {
        "version": corpus.VERSION,
        "created": "2026-01-02T03:04:05Z",
        "environment": {"machine": "Linux", "cores": 2, "packages": {"numpy": "2"}},
        "settings": {"seeds": 3, "blocks": 7, "batch": batch, "timed": timed},
        "bodies": bodies,
    }


def rows_of(table: str) -> list[list[str]]:
    return [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("|")]


def test_the_tables_hold_every_body_and_count_the_reasons() -> None:
    change = {"line": 3, "now": "len(x)", "then": "x.shape[0]"}
    bodies = [
        body_of("a", form("tnp", "port", "failed", reason="no a | b", error="AttributeError", cause="`.a`")),
        body_of("b", form("tnp", "port", "failed", reason="no c", error="TypeError", cause="`.a`", change=change)),
        body_of("c", form("tnp", "port", "wrong", reason="differs", at="empty", error="WrongResult")),
    ]
    bodies[0]["forms"].append(form("traced_map", "port", "right", batch=8))
    document = document_of(bodies, batch=8)
    assert ["`tnp`", "2", "`.a`", "1"] in rows_of(tables.reasons(document))
    rows = rows_of(tables.families(document))
    assert ["`a`: a.", "none", "`traced_map`", "`tnp`: no a \\| b", "here"] in rows
    (changed,) = (cells[3] for cells in rows if cells[0] == "`b`: b.")
    assert changed.endswith("Line 3: replace `len(x)` by `x.shape[0]`")
    (wrong,) = (cells[3] for cells in rows if cells[0] == "`c`: c.")
    assert wrong.endswith("(empty)")
    assert {len(cells) for cells in rows_of(tables.families(document_of(bodies)))} == {4}


def test_each_form_is_counted_with_the_families_that_it_is_not_right_for() -> None:
    bodies = [
        body_of("a", form("traced", "port", "right", gains=[0.5, 3.0]), form("tnp", "port", "failed")),
        body_of("b", form("traced", "port", "right", gains=[0.5, 0.9]), form("tnp", "port", "wrong")),
    ]
    bodies[1]["family"] = "text"
    timed = rows_of(tables.totals(document_of(bodies, timed=True)))
    assert ["`traced`", "2 of 2", "1", ""] in [[*cells, ""][:4] for cells in timed]
    assert ["`tnp`", "0 of 2", "losses 1, text 1"] in rows_of(tables.totals(document_of(bodies)))


def stored_and_resumed(monkeypatch: pytest.MonkeyPatch, path: Path, *options: str) -> int:
    def examine(path: Path, **_: Any) -> dict[str, Any]:
        return body_of(path.stem, form("tnp", "port", "right"))

    monkeypatch.setattr(corpus, "examine", examine)
    monkeypatch.setattr(corpus, "STORED", path)
    return corpus.main(options)


def test_what_is_done_is_kept_and_gone_on_with_by_the_same_options_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "corpus.json"
    assert stored_and_resumed(monkeypatch, path, "--resume") == 2
    assert stored_and_resumed(monkeypatch, path, "--processes", "1") == 0
    content = json.loads(path.read_text(encoding="utf-8"))
    assert [body["body"] for body in content["bodies"]] == [body.stem for body in PATHS]
    content["bodies"] = content["bodies"][:1]
    path.write_text(json.dumps(content), encoding="utf-8")
    assert stored_and_resumed(monkeypatch, path, "--resume", "--time") == 2
    assert stored_and_resumed(monkeypatch, path, "--resume", "--stop-after", "1m") == 0
    assert len(json.loads(path.read_text(encoding="utf-8"))["bodies"]) == len(PATHS)
    assert capsys.readouterr().out == ""
    assert stored_and_resumed(monkeypatch, tmp_path / "none", "dice") == 0
    assert not (tmp_path / "none").exists()
    assert "`tnp`" in capsys.readouterr().out


def script(tmp_path: Path, code: str) -> Path:
    path = tmp_path / "examine.py"
    path.write_text(f"import json, sys, time, os\nargs = sys.argv\n{code}")
    return path


WRITES = """
out = open(args[args.index("--lines") + 1], "a", buffering=1)
without = args[args.index("--without") + 1].split(",")
def say(**line): out.write(json.dumps(line) + "\\n")
say(body="made", summary="s")
for name in ("first", "second", "third"):
    if name not in without:
        say(begun=name, kind="port")
        if name == "second": HOW
        say(form=name, kind="port", became="right")
"""


@pytest.mark.parametrize(
    ("how", "told"),
    [("os._exit(9)", "the process ended with 9: "), ("time.sleep(600)", "took longer than 1.5 s")],
)
def test_a_form_that_crashes_or_hangs_costs_that_form_alone(
    how: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus, "EXAMINE", script(tmp_path, WRITES.replace("HOW", how)))
    found = corpus.examine(tmp_path / "losses" / "made.py", form_seconds=1.5)
    assert [(one["form"], one["became"]) for one in found["forms"]] == [
        ("first", "right"),
        ("second", "lost"),
        ("third", "right"),
    ]
    assert found["forms"][1]["reason"] == told
    assert "failed" not in found


class MovedClock:
    """A clock that the process moves, by the size of a file; another file says that it was waited for after that."""

    def __init__(self, folder: Path) -> None:
        self.moved, self.waited, self.now = folder / "moved", folder / "waited", 0
        folder.mkdir()
        self.moved.touch()

    def monotonic(self) -> int:
        self.now = self.moved.stat().st_size
        return self.now

    def sleep(self, seconds: float) -> None:
        if self.now:
            self.waited.touch()
        time.sleep(seconds)


@pytest.mark.parametrize(("seconds", "outcomes"), [(200, ["right"] * 3), (400, [])])
def test_a_process_has_longer_to_start_than_for_a_form(
    seconds: int, outcomes: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = MovedClock(tmp_path / "clock")
    moves = f"open({str(clock.moved)!r}, 'wb').write({seconds} * b' ')"
    waits = f"while not os.path.exists({str(clock.waited)!r}): time.sleep(0.001)"
    writes = WRITES.replace("HOW", "pass").replace("say(body=", f"{moves}\n{waits}\nsay(body=")
    monkeypatch.setattr(corpus, "EXAMINE", script(tmp_path, writes))
    monkeypatch.setattr(corpus, "time", clock)
    monkeypatch.setattr(corpus, "POLL_SECONDS", 0.01)
    found = corpus.examine(tmp_path / "losses" / "made.py", form_seconds=1.0)
    assert [one["became"] for one in found["forms"]] == outcomes
    assert ("failed" in found) == (not outcomes)


def test_a_body_that_cannot_be_examined_at_all_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "EXAMINE", script(tmp_path, "sys.exit('no such thing')"))
    found = corpus.examine(tmp_path / "losses" / "made.py")
    assert found["failed"] == "the process ended with 1: no such thing"
