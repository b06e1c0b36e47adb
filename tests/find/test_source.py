"""What names stand for: imports, aliases and scopes are followed; what cannot be told is said to be unknown."""

from __future__ import annotations

import ast

import pytest

from pyopbench.find.source import UNKNOWN, ProgramSource


def path_of(code: str) -> str:
    """Return the path of the expression in the last call of `show(...)`."""
    source = ProgramSource.of(ast.parse(code))
    calls = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call)]
    return source.path(next(call for call in calls if getattr(call.func, "id", "") == "show").args[0])


@pytest.mark.parametrize(
    ("code", "path"),
    [
        ("import tensorflow as tf\nshow(tf.a)", "tensorflow.a"),
        ("import tensorflow.compat.v1 as tf\nshow(tf.a)", "tensorflow.compat.v1.a"),
        ("import tensorflow.compat.v1\nshow(tensorflow.compat.v1.a)", "tensorflow.compat.v1.a"),
        ("from tensorflow import a as b\nshow(b)", "tensorflow.a"),
        ("from . import ops\nshow(ops.a)", ".ops.a"),
        ("from tensorflow import *\nshow(a)", "tensorflow.a"),
        ("import tensorflow as tf\nb = tf.a\nc = b\nshow(c)", "tensorflow.a"),
        ("import tensorflow as tf\nb = tf.a if tf.x else None\nshow(b)", "tensorflow.a"),
        ("from functools import partial\nimport tensorflow as tf\nb = partial(tf.a, 1)\nshow(b)", "tensorflow.a"),
        ("import tensorflow as tf\nshow(getattr(tf, 'a'))", "tensorflow.a"),
        ("import importlib\nb = importlib.import_module('tensorflow')\nshow(b.a)", "tensorflow.a"),
        ("try:\n    import tensorflow as tf\nexcept ImportError:\n    tf = None\nshow(tf.a)", "tensorflow.a"),
        ("def f():\n    import tensorflow as tf\n    show(tf.a)", "tensorflow.a"),
        ("def f():\n    global tf\n    import tensorflow as tf\ndef g():\n    show(tf.a)", "tensorflow.a"),
        ("import tensorflow as tf\ndef f(tf):\n    show(tf.a)", f"{UNKNOWN}tf.a"),
        ("a = b\nb = a\nshow(a)", f"{UNKNOWN}a"),
        ("show(1 + 1)", ""),
    ],
)
def test_a_name_is_followed_to_what_it_was_imported_as(code: str, path: str) -> None:
    assert path_of(code) == path


def test_a_method_does_not_see_the_names_of_its_class() -> None:
    code = "import tensorflow as tf\nclass C:\n    tf = 1\n    def f(self):\n        show(tf.a)"
    assert path_of(code) == "tensorflow.a"


def test_a_decorator_is_not_inside_what_it_decorates() -> None:
    source = ProgramSource.of(ast.parse("class C:\n    @mark(1)\n    def f(self):\n        mark(2)"))
    calls = sorted((node for node in ast.walk(source.tree) if isinstance(node, ast.Call)), key=lambda one: one.lineno)
    assert [source.qualified_name(call) for call in calls] == ["C", "C.f"]


def test_a_name_that_is_bound_to_itself_again_and_again_is_followed_once() -> None:
    """With each of its values in each place, this would take longer than anybody waits."""
    lines = 40 * ["text = text.replace('a', 'b')"]
    assert path_of("\n".join(["import tensorflow as tf", "text = tf.a", *lines, "show(text)"])) == "tensorflow.a"
