"""Bodies of all kinds that Python calls are ported: closures, lambdas, methods, objects, partials, ufuncs."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyopbench.ports.extract.definitions import CannotPort
from written_ports import lines_of, run_its_test, write, write_source

VECTOR = "rng.random(5)"

CLOSURE = """
def make_body(scales, dtype=np.float64):
    offset = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    factor = scales["second"] * 2

    def weigh(x):
        return x * factor

    def body(x):
        # as much as that
        shifted = (weigh(x)
                   + offset)
        return shifted.astype(dtype)

    return body


body = make_body({"first": 1.0, "second": 2.5})
"""

METHOD = """
from types import SimpleNamespace


class Augment:
    bias = 0.5

    def __init__(self, scale):
        self.scale = scale
        self.config = {"weights": {"first": np.arange(5.0)}, "names": ["a"]}
        self.options = SimpleNamespace(power=2)

    def shifted(self, x, by=1.0):
        return x + by * self.bias

    @staticmethod
    def halved(x):
        return x / 2

    def run(self, x):
        scale = self.scale  # twice
        y = self.shifted(x, by=scale) * self.config["weights"]["first"]
        return self.halved(y) ** self.options.power

    def __call__(self, x):
        return self.run(x) + 1

    def count(self, x):
        y = x + 1
        self.scale += 1
        return y * self.scale
"""

COMPUTED = """
import os


def make_table(count):
    return np.arange(count) * 0.5


TABLE = make_table(5)
CONFIG = {"power": 2}
CONFIG["offset"] = float(len(os.getcwd())) * 0
DRAWN = np.random.random(5)


def body(x):
    return x ** CONFIG["power"] + TABLE + CONFIG["offset"] + DRAWN
"""

DECORATED = """
import functools


def twice(function):
    @functools.wraps(function)
    def wrapped(x):
        return function(function(x))

    return wrapped


@twice
def grow(x):
    return x * 1.5


def body(x):
    return grow(x)
"""

KINDS = {
    "closure": CLOSURE,
    "lambda": "body = lambda x: np.exp(x) + 1\n",
    "lambda in several lines": "POWER = 2\nbody = (\n    lambda x:  # why\n    x\n    * 2 + POWER\n)\n",
    "lambda with a default": "body = [lambda x, k=k: x * k for k in (1.0, 2.0, 3.0)][1]\n",
    "helper that is a lambda": "halved = lambda x: x / 2\n\n\ndef body(x):\n    return halved(x) + 1\n",
    "partial": (
        "import functools\n\n\ndef scale(x, factor, offset):\n    return x * factor + offset\n\n\n"
        "body = functools.partial(scale, factor=2.0, offset=1.0)\n"
    ),
    "partial by position": (
        "from functools import partial\n\n\ndef scale(factor, x):\n    return x * factor\n\n\n"
        "WEIGHTS = np.array([1.0, 2.0, 3.0, 4.0, 5.0])\nbody = partial(scale, WEIGHTS)\n"
    ),
    "partial of a library": "import functools\n\nbody = functools.partial(np.clip, a_min=0.2, a_max=0.6)\n",
    "method": f"{METHOD}\n\nbody = Augment(2.0).run\n",
    "object": f"{METHOD}\n\nbody = Augment(3.0)\n",
    "class method": (
        "class Scale:\n    by = 2.0\n\n    @classmethod\n    def call(cls, x):\n        return x * cls.by\n\n\n"
        "body = Scale.call\n"
    ),
    "computed constants": COMPUTED,
    "decorated helper": DECORATED,
    "object that is a constant": f"{METHOD}\n\nAUGMENT = Augment(2.0)\n\n\ndef body(x):\n    return AUGMENT.run(x)\n",
    "ufunc": "body = np.sinh\n",
    "an axis that is None by default": "def body(x, axis=None):\n    return np.cumsum(x, axis=axis)\n",
    "numbers with a point in an array of whole ones": (
        "def body(x):\n    y = (x * 9).astype(int)\n    y[:2] = 1.9\n    return y\n"
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_body_of_any_kind_is_ported(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = write_source(tmp_path, KINDS[kind], VECTOR)
    assert "self" not in made.port.partition("    return of_tensors\n")[2]
    assert "test_values" in run_its_test(made, tmp_path, monkeypatch)


def test_a_number_of_pythons_has_a_dtype_in_a_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (
        "def body(x):\n    y = x.astype(np.float32)\n    low = np.max([0, y[0] - y[1]])\n"
        "    pair = [0.1, y[2]]\n    return np.array(pair) + low, np.array([3, (x * 9).astype(np.int32)[0]])\n"
    )
    made = write_source(tmp_path, source, VECTOR)
    assert [dtype for dtype, _ in made.facts.outputs] == ["float64", "int64"]
    run_its_test(made, tmp_path, monkeypatch)


def test_each_name_of_a_statement_stays_what_it_is(tmp_path: Path) -> None:
    source = "A, B = 2.0, 3.0\nC = [A, B]\n\n\ndef body(x):\n    return x * B + A + C[0]\n"
    made = write_source(tmp_path, source, VECTOR)
    assert {"C = [A, B]", "    return x * B + A + C[0]"} <= lines_of(made.port)


@pytest.mark.parametrize("base", ["tf.Module", "tf.keras.layers.Layer"])
def test_containers_that_tensorflow_tracks_are_those_of_python(
    base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = (
        f"import tensorflow as tf\n\n\nclass Scale({base}):\n    def __init__(self):\n        super().__init__()\n"
        "        self.by = [1.0, 2.0, 3.0, 4.0, 5.0]\n        self.config = {'power': [2.0]}\n\n"
        "    def run(self, x):\n        return (x * np.array(self.by)) ** self.config['power'][0]\n\n\n"
        "body = Scale().run\n"
    )
    made = write_source(tmp_path, source, VECTOR)
    assert {"BY = [1.0, 2.0, 3.0, 4.0, 5.0]", "CONFIG_POWER = [2.0]"} <= lines_of(made.port)
    run_its_test(made, tmp_path, monkeypatch)


def test_a_large_table_that_a_function_computes_is_computed_in_the_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = (
        "def make(n):\n    return np.arange(n) * 0.5\n\n\nTABLE = make(5000)\n\n\n"
        "def body(x):\n    return x + TABLE[:5]\n"
    )
    made = write_source(tmp_path, source, VECTOR)
    assert {"TABLE = make(5000)"} <= lines_of(made.port)
    run_its_test(made, tmp_path, monkeypatch)


def test_what_cannot_be_ported_in_a_method_is_refused_with_the_users_line(tmp_path: Path) -> None:
    source = (
        "class Layer:\n    scale = 2.0\n\n    def call(self, x):\n        y = x * self.scale\n"
        "        return y.tolist() if len(x) > 100 else np.ma.masked_equal(y, 0)\n\n\n"
        "body = Layer().call\n"
    )
    with pytest.raises(CannotPort) as caught:
        write_source(tmp_path, source, VECTOR)
    assert caught.value.place is not None
    assert Path(caught.value.place[0]).parent == tmp_path
    assert caught.value.place[1] == 9


def test_lines_of_a_closure_that_no_example_goes_through_are_the_users(tmp_path: Path) -> None:
    source = (
        "def make(k):\n    def body(x):\n        if len(x) == 0:\n            return np.zeros(0)\n"
        "        return x * k\n\n    return body\n\n\nbody = make(2.0)\n"
    )
    made = write_source(tmp_path, source, VECTOR)
    assert [(Path(file).parent, line) for file, line in made.not_run] == [(tmp_path, 7)]


def test_an_op_file_may_make_its_body_and_its_gradient(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "import numpy as np\nfrom pyopbench import OwnOp\n\n\n"
        "def make(k):\n    def body(x):\n        return k * x * x\n\n"
        "    def gradient(inputs, outputs, output_gradients):\n"
        "        return 2 * k * inputs[0] * output_gradients[0]\n\n"
        "    return body, gradient\n\n\nBODY, GRADIENT = make(3.0)\nSIZES = (5, 7)\n\n\n"
        "def draw(size, rng):\n    return (rng.random(size),)\n\n\n"
        "OP = OwnOp(draw, numpy=BODY, numpy_gradient=GRADIENT, sizes=SIZES)\n"
    )
    made = write(str(path))
    assert run_its_test(made, tmp_path, monkeypatch) == ["test_values", "test_gradient"]
