"""Walks files and folders for callbacks. A file that cannot be read or parsed is listed with the reason."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyopbench.find import notebook
from pyopbench.find.call_sites import CallSite
from pyopbench.find.notebook import Notebook, read_notebook
from pyopbench.find.program import Program
from pyopbench.model.errors import BadInput
from pyopbench.model.files import real_path

SOURCES = {".py", ".pyi", ".pyw", notebook.SUFFIX}
ADVICE_FILE = "advice.json"
"""Marks a folder with results of `pyopbench advise`, which is neither scanned nor copied."""
TOO_DEEP = "nested too deeply"
NOT_SOURCES = ("pyvenv.cfg", ADVICE_FILE)
"""Files that mark a folder that is not read: a virtual environment (PEP 405), or results."""


@dataclass(frozen=True)
class Broken:
    """A file or folder that could not be scanned, and why."""

    file: str
    reason: str


@dataclass
class Scan:
    """Callbacks by file and line, what could not be scanned, and which folders were skipped; how much was read."""

    sites: list[CallSite] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    files: int = 0
    lines: int = 0


def scan(paths: Sequence[Path]) -> Scan:
    """Return the callbacks in files and in everything below folders, each file once.

    Args:
        paths: a file is scanned whatever its name; a folder's files by their suffix, except what is below a hidden
            folder, a virtual environment, or results of `advise`.
    """
    for path in paths:
        if not os.path.lexists(path):
            raise BadInput(
                "no such file or folder",
                received=path,
                hint="give Python files, notebooks or folders that exist",
            )
    found, program, seen = Scan(), Program(), set[Path]()
    for path in paths:
        for file in _files(path, found) if path.is_dir() else (path,):
            if real_path(file) not in seen:
                seen.add(real_path(file))
                _scan_file(file, found, program)
    found.sites = program.find_sites(lambda name: found.broken.append(Broken(name, TOO_DEEP)))
    return found


def _files(top: Path, found: Scan) -> Iterator[Path]:
    """Yield the sources in a folder and those below, in alphabetical order; links to folders are not followed."""

    def list_as_broken(error: OSError) -> None:
        found.broken.append(Broken(str(error.filename), _words(error)))

    for folder, folders, names in os.walk(top, onerror=list_as_broken):
        inner = sorted(set(folders) - {"__pycache__"})
        skipped = [
            name
            for name in inner
            if name.startswith(".") or any(os.path.exists(Path(folder, name, one)) for one in NOT_SOURCES)
        ]
        found.skipped += [str(Path(folder, name)) for name in skipped]
        folders[:] = [name for name in inner if name not in skipped]
        yield from (Path(folder, name) for name in sorted(names) if Path(name).suffix in SOURCES)


def _scan_file(path: Path, found: Scan, program: Program) -> None:
    name = str(path)
    try:
        if path.is_file():
            _read(path, name, found, program)
        else:  # a pipe would be waited for
            found.broken.append(Broken(name, "not a file"))
    except OSError as error:
        found.broken.append(Broken(name, _words(error)))
    except BadInput as error:
        found.broken.append(Broken(name, error.message))
    except SyntaxError as error:
        where = f", line {error.lineno}" if error.lineno else ""
        version = ".".join(map(str, sys.version_info[:2]))  # a newer one may have syntax that this one lacks
        found.broken.append(Broken(name, f"not valid in Python {version}, which runs this scan: {error.msg}{where}"))
    except (ValueError, RecursionError, MemoryError) as error:  # NUL bytes; nested deeper than Python's parser goes
        found.broken.append(Broken(name, str(error) or TOO_DEEP))


def _read(path: Path, name: str, found: Scan, program: Program) -> None:
    content, cells = read_source(path)
    found.files += 1
    found.lines += content.count(b"\n")
    found.broken += [Broken(name, reason) for reason in (cells.broken if cells else ())]
    program.add(name, real_path(path).with_suffix("").parts, content, lambda: read_source(path)[0], cells)


def read_source(path: Path) -> tuple[bytes, Notebook | None]:
    """Return the Python code of a file, and for a notebook also the places of its lines.

    Raises:
        OSError, BadInput, ValueError: it cannot be read.
    """
    content = real_path(path).read_bytes()  # links between sources are followed
    if path.suffix != notebook.SUFFIX:
        return content, None
    cells = read_notebook(content)
    return cells.code, cells


def _words(error: OSError) -> str:
    return error.strerror or str(error)
