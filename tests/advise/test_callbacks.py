"""The callbacks of a recording: what each can save at the most, why it is left alone, and the op file of the others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kept_sites import kept_of
from pyopbench.advise import callbacks
from pyopbench.advise.answers import answer_by_recording, bridges_of, ports_of
from pyopbench.advise.callbacks import (
    LITERAL_ELEMENTS,
    Callback,
    KeptArray,
    KeptCall,
    KeptSite,
    KeptSource,
    Step,
    callbacks_of,
    load,
    write_op_file,
)
from pyopbench.find.injected.tallies import FROM_GENERATOR
from pyopbench.find.usage import DISPATCH_SECONDS, Cost, Shape, SiteUsage, Usage
from pyopbench.model.own_target import Target
from pyopbench.ops.own.load import load_own
from pyopbench.ports.extract.module import place_of_user

STEP = Step(0.01, 100, 0.0)


def callback_of(kept: KeptSite | None, **changes: Any) -> Callback:
    one = Callback("scale", "train.py", 3, "numpy_function", "graph", "scale", False, 100, 0, 0.1, 0.2, kept, {3: 90})
    return replace(one, **changes)


@pytest.mark.parametrize(
    ("changes", "most"),
    [
        ({}, 0.2 + 100 * DISPATCH_SECONDS),
        ({"in_input": True}, 0.2 + 100 * DISPATCH_SECONDS),
        ({"flight_seconds": None}, 0.1 + 100 * DISPATCH_SECONDS),
        ({"flight_seconds": 0.05}, 0.1 + 100 * DISPATCH_SECONDS),
        ({"flight_seconds": 0.5}, 0.5 + 100 * DISPATCH_SECONDS),
        ({"flight_seconds": 7.0}, 1.0),
    ],
)
def test_what_a_callback_can_save_at_the_most(tmp_path: Path, changes: dict[str, Any], most: float) -> None:
    callback = callback_of(kept_of(tmp_path, np.ones(3)), **changes)
    assert callback.most_saved(STEP) == pytest.approx(most)
    assert callback.obstacles() == []


@pytest.mark.parametrize(
    "changes",
    [
        {"examples": []},
        {"refused": "an input is ragged"},
        {"bodies": 2},
        {"source": KeptSource(refused="no file")},
        {"changed_values": ["scale"]},
        {"call": KeptCall([True], False, [], "")},
    ],
)
def test_what_cannot_be_ported_is_left_with_a_reason(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert len(callback_of(kept_of(tmp_path, np.ones(3), **changes)).obstacles()) == 1


def test_a_generator_is_named_and_no_port_of_what_calls_it_is_thought_of(tmp_path: Path) -> None:
    kept = kept_of(tmp_path, np.ones(3), source=KeptSource(refused="it is a method"), bodies=3)
    (why,) = callback_of(kept, body=FROM_GENERATOR).obstacles()
    assert "generator" in why


def test_all_obstacles_are_named_with_the_line_of_what_cannot_be_extracted(tmp_path: Path) -> None:
    source = KeptSource(refused="a file is open", place=("src/train.py", 7))
    callback = callback_of(kept_of(tmp_path, np.ones(3), source=source, bodies=2), mode="eager")
    assert len(callback.obstacles()) == 3
    assert "src/train.py:7" in callback.obstacles()[-1]


def test_what_is_elsewhere_or_takes_too_little_is_left(tmp_path: Path) -> None:
    kept = kept_of(tmp_path, np.ones(3))
    assert answer_by_recording(callback_of(kept, file=""), 0.5, 0.03).obstacle == "no_port"
    assert answer_by_recording(callback_of(kept), 0.02, 0.03).obstacle == "no_gain"
    assert answer_by_recording(callback_of(kept), 0.02, 0.01).obstacle == ""


@pytest.mark.parametrize(("kind", "is_left"), [("numpy_function", True), ("py_func", True), ("py_function", False)])
def test_in_eager_code_only_a_py_function_can_be_replaced(tmp_path: Path, kind: str, is_left: bool) -> None:
    assert bool(callback_of(kept_of(tmp_path, np.ones(3)), kind=kind, mode="eager").obstacles()) == is_left


def test_a_line_that_was_traced_twice_is_one_callback(tmp_path: Path) -> None:
    def site(function: str, calls: int, flight: float | None) -> SiteUsage:
        shapes = [Shape([{"shape": [4], "dtype": "float32"}], calls, 0.1)]
        cost = Cost(calls, 0, 0.1)
        one = SiteUsage("train.py", 3, function, "numpy_function", "graph", "scale", cost, Cost(), shapes)
        return replace(one, flight_seconds=flight)

    usage = Usage(9.0, 1, [site("f", 5, 0.2), site("tf__f", 7, 0.3)])
    (found,) = callbacks_of(usage, [kept_of(tmp_path, np.ones(4))], {"train.py": "src/train.py"})
    assert (found.calls, found.flight_seconds, found.sizes) == (12, 0.5, {4: 12})
    assert (found.name, found.file) == ("scale", "src/train.py")
    (unknown,) = callbacks_of(replace(usage, sites=[site("f", 5, None)]), [], {})
    assert (unknown.flight_seconds, unknown.file) == (None, "")


@pytest.mark.parametrize("packed_bytes", [0, 10**6])
def test_the_op_file_has_the_recorded_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed_bytes: int
) -> None:
    monkeypatch.setattr(callbacks, "PACKED_BYTES", packed_bytes)
    large = np.arange(LITERAL_ELEMENTS + 1, dtype=np.float32)
    kept = kept_of(tmp_path, np.array([[1.5, -2.0]], np.float32), large)
    place = tmp_path / "scale"
    place.mkdir()
    callback = callback_of(kept, sizes={2: 30, 350: 5, 401: 10})
    assert callbacks.mix_of(callback) == {2: 30, 401: 15}
    path = write_op_file(callback, place)
    scope: dict[str, Any] = {}
    exec(path.read_text(), scope)
    (first,), (second,) = scope["OP"].inputs
    np.testing.assert_array_equal(first, np.array([[1.5, -2.0]], np.float32), strict=True)
    np.testing.assert_array_equal(second, large, strict=True)
    assert scope["OP"].baseline == "numpy_function"
    assert scope["OP"].numpy(3) == 6
    assert len(list(place.glob("*.npy"))) == (packed_bytes == 0)


def test_a_line_of_the_op_file_is_shown_as_the_line_of_the_program(tmp_path: Path) -> None:
    text = "\nimport numpy as np\n\n\ndef scale(x):\n    return np.sort(x)\n"
    places = [*[None] * text.count("\n"), None]
    places[-3:-1] = [("copy/train.py", 7), ("copy/train.py", 8)]  # type: ignore[list-item]
    kept = kept_of(tmp_path, np.ones(3), source=KeptSource(text, "scale", places=places))  # type: ignore[arg-type]
    usage = Usage(9.0, 1, [SiteUsage("train.py", 3, "f", "numpy_function", "graph", "scale", Cost(5, 0, 0.1))])
    (callback,) = callbacks_of(usage, [kept], {"train.py": "train.py", "copy/train.py": "src/train.py"})
    place = tmp_path / "lines"
    place.mkdir()
    op_file = write_op_file(callback, place)
    line = op_file.read_text().splitlines().index("    return np.sort(x)") + 1
    load_own(Target(callback.name, str(op_file)))
    here = [(str(op_file), line), (str(op_file), line - 1), (str(op_file), line + 9), ("other.py", line)]
    assert list(map(place_of_user, here)) == [("src/train.py", 8), ("src/train.py", 7), *here[2:]]


DRAWING = "import random\nimport numpy as np\n\n\ndef scale(x):\n    return x * {}\n"


@pytest.mark.parametrize(
    ("drawn", "seed_with"),
    [
        ("np.random.permutation(3)", "np.random.seed({seed})"),
        ("random.random() * np.random.rand()", "np.random.seed({seed}); random.seed({seed})"),
        ("np.random.RandomState(0).seed(1)", "np.random.seed({seed})"),
        ("np.random.seed(1) or np.random.rand()", ""),
        ("np.sum(x)", ""),
    ],
)
def test_a_body_that_draws_is_seeded_and_gets_the_port_that_takes_a_seed(
    tmp_path: Path, drawn: str, seed_with: str
) -> None:
    kept = kept_of(tmp_path, np.ones(2), source=KeptSource(DRAWING.format(drawn), "scale"))
    callback = callback_of(kept)
    assert callback.seed_with == seed_with
    assert ports_of(callback) == (("numba_op",) if seed_with else ("traced", "numba_op"))
    scope: dict[str, Any] = {}
    exec(write_op_file(callback, tmp_path).read_text(), scope)
    assert scope["OP"].seed_with == seed_with


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({}, ()),
        ({"gradient_calls": 9}, None),
        ({"was_ended": True}, None),  # as in a program that trains more of its variables later
        ({"was_ended": True, "in_input": True}, ()),
        ({"was_ended": True, "kind": "numpy_function"}, ()),  # numpy_function has no gradient
    ],
)
def test_a_gradient_that_nothing_asked_for_does_not_keep_a_body_from_being_replaced(
    tmp_path: Path, changes: dict[str, Any], named: Any
) -> None:
    callback = callback_of(kept_of(tmp_path, np.ones(3)), **{"kind": "py_function", **changes})
    (tmp_path / "op").mkdir()
    scope: dict[str, Any] = {}
    exec(write_op_file(callback, tmp_path / "op").read_text(), scope)
    assert scope["OP"].differentiable == named
    assert bridges_of(callback) == (("numpy_function",) if named == () and callback.kind == "py_function" else ())


def test_a_callback_named_as_an_op_of_the_package_gets_another_name(tmp_path: Path) -> None:
    kept = kept_of(tmp_path, np.ones(4), source=KeptSource("def sinh(x):\n    return x\n", "sinh"))
    usage = Usage(9.0, 1, [SiteUsage("train.py", 3, "f", "numpy_function", "graph", "sinh", Cost(5, 0, 0.1))])
    (found,) = callbacks_of(usage, [kept], {"train.py": "train.py"})
    assert found.name == "sinh_3"


def test_text_and_scalars_come_back_as_they_were(tmp_path: Path) -> None:
    text = KeptArray(None, [2], [b"a\0".decode("latin-1"), "ä".encode().decode("latin-1")])
    assert load(text, tmp_path).tolist() == [b"a\0", "ä".encode()]
    kept = kept_of(tmp_path, np.float32(3))
    kept.examples[0].inputs.append(KeptArray(None, [], ["x"]))
    (tmp_path / "op").mkdir()
    scope: dict[str, Any] = {}
    exec(write_op_file(callback_of(kept), tmp_path / "op").read_text(), scope)
    ((number, one),) = scope["OP"].inputs
    assert (number.dtype, number.shape, one.shape, one.item()) == (np.float32, (), (), b"x")
