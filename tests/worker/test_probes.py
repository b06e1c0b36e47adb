"""Probes find what is known of TensorFlow: each works, fails in TensorFlow's words, or is silently wrong.

They run in one worker, as they do in a command. What takes a second process of its own for long, or measures memory or
speed, is left to `pyopbench probe`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pyopbench.engine.worker_process import Worker
from pyopbench.model.discover import find_probes
from pyopbench.ops.load import load_variants
from pyopbench.worker.probes.table import PROBES
from pyopbench.worker.subject import load_subject

pytestmark = pytest.mark.long

Try = Callable[[str, str], dict[str, Any]]
LOST = "Could not find callback with key="


@pytest.fixture(scope="module")
def find_out() -> Iterator[Try]:
    gradients = {name: variant.gradients[0] for name, variant in load_variants().items()}
    with Worker(120.0) as worker:
        yield lambda probe, variant: worker.ask(
            {"do": "probe", "probe": probe, "variant": variant, "gradient": gradients[variant]}
        )


@pytest.mark.parametrize("name", find_probes())
def test_a_probe_has_a_function_of_its_name(name: str) -> None:
    assert PROBES[name].run.__name__ == name
    assert 10 < len(PROBES[name].summary) < 90


@pytest.mark.parametrize(
    ("probe", "variant", "status", "words"),
    [
        ("breakpoints", "numpy_function", "works", "in every call, with values"),
        ("breakpoints", "native", "fails", "while it is traced"),
        ("called_twice", "numpy_function", "works", ""),
        ("called_twice", "py_function", "fails", "KeyError: b'pyfunc_N'"),
        ("closure_variable", "native", "works", ""),
        ("closure_variable", "py_function", "silently wrong", "the gradient by the variable"),
        ("concurrent_calls", "numpy_function", "works", "bodies at once"),
        ("dtype_mismatch", "numpy_function", "silently wrong", "eager: 1e+300 comes back as float64"),
        ("dtype_mismatch", "py_function_numpy", "silently wrong", "1e+300 comes back as float32 inf"),
        ("exceptions", "numpy_function", "works", "StopIteration → OutOfRangeError"),
        ("exceptions", "py_function", "works", "MemoryError → ResourceExhaustedError"),
        ("gradient", "py_function", "works", "by tape"),
        ("gradient_twice", "native", "works", ""),
        ("gradient_twice", "py_function", "fails", "KeyError"),
        ("graphdef", "numpy_function", "fails", LOST),
        ("data_service", "native", "works", ""),
        ("data_service", "numpy_function", "fails", LOST),
        ("map_function", "numpy_function", "works", ""),
        ("map_function", "native", "does not apply", "no Python runs in it"),
        ("map_order", "numpy_function", "fails", "were computed in another: calls "),
        ("mirrored", "numpy_function", "works", ""),
        ("mirrored_input", "numpy_function", "works", ""),
        ("mutates_input", "numpy_function", "silently wrong", "in a tf.function: the caller's tensor is changed"),
        ("mutates_input", "py_function_numpy", "works", "a copy"),
        ("numpy_arrays", "numpy_function", "works", ""),
        ("numpy_arrays", "py_function", "fails", "EagerTensor"),
        ("own_gradient", "numpy_function", "silently wrong", "without an error"),
        ("own_gradient", "py_function", "works", ""),
        ("savedmodel", "native", "works", ""),
        ("savedmodel", "py_function", "fails", LOST),
        ("second_order", "native", "works", "by autodiff"),
        ("second_order", "py_function", "silently wrong", "[2., 2., 2., 2.]"),
        ("server_other_process", "native", "works", ""),
        ("server_other_process", "numpy_function", "fails", LOST),
        ("server_same_process", "numpy_function", "works", ""),
        ("static_shape", "native", "works", ""),
        ("static_shape", "numpy_function", "fails", "<unknown>"),
        ("stop_iteration", "numpy_function", "works", "reported after 2 elements"),
        ("tflite", "native", "works", ""),
        ("tflite", "numpy_function", "fails", "'tf.PyFunc' op is neither a custom op nor a flex op"),
        ("while_loop", "numpy_function", "works", ""),
        ("while_loop", "py_function", "fails", "KeyError"),
        ("xla", "native", "works", ""),
        ("xla", "py_function", "fails", "No registered 'EagerPyFunc' OpKernel for XLA_CPU_JIT"),
        ("exceptions", "native", "does not apply", "no Python runs in it"),
    ],
)
def test_a_probe_finds_what_is_known(find_out: Try, probe: str, variant: str, status: str, words: str) -> None:
    found = find_out(probe, variant)
    assert (found["status"], words in found["told"]) == (status, True), found["told"]


def test_words_are_kept_whole_beside_what_is_told(find_out: Try) -> None:
    found = find_out("graphdef", "numpy_function")
    assert LOST in found["words"]
    assert len(found["words"]) >= len(found["told"])


def test_growth_is_that_of_what_calls_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    """What each call keeps is seen; what a process takes once, in the middle of it, is not."""
    from pyopbench.worker.probes import bodies

    kept: list[int] = []

    def calls_that_keep(size: int) -> Callable[[int], None]:
        return lambda calls: kept.extend([size] * calls)

    monkeypatch.setattr(bodies, "resident_bytes", lambda: sum(kept) + 10**9 * (len(kept) > 260))
    assert bodies.growth(calls_that_keep(200_000), warm=200, calls=50, turns=3) == pytest.approx(2e8)
    kept.clear()
    assert bodies.growth(calls_that_keep(0), warm=200, calls=50, turns=3) == 0


@pytest.mark.measures
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
def test_memory_in_use_is_what_the_process_has_touched() -> None:
    from pyopbench.worker.probes import bodies

    before = bodies.resident_bytes()
    held = bytearray(os.urandom(1) * (256 << 20))
    assert bodies.resident_bytes() - before > len(held) / 2


def test_a_pipeline_of_bodies_that_wait_is_faster_with_two_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that counts bodies which begin while another is inside as free."""
    from pyopbench.worker.probes import pipelines
    from pyopbench.worker.subject import Fails

    seconds = iter([2.0, 1.0] * pipelines.TIMED_TURNS)
    monkeypatch.setattr(pipelines, "_map_seconds", lambda function, subject, calls: next(seconds))
    subject = load_subject("numpy_function", "custom_gradient", Path())
    assert pipelines.scaling(subject, int).figures == {"gain": 2.0}
    seconds = iter([1.0, 0.9] * pipelines.TIMED_TURNS)
    with pytest.raises(Fails) as failed:
        pipelines.scaling(subject, int)
    assert str(failed.value) == "two calls at once give 1.1 times the throughput of one"
