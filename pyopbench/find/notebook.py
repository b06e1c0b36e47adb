"""A Jupyter notebook as one Python source, and where each of its lines is in the file.

Notebooks of format 4 and 3 (https://nbformat.readthedocs.io/en/latest/format_description.html) are read if their
language is Python. The code cells are joined, because they share their names. IPython syntax that is not Python is
blanked out: magics (`%matplotlib inline`, `x = %timeit f()`), shell commands (`!pip install`), questions (`tf.data?`).
A cell that is not Python even then, or that a cell magic passes to another program (`%%bash`), is left out as a whole.
"""

from __future__ import annotations

import ast
import bisect
import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from json import decoder, scanner
from typing import Any

SUFFIX = ".ipynb"
PYTHON = {"python", "python2", "python3", "ipython", "ipython3", ""}
"""Names of the language in `metadata`; a notebook without one is assumed to be in Python."""

PYTHON_MAGICS = {"capture", "debug", "prun", "py", "pypy", "python", "python3", "time", "timeit", "writefile", "file"}
"""Cell magics whose cell is Python; for `writefile`, only if it writes a `.py` (IPython/core/magics)."""

CELL_MAGIC = re.compile(r"\s*%%(\w+)(.*)")
LINE = re.compile(
    r"""(?P<indent>\s*)
        (?: (?P<target>[\w.,\[\] \t]+=)\s*[%!]\S     # x = !ls
        |   [%!?]                                    # %load_ext, !pip, ?help
        |   [^\#'"()]*[\w\])]\?{1,2}\s*$             # tf.data?
        )""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Place:
    """Where a line of the source is.

    Attributes:
        line: of the notebook's file, from 1.
        cell: number of the code cell, from 1.
        cell_line: of the cell, from 1.
    """

    line: int
    cell: int
    cell_line: int


@dataclass
class Notebook:
    """The Python code of a notebook.

    Attributes:
        code: the source, with one line for each line of the code cells.
        places: the place of each line.
        broken: reasons why cells are left out, each with the number of the cell.
    """

    code: bytes = b""
    places: list[Place] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def place(self, line: int) -> Place:
        """Return where a line of `code`, from 1, is."""
        return self.places[line - 1]


def read_notebook(content: bytes) -> Notebook:
    """Return the Python code of a notebook.

    Raises:
        ValueError: it is not a notebook.
    """
    found = Notebook()
    lines: list[str] = []
    for number, rows in enumerate(_read_cells(content), start=1):
        python = _python_of([row for row, _ in rows])
        if isinstance(python, str):
            found.broken.append(f"cell {number}: {python}")
            continue
        lines += python
        found.places += [Place(line, number, place) for place, (_, line) in enumerate(rows, start=1)]
    found.code = "".join(f"{line}\n" for line in lines).encode()
    return found


def _read_cells(content: bytes) -> list[list[tuple[str, int]]]:
    """Return the lines of each code cell, each with its line in the file; nothing if the language is not Python.

    Raises:
        ValueError: it is not a notebook.
    """
    text = content.decode()
    try:
        document = _parse(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not a notebook: no JSON: {error}") from error
    if not isinstance(document, dict):
        raise ValueError("not a notebook: its JSON is no object")
    if not any(isinstance(document.get(name), list) for name in ("cells", "worksheets")):
        raise ValueError("not a notebook: it has no list of cells")
    if _language(document) not in PYTHON:
        return []
    starts = _line_starts(text)
    return [list(_rows(cell.get("source", cell.get("input", "")), starts)) for cell in _code_cells(document)]


class Text(str):
    """A string of a JSON document, with the position after its first quotation mark."""

    offset = 0


def _parse(text: str) -> Any:
    reader: Any = json.JSONDecoder()
    scan_string: Any = decoder.scanstring  # type: ignore[attr-defined]

    def parse_string(whole: str, begin: int, strict: bool = True) -> tuple[str, int]:  # noqa: FBT001, FBT002 - as json
        value, end = scan_string(whole, begin, strict)
        found = Text(value)
        found.offset = begin
        return found, end

    reader.parse_string = parse_string
    reader.scan_once = scanner.py_make_scanner(reader)  # type: ignore[attr-defined]  # the one in C does not call `parse_string`
    return reader.decode(text)


def _language(document: dict[str, Any]) -> str:
    about = document.get("metadata")
    about = about if isinstance(about, dict) else {}
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        found = about.get(key)
        if isinstance(found, dict) and isinstance(found.get(name), str):
            return str(found[name]).lower()
    return ""


def _code_cells(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    sheets = document.get("worksheets", [])
    held = [document, *(sheets if isinstance(sheets, list) else [])]
    for sheet in held:
        cells = sheet.get("cells", []) if isinstance(sheet, dict) else []
        for cell in cells if isinstance(cells, list) else []:
            if isinstance(cell, dict) and cell.get("cell_type") == "code":
                yield cell


def _rows(source: Any, starts: list[int]) -> Iterator[tuple[str, int]]:
    """Yield each line of a cell with its line in the file; one string may contain several lines."""
    for part in source if isinstance(source, list) else [source]:
        if isinstance(part, Text):
            line = bisect.bisect_right(starts, part.offset)
            # As Python counts lines: a form feed or a line separator within a string begins none.
            for row in part.removesuffix("\n").replace("\r\n", "\n").replace("\r", "\n").split("\n"):
                yield row, line


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\n", text))]


def _python_of(rows: list[str]) -> list[str] | str:
    """Return a cell as Python with as many lines, or why it is not Python. A cell for another program becomes blank."""
    first = next((place for place, row in enumerate(rows) if row.strip()), 0)
    magic = CELL_MAGIC.match(rows[first]) if rows else None
    if magic:
        is_python = magic[1] in PYTHON_MAGICS and not (magic[1] in {"writefile", "file"} and ".py" not in magic[2])
        if not is_python:
            return [""] * len(rows)
        rows = [*rows[:first], "", *rows[first + 1 :]]
    indent = rows[first][: len(rows[first]) - len(rows[first].lstrip())] if rows else ""
    rows = [row.removeprefix(indent) for row in rows]  # as IPython does for code that was pasted
    if _problem(rows) is None:
        return rows
    bare = list(_without_magics(rows))
    return _problem(bare) or bare


def _problem(rows: list[str]) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse("\n".join(rows))
    except SyntaxError as error:
        return f"{error.msg}, line {error.lineno}"
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error) or "nested too deeply"
    return None


TIMED = re.compile(r"(?P<indent>\s*)%time(?:it)?\s+(?:-[nr]\s*\d+\s+|-[a-z]\s+)*(?P<statement>\S.*)")


def _without_magics(rows: list[str]) -> Iterator[str]:
    """Yield the lines without IPython syntax; a magic that a backslash continues is removed as a whole."""
    continued = False
    for row in rows:
        timed = None if continued else TIMED.match(row)
        found = LINE.match(row)
        if timed and _problem([timed["statement"]]) is None:
            yield timed["indent"] + timed["statement"]
        elif continued or found:
            continued = row.rstrip().endswith("\\")
            indent = found["indent"] if found else ""
            yield f"{indent}{found['target']} None" if found and found["target"] else f"{indent}pass" if found else ""
        else:
            yield row
