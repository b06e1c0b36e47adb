"""TensorFlow's headers precompiled, for as long as many sources are being compiled that all begin with them.

Of the 15 s that a kernel takes g++, 10 s go into these headers; precompiling them takes about two kernels' time, and
the code comes out the same. What g++ writes is 430 MB, so it goes when the sources are done. It is made for g++ alone:
another compiler compiles as ever, and so does g++ where it cannot make or read the header.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeAlias

from pyopbench.model.cores import usable_cores
from pyopbench.model.discover import KERNELS
from pyopbench.ops.kernels.compiler import (
    COMPILE_SECONDS,
    CannotCompile,
    cache_folder,
    call,
    compiler,
    flags,
    is_compiled,
    library_of,
)

HEADER = KERNELS / "tensorflow.h"

HEADER_SECONDS = COMPILE_SECONDS / 2
"""How long precompiling may take: what is left is for the first source, within what a worker may be silent."""

LEAST_PER_CORE = 3
"""Sources for each core from which on a header is made: all cores but one wait for it, two kernels' time."""

Make: TypeAlias = Callable[..., Path]
"""Returns the library of a source and the names of macros to define."""

DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)[ \t]*(.*)$", re.MULTILINE)


def begins_with_tensorflow(source: Path) -> bool:
    """Whether a source can have TensorFlow's headers before anything else, without a change of what it means.

    It can if it includes one of `kernels/` or of TensorFlow's framework before it defines or asks for any macro, on
    which TensorFlow's headers might depend (`EIGEN_USE_THREADS`).
    """
    for directive, rest in DIRECTIVE.findall(source.read_text(encoding="utf-8", errors="replace")):
        if directive != "include":
            return False
        if rest.startswith('"'):
            name = rest[1:].partition('"')[0]
            ours = (KERNELS / name).is_file() and (source.parent == KERNELS or not (source.parent / name).exists())
            return ours or name.startswith("tensorflow/core/framework/")
    return False


@contextmanager
def with_precompiled_header(sources: Iterable[Path]) -> Iterator[Make]:
    """Yield what returns the library of a source, as `library_of` does, with a header where that pays.

    Args:
        sources: what is going to be compiled; what has a library already does not count.
    """
    if not _pays(sources):
        yield library_of
        return
    begun = time.monotonic()
    try:
        # Beside the libraries, where there is room for what is large and nobody else can write.
        folder = tempfile.TemporaryDirectory(dir=cache_folder(), prefix="header-", suffix=".part")
    except (CannotCompile, OSError):  # each source says why
        yield library_of
        return
    with folder as name:
        header = _made(Path(name))
        yield partial(_library_of, header, COMPILE_SECONDS - (time.monotonic() - begun))


def _library_of(header: Path | None, seconds: float, source: Path, defines: tuple[str, ...] = ()) -> Path:
    try:
        used = header if begins_with_tensorflow(source) else None
    except OSError:  # `library_of` says why
        used = None
    return library_of(source, defines, header=used, seconds=seconds)


def _pays(sources: Iterable[Path]) -> bool:
    try:
        (program, *_), version = compiler()
        # g++ begins its version with the name that it is called by; clang++ and what only wraps a compiler do not.
        if version.partition(" ")[0] != Path(program).name:
            return False
        waiting = [one for one in sources if one.is_file() and begins_with_tensorflow(one) and not is_compiled(one)]
    except (CannotCompile, OSError):
        return False
    return len(waiting) >= LEAST_PER_CORE * len(usable_cores())


def _made(folder: Path) -> Path | None:
    header = Path(shutil.copy(HEADER, folder))
    command, _ = compiler()
    before, _ = flags()
    written = header.with_name(f"{header.name}.gch")
    try:
        call(command, (*before, "-x", "c++-header", str(header), "-o", str(written)), header, "", HEADER_SECONDS)
    except CannotCompile:
        return None
    return header
