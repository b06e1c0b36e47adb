"""A notebook as a program: its callbacks, the text of its file with calls replaced, and what it printed.

The cells are handled as one source, because they share their names. A line with a mark precedes each of them, so that
the source can be divided into cells again after calls in it were replaced.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import structs

from pyopbench.advise.callbacks import KeptSite
from pyopbench.advise.patch import CannotPlace
from pyopbench.find.notebook import SUFFIX, Cell, Text, read_cells
from pyopbench.find.usage import Usage

MARK = "#pyopbench-cell-{number}"
MARKED = re.compile(r"^#pyopbench-cell-(\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Cells:
    """The code cells of a notebook as one source.

    Attributes:
        cells: those that are Python.
        code: their source, with marks, and without IPython syntax.
        starts: the line of `code` before the first line of each cell.
    """

    cells: tuple[Cell, ...]
    code: str
    starts: tuple[int, ...]

    @classmethod
    def of(cls, content: bytes) -> Cells:
        """Return the cells of a notebook.

        Raises:
            ValueError: it is not a notebook.
        """
        cells = tuple(cell for cell in read_cells(content) if not isinstance(cell.python, str))
        lines: list[str] = []
        starts = []
        for cell in cells:
            lines.append(MARK.format(number=cell.number))
            starts.append(len(lines))
            lines += cell.python
        return cls(cells, "".join(f"{line}\n" for line in lines), tuple(starts))

    def start_of(self, text: str) -> int | None:
        """Return the line of `code` before the cell whose text IPython ran; None if there is no such cell."""
        given = text.rstrip().splitlines()
        for cell, start in zip(self.cells, self.starts, strict=True):
            rows = [row for row, _ in cell.rows]
            while rows and not rows[-1].strip():
                rows.pop()
            if len(rows) == len(given) and all(map(_are_same, rows, cell.python, given)):
                return start
        return None

    def place(self, line: int) -> str:
        """Return the cell and its line for a line of `code`, such as `cell 3:2`."""
        place = max(place for place, start in enumerate(self.starts) if start < line)
        return f"cell {self.cells[place].number}:{line - self.starts[place]}"


def _are_same(row: str, python: str, given: str) -> bool:
    """Is a line of a cell the line that IPython was given, or IPython's own syntax?"""
    return row.rstrip() == given.rstrip() or python.rstrip() == given.rstrip() or row != python


def locate(cells: Cells, path: str, usage: Usage, kept: Sequence[KeptSite]) -> None:
    """Replace the files and lines of cells, as the kernel names them, by those of the notebook, in place.

    Args:
        cells: of the notebook.
        path: of the notebook.
        usage: what was counted.
        kept: the kept inputs and sources; they may be from another recording than `usage`.
    """
    # Each kernel has its own folder, but names a cell by a hash of its text: only the file name is always the same.
    starts = {Path(one.key[0]).name: cells.start_of(one.call.cell) for one in kept if one.call.cell}
    for site in usage.sites:
        start = starts.get(Path(site.file).name)
        if start is not None:
            site.file, site.line = path, start + site.line
    for one in kept:
        start = starts.get(Path(one.key[0]).name)
        if start is not None:
            one.key[:2] = [path, start + one.key[1]]
        stage = one.call.stage
        start = cells.start_of(stage.cell) if stage is not None and stage.cell else None
        if stage is not None and start is not None:
            moved = {"line": start + stage.line, "function_line": start + stage.function_line}
            one.call.stage = structs.replace(stage, file=path, **moved)


def edited(content: bytes, edit: Callable[[bytes], bytes]) -> bytes:
    """Return a notebook whose source was changed; everything else in its file stays as it is.

    Args:
        content: of the notebook.
        edit: from the source of all cells to the changed one.

    Raises:
        CannotPlace: a change affects a line that is not plain Python, or `edit` raises it.
    """
    cells = Cells.of(content)
    after = edit(cells.code.encode()).decode()
    head, *pieces = MARKED.split(after)
    found = {int(number): piece.removeprefix("\n") for number, piece in zip(pieces[::2], pieces[1::2], strict=True)}
    text, spans = content.decode(), []
    for place, cell in enumerate(cells.cells):
        python = (head if place == 0 else "") + found[cell.number]
        rows = _rows_after(cell, python.removesuffix("\n").split("\n"))
        if rows != [row for row, _ in cell.rows]:
            spans.append(_source_after(text, cell, rows))
    for begin, end, new in sorted(spans, reverse=True):
        text = text[:begin] + new + text[end:]
    return text.encode()


def _rows_after(cell: Cell, after: list[str]) -> list[str]:
    """Return the lines of a cell for those of its Python source after a change."""
    rows, python = [row for row, _ in cell.rows], list(cell.python)
    if not rows:
        return [] if after == [""] else after
    found: list[str] = []
    for what, begin, end, new_begin, new_end in difflib.SequenceMatcher(None, python, after, False).get_opcodes():
        if what == "equal":
            found += rows[begin:end]
        elif rows[begin:end] != python[begin:end]:
            raise CannotPlace(f"cell {cell.number} has a line there that is not plain Python")
        else:
            found += after[new_begin:new_end]
    return found


def _source_after(text: str, cell: Cell, rows: Sequence[str]) -> tuple[int, int, str]:
    """Return the part of the file that is the source of a cell, and what replaces it."""
    lines = [f"{row}\n" for row in rows[:-1]] + [*rows[-1:]]
    is_ascii = text.isascii()
    if isinstance(cell.source, Text):
        last = "\n" if cell.source.endswith("\n") else ""
        return cell.source.offset - 1, cell.source.end, json.dumps("".join(lines) + last, ensure_ascii=is_ascii)
    parts = [part for part in cell.source if isinstance(part, Text)]
    if not parts:
        raise CannotPlace(f"cell {cell.number} is empty")
    literals = {str(part): text[part.offset - 1 : part.end] for part in parts}
    first = parts[0].offset - 1
    before = text[:first]
    between = text[parts[0].end : parts[1].offset - 1] if len(parts) > 1 else f",{before[len(before.rstrip()) :]}"
    new = (literals.get(line) or json.dumps(line, ensure_ascii=is_ascii) for line in lines)
    return first, parts[-1].end, between.join(new)


def printed(content: bytes) -> list[str]:
    """Return the lines that the cells of a notebook printed, or that are the values of their last lines."""
    return "".join(_outputs(json.loads(content))).split("\n")


def _outputs(document: Any) -> Iterator[str]:
    for cell in document["cells"]:
        for output in cell.get("outputs", ()):
            is_text = output.get("name") == "stdout" or output["output_type"] == "execute_result"
            found = output.get("text", output.get("data", {}).get("text/plain", "")) if is_text else ""
            joined = "".join(found)
            yield joined if not joined or joined.endswith("\n") else f"{joined}\n"


def is_notebook(file: str) -> bool:
    """Is a file a notebook, by its name?"""
    return file.endswith(SUFFIX)
