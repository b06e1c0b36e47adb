"""Own ops as a command line names them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import OwnOps, Target, is_target, own_ops, read_target, usual_baseline


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "My-Ops.py"
    path.write_text("def body(x):\n    return x\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [("sinh", False), ("my_op.py", True), ("a.py:f", True), ("scipy.special:expit", True), ("ops/mine", True)],
)
def test_a_file_or_a_function_is_an_own_op_and_a_plain_name_is_not(text: str, expected: bool) -> None:
    assert is_target(text) is expected


def test_a_function_of_a_file_has_its_name_and_keeps_its_inputs(module: Path) -> None:
    found = read_target(f"{module}:body", ["np.ones(3)"], [])
    assert found == Target("body", str(module), "body", ("np.ones(3)",))
    assert found.words == [f"{module}:body", "--input", "np.ones(3)"]


def test_a_name_is_safe_in_ids_paths_and_tables(module: Path) -> None:
    hostile = module.with_name("1<b>..%2f x.py")
    hostile.write_text("", encoding="utf-8")
    assert read_target(str(module), [], []).name == "my_ops"
    assert read_target(str(hostile), [], []).name == "op_1_b____2f_x"


def test_a_function_named_like_another_op_gets_its_module_in_front(module: Path) -> None:
    assert read_target("numpy:square", ["1.0"], ["square"]).name == "numpy_square"
    with pytest.raises(BadInput) as refused:
        read_target(str(module), [], ["my_ops"])
    assert refused.value.received == f"my_ops, from {module}"


@pytest.mark.parametrize(
    ("text", "inputs", "received"),
    [
        ("missing.py", [], "missing.py"),
        ("missing.py:f", ["1"], "missing.py"),
        ("module:3x", ["1"], "'module:3x'"),
        ("../module:f", ["1"], "'../module:f'"),
        ("module:f", [], "module:f"),
        ("module:f", ["1 +"], "--input '1 +'"),
        ("module:f", ["\0"], f"--input {chr(0)!r}"),
    ],
)
def test_what_cannot_be_measured_is_refused_with_what_would_be(text: str, inputs: list[str], received: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_target(text, inputs, [])
    assert refused.value.received == received
    assert refused.value.hint


def test_inputs_by_name_come_last_and_once(module: Path) -> None:
    found = read_target(f"{module}:body", ["x[0] == 1", "y=np.ones(3)", "z = a.npy"], [], "random.seed({seed})")
    assert found.keywords == ("y", "z")
    assert found.expressions == ["x[0] == 1", "np.ones(3)", "a.npy"]
    assert found.words[-2:] == ["--seed-with", "random.seed({seed})"]
    for inputs in (["y=1", "2"], ["y=1", "y=2"]):
        with pytest.raises(BadInput) as refused:
            read_target(f"{module}:body", inputs, [])
        assert refused.value.hint


def test_an_error_of_syntax_points_at_its_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("import numpy\ndef body(x)\n    return x\n", encoding="utf-8")
    with pytest.raises(BadInput) as refused:
        read_target(str(path), [], [])
    assert "line 2" in refused.value.message
    assert refused.value.received == str(path)


def test_a_file_in_the_encoding_that_it_declares_is_taken(tmp_path: Path) -> None:
    source = "# -*- coding: latin-1 -*-\ndef fit(x):\n    # Größe\n    return x\n"
    (tmp_path / "mine.py").write_bytes(source.encode("latin-1"))
    assert read_target(f"{tmp_path / 'mine.py'}:fit", ["1"], []).function == "fit"


def test_another_source_or_input_is_another_op(module: Path) -> None:
    first = read_target(f"{module}:body", ["1"], [])
    other_input = read_target(f"{module}:body", ["2"], [])
    before = first.fingerprint
    module.write_text("def body(x):\n    return 2 * x\n", encoding="utf-8")
    assert len({before, other_input.fingerprint, first.fingerprint}) == 3


def test_an_input_in_a_file_counts_by_what_is_in_it_and_not_by_where_it_lies(module: Path, tmp_path: Path) -> None:
    """Shards of a plan are told to belong together by it, and on each machine a file may lie elsewhere."""
    found = []
    for folder, content in (("here", b"1"), ("there", b"1"), ("changed", b"2")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.npy").write_bytes(content)
        found.append(read_target(f"{module}:body", [f"x={tmp_path / folder / 'x.npy'}"], []).fingerprint)
    here, there, changed = found
    assert here == there != changed
    unnamed = read_target(f"{module}:body", [str(tmp_path / "here" / "x.npy")], [])
    assert unnamed.fingerprint != here


def read_files(folder: Path, *calls: str) -> OwnOps:
    """Return op files that end with these calls."""
    targets = []
    for number, call in enumerate(calls):
        path = folder / f"op_{number}.py"
        path.write_text(f"import pyopbench\nOP = {call}\n", encoding="utf-8")
        targets.append(read_target(str(path), [], []))
    return own_ops(*targets)


@pytest.mark.parametrize(
    ("call", "baseline"),
    [
        ("pyopbench.OwnOp(inputs=x, numpy=f)", "numpy_function"),
        ("pyopbench.OwnOp(inputs=x, numpy=f, baseline='py_func')", "py_func"),
        ("pyopbench.OwnOp(inputs=x, py_function=f)", "py_function_numpy"),
        ("pyopbench.OwnOp(inputs=x, py_function=f, baseline='py_function')", "py_function"),
        ("pyopbench.OwnOp(inputs=x, numpy=f, baseline=CHOSEN)", "numpy_function"),
        ("make()", "numpy_function"),
    ],
)
def test_an_own_op_is_compared_with_the_callback_that_its_file_names(call: str, baseline: str, tmp_path: Path) -> None:
    own = read_files(tmp_path, call)
    assert usual_baseline([*own], own) == baseline


def test_built_in_ops_and_ops_that_disagree_are_compared_with_one_callback(tmp_path: Path, module: Path) -> None:
    own = read_files(tmp_path, "pyopbench.OwnOp(numpy=f)", "pyopbench.OwnOp(numpy=f, baseline='py_func')")
    first, second = own
    for ops in ([], ["sinh"], [first, "sinh"], [first, second]):
        assert usual_baseline(ops, own) == "py_function_numpy"
    assert usual_baseline([first], own, ["py_function_numpy", "numba_op"]) == "py_function_numpy"
    assert usual_baseline([first], own, ["py_function_numpy", "numpy_function"]) == "numpy_function"
    function = own_ops(read_target(f"{module}:body", ["1"], []))
    assert usual_baseline(["body"], function) == "numpy_function"
