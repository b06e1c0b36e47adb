"""Each arrangement is a file: from a dataset to a dataset, without pyopbench, whatever an element is made of."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.model.arrangement import read_key
from pyopbench.model.op import Op
from pyopbench.model.own_target import read_target
from pyopbench.ops.own.load import load_own
from pyopbench.ops.port_file import PORTS
from pyopbench.ports.extract.definitions import CannotPort
from pyopbench.ports.porting.arrangements import write_arrangement

SOURCE = """
import numpy as np
from pyopbench import OwnOp
GAIN = np.float32(3)
def scaled(x, bias):
    return GAIN * x + bias, np.int64(len(x))
def inputs(size, rng):
    return rng.random((size, 2), np.float32), np.float32(rng.random())
OP = OwnOp(numpy=scaled, inputs=inputs, sizes=(3, 5))
"""
KEYS = (
    "map",
    "map parallel=AUTOTUNE",
    "map parallel=3",
    "port numba_op",
    "batch_loop batch=4",
    "port traced",
    "port_batch traced batch=4",
    "processes",
    "processes batch=4",
)


@pytest.fixture(scope="module")
def op(tmp_path_factory: pytest.TempPathFactory) -> Op:
    path = tmp_path_factory.mktemp("op") / "scaling.py"
    path.write_text(SOURCE, encoding="utf-8")
    return load_own(read_target(str(path), [], []))


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def rows(elements: int = 8) -> list[tuple[Any, ...]]:
    """Return elements of features, a bias, a label and a weight."""
    rng = np.random.default_rng(0)
    return [
        (rng.random((3, 2), np.float32), np.float32(rng.random()), np.int64(n), np.float32(n / 2))
        for n in range(elements)
    ]


def arranged(op: Op, key: str, dataset: tf.data.Dataset, stack: ExitStack, **how: Any) -> list[Any]:
    """Return the elements of a dataset through an arrangement."""
    arrange = PORTS.call_of(op, key, "float32", "numpy_function")
    found = read_key(key)
    assert found is not None
    if found.form == "processes":
        how["pool"] = stack.enter_context(sys.modules[arrange.__module__].Pool(2))
    dataset = arrange(dataset.batch(found.batch) if found.batch else dataset, **how)
    return list((dataset.unbatch() if found.batch else dataset).as_numpy_iterator())


@pytest.mark.parametrize("key", KEYS)
def test_outputs_stand_in_the_place_of_inputs_and_labels_and_weights_are_passed_on(
    op: Op, key: str, stack: ExitStack
) -> None:
    columns = tuple(np.stack(column) for column in zip(*rows(), strict=True))
    found = arranged(op, key, tf.data.Dataset.from_tensor_slices(columns), stack)
    assert len(found) == len(rows())
    for (x, bias, label, weight), (y, length, other, same) in zip(rows(), found, strict=True):
        np.testing.assert_allclose(y, np.float32(3) * x + bias, rtol=1e-6)
        assert (length, other, same) == (3, label, weight)


def test_take_and_put_say_where_inputs_are_in_elements_such_as_dicts(op: Op, stack: ExitStack) -> None:
    x, bias, label, _ = rows(1)[0]
    dataset = tf.data.Dataset.from_tensors({"inputs": (x, bias), "label": label})
    (found,) = arranged(
        op,
        "map",
        dataset,
        stack,
        take=lambda element: element["inputs"],
        put=lambda outputs, element: {"outputs": tuple(outputs), "label": element["label"]},
    )
    assert found["label"] == label
    np.testing.assert_allclose(found["outputs"][0], np.float32(3) * x + bias, rtol=1e-6)


@pytest.mark.parametrize("key", KEYS)
def test_a_file_imports_nothing_of_pyopbench_and_pools_need_no_tensorflow(op: Op, key: str) -> None:
    text = PORTS.file_of(op, key, "float32", "numpy_function").text
    statements = [one for one in ast.parse(text).body if isinstance(one, ast.Import | ast.ImportFrom)]
    modules = {getattr(one, "module", None) or one.names[0].name for one in statements}
    assert not {one for one in modules if one.startswith("pyopbench")}
    assert ("tensorflow" in modules) != key.startswith("processes")


@pytest.mark.parametrize("name", ["Pool", "arrange", "SimpleQueue"])
def test_a_name_that_the_file_needs_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"own_{name.lower()}.py"
    path.write_text(SOURCE.replace("GAIN", name), encoding="utf-8")
    op = load_own(read_target(str(path), [], []))
    with pytest.raises(CannotPort):
        PORTS.file_of(op, "processes", "float32", "numpy_function")


def test_what_both_import_alike_is_imported_once(tmp_path: Path, stack: ExitStack) -> None:
    path = tmp_path / "own_imports.py"
    head = "import os, sys\n\n\ndef count(x):\n    return len(x) * len(os.sep) + 0 * len(sys.argv)\n\n"
    source = head + SOURCE.replace("len(x)", "count(x)")
    path.write_text(source, encoding="utf-8")
    own = load_own(read_target(str(path), [], []))
    columns = tuple(np.stack(column) for column in zip(*rows(), strict=True))
    found = arranged(own, "processes", tf.data.Dataset.from_tensor_slices(columns), stack)
    assert [int(one[1]) for one in found] == [3] * len(rows())


@pytest.mark.parametrize("key", ["traced", "batch_loop", "port", "map parallel=0", "processes batch=32 "])
def test_what_is_no_key_of_an_arrangement_with_a_file_is_not_read(key: str) -> None:
    assert read_key(key) is None


@pytest.mark.parametrize("kind", ["numpy", "py_function"])
def test_a_body_that_is_seeded_is_compared_with_its_copy_under_the_same_seed(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "noisy.py"
    path.write_text(
        "import numpy as np\nfrom pyopbench import OwnOp\n"
        f"def noisy(x):\n    return np.asarray(x) + np.random.random(len(x))\n"
        f"OP = OwnOp({kind}=noisy, inputs=lambda size, rng: (rng.random(size),), sizes=(4,), differentiable=(),\n"
        "    seed_with='np.random.seed({seed})')\n",
        encoding="utf-8",
    )
    op = load_own(read_target(str(path), [], []))
    text = write_arrangement(op, "processes", "numpy_function" if kind == "numpy" else "py_function").text
    assert "outputs_of" in {one.name for one in ast.parse(text).body if isinstance(one, ast.FunctionDef)}
