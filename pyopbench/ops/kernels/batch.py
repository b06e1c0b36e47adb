"""Compiles the kernels of several ops at once, as many at a time as there are cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from pyopbench.model.cores import usable_cores
from pyopbench.ops.kernels.compiler import CannotCompile
from pyopbench.ops.kernels.precompiled import with_precompiled_header


def compile_all(
    sources: Iterable[Path], tell: Callable[[Path], None], make: Callable[[Path], Path] | None = None
) -> dict[Path, Path | CannotCompile]:
    """Return the library of each source, or why there is none.

    Args:
        sources: in any order, each once or more often.
        tell: is told each source when the compiler is done with it.
        make: returns the library of a source; `library_of` where it is not given.
    """
    chosen = list(dict.fromkeys(sources))
    if make is not None:
        return _made(chosen, tell, make)
    with with_precompiled_header(chosen) as library_of:
        return _made(chosen, tell, library_of)


def _made(
    sources: list[Path], tell: Callable[[Path], None], make: Callable[[Path], Path]
) -> dict[Path, Path | CannotCompile]:
    found: dict[Path, Path | CannotCompile] = {}
    with ThreadPoolExecutor(len(usable_cores())) as pool:
        asked = {pool.submit(make, source): source for source in sources}
        for future in as_completed(asked):
            try:
                found[asked[future]] = future.result()
            except CannotCompile as error:
                found[asked[future]] = error
            tell(asked[future])
    return found
