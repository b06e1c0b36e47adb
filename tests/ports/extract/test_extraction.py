"""A function is taken out of wherever it is, with all that it needs, as a module that computes the same by itself."""

from __future__ import annotations

import functools
import linecache
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from places import ROOT
from pyopbench.ports.extract.definitions import CannotPort, is_file_of_user
from pyopbench.ports.extract.extraction import Extraction, extract
from pyopbench.ports.extract.module import Extracted, place_of_user

X = np.arange(5.0)


def loaded(folder: Path, source: str, name: str = "mine") -> types.ModuleType:
    """Return a file of the user's as a module."""
    path = folder / f"{name}.py"
    path.write_text(f"import numpy as np\n\n\n{source}", encoding="utf-8")
    module = types.ModuleType(name)
    module.__file__ = str(path)
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec", dont_inherit=True), vars(module))
    return module


def taken(function: Any, name: str = "", arguments: int = 1) -> tuple[Extracted, Any]:
    """Return what was extracted, and the function in it."""
    extracted, module, _ = extract(lambda extraction: extraction.add(function, name, arguments))
    (known,) = extracted.names
    return extracted, vars(module)[known]


@pytest.fixture
def of_user(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Have modules found as those that were imported are."""

    def register(module: types.ModuleType) -> types.ModuleType:
        monkeypatch.setitem(sys.modules, module.__name__, module)
        return module

    return register


EXTRACTED = {
    "attributes and methods": (
        (
            "class Layer:\n    bias = 2.0\n\n    def __init__(self):\n        self.config = {'size': {'scale': 3.0}}\n"
            "    def call(self, x, by=1.0):\n        scale = self.config['size']['scale']\n"
            "        return self.shift(x * scale) * by\n\n"
            "    def shift(self, x):\n        return x + self.bias\n\n\nbody = Layer().call\n"
        ),
        {"BIAS = 2.0", "CONFIG_SIZE_SCALE = 3.0", "def shift(x):", "def call(x, by=1.0):"},
    ),
    "a local variable with the name of a constant": (
        (
            "class Layer:\n    scale = 2.0\n\n    def call(self, x):\n"
            "        SCALE = x + self.scale\n        return SCALE * self.scale\n\n\nbody = Layer().call\n"
        ),
        {"SCALE_2 = 2.0"},
    ),
    "any number of arguments": (
        "class Total:\n    def go(self, *x):\n        return sum(x)\n\n\nbody = Total().go\n",
        {"def go(x_1):"},
    ),
    "bound arguments": (
        (
            "import functools\n\n\ndef scaled(x, by, k=1, *, more=2):\n    return x * by + k + more\n\n\n"
            "shift = functools.partial(scaled, more=5)\n\n\ndef body(x):\n    return shift(x, 2.0) + shift(x, 3.0, 4)\n"
        ),
        {"def shift(x, by, k=1):", "    return scaled(x, by, k, more=5)"},
    ),
    "an f-string": (
        (
            'class Layer:\n    kind = "a"\n\n    def call(self, x):\n        return f"{self.kind!r}: {x.sum():.2f}"\n'
            "\n\nbody = Layer().call\n"
        ),
        {"KIND = 'a'"},
    ),
    "a variable that a function inside assigns": (
        (
            "def body(x):\n    total = 0\n\n    def add(one):\n        nonlocal total\n        total += one\n\n"
            "    for one in x:\n        add(one)\n    return total\n"
        ),
        {"def body(x):"},
    ),
    "a member of an enumeration": (
        (
            "import enum\n\n\nclass Mode(enum.Enum):\n    FAST = 1\n    SLOW = 2\n\n\nMODE = Mode.FAST\n\n\n"
            "def body(x):\n    return x if MODE is Mode.FAST else -x\n"
        ),
        {"    return x if MODE is Mode.FAST else -x", "class Mode(enum.Enum):"},
    ),
    "a class of constants": (
        "class Sizes:\n    wide = (4, 3)\n\n\ndef body(x):\n    return x * Sizes.wide[0]\n",
        {"SIZES_WIDE = (4, 3)"},
    ),
    "texts over several lines": (
        (
            'def make():\n    def body(x):\n        """Say.\n\n        More.\n        """\n'
            '        return """\n  left\n        right""" + str(x)\n\n    return body\n\n\nbody = make()\n'
        ),
        {"def body(x):"},
    ),
    "annotations": (
        (
            "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from nowhere import Thing\n\n\n"
            "def body(x: 'Thing', y: np.ndarray = 1) -> 'Thing':\n    z: int = x + y\n    return z\n"
        ),
        {"def body(x, y=1):"},
    ),
    "functions of several files": (
        "import others\nfrom others import scaled as twice\n\n\ndef body(x):\n    return others.scaled(x) + twice(x)\n",
        {"    return scaled(x) + scaled(x)", "SCALE = 2.0"},
    ),
    **{
        f"the constant {statement}": (f"{before}\n\n\ndef body(x):\n    return x + len(TABLE)\n", {statement})
        for before, statement in (
            ("TABLE = np.arange(4.0)", "TABLE = np.arange(4.0)"),
            ("TABLE = np.arange(4.0)\nTABLE[0] = 7", "TABLE = np.array([7.0, 1.0, 2.0, 3.0], np.float64)"),
            ("import os\n\nTABLE = [len(os.environ) * 0]", "TABLE = [0]"),
            ("from pathlib import Path\n\nTABLE = [float(Path(__file__).read_text()[:0] or 3)]", "TABLE = [3.0]"),
            ("def make(n):\n    return [0.5] * n\n\n\nTABLE = make(2)", "TABLE = [0.5, 0.5]"),
            ("TABLE = {'a': (1, None)}", "TABLE = {'a': (1, None)}"),
        )
    },
}
"""The source of `body`, and lines of the module that it is extracted to."""


@pytest.mark.parametrize("case", EXTRACTED)
def test_a_function_computes_the_same_in_a_module_of_its_own(case: str, tmp_path: Path, of_user: Any) -> None:
    source, lines = EXTRACTED[case]
    of_user(loaded(tmp_path, "SCALE = 2.0\n\n\ndef scaled(x):\n    return x * SCALE\n", "others"))
    body = of_user(loaded(tmp_path, source)).body
    extracted, function = taken(body)
    assert lines <= {*extracted.text.splitlines()}
    assert "self" not in extracted.text
    np.testing.assert_array_equal(function(X), body(X))


LAYER = (
    "from types import SimpleNamespace\n\n\nclass Layer:\n"
    "    def __init__(self):\n        self.count, self.seen = 0, [0]\n"
    "        self.table, self.inner = {}, SimpleNamespace(count=0)\n\n"
    "    def call(self, x):\n        y = x + 1\n        STATEMENT  # here\n        return y\n\n\nbody = Layer().call\n"
)
FUNCTION = "SEEN, SCRATCH = {0: 1}, np.zeros(3)\n\n\ndef body(x):\n    STATEMENT  # here\n    return x\n"
REFUSED = [
    *(
        LAYER.replace("STATEMENT", one)
        for one in (
            *("self.count += 1", "self.count = x", "self.seen.append(x)", "self.table['a'] = x"),
            *("self.inner.count = x", "self.seen[0] = x"),
        )
    ),
    *(
        FUNCTION.replace("STATEMENT", one)
        for one in ("SEEN[len(x)] = 1", "SEEN.setdefault(1, x)", "del SEEN[0]", "SCRATCH[:3] = x", "SCRATCH.fill(0)")
    ),
    "COUNT = 0\n\n\ndef body(x):\n    global COUNT\n    COUNT += 1  # here\n    return x * COUNT\n",
    (
        "def make():\n    count = 0\n\n    def body(x):\n        nonlocal count\n        count += 1  # here\n"
        "        return x * count\n\n    return body\n\n\nbody = make()\n"
    ),
    "import os\n\nDATA = np.arange(len(os.environ) * 0 + 10**6)\n\n\ndef body(x):\n    return x + DATA[0]  # here\n",
    (
        "def make(rng):\n    def body(x):\n        return x + rng.random()  # here\n\n    return body\n\n\n"
        "body = make(np.random.default_rng(0))\n"
    ),
    "from others import scaled\n\nSCALE = 3.0  # here\n\n\ndef body(x):\n    return scaled(x) + SCALE\n",
]
"""Bodies that change something outside of them, or need what cannot be written."""


@pytest.mark.parametrize("source", REFUSED)
def test_what_cannot_be_extracted_is_refused_with_the_line(source: str, tmp_path: Path, of_user: Any) -> None:
    of_user(loaded(tmp_path, "SCALE = 2.0\n\n\ndef scaled(x):\n    return x * SCALE\n", "others"))
    body = of_user(loaded(tmp_path, source)).body
    with pytest.raises(CannotPort) as caught:
        taken(body)
    assert caught.value.place is not None
    file, line = caught.value.place
    assert "# here" in Path(file).read_text(encoding="utf-8").splitlines()[line - 1] or file.endswith("others.py")
    assert caught.value.fix


def test_lines_are_those_of_the_users_file(tmp_path: Path) -> None:
    source = "def make(k):\n    def body(\n        x,\n    ):\n        y = x + k\n        return y\n\n    return body\n"
    body = loaded(tmp_path, source).make(1)
    extracted, _ = taken(body)
    line = extracted.text.splitlines().index("    return y") + 1
    assert place_of_user((extracted.path, line)) == (str(tmp_path / "mine.py"), 9)
    assert place_of_user(("other.py", 3)) == ("other.py", 3)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python does not know the columns of instructions")
@pytest.mark.parametrize("first", ["lambda x: x + 1", "lambda x: x - 2"])
def test_a_lambda_is_told_from_another_one_of_its_line(first: str, tmp_path: Path) -> None:
    module = loaded(tmp_path, f"one, other = {first}, lambda x, k=(1, 2): (\n    x * k[1]\n)\n")
    for name in ("one", "other"):
        extracted, function = taken(getattr(module, name), name)
        assert extracted.names == (name,)
        np.testing.assert_array_equal(function(X), getattr(module, name)(X))


@pytest.mark.parametrize(
    ("function", "arguments", "head"),
    [
        (np.heaviside, 2, "def heaviside(x, y):"),
        (np.sinh, 1, "def sinh(x):"),
        (np.interp, 3, "def interp(x, xp, fp):"),
        (np.fft.fft, 1, "def fft(a):"),
        (np.cumsum, 2, "def cumsum(a, axis):"),
        (functools.partial(np.clip, a_min=0.0, a_max=1.0), 1, "def body(a):"),
        (functools.partial(np.add, 2.0), 1, "def body(x):"),
        (len, 1, "def len_2(obj):"),
    ],
)
def test_a_function_of_a_library_is_called_with_as_many_arguments(function: Any, arguments: int, head: str) -> None:
    extracted, made = taken(function, arguments=arguments)
    assert head in extracted.text.splitlines()
    given = [X, np.array([0.0, 1.0]), np.array([2.0, 3.0])][:arguments] if arguments != 2 else [X, 0]
    np.testing.assert_array_equal(made(*given), function(*given))


def test_a_function_of_a_notebook_takes_values_of_other_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell is no file: its lines are in Python's cache of them, and its globals are those of `__main__`."""
    text = "def helper(x):\n    return x + OFFSET\n\n\ndef body(x):\n    return helper(x) * np.sum(WEIGHTS)\n"
    monkeypatch.setitem(linecache.cache, "<cell 1>", (len(text), None, text.splitlines(keepends=True), "<cell 1>"))
    scope = {"__name__": "__main__", "np": np, "OFFSET": 2.0, "WEIGHTS": np.arange(3)}
    exec(compile(text, "<cell 1>", "exec"), scope)
    extracted, function = taken(scope["body"])
    assert {"OFFSET = 2.0", "import numpy as np"} <= {*extracted.text.splitlines()}
    np.testing.assert_array_equal(function(X), scope["body"](X))


@pytest.mark.parametrize("function", [np.random.default_rng(0).normal, np.vectorize(lambda x: x), eval("lambda x: x")])
def test_what_has_no_source_is_refused(function: Any) -> None:
    with pytest.raises(CannotPort):
        Extraction().add(function)


@pytest.mark.parametrize("first", ["List", "Tuple", "Sequence"])
def test_imports_of_a_module_are_in_the_order_of_their_names(tmp_path: Path, first: str) -> None:
    """Sets of text are in another order in each process, and the text of a module has to be the same in all."""
    names = [first, *(one for one in ("Any", "Dict", "List", "Optional", "Sequence", "Tuple") if one != first)]
    body = "\n    ".join(f"assert {name}" for name in names)
    source = f"from typing import {', '.join(names)}\n\n\ndef f(x):\n    {body}\n    return x\n"
    extracted, _ = taken(loaded(tmp_path, source).f)
    imports = [line for line in extracted.text.splitlines() if line.startswith("from ")]
    assert imports == sorted(imports)
    assert len(imports) == 6


@pytest.mark.parametrize(("folder", "is_of_user"), [("site-packages", False), ("dist-packages", False), ("mine", True)])
def test_a_package_in_any_environment_is_not_the_users(folder: str, tmp_path: Path, *, is_of_user: bool) -> None:
    """Environments that lie above each other are in folders that the paths of Python do not name."""
    file = tmp_path / "archive" / folder / "library" / "__init__.py"
    file.parent.mkdir(parents=True)
    file.touch()
    assert is_file_of_user(str(file)) == is_of_user


def test_what_is_beside_numpy_is_not_the_users_whatever_the_folder_is_called(tmp_path: Path) -> None:
    """Packages may be in a folder of any name, which is on PYTHONPATH."""
    folder = tmp_path / "packages"
    folder.mkdir()
    (folder / "numpy").symlink_to(Path(np.__file__).parent)
    code = "import numpy; from pyopbench.ports.extract import definitions as d; print(d.is_module_of_user(numpy))"
    path = os.pathsep.join((str(folder), str(ROOT)))
    assert subprocess.check_output([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}) == b"False\n"


@pytest.mark.parametrize(
    ("source", "head"),
    [
        ("mine = lambda *x: total(scale=2, *x)", "def mine(x_1, x_2):"),
        ("def mine(a, *rest, scale=2):\n    return total(a, *rest, scale=scale)", "def mine(a, rest_1, *, scale=2):"),
        ("def mine(*x):\n    x_1 = 2\n    return total(*x, scale=x_1)", "def mine(x_1_, x_2):"),
        ("def mine(*x):\n    x = x[::-1]\n    return total(*x)", "def mine(*x):"),
        ("def mine(*x):\n    return x[0] if len(x) == 1 else total(x[0], mine(*x[1:]))", "def mine(*x):"),
        ("def mine(x_1, *x):\n    return total(x_1, x[0])", "def mine(x_1, x_1_):"),
    ],
)
def test_any_number_of_arguments_becomes_as_many_names_as_are_given(source: str, head: str, tmp_path: Path) -> None:
    module = loaded(tmp_path, f"def total(a, b, scale=2):\n    return a - scale * b\n\n\n{source}\n")
    extracted, function = taken(module.mine, "mine", 2)
    assert extracted.text.count(head) == 1, extracted.text
    assert function(7, 3) == module.mine(7, 3)
