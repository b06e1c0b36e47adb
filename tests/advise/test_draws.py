"""Draws of a body become its inputs: which can be moved, from which distribution they are drawn, and which stay."""

from __future__ import annotations

import random
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from scipy import stats

from pyopbench.advise.body_draws import BodyDraws, move_draws
from pyopbench.advise.draws import CHOICE, DISTRIBUTIONS, EXAMPLES, GENERATOR, Draw

IMAGE = np.arange(5 * 7 * 3, dtype=np.float32).reshape(5, 7, 3)

MANY = 4000
"""Numbers that are drawn from a distribution and compared with as many of NumPy's or Python's."""

LEAST_P = 1e-3
"""Of a two-sample Kolmogorov-Smirnov or a chi-squared test. Seeds are fixed, so each run has the same result."""


def draws_of(body: str, inputs: int = 1) -> BodyDraws:
    found = move_draws(f"import numpy as np\nimport random\n{body}", "f", inputs)
    assert found is not None
    return found


def function(text: str) -> Any:
    scope: dict[str, Any] = {}
    exec(text, scope)
    return scope["f"]


@pytest.fixture(autouse=True)
def _generators_as_before() -> Iterator[None]:
    state, of_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002 - what bodies draw from
    yield
    random.setstate(state)
    np.random.set_state(of_numpy)  # noqa: NPY002


def replay(monkeypatch: pytest.MonkeyPatch, values: list[Any]) -> None:
    """Have the generators return given values, one call after another."""
    given = iter(values)
    for path in (*DISTRIBUTIONS, *CHOICE):
        module, _, name = path.rpartition(".")
        monkeypatch.setattr(np.random if module == "numpy.random" else random, name, lambda *_, **__: next(given))


BODIES = [
    ("def f(x):\n    return x * np.random.uniform(0.8, 1.2)\n", [0.9]),
    ("def f(x):\n    if np.random.rand() < 0.5:\n        x = x[:, ::-1]\n    return x\n", [0.3]),
    ("def f(x):\n    return x + np.random.normal(0, 0.1, x.shape)\n", [IMAGE * 0.5]),
    ("def f(x):\n    x = x.astype(float)\n    h, w = x.shape[:2]\n    return x[np.random.randint(0, h - 2):]\n", [2]),
    ("def f(x):\n    return x[:, random.randint(0, len(x)):]\n", [3]),
    ("def f(x):\n    for at in [0, 1]:\n        x = np.roll(x, random.randrange(4), at)\n    return x\n", [3, 1]),
    ("def g(x, p=0.5):\n    return x if random.random() < p else -x\ndef f(x):\n    return g(x) * 2\n", [0.7]),
    (
        "def g(x):\n    return x * random.random()\ndef f(x):\n    for _ in (1, 2):\n        x = g(x)\n    return x\n",
        [0.5, 3],
    ),
    ("def f(x, *, low=0.5):\n    return x * np.random.uniform(low)\n", [0.6]),
    (
        (
            "def g(x, q=(1 / 3)):\n    return x * random.random() + random.random()\ndef f(x):\n"
            "    return g(x,  # the image\n    )\n"
        ),
        [0.5, 0.25],
    ),
    ("def f(x, scale=(1 / 3), *, more=2):\n    return x * scale * np.random.rand()\n", [0.5]),
    ("def f(x  # an image,\n):\n    return x * np.random.rand()\n", [0.5]),
    (
        (
            "def f(x):\n    for (a, b), c in ((1, 2), 3), ((4, 5), 6):\n"
            "        x = x * a * b * c * np.random.rand()\n    return x\n"
        ),
        [0.5, 2],
    ),
    ("def f(x):\n    return x + np.random.randn(*x.shape)\n", [IMAGE]),
    ("def f(x):\n    h, w = x.shape[0], x.shape[1]\n    return x[np.random.randint(0, h - 3):]\n", [1]),
    ("def f(x):\n    if x.ndim == 3:\n        x = x * np.random.rand(3)\n    return x\n", [np.array([0.1, 0.2, 0.3])]),
    ("def f(x):\n    noise = np.random.rand(3)\n    noise *= 2\n    return x + noise\n", [np.array([0.1, 0.2, 0.3])]),
    ("def f(x):\n    n = np.random.rand(5, 7, 3)\n    n[0][1] = 2\n    n.sort()\n    return x + n\n", [IMAGE * 1.0]),
    ("LOW = -2\ndef f(x):\n    return x * np.random.uniform(\n        low=LOW,\n        high=2,\n    )\n", [-1.5]),
]


@pytest.mark.parametrize(("body", "values"), BODIES)
def test_a_body_with_its_draws_as_inputs_returns_the_same_values(
    monkeypatch: pytest.MonkeyPatch, body: str, values: list[Any]
) -> None:
    found = draws_of(body)
    assert found.text.count("\n") == f"import numpy as np\nimport random\n{body}".count("\n"), (
        "lines stay where they are"
    )
    loops = len(found.moved) == 1 and len(values) == 2  # one input with an element for each iteration
    given = [np.asarray(values)] if loops else [np.asarray(one) for one in values]
    kept = deepcopy(given)
    after = function(found.text)(IMAGE, *given)
    np.testing.assert_equal(given, kept, "an input is not written to")
    replay(monkeypatch, deepcopy(values))
    before = function(f"import numpy as np\nimport random\n{body}")(IMAGE)
    np.testing.assert_array_equal(after, before, strict=True)


def drawn_by(draw: Draw, inputs: str = "") -> Any:
    """Return many numbers that TensorFlow draws; `inputs` names them in the expression."""
    generator = tf.random.Generator.from_seed(1)
    scope = {"tf": tf, GENERATOR: lambda: generator, **{name: tf.constant(IMAGE) for name in inputs.split()}}
    expression = draw.tensor.replace("[]", f"[{MANY}]", 1)
    return eval(expression, scope).numpy()


CALLS = [
    "np.random.uniform(-30, 30)",
    "np.random.uniform(high=3.0)",
    "np.random.rand()",
    "np.random.random()",
    "np.random.random_sample()",
    "np.random.randn()",
    "np.random.standard_normal()",
    "np.random.normal(2.0, 0.5)",
    "np.random.normal(scale=3.0)",
    "np.random.randint(7)",
    "np.random.randint(2, 5)",
    "np.random.randint(0, IMAGE.shape[1] - 2)",
    "random.random()",
    "random.uniform(1, 2)",
    "random.gauss(1, 2)",
    "random.normalvariate(1, 2)",
    "random.randint(1, 6)",
    "random.randrange(6)",
    "random.randrange(2, 9)",
]


@pytest.mark.parametrize("call", CALLS)
def test_tensorflow_draws_from_the_distribution_that_the_body_drew_from(call: str) -> None:
    (draw,) = draws_of(f"def f(IMAGE):\n    return {call}\n").moved
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    theirs = np.array([eval(call) for _ in range(MANY)])
    ours = drawn_by(draw, "IMAGE")
    assert ours.dtype == (np.int64 if theirs.dtype.kind == "i" else np.float64)
    if theirs.dtype.kind == "i":
        values = np.unique(np.concatenate([ours, theirs]))
        table = [[np.count_nonzero(side == one) for one in values] for side in (ours, theirs)]
        assert stats.chi2_contingency(table).pvalue > LEAST_P
    else:
        assert stats.ks_2samp(ours, theirs).pvalue > LEAST_P


def test_every_supported_function_is_compared() -> None:
    names = {path.replace("numpy.", "np.") for path in DISTRIBUTIONS} - {"np.random.ranf", "np.random.sample"}
    assert names == {call.partition("(")[0] for call in CALLS}


@pytest.mark.parametrize(
    ("call", "values"), [("np.random.choice([-1, 1])", {-1, 1}), ("random.choice((2.0, 3.0, 5.0))", {2.0, 3.0, 5.0})]
)
def test_one_of_several_numbers_is_chosen(call: str, values: set[float]) -> None:
    found = draws_of(f"def f(x):\n    return {call}\n")
    chosen = [function(found.text)(IMAGE, one) for one in drawn_by(found.moved[0])[:100]]
    assert set(chosen) == values
    assert type(chosen[0]) is type(eval(call))


BOUNDS = [
    (
        (
            "def f(x):\n    if np.random.rand() < 0.5:\n        x = x[:, ::-1]\n"
            "    return np.random.randint(0, x.shape[1])\n"
        ),
        7,
    ),
    (
        (
            "def f(x):\n    x = np.flip(x, 0) / 255.0\n    x *= 2\n    h, w = x.shape[:2]\n"
            "    return random.randint(0, h - 2)\n"
        ),
        4,
    ),
    ("def f(x):\n    x = x[..., ::-1][:]\n    return np.random.randint(0, len(x) // 2)\n", 2),
    (
        "def g(a, n, m=2):\n    return random.randint(n, a.shape[1] + m)\ndef f(x):\n    return g(x.copy(), len(x))\n",
        10,
    ),
    ("def g(a, m=2):\n    return random.randint(0, m)\ndef f(x):\n    return g(x, m=x.shape[1] - 1)\n", 7),
    ("def h(b):\n    return random.randint(0, len(b))\ndef g(a):\n    return h(a)\ndef f(x):\n    return g(x)\n", 6),
    ("def f(x):\n    return np.random.randint(0, 64 / 2)\n", 32),
]


@pytest.mark.parametrize(("body", "high"), BOUNDS)
def test_a_bound_is_known_before_the_body_runs(body: str, high: int) -> None:
    draw = draws_of(body).moved[-1]
    assert draw.high.value({"x": IMAGE}) == high
    generator = tf.random.Generator.from_seed(1)
    assert int(eval(draw.tensor, {"tf": tf, GENERATOR: lambda: generator, "x": tf.constant(IMAGE)})) < high


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("def f(label, x):\n    y = x[1:] / 255.0\n    return y + np.random.normal(0, 1, y.shape), label\n", "x"),
        ("def g(b):\n    return np.random.rand(*b[1:].shape)\ndef f(label, x):\n    return g(x[1:]), label\n", "x"),
        ("def f(x, y):\n    z = x * y\n    return z + np.random.normal(0, 1, z.shape)\n", "x"),
    ],
)
def test_an_array_is_drawn_in_the_shape_of_the_input_that_the_other_one_is_computed_from(body: str, name: str) -> None:
    (draw,) = draws_of(body, 2).moved
    assert draw.shape is not None
    shapes = {"x": np.ones((4, 2)), "y": np.ones(2), "label": np.ones(())}
    assert draw.shape.value(shapes) == list(shapes[name].shape)


def test_rare_conditions_occur_in_examples_also_together() -> None:
    text = "def f(x):\n    return random.random(), random.randint(0, 100), np.random.normal(size=(2, 50))\n"
    low, high, *others = draws_of(text).examples([IMAGE])
    assert (low[1] < 0.01, low[2] == 0, high[1] > 0.99, high[2] == 100) == (True,) * 4
    assert (low[3] < -2.5).any()
    assert (high[3] > 2.5).any()
    for one in others:
        assert 0 < one[1] < 1
        assert abs(one[1] - one[2] / 101) > 0.01, "two draws have quantiles of their own"


def test_the_examples_of_a_draw_are_smaller_and_larger_than_one_half() -> None:
    found = draws_of("def f(x):\n    return (np.random.rand() < 0.5, np.random.rand() < 0.5, random.randint(0, 1))\n")
    examples = found.examples([IMAGE])
    assert len(examples) == EXAMPLES
    for place in range(len(found.moved)):
        assert {bool(one[1 + place] < 0.5) for one in examples} == {False, True}


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("def f(x):\n    return np.random.permutation(x)\n", 4),
        ("def f(x):\n    while np.random.rand() < 0.5:\n        x = x + 1\n    return x\n", 4),
        ("def f(x):\n    return [np.random.rand() for _ in x]\n", 4),
        ("def f(x):\n    for row in x:\n        x = x + np.random.rand()\n    return x\n", 4),
        (
            "def f(x):\n    for _ in x:\n        for _ in x:\n            x = x + random.random()\n    return x\n",
            6,
        ),
        ("def f(x):\n    return np.random.uniform(0, x.mean())\n", 4),
        ("def f(x):\n    x = x[1:]\n    return np.random.randint(0, x.shape[0])\n", 5),
        ("def f(x):\n    if x.shape[0] > 9:\n        x = x[np.random.randint(0, x.shape[0] - 9):]\n    return x\n", 5),
        ("def g():\n    return random.random()\ndef f(x):\n    return x * g() + g()\n", 4),
        ("def f(x):\n    return (lambda: np.random.rand())()\n", 4),
        ("def f(x, *more):\n    return np.random.choice(x)\n", 4),
        ("def f(x):\n    return np.random.choice([1, 2], p=[0.1, 0.9])\n", 4),
        ("def f(x):\n    return np.random.randint(0, 2, dtype=np.uint8)\n", 4),
        ("from functools import partial\ndef f(x):\n    g = partial(np.random.uniform, 2, 3)\n    return g()\n", 6),
        ("def f(x):\n    g = np.random.normal if x.size else np.random.uniform\n    return g(0, 1)\n", 5),
        ("draw = np.random.uniform\ndef f(x):\n    return draw(0, 1)\n", 5),
        ("def g(generator):\n    return generator.rand()\ndef f(x):\n    return g(np.random) + np.random.rand()\n", 6),
        ("def f(x, k=9):\n    if x.size:\n        k = 5\n    return np.random.randint(0, k)\n", 6),
        ("def f(x):\n    w, h = x.shape[:2][::-1]\n    return np.random.randint(0, h)\n", 5),
        ("def f(x):\n    w, h, c = x.shape[::-1]\n    return np.random.randint(0, h)\n", 5),
        ("def f(x):\n    *_, h, c = x.shape\n    return np.random.randint(0, h)\n", 5),
        (
            "def f(x):\n    for _ in (1, 2):\n        i = random.randint(0, len(x))\n        x = x[i:]\n    return x\n",
            5,
        ),
        ("def f(x):\n    x = x[1:]; i = np.random.randint(0, x.shape[0])\n    return i\n", 4),
        ("def f(x):\n    x = np.array(x, ndmin=4)\n    return np.random.randint(0, x.shape[1])\n", 5),
        ("def f(x):\n    x.shape = (3, -1)\n    return np.random.randint(0, x.shape[1])\n", 5),
        (
            (
                "def f(x):\n    n = 7\n    def g():\n        nonlocal n\n        n = 2\n    g()\n"
                "    return random.randint(0, n)\n"
            ),
            9,
        ),
        ("def f(x):\n    return np.random.randint(0, x.shape[None])\n", 4),
        ("def f(x):\n    return np.random.uniform(0, 0.5 * x.shape[0])\n", 4),
        ("def f(x):\n    if x.ndim == 4:\n        x = x + np.random.rand(x.shape[3])\n    return x\n", 5),
        (
            (
                "def f(x):\n    for _ in (1, 2):\n        if x.size < 2:\n            break\n"
                "        x = x[np.random.randint(x.shape[0])]\n    return x\n"
            ),
            7,
        ),
        ("def f(x, p=np.random.rand()):\n    return x * p\n", 3),
        ("def len(x):\n    return 9\ndef f(x):\n    return np.random.randint(0, len(x))\n", 6),
        ("LOW = 1\nLOW += 1\ndef f(x):\n    return np.random.uniform(LOW, 3)\n", 6),
        ("def f(x):\n    return random.randrange(0, 5 / 2)\n", 4),
        ("def f(x):\n    np.random.seed()\n    return np.random.rand()\n", 4),
        ("rng = np.random.default_rng(0)\ndef f(x):\n    return x * rng.random() + np.random.rand()\n", 3),
        ("def f(x):\n    x = x[:, 1:]\n    return np.random.randint(0, x.shape[1])\n", 5),
        ("def f(x):\n    x = np.array(x, ndmin=4) / 2\n    return np.random.randint(0, x.shape[1])\n", 5),
        ("def g(a, n):\n    return random.randint(0, n)\ndef f(x):\n    return g(x, n=x.size)\n", 6),
        ("def g(a, n=3):\n    return random.randint(0, n)\ndef f(x):\n    return g(*[x, 2])\n", 4),
        (
            (
                "def f(x):\n    for b in (1, 2):\n        a = b\n        b = a\n"
                "    return np.random.randint(0, b.shape[0])\n"
            ),
            7,
        ),
    ],
)
def test_draws_that_cannot_be_moved_stay_in_the_body_and_the_line_is_reported(body: str, line: int) -> None:
    found = draws_of(body)
    assert (found.moved, found.line) == ((), line)
    assert found.refused
    assert found.text == f"import numpy as np\nimport random\n{body}"


@pytest.mark.parametrize(
    "body", ["def f(x):\n    return x\n", "def f(x):\n    np.random.seed(1)\n    return np.random.rand()\n"]
)
def test_a_body_that_returns_the_same_values_in_each_call_has_no_draws(body: str) -> None:
    assert move_draws(f"import numpy as np\n{body}", "f", 1) is None


def test_a_drawn_array_that_does_not_fit_the_shape_in_the_body_is_an_error() -> None:
    """The array is drawn in the shape of the first input, and the body needs another number of elements."""
    found = draws_of("def f(x):\n    x = x[1:]\n    return x + np.random.normal(0, 1, x.shape)\n")
    with pytest.raises(ValueError, match="reshape"):
        function(found.text)(*found.examples([IMAGE])[0])


@pytest.mark.parametrize("takes_list", [False, True])
def test_the_file_of_a_port_draws_and_calls_it(takes_list: bool) -> None:
    found = draws_of("def f(x, y):\n    return x * np.random.uniform(0, 1, x.shape), y * random.randint(1, 3)\n", 2)
    body = "x, y, a, b = inputs" if takes_list else "pass"
    given = "inputs" if takes_list else "x, y, a, b"
    head = '"""A port."""\n\nfrom __future__ import annotations\n'
    text = f"{head}\n\ndef port({given}):\n    {body}\n    return x, y, a, b\n"
    scope: dict[str, Any] = {}
    exec(found.port_with_draws(text, "port", takes_list=takes_list), scope)
    inputs = [tf.constant(IMAGE), tf.constant(2)]
    called = tf.function(scope["port_with_draws"])
    x, y, a, b = (one.numpy() for one in (called(inputs) if takes_list else called(*inputs)))
    np.testing.assert_array_equal(x, IMAGE)
    assert (int(y), a.shape, a.dtype, b.dtype) == (2, IMAGE.shape, np.float64, np.int64)
    assert 1 <= b <= 3


def epochs(body: str, seed: Any) -> list[list[float]]:
    """Return what a port draws in three epochs of a dataset, after a seed."""
    scope: dict[str, Any] = {}
    exec(draws_of(body).port_with_draws("def port(x, drawn):\n    return drawn\n", "port", takes_list=False), scope)
    seed(3)
    dataset = tf.data.Dataset.range(3).map(scope["port_with_draws"])
    return [[float(one) for one in dataset] for _ in range(3)]


@pytest.mark.parametrize(
    ("body", "seed"),
    [
        ("def f(x):\n    return x * np.random.rand()\n", np.random.seed),
        ("def f(x):\n    return x * random.random()\n", random.seed),
    ],
)
def test_epochs_have_different_numbers_and_the_seed_of_the_program_repeats_them(body: str, seed: Any) -> None:
    tf.random.set_seed(1)
    found = epochs(body, lambda _: seed(3))
    assert len({number for epoch in found for number in epoch}) == 9
    assert epochs(body, lambda _: seed(3)) == found
    assert epochs(body, lambda _: seed(4)) != found


def test_the_functions_of_tensorflow_repeat_their_numbers_in_each_epoch() -> None:
    """This holds once a program has seeded TensorFlow, as many do, so these functions cannot replace NumPy's."""
    tf.random.set_seed(1)
    dataset = tf.data.Dataset.range(3).map(lambda _: tf.random.uniform([]))
    first, second = ([float(one) for one in dataset] for _ in range(2))
    assert first == second


def test_a_body_without_inputs_stays_as_it_is() -> None:
    assert draws_of("def f():\n    return np.random.rand()\n", 0).refused


def test_the_example_of_a_normal_distribution_without_spread_is_its_mean() -> None:
    found = draws_of("def f(x):\n    return np.random.normal(2.0, 0.0, x.shape)\n")
    np.testing.assert_array_equal(found.examples([IMAGE])[0][1], np.full(IMAGE.shape, 2.0))


def test_the_file_of_a_pool_does_not_import_tensorflow_when_a_process_runs_it() -> None:
    found = draws_of("def f(x):\n    return x * np.random.rand()\n")
    text = found.port_with_draws(
        "import numpy as np\n\n\ndef outputs_of(inputs):\n    return inputs\n", "outputs_of", takes_list=True
    )
    scope: dict[str, Any] = {}
    exec(text, scope)
    assert "tf" not in scope
    assert len(scope["outputs_of_with_draws"]([tf.constant(IMAGE)])) == 2
