"""Drafts: op files that load and whose bodies give what the callback gave; bad places and names are refused."""

from __future__ import annotations

import ast
import json
import os
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stored
from pyopbench import OwnOp
from pyopbench.find.call_sites import find_callbacks
from pyopbench.find.draft import Snippet, draft, next_steps, take_body
from pyopbench.find.record import function_of, inputs_of
from pyopbench.find.source import ProgramSource
from pyopbench.model.discover import read_ops
from pyopbench.model.errors import BadInput
from pyopbench.model.op import Op
from pyopbench.model.own_target import usual_baseline
from pyopbench.ops.own.complete import complete

CODE = """import numpy as np
import tensorflow as tf
LIMIT = 3.0
def clip(x, y):
    return np.minimum(x + y, LIMIT)
a = tf.numpy_function(clip, [1, 2], tf.float64)
b = tf.py_function(lambda t: (t * 2, t > 0), [1], [tf.float32, tf.bool])
@tf.py_function(Tout=tf.float32)
def branch(x):
    if tf.reduce_sum(x) > 0:
        return x
    return -x
c = tf.py_function(
    lambda t: np.sinh(t.numpy()), [1], tf.float32
)
d = tf.numpy_function(make(), [1], tf.float32)
e = tf.py_function(lambda i, n: clip(i.numpy(), n.numpy()), [1, 2], tf.float64)
f = tf.py_function(lambda i: np.tanh(i.numpy()), [1], tf.float64)
g = tf.py_function(lambda i, n: clip(n.numpy(), i.numpy()), [1, 2], tf.float64)
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(CODE)
    return path


def load(source: Path, line: int) -> Op:
    made = draft(f"{source}:{line}", source.parent / "my_op.py")
    space: dict[str, Any] = {}
    exec(compile(made.code, "my_op.py", "exec"), space)
    own = space["OP"]
    assert isinstance(own, OwnOp)
    return complete(replace(own, sizes=(5, 9)), "my_op", source.parent)


def test_a_numpy_body_is_the_op_with_its_constants(source: Path) -> None:
    op = load(source, 6)
    inputs = op.make_inputs(5, "float64", np.random.default_rng(0))
    assert [(one.shape, one.dtype.name) for one in inputs] == [((5,), "float64")] * 2
    np.testing.assert_array_equal(op.numpy(np.array([1.0, 5.0]), np.array([1.0, 1.0])), [2.0, 3.0])
    assert (op.name, op.dtypes, op.tensor) == ("my_op", ("float64",), None)


def test_a_tensor_body_is_tried_as_tensorflow_ops_too(source: Path) -> None:
    op = load(source, 7)
    doubled, positive = op.numpy(np.array([-1.0, 2.0], np.float32))
    np.testing.assert_array_equal(doubled, [-2.0, 4.0])
    np.testing.assert_array_equal(positive, [False, True])
    assert op.tensor is op.py_function is not None
    assert op.outputs == ("float32", "bool")


@pytest.mark.parametrize(("line", "given", "expected"), [(8, [-1.0], [1.0]), (14, [1.0], np.sinh([1.0]))])
def test_a_decorated_body_and_one_of_any_line_of_a_call_will_do(
    source: Path, line: int, given: list[float], expected: list[float]
) -> None:
    op = load(source, line)
    np.testing.assert_allclose(op.numpy(np.array(given, np.float32)), expected, rtol=1e-6)


def test_the_function_behind_a_lambda_is_the_body_on_arrays(source: Path) -> None:
    behind, imported, in_another_order = load(source, 17), load(source, 18), load(source, 19)
    assert behind.py_function is imported.py_function is None
    np.testing.assert_array_equal(behind.numpy(np.array([1.0, 5.0]), np.array([1.0, 1.0])), [2.0, 3.0])
    np.testing.assert_array_equal(imported.numpy(np.array([1.0])), np.tanh([1.0]))
    assert in_another_order.py_function is None
    np.testing.assert_array_equal(in_another_order.numpy(np.array([1.0, 5.0]), np.array([1.0, 1.0])), [2.0, 3.0])


def recorded(source: Path, line: int, *shapes: tuple[list[Any], int], body: str = "g") -> Path:
    tally = {"calls": 1, "raised": 0, "seconds": 0.0, "outside_calls": 0, "outside_seconds": 0.0}
    rows = [
        {"inputs": [{"shape": shape, "dtype": dtype} for shape, dtype in inputs], "calls": calls, "seconds": 0.0}
        for inputs, calls in shapes
    ]
    names = {"file": str(source), "line": line, "function": "f", "kind": "py_function", "mode": "graph", "body": body}
    path = source.with_name("recording.json")
    return stored.write_json(path, {"sites": [{**names, "forward": tally, "gradient": tally, "shapes": rows}]})


def test_a_recording_gives_shapes_and_dtypes_and_the_file_runs_as_it_is(source: Path) -> None:
    rare, often, small = (
        ([[[2, 6], "float32"], [[1], "int64"]], 1),
        ([[[4, 3], "float32"], [[3], "int32"]], 7),
        ([[[2], "float64"], [[2], "float64"]], 2),
    )
    made = draft(f"{source}:17", None, recorded(source, 17, rare, often, small))
    space: dict[str, Any] = {}
    exec(compile(made.code, "my_clip.py", "exec"), space)
    op = complete(space["OP"], "my_clip", source.parent)
    assert op.sizes == (2, 12)
    inputs = op.make_inputs(12, "", np.random.default_rng(0))
    assert [(one.shape, one.dtype.name) for one in inputs] == [((4, 3), "float32"), ((3,), "int32")]
    assert op.numpy(*inputs).shape == (4, 3)


def test_the_inputs_of_a_function_are_expressions_with_the_shapes_of_most_calls(source: Path) -> None:
    rare = ([[[2, 6], "float32"]], 1)
    often = ([[[4, 3], "float16"], [[], "float32"], [[3], "int32"], [[2], "uint8"], [[1], "bool"]], 7)
    inputs, kind = inputs_of(recorded(source, 17, rare, often, ([[None, "float32"]], 9)), "g")
    assert kind == "py_function"
    names = {"np": np, "rng": np.random.default_rng(0)}
    found = [eval(one, names) for one in inputs]
    assert [(one.shape, one.dtype.name) for one in found] == [(tuple(shape), dtype) for shape, dtype in often[0]]


@pytest.mark.parametrize("name", ["load", "Data.load", "make.<locals>.Data.load"])
def test_a_method_has_the_inputs_that_were_recorded_for_it(source: Path, name: str) -> None:
    found = recorded(source, 17, ([[[2], "float32"]], 9), body="make.<locals>.Data.load")
    assert len(inputs_of(found, name)[0]) == 1
    with pytest.raises(BadInput):
        inputs_of(found, "ad")


def test_a_function_without_recorded_inputs_is_refused(source: Path) -> None:
    with pytest.raises(BadInput) as refused:
        inputs_of(recorded(source, 17, ([[None, "float32"]], 9)), "g")
    assert refused.value.legal == "g"
    with pytest.raises(BadInput):
        inputs_of(recorded(source, 17, ([[[2], "float32"]], 9)), "other")
    with pytest.raises(BadInput) as refused:
        inputs_of(recorded(source, 17, ([[[2], "float32"]], 9), body="f.<locals>.<lambda>"), "other")
    assert f"--draft {source}:17 " in refused.value.hint


def test_the_function_of_a_body_is_found_in_its_file_and_beside_it(tmp_path: Path) -> None:
    train, bodies = tmp_path / "train.py", tmp_path / "bodies.py"
    bodies.write_text("def f(x):\n    return x\n", encoding="utf-8")
    train.write_text("from bodies import f as g\nfrom gone import h\n\n\ndef own(x):\n    return x\n", encoding="utf-8")
    assert function_of(train, "own") == f"{train}:own"
    assert function_of(train, "g") == f"{bodies}:f"
    assert [function_of(train, one) for one in ("h", "f", "make.<locals>.f", "<lambda>")] == [""] * 4
    assert function_of(tmp_path / "none.py", "own") == ""


def test_a_recording_of_other_lines_and_what_is_none_are_refused(source: Path) -> None:
    with pytest.raises(BadInput) as refused:
        draft(f"{source}:17", None, recorded(source, 6, ([[[2], "float64"]], 1)))
    assert refused.value.legal == "train.py:6"
    with pytest.raises(BadInput) as refused:
        draft(f"{source}:17", None, source)
    assert refused.value.hint


def test_a_body_that_is_not_there_is_left_to_write(source: Path) -> None:
    made = draft(f"{source}:16", None)
    assert made.todo[0] == "write the body: it is not in the file, or is created at run time"
    assert "NotImplementedError" in made.code


@pytest.mark.parametrize("site", ["train.py", "train.py:x", "missing.py:3", ":3"])
def test_what_is_no_place_is_refused(site: str) -> None:
    with pytest.raises(BadInput):
        draft(site, None)


def test_a_line_without_a_callback_names_those_that_have_one(source: Path) -> None:
    with pytest.raises(BadInput) as refused:
        draft(f"{source}:1", None)
    assert refused.value.received == f"{source}:1"
    assert refused.value.legal == "lines 6, 7, 8, 13, 16, 17, 18, 19"


@pytest.mark.parametrize("name", ["sinh.py", "My-Op.py", "_hidden.py"])
def test_a_name_that_is_taken_or_none_is_refused(source: Path, name: str) -> None:
    with pytest.raises(BadInput) as refused:
        draft(f"{source}:6", Path(name))
    assert refused.value.received == Path(name).stem


@pytest.mark.parametrize(
    ("line", "baseline"),
    [(6, "numpy_function"), (7, "py_function_numpy"), (18, "py_function_numpy"), (20, "py_func"), (21, "py_func")],
)
def test_a_draft_names_the_callback_that_was_seen_and_runs_are_compared_with_it(
    source: Path, line: int, baseline: str
) -> None:
    source.write_text(
        f"{CODE}h = tf.compat.v1.py_func(clip, [1, 2], tf.float64)\n"
        "i = tf.compat.v1.py_func(clip, [1, 2], tf.float64, stateful=False)\n"
    )
    made, file = draft(f"{source}:{line}", source.with_name("my_op.py")), source.with_name("my_op.py")
    file.write_text(made.code)
    names, own = read_ops([str(file)], [])
    assert (made.baseline, usual_baseline(names, own)) == (baseline, baseline)
    assert f"--baseline {baseline}" in next_steps(made, file)[1]


def test_the_next_steps_have_what_the_recording_knows(source: Path) -> None:
    recording = recorded(source, 17, ([[[2, 6], "float32"], [[1], "int64"]], 60))
    content = json.loads(recording.read_text())
    content["sites"][0]["forward"]["calls"] = 60
    stored.write_json(recording, content | {"elements": 5, "called_seconds": 2.0})
    mix = recording.with_name("recording-mix-1.csv")
    mix.write_text("size,weight\n12,60\n")
    out = Path("mine/my op.py")
    assert [shlex.split(one) for one in next_steps(draft(f"{source}:17", None, recording), out)] == [
        ["pyopbench", "verify", "mine/my op.py"],
        # 60 calls and 2 s for 5 elements of the input
        [
            *("pyopbench", "run", "mine/my op.py", "--quick", "--baseline", "py_function_numpy", "--mix", str(mix)),
            *("--calls-per-step", "12", "--step-ms", "400"),
        ],
        ["pyopbench", "port", "mine/my op.py", "--to", "traced", "--out", "mine/my op_traced.py"],
    ]


def test_no_step_is_made_up_and_no_port_of_a_body_on_tensors_is_proposed(source: Path) -> None:
    recording = recorded(source, 17, ([[[2, 6], "float32"], [[1], "int64"]], 60))
    assert next_steps(draft(f"{source}:17", None, recording), Path("my_op.py"))[1] == (
        "pyopbench run my_op.py --quick --baseline py_function_numpy"
    )
    assert len(next_steps(draft(f"{source}:7", None), Path("my_op.py"))) == 2


def _put_large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2 << 30)


@pytest.mark.parametrize("put", [os.mkfifo, os.mkdir, _put_large])
def test_what_is_no_source_is_refused_at_once(tmp_path: Path, put: Callable[[Path], None]) -> None:
    put(tmp_path / "a.py")
    with pytest.raises(BadInput):
        draft(f"{tmp_path / 'a.py'}:1", None)


def take(code: str) -> Snippet:
    source = ProgramSource.of(ast.parse("import numpy as np\nimport tensorflow as tf\n" + code))
    (found,) = find_callbacks(source)
    return take_body(source, found)


def test_imports_helpers_and_constants_come_along_in_their_order() -> None:
    code = "A = 2\nB = A + 1\ndef half(x):\n    return x / B\nC = 4\ndef f(x):\n    return np.abs(half(x))\n"
    taken = take(code + "tf.py_function(f, [1], tf.float32)")
    assert taken.imports == ("import numpy as np",)
    assert taken.helpers == ("A = 2", "B = A + 1", "def half(x):\n    return x / B")
    assert (taken.name, taken.parameters, taken.missing) == ("f", 1, ())


def test_what_the_module_has_not_got_is_missing() -> None:
    code = "class L:\n    def call(self, x):\n        return tf.py_function(self.f, [x], 1)\n"
    taken = take(code + "    def f(self, x):\n        return x * self.scale")
    assert taken.missing == ("self",)
    assert taken.code.startswith("def f(x):")
    assert take("def g(k):\n    tf.py_function(lambda x: x * k, [1], 1)").missing == ("k",)
    assert take("from . import ops\ntf.py_function(lambda x: ops.f(x), [1], 1)").missing == ("ops",)


def test_a_lambda_becomes_a_function() -> None:
    assert take("tf.numpy_function(lambda a, b: a - b, [1, 2], 1)").code == "def body(a, b):\n    return a - b"


def test_a_function_that_is_imported_is_called() -> None:
    taken = take("def sinh(x): ...\ntf.numpy_function(np.sinh, [1], 1)")
    assert taken.code == "def body(*inputs):\n    return np.sinh(*inputs)"
    assert taken.imports == ("import numpy as np",)


F = "def f(x, k, l=2):\n    return x * k + l"


@pytest.mark.parametrize(
    ("bound", "call", "helpers"),
    [
        ("functools.partial(f, k=3)", "f(*inputs, k=3)", (F,)),
        ("functools.partial(f, 1)", "f(1, *inputs)", (F,)),
        ("functools.partial(f, k=K, l=-4)", "f(*inputs, k=K, l=-4)", ("K = 5", F)),
        ("functools.partial(np.add, (1, 2))", "np.add((1, 2), *inputs)", ()),
        ("functools.partial(f, inputs)", "f(inputs, *inputs_)", ("inputs = 7", F)),
    ],
)
@pytest.mark.parametrize("is_named", [False, True], ids=["in_place", "named"])
def test_a_partial_is_a_body_that_hands_over_what_it_binds(
    bound: str, call: str, helpers: tuple[str, ...], *, is_named: bool
) -> None:
    head = f"import functools\nK = 5\ninputs = 7\n{F}\ndef add(x):\n    return x\n"
    named = f"def g(x):\n    h = {bound}\n    return tf.numpy_function(h, [x], 1)"
    taken = take(head + (named if is_named else f"tf.numpy_function({bound}, [1], 1)"))
    parameter = "inputs_" if "inputs_" in call else "inputs"
    assert taken.code == f"def body(*{parameter}):\n    return {call}"
    assert (taken.helpers, taken.missing) == (helpers, ())


@pytest.mark.parametrize(
    "bound",
    ["f, k=np.zeros(3)", "f, table[0]", "*parts", "f, *parts", "f, **options", "self.f, k=1", "make(), 1"],
)
def test_a_partial_that_a_function_would_not_equal_is_not_taken(bound: str) -> None:
    assert take(f"import functools\n{F}\ntf.numpy_function(functools.partial({bound}), [1], 1)").code == ""


def test_a_name_that_is_first_none_stands_for_what_it_is_bound_to_next() -> None:
    code = "def f(x):\n    return x\ndef g(x, is_on):\n    h = None\n    if is_on:\n        h = f\n"
    call = "    return tf.numpy_function(h, [x], 1)"
    assert take(code + call).code == "def f(x):\n    return x"
    assert take(f"{code}    else:\n        h = np.abs\n{call}").code == ""
    assert take(f"{code}    for h in x:\n        pass\n{call}").code == ""
    assert take(f"{code}    def other():\n        nonlocal h\n        h = np.abs\n{call}").code == ""


def test_decorators_stay_behind() -> None:
    assert take("@tf.py_function(Tout=1)\ndef f(x, y=1):\n    return x").code == "def f(x, y=1):\n    return x"


def test_a_body_that_is_not_in_the_file_has_no_code() -> None:
    assert take("tf.py_function(make(), [1], 1)").code == ""


def test_what_the_function_around_a_nested_one_binds_once_comes_along() -> None:
    around = "def make(n):\n    limit = 3.0\n    other = n\n    def half(x):\n        return x / 2\n"
    inner = "    def f(x):\n        return half(x) * limit\n    return tf.numpy_function(f, [1], 1)\n"
    taken = take(around + inner)
    assert taken.helpers == ("limit = 3.0", "def half(x):\n    return x / 2")
    assert taken.missing == ()
    assert take(around + inner.replace("* limit", "* other")).missing == ("n",)
    assert take(around + "    limit = 4.0\n" + inner).missing == ("limit",)
    assert take("limit = 4.0\n" + around + inner).missing == ("limit",)  # both cannot be in one file


def test_a_body_that_takes_numpy_of_each_tensor_is_one_on_arrays() -> None:
    taken = take("tf.py_function(lambda x, k: np.sinh(x.numpy()) * k.numpy(), [1, 2], 1)")
    assert (taken.code, taken.on_arrays) == ("def body(x, k):\n    return np.sinh(x) * k", True)
    taken = take("def f(x):\n    y = x.numpy()\n    return y + 1\ntf.py_function(f, [1], 1)")
    assert (taken.code, taken.on_arrays) == ("def f(x):\n    y = x\n    return y + 1", True)


def test_a_body_that_uses_a_tensor_as_one_stays_one_on_tensors() -> None:
    assert not take("tf.py_function(lambda x: x.numpy() + x, [1], 1)").on_arrays
    assert not take("tf.py_function(lambda x: tf.constant(x.numpy() + 1), [1], 1)").on_arrays
    assert not take("tf.numpy_function(lambda x: x.numpy(), [1], 1)").on_arrays
