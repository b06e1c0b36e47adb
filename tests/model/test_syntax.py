"""What a statement reads and binds, which statement binds a name, and all that something needs, in order."""

from __future__ import annotations

import ast

import pytest

from pyopbench.model.syntax import bindings, globals_read, import_of, names_bound


def statement_of(source: str) -> ast.stmt:
    (statement,) = ast.parse(source).body
    return statement


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(x):\n    y = x\n    return y + SCALE", {"SCALE"}),
        ("def f(x, n=SIZE):\n    return [one + n for one in x]", {"SIZE"}),
        ("def f(x):\n    def g(y):\n        return x + y + OFFSET\n    return g", {"OFFSET"}),
        ("def f(n):\n    return f(n - 1)", set()),
        ("@wrap\ndef f(x): return x", {"wrap"}),
        ("class A(Base):\n    one = 1\n    two = one + OTHER", {"Base", "OTHER"}),
        ("class A:\n    def method(self):\n        return self.one + LAST", {"LAST"}),
        ("A, (B, *C) = f(D)", {"f", "D"}),
        ("X += Y", {"Y"}),
        ("import numpy as np", set()),
    ],
)
def test_a_statement_reads_what_it_does_not_bind(source: str, expected: set[str]) -> None:
    assert globals_read(statement_of(source)) - {"__name__"} == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(x): y = 1", ["f"]),
        ("class A:\n    x = 1", ["A"]),
        ("import a.b, c as d", ["a", "d"]),
        ("A, (B, *C) = 1, (2, 3)", ["A", "B", "C"]),
        ("A = [one for one in B]", ["A"]),
        ("for i in x:\n    y = i", ["i", "y"]),
        ("with open(p) as file:\n    text = file.read()", ["file", "text"]),
        ("if a:\n    x = 1\nelse:\n    x = 2", ["x", "x"]),
        ("if (n := f()):\n    def g(): z = 1", ["n", "g"]),
        ("a.b = c[0] = 1", []),
    ],
)
def test_a_statement_binds_names_where_it_stands_and_as_often_as_it_does(source: str, expected: list[str]) -> None:
    assert sorted(names_bound(statement_of(source))) == sorted(expected)


def test_a_name_of_a_file_is_bound_by_the_last_statement_that_does() -> None:
    tree = ast.parse(
        "import numpy as np\n"
        "x = 1\n"
        "try:\n    import one\nexcept ImportError:\n    one = None\n"
        "try:\n    import two\nexcept ImportError:\n    pass\n"
        "x = 2\n"
        "if x:\n    y = 3\n"
    )
    found = {name: ast.unparse(node).partition("\n")[0] for name, node in bindings(tree.body).items()}
    assert found == {"np": "import numpy as np", "x": "x = 2", "one": "try:", "two": "import two", "y": "if x:"}


@pytest.mark.parametrize(
    ("source", "name", "expected"),
    [
        ("import os.path, sys", "os", "import os.path"),
        ("import os, numpy as np", "np", "import numpy as np"),
        ("from a.b import c, d as e", "e", "from a.b import d as e"),
    ],
)
def test_an_import_of_one_name_leaves_the_others_out(source: str, name: str, expected: str) -> None:
    statement = statement_of(source)
    assert isinstance(statement, ast.Import | ast.ImportFrom)
    assert import_of(statement, name) == expected
