"""A port in the place of a callback: the user's text is kept, and the result of the call is what it was."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from pyopbench.advise.callbacks import KeptCall, Stage
from pyopbench.advise.patch import CannotPlace, MapChange, Placement, needs_autograph, patch_text, replace_callbacks

ONE = Placement(
    line=5,
    kind="numpy_function",
    body="f",
    module="f_port",
    function="f",
    call=KeptCall(are_tensors=[True, True], dtypes=["float32"]),
    port_dtypes=("float32",),
    stops_gradient=False,
)


def like_one(**changes: Any) -> Placement:
    """Return `ONE` with changes of its fields, or of those of its call."""
    of_call = {name: value for name, value in changes.items() if name in KeptCall.__struct_fields__}
    others = {name: value for name, value in changes.items() if name not in of_call}
    return replace(ONE, call=structs.replace(ONE.call, **of_call), **others)


def source(call: str, *imports: str) -> str:
    lines = ['"""A program."""', "", "import tensorflow as tf", *imports, "", call, "# the end", ""]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("body", "is_needed"),
    [
        ("    return tf.where(x > 0, x, -x)\n", False),
        ("    if x > 0:\n        return x\n    return -x\n", True),
        ("    return inner(x)\n\n\ndef inner(x):\n    while x > 0:\n        x -= 1\n    return x\n", True),
        ("    for one in tf.range(x):\n        x += one\n    return x\n", True),
    ],
)
def test_a_port_with_branches_or_loops_is_converted_where_keras_calls_it(body: str, *, is_needed: bool) -> None:
    port = f"import tensorflow as tf\n\n\ndef f(x):\n{body}"
    assert needs_autograph(port) == is_needed
    call = "tf.autograph.to_graph(f_port.f)" if is_needed else "f_port.f"
    given = like_one(are_tensors=(True,), converts_port=needs_autograph(port))
    assert (
        f"y = {call}(a)"
        in replace_callbacks(source("y = tf.numpy_function(f, [a], tf.float32)").encode(), [given]).decode()
    )


@pytest.mark.parametrize(("encoding", "ends"), [("latin-1", "\n"), ("utf-8-sig", "\r\n"), ("utf-8", "\r\n")])
def test_a_file_keeps_its_encoding_and_its_line_ends(encoding: str, ends: str) -> None:
    first = "# -*- coding: latin-1 -*-" if encoding == "latin-1" else "# "
    lines = [first, "", "import tensorflow as tf", "", "s = 'ü'; y = tf.numpy_function(f, [a, b], tf.float32)  # ß", ""]
    edited = [*lines[:3], "import f_port", "", "s = 'ü'; y = f_port.f(a, b)  # ß", ""]
    assert replace_callbacks(ends.join(lines).encode(encoding), [ONE]) == ends.join(edited).encode(encoding)


@pytest.mark.parametrize(
    ("call", "placement", "expected"),
    [
        ("y = tf.numpy_function(f, [a, b], tf.float32)", ONE, "y = f_port.f(a, b)"),
        ("y = tf.numpy_function(func=f, inp=(a, b), Tout=tf.float32)", ONE, "y = f_port.f(a, b)"),
        ("y = tf.numpy_function(f, inputs, tf.float32)", ONE, "y = f_port.f(*inputs)"),
        (
            "y = tf.numpy_function(f, [a, 3], tf.float32)",
            like_one(are_tensors=(True, False)),
            "y = f_port.f(a, tf.convert_to_tensor(3))",
        ),
        (
            "y = tf.numpy_function(f, [a, b], tf.float32)",
            like_one(stops_gradient=True),
            "y = tf.stop_gradient(f_port.f(a, b))",
        ),
        (
            "y = tf.numpy_function(f, [a, b], tf.float32)",
            like_one(converts_port=True, stops_gradient=True),
            "y = tf.stop_gradient(tf.autograph.to_graph(f_port.f)(a, b))",
        ),
        (
            "y = tf.py_function(f, [a, b], tf.float32)",
            like_one(kind="py_function", port_dtypes=("float64",)),
            "y = tf.cast(f_port.f(a, b), tf.float32)",
        ),
        (
            "y = tf.numpy_function(f, [a, b], [tf.float32])",
            like_one(is_list=True),
            "y = [f_port.f(a, b)]",
        ),
        (
            "y, z = tf.numpy_function(f, [a, b], [tf.float32, tf.int64])",
            like_one(is_list=True, dtypes=("float32", "int64"), port_dtypes=("float32", "int64")),
            "y, z = list(f_port.f(a, b))",
        ),
        (
            "y = tf.numpy_function(f, [a, b], [tf.float32, tf.int64])",
            like_one(is_list=True, dtypes=("float32", "int64"), port_dtypes=("float32", "int64")),
            "y = list(f_port.f(a, b))",
        ),
        (
            "y = tf.compat.v1.py_func(lambda x, y: f(x, y), [a, b], tf.float32)  # kept",
            like_one(kind="py_func"),
            "y = f_port.f(a, b)  # kept",
        ),
        (
            "ds = ds.map(lambda a, b: (tf.numpy_function(f, [a, b], tf.float32), b))",
            ONE,
            "ds = ds.map(lambda a, b: (f_port.f(a, b), b))",
        ),
        (
            "ü = tf.numpy_function(f, ['ä', b], tf.float32)",
            ONE,
            "ü = f_port.f('ä', b)",
        ),
    ],
)
def test_the_call_is_replaced_and_everything_around_it_stays(call: str, placement: Placement, expected: str) -> None:
    after = replace_callbacks(source(call).encode(), [placement]).decode()
    assert after == source(expected, "import f_port")


STAGE = Stage("train.py", 5, 1)


@pytest.mark.parametrize(
    ("call", "change", "expected"),
    [
        ("ds = ds.map(f)", MapChange(STAGE, -1), "ds = ds.map(f, num_parallel_calls=tf.data.AUTOTUNE)"),
        ("ds = ds.map(map_func=(f))  # c", MapChange(STAGE, 4), "ds = ds.map(map_func=(f), num_parallel_calls=4)  # c"),
        ("ds = ds.map(f, 2)", MapChange(STAGE, -1), "ds = ds.map(f, tf.data.AUTOTUNE)"),
        (
            "ds = ds.map(f, deterministic=True, num_parallel_calls=2).batch(3)",
            MapChange(STAGE, -1),
            "ds = ds.map(f, deterministic=True, num_parallel_calls=tf.data.AUTOTUNE).batch(3)",
        ),
        (
            "ds = ds.map(g).map(self.f,).map(self.f)",
            MapChange(structs.replace(STAGE, end=(5, len("ds = ds.map(g).map(self.f,)"))), -1),
            "ds = ds.map(g).map(self.f, num_parallel_calls=tf.data.AUTOTUNE,).map(self.f)",
        ),
        (
            "ds = ds.map(lambda ö: h(ö)).map(f)",
            MapChange(structs.replace(STAGE, end=(5, len("ds = ds.map(lambda ö: h(ö))") + 2)), -1),
            "ds = ds.map(lambda ö: h(ö), num_parallel_calls=tf.data.AUTOTUNE).map(f)",
        ),
        (
            "ds = ds.map(\n    f  # (first)\n).map(g)",
            MapChange(structs.replace(STAGE, end=(7, 1)), -1),
            "ds = ds.map(\n    f, num_parallel_calls=tf.data.AUTOTUNE  # (first)\n).map(g)",
        ),
    ],
)
def test_a_map_gets_parallel_calls_and_nothing_else_changes(call: str, change: MapChange, expected: str) -> None:
    assert replace_callbacks(source(call).encode(), [], [change]).decode() == source(expected)


def test_a_pool_says_how_many_calls_and_is_called_with_a_list() -> None:
    call = "ds = ds.map(lambda a, b: tf.numpy_function(f, [a, b], tf.float32))"
    for package, statement in (("", "import f_port"), ("pkg", "from . import f_port")):
        change = MapChange(STAGE, 0, "f_port", package)
        pooled = like_one(function="outputs_of", takes_list=True, package=package)
        after = replace_callbacks(source(call).encode(), [pooled], [change]).decode()
        assert after == source(
            "ds = ds.map(lambda a, b: f_port.outputs_of([a, b])[0], num_parallel_calls=f_port.usual_pool().processes)",
            statement,
        )


def test_lists_of_outputs_stay_lists() -> None:
    several = like_one(is_list=True, dtypes=("float32", "int64"), port_dtypes=("float32", "int64"), takes_list=True)
    after = replace_callbacks(
        source("y, z = tf.numpy_function(f, inputs, [tf.float32, tf.int64])").encode(), [several]
    ).decode()
    assert after == source("y, z = f_port.f([*inputs])", "import f_port")


def test_two_callbacks_of_a_map_that_want_other_numbers_of_calls_leave_it_to_tensorflow() -> None:
    maps = [MapChange(STAGE, 0, "f_port"), MapChange(STAGE, 4)]
    after = replace_callbacks(source("ds = ds.map(f)").encode(), [], maps).decode()
    assert after == source("ds = ds.map(f, num_parallel_calls=tf.data.AUTOTUNE)")


@pytest.mark.parametrize(
    "call", ["ds = ds.filter(f)", "ds = a.map(f).concatenate(b.map(f))", "ds = ds.map(f, *more)", "ds = ds.map(**all)"]
)
def test_a_map_that_cannot_be_told_or_changed_is_refused(call: str) -> None:
    with pytest.raises(CannotPlace):
        replace_callbacks(source(call).encode(), [], [MapChange(STAGE, -1)])


DECORATED = """import tensorflow as tf

@tf.py_function(Tout=tf.float32)
def f(a, b):
  # the body
  return a.numpy() + b.numpy()

def g(x):
  return f(x, x)
"""


def test_a_decorated_function_calls_the_port_where_it_is_called() -> None:
    after = replace_callbacks(DECORATED.encode(), [like_one(kind="py_function", line=9)]).decode()
    assert after == (
        "import tensorflow as tf\nimport f_port\n\n"
        "def f(a, b):\n    return f_port.f(a, b)\n\ndef g(x):\n  return f(x, x)\n"
    )
    for parameters in ("a, b=2", "a, b, *rest", "a, *, b"):
        code = DECORATED.replace("a, b", parameters, 1).encode()
        with pytest.raises(CannotPlace):
            replace_callbacks(code, [like_one(kind="py_function", line=9)])


def test_the_import_of_a_port_is_above_its_use_and_below_the_comments_of_the_file() -> None:
    head = "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n"
    code = f"{head}{{}}y = tf.numpy_function(f, [a, b], tf.float32)\nimport os\n"
    after = code.replace("tf.numpy_function(f, [a, b], tf.float32)", "f_port.f(a, b)")
    for imports in ("import tensorflow as tf\n", ""):
        found = replace_callbacks(code.format(imports).encode(), [replace(ONE, line=3 + bool(imports))])
        assert found.decode() == after.format(f"{imports}import f_port\n")


def test_a_partial_is_replaced_where_it_is_called() -> None:
    code = (
        "import functools\nimport tensorflow as tf\n\np = functools.partial(tf.numpy_function, f, Tout=tf.float32)\n"
        "y = p([a, b])\n"
    )
    after = replace_callbacks(code.encode(), [ONE]).decode()
    assert after.endswith("y = f_port.f(a, b)\n")


def test_the_import_is_relative_in_a_package_and_the_name_of_tensorflow_the_files_own() -> None:
    head = "from __future__ import annotations\nfrom tensorflow import numpy_function"
    code = f"{head}\n\n\ny = numpy_function(f, [a, b], t)\n"
    after = replace_callbacks(code.encode(), [like_one(package="pkg", stops_gradient=True)]).decode()
    head, _, rest = after.partition("\n\n\n")
    assert head.splitlines()[2:] == ["from . import f_port", "import tensorflow as tf"]
    assert rest == "y = tf.stop_gradient(f_port.f(a, b))\n"


@pytest.mark.parametrize(
    ("call", "line"),
    [
        ("y = call(tf.numpy_function, f, a)", 5),
        ("y = tf.numpy_function(f, *rest)", 5),
        ("y = tf.numpy_function(f, [a], t), tf.numpy_function(g, [a], t)", 5),
        ("y = 1", 5),
        ("y = tf.numpy_function(f, **rest)", 5),
    ],
)
def test_what_cannot_be_replaced_is_refused(call: str, line: int) -> None:
    with pytest.raises(CannotPlace):
        replace_callbacks(source(call).encode(), [like_one(line=line)])


@pytest.mark.parametrize("old", ["a = 1\nb = 2\n", "a = 1\nb = 2", "", "ä = 1\n\n\nb = 2\n\n"])
def test_git_applies_the_patch(tmp_path: Path, old: str) -> None:
    (tmp_path / "old.py").write_text(old, encoding="utf-8")
    new = {"old.py": b"import x\n" + old.encode() + b"\nend", "pkg/new.py": b"c = 3\n"}
    (tmp_path / "c.patch").write_text(patch_text({"old.py": old.encode()}, new), encoding="utf-8")
    subprocess.run(["git", "apply", "c.patch"], cwd=tmp_path, check=True)
    assert {name: (tmp_path / name).read_bytes() for name in new} == new
