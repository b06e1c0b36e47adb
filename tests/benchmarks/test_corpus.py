"""The corpus: every body runs on its least size and its edge cases, the same twice; and the script that examines it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import corpus
from bodies import find, page
from pyopbench.catalogue.arrays import as_array, as_given
from pyopbench.catalogue.gradients import as_tuple
from pyopbench.catalogue.own.modules import load_file
from pyopbench.core.errors import BadInput
from pyopbench.core.own_op import OwnOp
from pyopbench.prepare.checks import central_differences, require_equal

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
    assert page.counts(bodies) == {
        "a verified port that is no callback": 1,
        "a verified form of any kind": 2,
        "a verified port that is faster at some size": 0,
        "a verified form of any kind that is faster at some size": 1,
        "a form that is wrong, found before it is timed": 1,
        "a verified form that takes a batch": 1,
    }


def test_the_page_holds_every_body_and_counts_the_reasons() -> None:
    change = {"line": 3, "now": "len(x)", "then": "x.shape[0]"}
    bodies = [
        body_of("a", form("tnp", "port", "failed", reason="no a | b", error="AttributeError", cause="`.a`")),
        body_of("b", form("tnp", "port", "failed", reason="no c", error="TypeError", cause="`.a`", change=change)),
        body_of("c", form("tnp", "port", "wrong", reason="differs", at="empty", error="WrongResult")),
    ]
    bodies[0]["forms"].append(form("traced_map", "port", "right", batch=8))
    document = {"tensorflow": "2", "numpy": "2", "numba": None, "seeds": 3, "blocks": 7, "bodies": bodies}
    rows = [line.strip("| ").split(" | ") for line in page.page(document).splitlines()]
    assert ["`tnp`", "2", "`.a`", "1"] in rows
    assert ["`a`: a.", "none", "`traced_map`", "`tnp`: no a \\| b", "here"] in rows
    (changed,) = (cells[3] for cells in rows if cells[0] == "`b`: b.")
    assert changed.endswith("Line 3: replace `len(x)` by `x.shape[0]`")
    (wrong,) = (cells[3] for cells in rows if cells[0] == "`c`: c.")
    assert wrong.endswith("(empty)")
    assert len([cells for cells in rows if cells[0] in ("all", *page.counts(bodies))]) == 4


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


def test_a_body_that_cannot_be_examined_at_all_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "EXAMINE", script(tmp_path, "sys.exit('no such thing')"))
    found = corpus.examine(tmp_path / "losses" / "made.py")
    assert found["failed"] == "the process ended with 1: no such thing"
