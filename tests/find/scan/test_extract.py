"""A body is taken out with what it needs of its module, and what it needs from elsewhere is named."""

from __future__ import annotations

import ast

from pyopbench.find.scan.call_sites import find_callbacks
from pyopbench.find.scan.extract import Snippet, take_body
from pyopbench.find.scan.names import Source


def take(code: str) -> Snippet:
    source = Source.of(ast.parse("import numpy as np\nimport tensorflow as tf\n" + code))
    (found,) = find_callbacks(source)
    return take_body(source, found)


def test_imports_helpers_and_constants_come_along_in_their_order() -> None:
    code = "A = 2\nB = A + 1\ndef half(x):\n    return x / B\nC = 4\ndef f(x):\n    return np.abs(half(x))\n"
    taken = take(code + "tf.py_function(f, [1], tf.float32)")
    assert taken.imports == ("import numpy as np",)
    assert taken.helpers == ("A = 2", "B = A + 1", "def half(x):\n    return x / B")
    assert (taken.name, taken.parameters, taken.missing) == ("f", 1, ())


def test_what_the_module_has_not_got_is_missing() -> None:
    code = "class L:\n    def call(self, x):\n        return tf.py_function(self.f, [x], 1)\n"
    taken = take(code + "    def f(self, x):\n        return x * self.scale")
    assert taken.missing == ("self",)
    assert taken.code.startswith("def f(x):")
    assert take("def g(k):\n    tf.py_function(lambda x: x * k, [1], 1)").missing == ("k",)
    assert take("from . import ops\ntf.py_function(lambda x: ops.f(x), [1], 1)").missing == ("ops",)


def test_a_lambda_becomes_a_function() -> None:
    assert take("tf.numpy_function(lambda a, b: a - b, [1, 2], 1)").code == "def body(a, b):\n    return a - b"


def test_a_function_that_is_imported_is_called() -> None:
    taken = take("def sinh(x): ...\ntf.numpy_function(np.sinh, [1], 1)")
    assert taken.code == "def body(*inputs):\n    return np.sinh(*inputs)"
    assert taken.imports == ("import numpy as np",)


def test_decorators_stay_behind() -> None:
    assert take("@tf.py_function(Tout=1)\ndef f(x, y=1):\n    return x").code == "def f(x, y=1):\n    return x"


def test_a_body_that_is_not_in_the_file_has_no_code() -> None:
    assert take("tf.py_function(make(), [1], 1)").code == ""


def test_what_the_function_around_a_nested_one_binds_once_comes_along() -> None:
    around = "def make(n):\n    limit = 3.0\n    other = n\n    def half(x):\n        return x / 2\n"
    inner = "    def f(x):\n        return half(x) * limit\n    return tf.numpy_function(f, [1], 1)\n"
    taken = take(around + inner)
    assert taken.helpers == ("limit = 3.0", "def half(x):\n    return x / 2")
    assert taken.missing == ()
    assert take(around + inner.replace("* limit", "* other")).missing == ("n",)
    assert take(around + "    limit = 4.0\n" + inner).missing == ("limit",)
    assert take("limit = 4.0\n" + around + inner).missing == ("limit",)  # both cannot be in one file


def test_a_body_that_takes_numpy_of_each_tensor_is_one_on_arrays() -> None:
    taken = take("tf.py_function(lambda x, k: np.sinh(x.numpy()) * k.numpy(), [1, 2], 1)")
    assert (taken.code, taken.on_arrays) == ("def body(x, k):\n    return np.sinh(x) * k", True)
    taken = take("def f(x):\n    y = x.numpy()\n    return y + 1\ntf.py_function(f, [1], 1)")
    assert (taken.code, taken.on_arrays) == ("def f(x):\n    y = x\n    return y + 1", True)


def test_a_body_that_uses_a_tensor_as_one_stays_one_on_tensors() -> None:
    assert not take("tf.py_function(lambda x: x.numpy() + x, [1], 1)").on_arrays
    assert not take("tf.py_function(lambda x: tf.constant(x.numpy() + 1), [1], 1)").on_arrays
    assert not take("tf.numpy_function(lambda x: x.numpy(), [1], 1)").on_arrays
