"""Several files: a name of another module is followed, and so is the use of a function in another file."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyopbench.find.scan import scan

LOAD = "import tensorflow as tf\ndef load(x):\n    return tf.numpy_function(f, [x], 1)\n"
FROM_PACKAGE = "from .data import load\n"
METHOD = "import tensorflow as tf\nclass Loader:\n    def load(self, x):\n        return tf.numpy_function(f, [x], 1)\n"
BETWEEN = "import data\ndef between(x):\n    return data.load(x)\n"
NO_CALLBACK = "def load(x):\n    return x\n"


def scanned(folder: Path, files: dict[str, str]) -> list[tuple[str, str, bool]]:
    for name, code in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(code)
    return [(Path(one.file).name, one.context, one.certain) for one in scan([folder]).sites]


@pytest.mark.parametrize(
    ("files", "context"),
    [
        ({"data.py": LOAD, "train.py": "from data import load as read\nds.map(read)\n"}, "tf.data"),
        ({"data.py": LOAD, "train.py": "from data import *\nds.map(load)\n"}, "tf.data"),
        ({"p/data.py": LOAD, "p/train.py": "from .data import load\nds.map(lambda x: load(x))\n"}, "tf.data"),
        ({"p/data.py": LOAD, "p/__init__.py": FROM_PACKAGE, "a.py": "import p\nds.map(p.load)\n"}, "tf.data"),
        ({"data.py": LOAD, "b.py": BETWEEN, "a.py": "import b\nds.map(b.between)\n"}, "tf.data"),
        ({"data.py": LOAD, "a.py": "import data\nmodel.compile(metrics=[data.load])\n"}, "Keras metric"),
        (
            {"data.py": LOAD, "a.py": "import data\nm = data.load\nall = [m]\nmodel.compile(metrics=all)\n"},
            "Keras metric",
        ),
        ({"data.py": LOAD, "a.py": "import data\nmodel.compile(loss={'a': data.load})\n"}, "loss"),
        ({"data.py": METHOD, "a.py": "from data import Loader\nloader = Loader()\nds.map(loader.load)\n"}, "tf.data"),
        ({"data.py": METHOD, "a.py": "import data\nds.map(data.Loader(3).load)\n"}, "tf.data"),
        ({"data.py": METHOD, "a.py": "from data import Loader\nds.map(other.load)\n"}, "plain"),
        ({"data.py": LOAD, "a.py": "import data\ndata.load(1)\n"}, "plain"),
        ({"data.py": LOAD, "a.py": "import other\nds.map(other.load)\n"}, "plain"),
        ({"data.py": LOAD, "x/data.py": NO_CALLBACK, "x/a.py": "import data\nds.map(data.load)\n"}, "plain"),
    ],
)
def test_a_function_is_in_what_another_file_uses_it_for(tmp_path: Path, files: dict[str, str], context: str) -> None:
    assert scanned(tmp_path, files) == [("data.py", context, True)]


LAYER = (
    "import tensorflow as tf\nclass Own(Model):\n    def call(self, x):\n        return tf.numpy_function(f, [x], 1)\n"
)


@pytest.mark.parametrize(
    ("base", "context"),
    [
        ("class Model:\n    pass\n", "plain"),
        ("from torch.nn import Module\nclass Model(Module):\n    pass\n", "plain"),
        ("import keras\nclass Model(keras.Model):\n    pass\n", "Keras layer"),
        ("import keras\nclass First(keras.Model):\n    pass\nclass Model(First):\n    pass\n", "Keras layer"),
        ("from keras import Model\n", "Keras layer"),
        ("from first import Model\n", "plain"),
        ("from first import Second as Model\n", "Keras layer"),
    ],
)
def test_a_class_of_another_file_is_what_its_own_bases_are(tmp_path: Path, base: str, context: str) -> None:
    first = "from keras import layers\nclass Model:\n    pass\nclass Second(layers.Layer):\n    pass\n"
    files = {"first.py": first, "base.py": base, "own.py": f"from base import Model\n{LAYER}"}
    assert scanned(tmp_path, files) == [("own.py", context, True)]


@pytest.mark.parametrize(
    ("mylib", "code"),
    [
        ("import tensorflow as tf\n", "from mylib import tf\ntf.py_function(f, [x], 1)\n"),
        ("import tensorflow.compat.v1 as tf\n", "import mylib\nmylib.tf.py_func(f, [x], 1)\n"),
        ("import tensorflow as tf\ncallback = tf.py_function\n", "from mylib import callback\ncallback(f, [x], 1)\n"),
        ("from tensorflow import py_function as pf\n", "from again import pf\npf(f, [x], 1)\n"),
        ("import tensorflow as tf\n", "from mylib import tf\n@tf.py_function(Tout=1)\ndef f(x):\n    return x\n"),
    ],
)
def test_a_name_of_another_module_stands_for_what_it_is_there(tmp_path: Path, mylib: str, code: str) -> None:
    again = "from mylib import pf\n" if "again" in code else ""
    found = scanned(tmp_path, {"mylib.py": mylib, "again.py": again, "main.py": code})
    assert found == [("main.py", "plain", True)]


def test_parallel_calls_in_another_file_are_a_risk(tmp_path: Path) -> None:
    scanned(tmp_path, {"data.py": LOAD, "a.py": "import data\nds.map(data.load, num_parallel_calls=8)\n"})
    (site,) = scan([tmp_path]).sites
    assert "parallel" in {risk.name for risk in site.risks}


def test_modules_that_import_each_other_are_no_circle(tmp_path: Path) -> None:
    files = {"a.py": "from b import f\nimport b\n" + LOAD, "b.py": "from a import f\nimport a\nds.map(a.load)\n"}
    assert scanned(tmp_path, files) == [("a.py", "tf.data", True)]
