"""Compiles the C++ of custom ops for the TensorFlow that is running, each source once.

A library is named by a hash of all that it comes from: TensorFlow and its flags, the compiler, the CPU's vector
instructions, the source, the headers beside it and those of `kernels/`. So one that is there is right, and nothing has
to be invalidated. A library is written under a name of its own and then renamed, so that processes may build the same
one at once.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cache
from pathlib import Path

import platformdirs
import tensorflow as tf

from pyopbench.errors import Unsupported
from pyopbench.files import KERNELS

COMPILERS = ("g++", "c++", "clang++")
COMPILER_VARIABLE = "CXX"

FLAGS = ("-w", "-O3", "-fPIC", "-shared", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math")
"""What lets the compiler vectorise a loop with elementary functions, and leaves infinities and NaN as they are."""

LEVELS = {
    "x86-64-v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
    "x86-64-v3": {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"},
}
"""Values of -march, the best first, by the instructions that /proc/cpuinfo has to name (System V ABI for x86-64). Not
`native`, with which TensorFlow's Eigen does not compile on some CPUs."""

COMPILE_SECONDS = 300.0

LONGEST_MESSAGE = 200


class CannotCompile(Unsupported):
    """There is no library for a source, with the reason and what to do."""

    @property
    def sentence(self) -> str:
        """Reason and remedy in one line."""
        received = f" ({self.received})" if self.received is not None else ""
        remedy = f"; {self.next_step}" if self.next_step else ""
        return f"{self.what}{received}{remedy}"


def library_of(source: Path) -> Path:
    """Return the shared library of a C++ source, compiled first where it is not there yet.

    Raises:
        CannotCompile: there is no compiler, it refuses the source, or the cache cannot be written or trusted.
    """
    library = cache_folder() / f"{source.stem}-{_hash_of(source)}.so"
    if not library.exists():
        _compile(source, library)
    return library


def compile_all(sources: Iterable[Path], tell: Callable[[Path], None]) -> dict[Path, Path | CannotCompile]:
    """Return the library of each source, or why there is none; as many at a time as there are cores.

    Args:
        sources: in any order, each once or more often.
        tell: is told each source when the compiler is done with it.
    """
    found: dict[Path, Path | CannotCompile] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        asked = {pool.submit(library_of, source): source for source in dict.fromkeys(sources)}
        for future in as_completed(asked):
            try:
                found[asked[future]] = future.result()
            except CannotCompile as error:
                found[asked[future]] = error
            tell(asked[future])
    return found


def cache_folder() -> Path:
    """Return the folder of the libraries, which nobody else can write to.

    Raises:
        CannotCompile: it cannot be made, or it is somebody else's.
    """
    folder = Path(platformdirs.user_cache_dir("pyopbench", appauthor=False)) / "kernels"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError as error:
        raise CannotCompile(
            f"the folder for compiled kernels cannot be made: {error}",
            next_step="set XDG_CACHE_HOME to a folder that can be written to",
        ) from error
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise CannotCompile(
            "others can write to the folder for compiled kernels, and what is in there would be run",
            received=folder,
            next_step=f"chmod 700 {shlex.quote(str(folder))}, if it is yours, or set XDG_CACHE_HOME",
        )
    return folder


@cache
def compiler() -> tuple[str, str]:
    """Return the command of the C++ compiler and what it says of its version.

    Raises:
        CannotCompile: there is none.
    """
    named = os.environ.get(COMPILER_VARIABLE)
    for command in (named,) if named else COMPILERS:
        found = shutil.which(command)
        if found:
            said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
            return found, said.partition("\n")[0]
    raise CannotCompile(
        "there is no C++ compiler",
        received=f"{COMPILER_VARIABLE}={named}" if named else f"none of {', '.join(COMPILERS)} on PATH",
        next_step=f"install g++ (Debian, Ubuntu: apt-get install g++), or set {COMPILER_VARIABLE}",
    )


@cache
def flags() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the arguments before and after the source."""
    level = cpu_level()
    march = (f"-march={level}",) if level else ()
    # TensorFlow's flags come first, so that -O3 and -w are the last word.
    return (*tf.sysconfig.get_compile_flags(), *FLAGS, *march), tuple(tf.sysconfig.get_link_flags())


def cpu_level(cpuinfo: Path = Path("/proc/cpuinfo")) -> str | None:
    """Return the best of `LEVELS` that this CPU has; None where it has none or says nothing."""
    if platform.machine() != "x86_64" or not cpuinfo.exists():
        return None
    lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    named = next((set(line.partition(":")[2].split()) for line in lines if line.startswith("flags")), set[str]())
    return next((level for level, needed in LEVELS.items() if needed <= named), None)


def _hash_of(source: Path) -> str:
    digest = hashlib.sha256()
    told = (tf.version.VERSION, tf.version.GIT_VERSION, *compiler(), *(flag for some in flags() for flag in some))
    for part in told:
        digest.update(part.encode() + b"\0")
    for path in (source, *sorted({*source.parent.glob("*.h"), *KERNELS.glob("*.h")})):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:32]


def _compile(source: Path, library: Path) -> None:
    command, _ = compiler()
    before, after = flags()
    handle, name = tempfile.mkstemp(dir=library.parent, prefix=f"{library.stem}-", suffix=".part")
    os.close(handle)
    written = Path(name)
    try:
        done = _run((command, *before, f"-I{KERNELS}", str(source), "-o", str(written), *after))
        if done.returncode:
            raise CannotCompile(
                f"{Path(command).name} refuses {source.name}: {first_error(done.stderr)}",
                next_step="see that it is g++ 9 or later, or clang++ 10 or later; `pyopbench build` tries again",
            )
        written.replace(library)
    finally:
        written.unlink(missing_ok=True)


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=COMPILE_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise CannotCompile(f"the compiler was not done after {COMPILE_SECONDS:.0f} s") from error


def first_error(said: str) -> str:
    """Return the first line of a compiler's words that names an error, shortened; the last line if none does."""
    lines = [line for line in said.splitlines() if line.strip()]
    line = next((line for line in lines if "error" in line), lines[-1] if lines else "without a word")
    return line if len(line) <= LONGEST_MESSAGE else f"{line[: LONGEST_MESSAGE - 1]}…"
