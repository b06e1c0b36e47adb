"""A notebook as a program: its cells are one source, and nothing but the changed lines of its file changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pyopbench.advise.callbacks import Stage, convert
from pyopbench.advise.notebook import Cells, edited, locate, printed
from pyopbench.advise.patch import CannotPlace, MapChange, replaced
from pyopbench.find.usage import SiteUsage, Usage

FIRST = ["%matplotlib inline\n", "import tensorflow as tf\n", "\n", "x = !ls"]
SECOND = ["ü = 1  # über\n", "def f(x):\n", "    return tf.numpy_function(g, [x], tf.float32)"]
THIRD = ["ds = ds.map(f)\n", "ds"]


def notebook(*cells: list[str] | str, indent: int | None = 1, ascii_only: bool = True) -> bytes:
    said: dict[str, Any] = {"cell_type": "markdown", "metadata": {}, "source": ["# A program\n", "`x`"]}
    about: dict[str, Any] = {"cell_type": "code", "execution_count": 3, "metadata": {"tags": []}, "outputs": []}
    found = [said, *(about | {"source": source} for source in cells)]
    document = {"cells": found, "metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4, "nbformat_minor": 5}
    return (json.dumps(document, indent=indent, ensure_ascii=ascii_only) + "\n").encode()


def replacing(old: str, new: str) -> Callable[[bytes], bytes]:
    def edit(code: bytes) -> bytes:
        assert code.decode().count(old) == 1
        return code.decode().replace(old, new).encode()

    return edit


@pytest.mark.parametrize("indent", [1, None])
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("as_text", [False, True])
def test_only_the_lines_that_change_change(indent: int | None, ascii_only: bool, as_text: bool) -> None:
    cells = [FIRST, SECOND, THIRD]
    given = ["".join(one) for one in cells] if as_text else cells
    content = notebook(*given, indent=indent, ascii_only=ascii_only)
    after = edited(content, replacing("tf.numpy_function(g, [x], tf.float32)", "g_port.g(x)"))
    changed = [*SECOND[:2], "    return g_port.g(x)"]
    expected = [FIRST, changed, THIRD]
    assert after == notebook(
        *(["".join(one) for one in expected] if as_text else expected), indent=indent, ascii_only=ascii_only
    )


def test_new_lines_are_written_like_those_around_them() -> None:
    edit = replacing("import tensorflow as tf\n", "import tensorflow as tf\nimport p\n")
    after = edited(notebook(FIRST, SECOND), edit)
    assert after == notebook([*FIRST[:2], "import p\n", *FIRST[2:]], SECOND)
    after = edited(notebook(["import p"]), lambda code: code.replace(b"import p\n", b"import p\nimport q\n"))
    assert after == notebook(["import p\n", "import q"])


def test_a_notebook_without_changes_keeps_its_bytes_and_a_change_of_a_magic_is_refused() -> None:
    content = notebook(FIRST, SECOND)
    assert edited(content, lambda code: code) == content
    with pytest.raises(CannotPlace):
        edited(content, replacing("x = None", "x = 3"))


def test_a_call_in_another_cell_is_replaced_with_the_names_of_all_cells() -> None:
    content = notebook(FIRST, SECOND, THIRD)
    cells = Cells.of(content)
    start = cells.start_of("".join(THIRD))
    assert start is not None
    stage = Stage("train.ipynb", start + 1, 1, "f", 0)
    after = edited(content, lambda code: replaced(code, [], [MapChange(stage, -1)]))
    assert after == notebook(FIRST, SECOND, ["ds = ds.map(f, num_parallel_calls=tf.data.AUTOTUNE)\n", "ds"])


def test_a_cell_is_found_by_what_ipython_makes_of_it() -> None:
    cells = Cells.of(notebook(FIRST, SECOND, ["1 +"], THIRD))
    ipython = ("run_line_magic('matplotlib', 'inline')", "getoutput('ls')")
    made = f"get_ipython().{ipython[0]}\nimport tensorflow as tf\n\nx = get_ipython().{ipython[1]}\n"
    starts = [cells.start_of(text) for text in (made, "".join(SECOND), f"{''.join(THIRD)}\n", "other = 1\n")]
    assert starts == [1, 6, 10, None]
    assert [cells.place(line) for line in (2, 7, 9, 11)] == ["cell 1:1", "cell 2:1", "cell 2:3", "cell 4:1"]


def test_what_the_kernel_names_is_located_in_the_notebook() -> None:
    cells = Cells.of(notebook(FIRST, SECOND, THIRD))
    kernel = ["/tmp/ipykernel_1/2.py", "/tmp/ipykernel_1/3.py"]
    key = [kernel[0], 3, "f", "numpy_function", "graph"]
    usage = Usage(1.0, 1, [SiteUsage(*key, "g"), SiteUsage("/lib/other.py", 3, "f", "numpy_function", "graph", "g")])  # type: ignore[arg-type]
    stage = {"file": kernel[1], "cell": "".join(THIRD), "line": 1, "parallel": 1, "function": "f", "function_line": 0}
    kept = convert(
        {"key": key, "examples": [], "source": {}, "changed_values": [], "bodies": 1, "refused": ""}
        | {"call": {"cell": "".join(SECOND), "stage": stage}},
        "",
    )
    locate(cells, "train.ipynb", usage, [kept])
    assert [(site.file, site.line) for site in usage.sites] == [("train.ipynb", 9), ("/lib/other.py", 3)]
    assert kept.key[:2] == ["train.ipynb", 9]
    assert kept.call.stage is not None
    assert (kept.call.stage.file, kept.call.stage.line) == ("train.ipynb", 11)


def test_what_cells_print_and_their_values_are_its_output() -> None:
    document = json.loads(notebook("a", "b"))
    document["cells"][1]["outputs"] = [
        {"output_type": "stream", "name": "stdout", "text": ["one\n", "two"]},
        {"output_type": "stream", "name": "stderr", "text": ["a warning\n"]},
        {"output_type": "display_data", "data": {"text/plain": ["a figure"]}},
    ]
    document["cells"][2]["outputs"] = [{"output_type": "execute_result", "data": {"text/plain": ["0.5"]}}]
    assert printed(json.dumps(document).encode()) == ["one", "two", "0.5", ""]
