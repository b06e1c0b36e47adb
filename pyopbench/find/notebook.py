"""A Jupyter notebook as one Python source, and where each of its lines is in the file.

Notebooks of format 4 (https://nbformat.readthedocs.io/en/latest/format_description.html) are read if their language is
Python. The code cells are joined, because they share their names. IPython syntax that is not Python is blanked out:
magics (`%matplotlib inline`, `x = %timeit f()`), shell commands (`!pip install`), questions (`tf.data?`). A cell that
is not Python even then, or that a cell magic passes to another program (`%%bash`), is left out as a whole.
"""

from __future__ import annotations

import ast
import bisect
import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

SUFFIX = ".ipynb"
PYTHON_MAGICS = {"capture", "debug", "prun", "py", "pypy", "python", "python3", "time", "timeit"}
"""Cell magics whose cell is Python (IPython/core/magics), as is one that writes a `.py` file."""

CELL_MAGIC = re.compile(r"\s*%%(\w+)(.*)")
LINE = re.compile(
    r"""(?P<indent>\s*)
        (?: (?P<target>[\w.,\[\] \t]+=)\s*[%!]\S     # x = !ls
        |   [%!?]                                    # %load_ext, !pip, ?help
        |   [^\#'"()]*[\w\])]\?{1,2}\s*$             # tf.data?
        )""",
    re.VERBOSE,
)
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
"""A string of a JSON document."""


@dataclass
class Notebook:
    """The Python code of a notebook.

    Attributes:
        code: the source, with one line for each line of the code cells.
        places: for each of these its line in the notebook's file, the number of its code cell, and its line in the
            cell, all from 1.
        broken: reasons why cells are left out, each with the number of the cell.
    """

    code: bytes = b""
    places: list[tuple[int, int, int]] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)


def read_notebook(content: bytes) -> Notebook:
    """Return the Python code of a notebook.

    Raises:
        ValueError: it is not a notebook.
    """
    found = Notebook()
    lines: list[str] = []
    for number, rows in enumerate(_read_cells(content), start=1):
        python = _as_python([row for _, row in rows])
        problem, _ = _problem(python)
        if problem:
            found.broken.append(f"cell {number}: {problem}")
            continue
        lines += python
        found.places += [(line, number, place) for place, (line, _) in enumerate(rows, start=1)]
    found.code = "".join(f"{line}\n" for line in lines).encode()
    return found


def _read_cells(content: bytes) -> list[list[tuple[int, str]]]:
    """Return the lines of each code cell, each with its line in the file; nothing if the language is not Python."""
    text = content.decode()
    line_ends = [match.start() for match in re.finditer("\n", text)]

    def mark(match: re.Match[str]) -> str:
        """Return a string that begins with the line that it is in, which JSON does not tell."""
        return f'"{bisect.bisect(line_ends, match.start()) + 1}:{match[1]}"'

    def as_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return {_text(key): value for key, value in pairs}

    try:
        document = json.loads(STRING.sub(mark, text), object_pairs_hook=as_dict)
        about = document.get("metadata", {})
        names = [about.get(key, {}).get(name) for key, name in (("language_info", "name"), ("kernelspec", "language"))]
        language = _text(next(filter(None, names), ":python")).lower()
        cells = [cell["source"] for cell in document["cells"] if _text(cell["cell_type"]) == "code"]
        return [[*_rows(cell)] for cell in cells] if re.fullmatch(r"i?python\d?", language) else []
    except json.JSONDecodeError as error:
        raise ValueError(f"not a notebook: {error}") from error
    except (AttributeError, KeyError, TypeError, IndexError) as error:
        raise ValueError("not a notebook: it has no cells as in format 4") from error


def _text(marked: str) -> str:
    return marked.partition(":")[2]


def _rows(source: Any) -> Iterator[tuple[int, str]]:
    """Yield the lines of a cell, each with its line in the file; one string may contain several lines."""
    for part in source if isinstance(source, list) else [source]:
        line, _, text = part.partition(":")
        # As Python counts lines: a form feed or a line separator within a string begins none.
        for row in text.removesuffix("\n").replace("\r\n", "\n").replace("\r", "\n").split("\n"):
            yield int(line), row


def _as_python(rows: list[str]) -> list[str]:
    """Return as many lines without IPython syntax; those of a cell for another program are blank."""
    first = next((place for place, row in enumerate(rows) if row.strip()), 0)
    magic = CELL_MAGIC.match(rows[first]) if rows else None
    if magic:
        if magic[1] not in PYTHON_MAGICS and not (magic[1] in {"writefile", "file"} and ".py" in magic[2]):
            return [""] * len(rows)
        rows = [*rows[:first], "", *rows[first + 1 :]]
    indent = rows[first][: len(rows[first]) - len(rows[first].lstrip())] if rows else ""
    rows = [row.removeprefix(indent) for row in rows]  # as IPython does for code that was pasted
    # Only where Python cannot go on: a line of an expression may begin as a magic does.
    while (at := _problem(rows)[1] - 1) in range(len(rows)):
        while at and rows[at - 1].rstrip().endswith("\\"):  # what it continues
            at -= 1
        if (found := LINE.match(rows[at])) is None:
            break
        end = next((n for n in range(at + 1, len(rows)) if not rows[n - 1].rstrip().endswith("\\")), len(rows))
        rows[at:end] = [f"{found['indent']}{found['target'] or '_ ='} None", *[""] * (end - at - 1)]
    return rows


def _problem(rows: list[str]) -> tuple[str, int]:
    """Return why some lines are not Python, and the line that shows it, from 1; 0 if none does."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse("\n".join(rows))
    except SyntaxError as error:
        return f"{error.msg}, line {error.lineno}", error.lineno or 0
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error) or "nested too deeply", 0
    return "", 0
