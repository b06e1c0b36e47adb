"""Own ops out of files: what is wrong with one points at its line."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.model.errors import BadInput
from pyopbench.model.op import Op
from pyopbench.model.own_target import own_ops, read_target
from pyopbench.ops.load import load_op, load_ops
from pyopbench.ops.own.load import OWN_OPS, load_own, register_own_ops
from pyopbench.ops.port_file import port_call
from pyopbench.ports.arrays import as_given

HEAD = "import numpy as np\nfrom pyopbench import OwnOp\n"


def load(path: Path, source: str, function: str = "", *inputs: str) -> Op:
    path.write_text(source, encoding="utf-8")
    return load_own(read_target(f"{path}:{function}" if function else str(path), inputs, []))


def test_a_module_of_a_package_is_not_another_one_of_that_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("installed", "mine"):
        (tmp_path / place / "a_package").mkdir(parents=True)
        (tmp_path / place / "a_package" / "__init__.py").touch()
        (tmp_path / place / "a_package" / "loss.py").write_text("def body(x):\n    return x\n")
    named = read_target(f"{tmp_path}/mine/a_package/loss.py:body", ["np.ones(3)"], [])
    monkeypatch.syspath_prepend(tmp_path / "installed")
    with pytest.raises(BadInput) as refused:
        load_own(named)
    assert refused.value.received == f"{tmp_path}/installed/a_package/loss.py"


def test_a_worker_finds_the_own_ops_of_its_run_by_name_and_takes_no_others(tmp_path: Path) -> None:
    for name in ("mine", "other"):
        (tmp_path / f"{name}.py").write_text(HEAD + "OP = OwnOp(inputs=(np.ones(3),), numpy=np.tanh)\n")
    mine, other = (own_ops(read_target(str(tmp_path / f"{name}.py"), [], [])) for name in ("mine", "other"))
    try:
        register_own_ops(mine)
        assert load_op("mine").name == "mine"
        assert {"mine", "sinh"} <= set(load_ops())
        with pytest.raises(RuntimeError, match="mine"):
            register_own_ops(other)
        assert list(OWN_OPS) == ["mine"]
    finally:
        OWN_OPS.clear()


def test_a_function_is_taken_as_it_stands_with_inputs_from_the_command_line(tmp_path: Path) -> None:
    np.save(tmp_path / "y.npy", np.arange(4.0))
    source = "def body(x, y):\n    return x + y\n"
    op = load(tmp_path / "mine.py", source, "body", "rng.random(4)", str(tmp_path / "y.npy"))
    x, y = op.make_inputs(4, "float64", np.random.default_rng(5))
    np.testing.assert_array_equal(x, np.random.default_rng(0).random(4))
    np.testing.assert_array_equal(y, np.arange(4.0))


def test_inputs_by_name_reach_keyword_only_parameters_and_ports_too(tmp_path: Path) -> None:
    source = "def body(x, *, y, scale=2.0):\n    return x * scale - y\n"
    op = load(tmp_path / "mine.py", source, "body", "np.ones(4)", "y = rng.random(4)")
    x, y = op.make_inputs(4, "float64", np.random.default_rng(5))
    np.testing.assert_array_equal(op.numpy(x, y), 2 - y)
    np.testing.assert_array_equal(port_call(op, "traced", "float64")(tf.constant(x), tf.constant(y)), 2 - y)


def test_text_and_nested_lists_reach_a_function_as_the_example_has_them(tmp_path: Path) -> None:
    source = (
        "def body(references, text):\n    assert isinstance(text, str)\n"
        "    return [len(r) for r in references] + [len(text.split())]\n"
    )
    op = load(tmp_path / "mine.py", source, "body", "[['the', 'cat'], ['sat', 'on']]", "'on a mat'")
    assert [one.shape for one in op.make_inputs(op.sizes[0], "", np.random.default_rng(0))] == [(2, 2), ()]
    inputs = as_given(op.make_inputs(op.sizes[0], "", np.random.default_rng(0)))
    np.testing.assert_array_equal(op.numpy(*inputs), [2, 2, 3])


def test_a_body_that_is_random_takes_a_seed_from_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("import numpy as np\ndef body(x):\n    return x + np.random.rand()\n", encoding="utf-8")
    op = load_own(read_target(f"{path}:body", ["np.ones(3)"], [], "np.random.seed({seed})"))
    np.testing.assert_array_equal(op.numpy(np.ones(3)), op.numpy(np.ones(3)))
    assert op.own is not None
    assert op.own.is_random


def test_a_class_of_a_file_finds_its_module(tmp_path: Path) -> None:
    """As `dataclasses` and `pickle` look for it: by the name that the class has of it."""
    op = load(
        tmp_path / "mine.py",
        "class Twice:\n    def __call__(self, x):\n        return 2 * x\nbody = Twice()\n",
        "body",
        "np.ones(2)",
    )
    assert pickle.loads(pickle.dumps(op.numpy))(3) == 6


def test_a_file_of_a_package_imports_relatively(tmp_path: Path) -> None:
    package = tmp_path / "a_package_for_this_test"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "other.py").write_text("def twice(x):\n    return 2 * x\n", encoding="utf-8")
    source = "from .other import twice\ndef body(x):\n    return twice(x)\n"
    assert load(package / "mine.py", source, "body", "np.ones(2)").numpy(3) == 6


@pytest.mark.parametrize(
    ("source", "line", "cause"),
    [
        (HEAD + "import nothing_of_that_name\n", 3, ModuleNotFoundError),
        (HEAD + "x = 1 / 0\n", 3, ZeroDivisionError),
        (HEAD + "OP = OwnOp(body=np.tanh)\n", 3, TypeError),
        (HEAD + "def f(x):\n    return x @ x\nOP = OwnOp(inputs=(np.ones((2, 3)),), numpy=f)\n", 4, ValueError),
        (
            HEAD + "def draw(size, rng):\n    return (np.ones(size)[size],)\n"
            "OP = OwnOp(inputs=draw, sizes=(2,), numpy=np.tanh)\n",
            4,
            IndexError,
        ),
    ],
)
def test_an_error_points_at_the_line_of_the_file(
    tmp_path: Path, source: str, line: int, cause: type[Exception]
) -> None:
    path = tmp_path / "mine.py"
    with pytest.raises(BadInput) as refused:
        load(path, source)
    assert type(refused.value.__cause__) is cause
    assert refused.value.message == f"{path}:{line}: {cause.__name__}: {refused.value.__cause__}"
    assert refused.value.hint


@pytest.mark.parametrize(
    ("source", "function", "inputs", "what"),
    [
        ("", "", [], "does not define an op"),
        ("OP = 3\n", "", [], "does not define an op"),
        ("def f(x): return x\n", "g", ["1.0"], "unknown function"),
        ("def f(x): return x\n", "f", ["nothing"], "--input cannot be evaluated: NameError"),
        ("def f(x): return x\n", "f", ["missing.npy"], "FileNotFoundError"),
        ("def f(x): return x\n", "f", ["1.0", "2.0"], "takes 1 positional argument but 2 were given"),
        ("def f(x, *, y): return x\n", "f", ["1.0"], "missing 1 required"),
        ("def f(x): return x[0, 0]\n", "f", ["np.ones(3)"], "IndexError"),
    ],
)
def test_what_is_not_there_is_said(tmp_path: Path, source: str, function: str, inputs: list[str], what: str) -> None:
    with pytest.raises(BadInput, match=what):
        load(tmp_path / "mine.py", source, function, *inputs)


def test_a_saved_array_of_objects_is_not_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle") as numpys:
        np.load(tmp_path / "x.npy", allow_pickle=False)
    with pytest.raises(BadInput) as refused:
        load(tmp_path / "mine.py", "def f(x): return x\n", "f", str(tmp_path / "x.npy"))
    assert refused.value.message == f"{tmp_path / 'mine.py'}:f: ValueError: {numpys.value}"
