"""Notebooks: cells are one program, magics are no Python, and every callback is at its line of the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pyopbench.find.notebook import read_notebook
from pyopbench.find.scan import scan

CALL = "y = tf.py_function(f, [1], tf.int32)\n"


def notebook(*cells: str, **changes: Any) -> str:
    """Return a notebook as Jupyter writes it: indented, a string for each line of a cell."""
    shown = [{"cell_type": "markdown", "metadata": {}, "source": ["tf.py_function is *no* call here"]}]
    shown += [{"cell_type": "code", "metadata": {}, "source": cell.splitlines(keepends=True)} for cell in cells]
    content = {"cells": shown, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4} | changes
    return json.dumps(content, indent=1)


def sites_of(tmp_path: Path, content: str) -> list[tuple[int, int | None, int | None]]:
    (tmp_path / "a.ipynb").write_text(content)
    return [(site.line, site.cell, site.cell_line) for site in scan([tmp_path]).sites]


def test_a_callback_is_at_its_line_of_the_file_and_of_its_cell(tmp_path: Path) -> None:
    content = notebook("import tensorflow as tf\n", "# a comment\n\n" + CALL)
    ((line, cell, cell_line),) = sites_of(tmp_path, content)
    assert "tf.py_function(f" in content.splitlines()[line - 1]
    assert (cell, cell_line) == (2, 3)


def test_a_cell_that_is_one_string_with_escapes_is_read_too(tmp_path: Path) -> None:
    content = notebook("x = '\u00e4\t\"'\n")
    cell = {"cell_type": "code", "source": "import tensorflow as tf\nif 2 > 1:\n  " + CALL}
    document = json.loads(content)
    document["cells"].append(cell)
    ((line, number, cell_line),) = sites_of(tmp_path, json.dumps(document).replace(">", "\\u003e"))
    assert (line, number, cell_line) == (1, 2, 3)


@pytest.mark.parametrize(
    ("cell", "is_found"),
    [
        ("%matplotlib inline\n!pip install tensorflow\ntf.data?\n" + CALL, True),
        ("files = !ls\nfor x in y:\n    %time z = 1\n    " + CALL, True),
        ("!pip install \\\n  -q tensorflow\n" + CALL, True),
        ("!echo \\\n  it's\n" + CALL, True),
        ("  " + CALL, True),
        ("%%time\n" + CALL, True),
        ("%%writefile train.py\nimport tensorflow as tf\n" + CALL, True),
        ("%%writefile notes.txt\n" + CALL, False),
        ("%%bash\n" + CALL, False),
        ("x = '''\n%matplotlib inline\n'''\n" + CALL, True),
        ("%matplotlib inline\nprint('loss %f'\n      % 3.0)\n" + CALL, True),
    ],
)
def test_what_ipython_reads_otherwise_is_no_obstacle(tmp_path: Path, cell: str, is_found: bool) -> None:
    found = sites_of(tmp_path, notebook("import tensorflow as tf\n", cell))
    assert [place[1] for place in found] == ([2] if is_found else [])


def test_a_broken_cell_is_listed_and_the_others_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text(notebook("import tensorflow as tf\n", "def f(:\n", CALL))
    found = scan([tmp_path])
    assert [site.cell for site in found.sites] == [3]
    assert [Path(one.file).name for one in found.broken] == ["a.ipynb"]


def test_a_notebook_of_another_language_is_no_python() -> None:
    content = notebook("library(tensorflow)\n", metadata={"kernelspec": {"language": "R"}})
    assert read_notebook(content.encode()).code == b""


@pytest.mark.parametrize("content", ["", "print(1)", "[]", "{}", '{"cells": 3}'])
def test_what_is_no_notebook_is_listed_as_not_scanned(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.ipynb").write_text(content)
    found = scan([tmp_path])
    assert [Path(one.file).name for one in found.broken] == ["a.ipynb"]
