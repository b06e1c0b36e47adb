"""What probes stand on: subjects compute the cube in every variant, and what is wrong is told from what is right.

Other processes: results come back, errors come back with their words, and one that ends is an error.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from pyopbench.model.case import NO_GRADIENT
from pyopbench.ops.kernels import register
from pyopbench.ops.load import load_variants
from pyopbench.worker import subject as subjects
from pyopbench.worker.subject import (
    VALUES,
    Differs,
    Inapplicable,
    Raised,
    Subject,
    call_in_peer,
    first_derivative,
    gradient_of,
    load_subject,
    require_equal,
)


def subject(name: str) -> Subject:
    return load_subject(name, load_variants()[name].gradients[0], Path())


@pytest.mark.parametrize("name", ["native", "autograph", "traced", "py_func", "py_function", "py_function_numpy"])
def test_a_subject_is_the_cube_with_its_gradient(name: str) -> None:
    function = subject(name).function()
    np.testing.assert_allclose(function(subject(name).x), np.array(VALUES) ** 3, rtol=1e-6)
    np.testing.assert_allclose(gradient_of(function, subject(name).x), first_derivative(), rtol=1e-6)


def test_the_first_derivative_is_that_of_finite_differences() -> None:
    x, step = np.array(VALUES), 1e-6
    differences = ((x + step) ** 3 + (x + step) ** 2 - (x - step) ** 3 - (x - step) ** 2) / (2 * step)
    np.testing.assert_allclose(first_derivative(), differences, rtol=1e-6)


@pytest.mark.parametrize("name", ["numpy_function", "py_function"])
def test_another_body_can_be_put_into_a_callback(name: str) -> None:
    built = subject(name).build(lambda x: x + 1, NO_GRADIENT)
    np.testing.assert_allclose(built(subject(name).x), np.array(VALUES) + 1)


def test_only_what_runs_python_in_the_graph_takes_a_body_in_python() -> None:
    python = {name for name in load_variants() if subject(name).is_python}
    kinds = {"py_func", "py_func_stateless", "numpy_function", "py_function"}
    assert python == {*kinds, "py_function_numpy", "py_function_numpy_host"}
    with pytest.raises(Inapplicable) as why:
        subject("native").require_python()
    assert str(why.value) == "no Python runs in it when the graph runs"


def test_a_variant_that_cannot_be_here_does_not_apply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(register, "why_not", lambda op, on_gpu: "there is no compiler")
    with pytest.raises(Inapplicable) as why:
        load_subject("custom_op", "autodiff", Path())
    assert str(why.value) == "there is no compiler"


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (None, "it is None, without an error"),
        ([1.0, 2.0], r"it is \[1., 2.\] and should be \[1., 3.\]"),
        ([1.0], "should be"),
        ([np.nan, 3.0], "nan"),
    ],
)
def test_what_is_missing_or_another_number_differs(found: object, words: str) -> None:
    with pytest.raises(Differs, match=words):
        require_equal("it", found, [1.0, 3.0])


def test_rounding_is_no_difference() -> None:
    require_equal("it", np.array([1.0000001, 3.0], np.float32), [1.0, 3.0])


def test_a_peer_is_another_process_that_stays_until_it_ends() -> None:
    first = call_in_peer("a test", (), os.getpid)
    assert first != os.getpid()
    assert call_in_peer("a test", (), os.getpid) == first
    with pytest.raises(Raised) as caught:
        call_in_peer("a test", (), int, "no number")
    assert caught.value.told == "ValueError: invalid literal for int() with base 10: 'no number'"
    assert str(caught.value) == caught.value.told
    with pytest.raises(Raised) as caught:
        call_in_peer("a test", ("/nosuch.so",), os.getpid)
    assert "/nosuch.so" in str(caught.value)
    with pytest.raises(Raised) as caught:
        call_in_peer("a test", (), os._exit, 3)
    assert (
        caught.value.told
        == f"the other process ended, or was silent for {subjects.PEER_SECONDS:g} s: BrokenProcessPool"
    )
    assert subjects._pool.cache_info().currsize == 0  # the next call starts another
