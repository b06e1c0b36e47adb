"""Copies of functions in which their helpers, and what decorators have wrapped, are something else."""

from __future__ import annotations

import functools
import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench import OwnOp
from pyopbench.ops.own.complete import complete
from pyopbench.ops.port_file import PortFiles
from pyopbench.ports.rebinding import codes_reached

X = np.array([0.25, 0.75])


def doubled(function: Any) -> Any:
    @functools.wraps(function)
    def inner(x: Any) -> Any:
        return 2 * function(x)

    return inner


@doubled
def wrapped(x: Any) -> Any:
    return np.tanh(x)


def port_of(body: Any, variant: str, example: Any = X) -> Any:
    op = complete(OwnOp(inputs=(example,), numpy=body), "body", Path())
    return PortFiles().call_of(op, variant, op.dtypes[0])


def test_what_a_decorator_wraps_is_ported() -> None:
    found = tf.function(port_of(wrapped, "traced"))(tf.constant([0.5]))
    np.testing.assert_allclose(found, 2 * np.tanh([0.5]), rtol=1e-6)


HELPERS = """
import numpy as np
WEIGHTS = [0.5, 2.0]
def scaled(x):
    return np.tanh(x) * WEIGHTS[1]
"""
BODY_OF_THREE = """
import numpy as np
from rebinding_helpers_of_this_test import scaled
import rebinding_helpers_of_this_test as helpers
def body(x):
    return scaled(x) + helpers.scaled(x) + len(helpers.WEIGHTS)
"""


@pytest.fixture
def across_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A body that calls a helper of another file, by its name and by its module's."""
    (tmp_path / "rebinding_helpers_of_this_test.py").write_text(HELPERS, encoding="utf-8")
    (tmp_path / "body_of_this_test.py").write_text(BODY_OF_THREE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("body_of_this_test")
    yield module.body
    for name in ("body_of_this_test", "rebinding_helpers_of_this_test"):
        sys.modules.pop(name, None)


def test_helpers_of_other_files_are_rebound_too(across_files: Any) -> None:
    found = tf.function(port_of(across_files, "traced"))(tf.constant([0.5]))
    np.testing.assert_allclose(found, 4 * np.tanh([0.5]) + 2, rtol=1e-6)


def test_numba_compiles_helpers_of_other_files_and_lists_as_constants(across_files: Any) -> None:
    pytest.importorskip("numba")
    found = port_of(across_files, "numba_op")(tf.constant([0.5], tf.float64))
    np.testing.assert_allclose(found, 4 * np.tanh([0.5]) + 2)


def test_files_of_helpers_are_known_without_what_is_installed(across_files: Any) -> None:
    assert {Path(code.co_filename).name for code in codes_reached(across_files)} == {
        "body_of_this_test.py",
        "rebinding_helpers_of_this_test.py",
    }


@np.vectorize
def stepped(x: Any) -> Any:
    return x if x > 0.5 else 0.0


def over_elements(x: Any) -> Any:
    return stepped(x) + 1


def test_what_is_vectorized_has_a_counterpart_in_numba() -> None:
    x = np.array([0.25, 0.75])
    np.testing.assert_array_equal(port_of(over_elements, "numba_op")(x), over_elements(x))


def scaled_by_name(x: Any, *, factor: float = -2.0) -> Any:
    return x * factor


def calls_by_name(x: Any, *, offset: float = 1.0) -> Any:
    return scaled_by_name(x) + scaled_by_name(x, factor=3.0) + offset


def test_numba_finds_the_defaults_of_parameters_that_are_given_by_name_alone() -> None:
    """Compiled as it stands, Numba says: not enough arguments: expected 2, got 1."""
    found = port_of(calls_by_name, "numba_op", np.ones(3))(np.ones(3))
    np.testing.assert_array_equal(found, calls_by_name(np.ones(3)))
