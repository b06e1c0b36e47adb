"""A body that draws random numbers as a port to numba_op: it takes a seed, after which it draws what NumPy does."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.ports.extract.definitions import CannotPort
from pyopbench.ports.porting.module_text import import_text
from written_ports import Ported, write

CROP = """
def body(x):
    top = np.random.randint(len(x) - 3)
    noise = np.random.normal(size=(3, x.shape[1])) * (np.random.rand() < 0.5)
    return x[top : top + 3] + noise
"""
PICKED = """
def body(x):
    return x[np.random.uniform(size=len(x)) < 0.99]
"""
MIXED = """
def body(x):
    share = np.random.beta(0.4, 0.4)
    return share * x + (1 - share) * x[::-1]
"""


def written(folder: Path, body: str, statement: str = "np.random.seed({seed})", to: str = "numba_op") -> Ported:
    path = folder / f"drawing_{abs(hash(body))}.py"
    path.write_text(
        f"import random\n\nimport numpy as np\n\nfrom pyopbench import OwnOp\n\n{body}\n"
        f"OP = OwnOp(numpy=body, inputs=[(np.arange(24.0).reshape(12, 2),)], seed_with={statement!r})\n"
    )
    return write(str(path), to=to)


@pytest.mark.parametrize("body", [CROP, *(pytest.param(one, marks=pytest.mark.slow) for one in (PICKED, MIXED))])
def test_a_port_passes_its_test(body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = written(tmp_path, body)
    (tmp_path / "ported.py").write_text(found.port)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "ported", raising=False)
    tests = {name: test for name, test in vars(import_text("test_ported", found.test)).items() if "test_" in name[:5]}
    assert {*tests} == {"test_distribution" if body is MIXED else "test_values", "test_draws"}
    for test in tests.values():
        test()


def test_elements_of_a_parallel_map_draw_by_their_seeds(tmp_path: Path) -> None:
    """A thread's generator is seeded inside the call, so that it does not matter which thread takes which element."""
    port = getattr(import_text("cropping", written(tmp_path, CROP).port), "body")  # noqa: B009
    x = np.arange(24.0).reshape(12, 2)
    scope = {"np": np}
    exec(CROP, scope)
    numbers = tf.data.Dataset.range(100)
    seeded = numbers.map(lambda seed: port(tf.constant(x), seed=tf.cast(seed, tf.int32)), num_parallel_calls=8)
    for seed, found in enumerate(seeded.as_numpy_iterator()):
        np.random.seed(seed)  # noqa: NPY002 - what the body draws from
        np.testing.assert_array_equal(found, scope["body"](x))  # type: ignore[operator]
    drawn = numbers.map(lambda _: port(tf.constant(x)), num_parallel_calls=8)
    assert len({one.tobytes() for one in drawn.as_numpy_iterator()}) > 40  # of half of them at most nine


@pytest.mark.parametrize(
    ("body", "to"),
    [
        (CROP, "traced"),
        (CROP, "numba_op_loop"),
        ("def body(x):\n    return x * random.random()\n", "numba_op"),
        ("def body(x):\n    return x * random.random() * np.random.rand()\n", "numba_op"),
        ("def body(seed):\n    return seed * np.random.rand()\n", "numba_op"),
    ],
)
def test_what_does_not_draw_by_a_seed_of_numpy_is_refused(body: str, to: str, tmp_path: Path) -> None:
    with pytest.raises(CannotPort):
        written(tmp_path, body, "np.random.seed({seed}); random.seed({seed})", to)
