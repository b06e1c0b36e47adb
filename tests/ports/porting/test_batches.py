"""Ports of a batch as source: what is written passes its own test, in `Dataset.map` too."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyopbench.ports.extract.definitions import CannotPort
from written_ports import CORPUS, run_its_test, write, write_source

MATRIX = "rng.random((4, 3))"


def dataset_call_of(function: str) -> str:
    return f"dataset.batch(32, drop_remainder=True).map({function}, num_parallel_calls=tf.data.AUTOTUNE)"


def test_a_port_of_one_example_is_mapped_over_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "def body(x):\n    return np.exp(x) / np.sum(np.exp(x), axis=0)\n"
    made = write_source(tmp_path, source, MATRIX, to="traced_map")
    assert made.dataset == dataset_call_of("body_batch")
    tests = run_its_test(made, tmp_path, monkeypatch)
    assert tests == ["test_values", "test_dataset_of_batches", "test_gradient"]


def test_a_callback_over_a_batch_is_written_without_a_gradient(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = """SCALE = [2.0]


def twice(x):
    return x * SCALE[0]


def body(x, y):
    return twice(x) + y, x[..., 0] * 1.0


def gradient(inputs, outputs, output_gradients):
    (x, _), (d, e) = inputs, output_gradients
    by_x = 2.0 * d
    by_x[..., 0] += e
    return by_x, d
"""
    path = tmp_path / "mine.py"
    path.write_text(
        f"import numpy as np\nfrom pyopbench import OwnOp\n\n{source}\n\ndef inputs(size, rng):\n"
        "    return rng.random((size, 3)), rng.random((size, 3))\n\n\n"
        "OP = OwnOp(inputs=inputs, numpy=body, numpy_gradient=gradient, sizes=(2, 5))\n"
    )
    made = write(str(path), to="numpy_whole")
    assert made.dataset == dataset_call_of("body")
    assert made.notes == ("callback",)
    assert run_its_test(made, tmp_path, monkeypatch) == ["test_values", "test_dataset_of_batches"]


@pytest.mark.parametrize(("to", "returned"), [("numba_op", "{}"), ("traced", "{}"), ("traced", "[{}]")])
def test_a_port_has_the_gradient_that_is_returned_bare_in_a_list_or_in_a_tuple(
    to: str, returned: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if to != "traced":
        pytest.importorskip("numba")
    path = tmp_path / "mine.py"
    path.write_text(
        "import numpy as np\nfrom pyopbench import OwnOp\n\n\ndef body(x):\n    return x * x\n\n\n"
        "def gradient(inputs, outputs, output_gradients):\n"
        f"    return {returned.format('2 * inputs[0] * output_gradients[0]')}\n\n\n"
        "def inputs(size, rng):\n    return (rng.random((size, 3)),)\n\n\n"
        "OP = OwnOp(inputs=inputs, numpy=body, numpy_gradient=gradient, sizes=(2, 5))\n"
    )
    made = write(str(path), to=to)
    assert "test_gradient" in run_its_test(made, tmp_path, monkeypatch)


def test_a_callback_over_a_batch_that_the_body_mixes_up_fails_its_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = write_source(tmp_path, "def body(x):\n    return x - x.mean()\n", MATRIX, to="numpy_whole")
    with pytest.raises(AssertionError):
        run_its_test(made, tmp_path, monkeypatch)


def test_a_number_of_each_example_is_looped_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "def body(x):\n    total = 0.0\n    for one in x:\n        total += one[0]\n    return total\n"
    run_its_test(write_source(tmp_path, source, MATRIX, to="numba_op_loop"), tmp_path, monkeypatch)


def test_a_gradient_by_hand_is_called_for_each_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = write(str(CORPUS / "losses" / "dice.py"), to="traced_map")
    assert "gradient=" in made.test
    assert "test_gradient" in run_its_test(made, tmp_path, monkeypatch)


def test_several_inputs_of_a_command_line_are_varied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "def body(x, places, *, scale):\n    return x[places] * scale\n"
    inputs = (MATRIX, "np.array([2, 0])", "scale=np.float64(3)")
    made = write_source(tmp_path, source, *inputs, to="traced_map")
    assert made.dataset == dataset_call_of("body_batch")
    run_its_test(made, tmp_path, monkeypatch)


def test_an_output_of_another_length_each_time_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "import numpy as np\nfrom pyopbench import OwnOp\n\n\ndef body(x):\n    return x[x > 0.5]\n\n\n"
        "def inputs(size, rng):\n    return (rng.random(size),)\n\n\n"
        "OP = OwnOp(inputs=inputs, numpy=body, sizes=(9,))\n"
    )
    with pytest.raises(CannotPort):
        write(str(path), to="traced_map")
