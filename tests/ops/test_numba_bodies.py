"""Bodies compiled by Numba give what the NumPy bodies give, and say so where Numba is not there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyopbench.model.case import Case
from pyopbench.ops import numba_bodies
from pyopbench.ops.kernels import register
from pyopbench.ops.load import load_op, load_variant
from pyopbench.worker.plan import why_not
from pyopbench.worker.prepare.prepare import prepare

pytest.importorskip("numba", reason="Numba is an extra: pip install 'pyopbench[numba]'")


@pytest.mark.parametrize("name", ["sinh", "sparse_conv_q"])
def test_values_and_gradients_are_the_reference_s(name: str) -> None:
    op = load_op(name)
    case = Case(name, "numba", "custom_gradient", "backward", "call", "float32", op.sizes[0])
    assert prepare(case, finite_differences=True).checked.gradient is not None
    prepare(replace(case, size=op.sizes[min(3, len(op.sizes) - 1)]))


@pytest.mark.parametrize("name", ["relu", "sinh", "square"])
def test_results_keep_their_type(name: str) -> None:
    """The callback is told the type of the case, and in eager nothing else would notice."""
    body, _ = load_numba(name)
    assert body(np.ones(3, np.float32)).dtype == np.float32
    assert body(np.ones(3)).dtype == np.float64


COMPILED = """
import json, sys
import numpy as np
from pyopbench.ops import numba_bodies
body, _ = numba_bodies.bodies("determinant")()
body(np.ones((1, 4, 4), np.float32))
print(json.dumps([len(body.stats.cache_hits), len(body.stats.cache_misses)]))
"""


def compiled_elsewhere(environment: dict[str, str]) -> list[int]:
    """Return how often another process has found the body of determinant on disk, and how often it has not."""
    done = subprocess.run(
        [sys.executable, "-c", COMPILED], env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    return [int(number) for number in json.loads(done.stdout)]


@pytest.mark.nightly  # each compiles in processes that start TensorFlow
def test_what_a_worker_has_compiled_is_there_for_the_next(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    environment.pop(numba_bodies.FOLDER_VARIABLE)
    folder = tmp_path / "pyopbench" / numba_bodies.FOLDER
    assert compiled_elsewhere(environment) == [0, 1]
    assert {path.suffix for path in folder.rglob("*") if path.is_file()} == {".nbi", ".nbc"}
    assert compiled_elsewhere(environment) == [1, 0]


def load_numba(name: str) -> tuple[Any, Any]:
    op = load_op(name)
    assert op.numba is not None
    return op.numba()


IMAGES = [np.array([9, 9, 2], np.int64), np.array([9000, 9000, 2], np.int64)]
"""One whose pixels are a table, and one that needs another."""


@pytest.mark.parametrize("image", IMAGES)
def test_a_site_that_is_given_twice_is_refused(image: Any) -> None:
    body, _ = load_numba("sparse_conv_q")
    sites = np.array([[3, 4], [1, 1], [3, 4]], np.int64)
    with pytest.raises(ValueError, match=r"duplicate site \(3, 4\)"):
        body(sites, np.ones((3, 2)), image, np.ones(2))


@pytest.mark.parametrize("image", IMAGES)
@pytest.mark.parametrize("name", [pytest.param("custom_op", marks=pytest.mark.nightly), "numba"])
def test_sparse_sites_at_the_edge_and_off_the_image_are_numpy_s(name: str, image: Any) -> None:
    op = load_op("sparse_conv_q")
    body = register.body_of(op) if name == "custom_op" else load_numba(op.name)[0]
    far = int(image[0]) - 1
    for off in ([], [[-1, 3], [far + 5, 0]]):
        sites = np.array([[0, 0], [far, far], [far, 0], [1, 1], [0, 1], *off], np.int64)
        inputs = (sites, np.arange(2.0 * len(sites)).reshape(-1, 2), image, np.array([7.0, 8.0]))
        for found, expected in zip(body(*inputs), op.numpy(*inputs), strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["numba", "njit"])
def test_without_numba_a_variant_that_needs_it_is_unsupported_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(numba_bodies, "find_spec", lambda name: None)
    case = Case("sinh", name, "none", "forward", "call", "float32", 1)
    reason = why_not(load_op("sinh"), load_variant(name), case)
    assert reason == "Numba is not installed: pip install 'pyopbench[numba]'"
