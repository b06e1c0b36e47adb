"""Compiles the C++ of custom ops for the TensorFlow that is running, each source once.

A library is named by a hash of all that it comes from: TensorFlow and its flags, the compiler, the CPU's vector
instructions, the source, and the headers (*.h) beside it and in `kernels/`. So one that is there is right, and nothing
has to be invalidated. A library is written under a name of its own and then renamed, so that processes may build the
same one at once.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import tensorflow as tf

from pyopbench.model.cache_folder import make_folder
from pyopbench.model.child_process import end_group
from pyopbench.model.discover import KERNELS
from pyopbench.model.errors import BadInput, Unsupported
from pyopbench.model.failures import describe_error

COMPILERS = ("g++", "c++", "clang++")
COMPILER_VARIABLE = "CXX"

FLAGS = ("-w", "-O3", "-fPIC", "-shared", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math")
"""What lets the compiler vectorise a loop with elementary functions, and leaves infinities and NaN as they are."""

INSTRUCTIONS = {
    "avx2": "-mavx2",
    "fma": "-mfma",
    "f16c": "-mf16c",
    "bmi1": "-mbmi",
    "bmi2": "-mbmi2",
    "avx512f": "-mavx512f -mprefer-vector-width=512",
    "avx512bw": "-mavx512bw",
    "avx512cd": "-mavx512cd",
    "avx512dq": "-mavx512dq",
    "avx512vl": "-mavx512vl",
}
"""What /proc/cpuinfo calls vector instructions that are worth having, and the compiler does. Not `-march=native`, with
which TensorFlow's Eigen does not compile on some CPUs. Without being told, compilers use half of a vector of AVX-512;
sinh takes 0.36 ns a number with halves and 0.27 ns with whole ones (float32, Xeon of 2023)."""

COMPILE_SECONDS = 150.0
"""Less than a worker may be silent."""

LEFT_SECONDS = 3600.0
"""Longer than anything is being built: what is older is left of a build that was killed."""

LONGEST_MESSAGE = 200


class CannotCompile(Unsupported):
    """There is no library for a source, with the reason and what to do."""

    @property
    def sentence(self) -> str:
        """Reason and remedy in one line."""
        received = f" ({self.received})" if self.received is not None else ""
        remedy = f"; {self.hint}" if self.hint else ""
        return f"{self.message}{received}{remedy}"


def library_of(
    source: Path, defines: tuple[str, ...] = (), *, header: Path | None = None, seconds: float | None = None
) -> Path:
    """Return the shared library of a C++ source, compiled first where it is not there yet.

    Args:
        source: the C++ source.
        defines: names of macros to define.
        header: a precompiled copy of the first header that the source includes; it saves time and changes nothing.
        seconds: how long compiling may take; `COMPILE_SECONDS` if that is None.

    Raises:
        CannotCompile: there is no compiler, it refuses the source, or the cache cannot be written.
    """
    return made_once(source, source.stem, defines, partial(_compile, source, defines, header, seconds))


def is_compiled(source: Path) -> bool:
    """Whether the library of a C++ source is there.

    Raises:
        CannotCompile: there is no compiler.
        OSError: the source cannot be read.
    """
    return _place_of(source, source.stem, ()).exists()


def made_once(source: Path, stem: str, told: Sequence[str], make: Callable[[Path], None]) -> Path:
    """Return a library that is made of a source, made first where it is not there yet.

    Args:
        source: the C++ source.
        stem: how the name of the library begins.
        told: what the library depends on beside the source, TensorFlow, the C++ compiler and its flags.
        make: writes the library to the path that it is given.

    Raises:
        CannotCompile: it cannot be made, or the cache cannot be written.
    """
    try:
        library = _place_of(source, stem, told)
        if not library.exists():
            _write(library, make)
    except OSError as error:
        raise CannotCompile(
            f"{source.name} cannot be compiled: {error}",
            hint="see that the source is there, and that the cache folder (XDG_CACHE_HOME) can be written to",
        ) from error
    return library


def cache_folder() -> Path:
    """Return the folder of the libraries.

    Raises:
        CannotCompile: it cannot be made.
    """
    try:
        return make_folder("kernels")
    except BadInput as error:
        raise CannotCompile(error.message, received=error.received, hint=error.hint) from error


@cache
def load_custom_ops(path: Path) -> Any:
    """Load the custom ops of a library, once in a process, and return the module of their Python functions.

    Raises:
        CannotCompile: TensorFlow cannot load it.
    """
    try:
        return tf.load_op_library(str(path))
    except (tf.errors.OpError, OSError, RuntimeError) as error:
        raise CannotCompile(f"TensorFlow cannot load {path.name}: {describe_error(error)}") from error


@cache
def compiler() -> tuple[tuple[str, ...], str]:
    """Return the command of the C++ compiler, which may have arguments, and what it says of its version.

    Raises:
        CannotCompile: there is none.
    """
    named = os.environ.get(COMPILER_VARIABLE)
    for command in (named,) if named else COMPILERS:
        program, *arguments = shlex.split(command)
        found = shutil.which(program)
        if found:
            whole = (found, *arguments)
            said = subprocess.run([*whole, "--version"], capture_output=True, text=True, check=False).stdout
            return whole, said.partition("\n")[0]
    raise CannotCompile(
        "there is no C++ compiler",
        received=f"{COMPILER_VARIABLE}={named}" if named else f"none of {', '.join(COMPILERS)} on PATH",
        hint=f"install g++ (Debian, Ubuntu: apt-get install g++), or set {COMPILER_VARIABLE}",
    )


@cache
def flags() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the arguments before and after the source."""
    # TensorFlow's flags come first, so that -O3 and -w are the last word.
    before = (*tf.sysconfig.get_compile_flags(), *FLAGS, *cpu_flags())
    # On macOS TensorFlow's symbols are found when the library is loaded: https://www.tensorflow.org/guide/create_op
    late = ("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ()
    return before, (*tf.sysconfig.get_link_flags(), *late)


def cpu_flags(cpuinfo: Path = Path("/proc/cpuinfo")) -> tuple[str, ...]:
    """Return the compiler's flags for the vector instructions of this CPU; none where it says nothing."""
    if platform.machine() != "x86_64" or not cpuinfo.exists():
        return ()
    lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    named = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), [])
    return tuple(flag for name, flags in INSTRUCTIONS.items() if name in named for flag in flags.split())


def _place_of(source: Path, stem: str, told: Sequence[str]) -> Path:
    return cache_folder() / f"{stem}-{_hash_of(source, told)}.so"


def _hash_of(source: Path, told: Sequence[str]) -> str:
    digest = hashlib.sha256()
    command, version = compiler()
    before, after = flags()
    for part in (tf.version.VERSION, tf.version.GIT_VERSION, *command, version, *before, *after, *told):
        digest.update(part.encode() + b"\0")
    for path in (source, *sorted({*source.parent.glob("*.h"), *KERNELS.glob("*.h")})):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:32]


def _write(library: Path, make: Callable[[Path], None]) -> None:
    _sweep(library.parent)
    handle, name = tempfile.mkstemp(dir=library.parent, prefix=f"{library.stem}-", suffix=".part")
    os.close(handle)
    written = Path(name)
    try:
        make(written)
        written.replace(library)
    finally:
        written.unlink(missing_ok=True)


def _compile(source: Path, defines: Sequence[str], header: Path | None, seconds: float | None, written: Path) -> None:
    command, _ = compiler()
    before, after = flags()
    given = (f"-I{KERNELS}", *(f"-D{name}" for name in defines), str(source))
    arguments = (*given, "-o", str(written), *after)
    remedy = "fix the source, or use g++ 9 or clang++ 10 or later (CXX); the next run tries again"
    limit = COMPILE_SECONDS if seconds is None else seconds
    end = time.monotonic() + limit
    if header is not None:
        try:
            return call(command, (*before, "-include", str(header), *arguments), source, remedy, limit)
        except CannotCompile:  # the header's fault or the source's, which shows without the header
            limit = end - time.monotonic()
            if limit <= 0.0:
                raise
    return call(command, (*before, *arguments), source, remedy, limit)


def call(
    command: Sequence[str], arguments: Sequence[str], source: Path, remedy: str, seconds: float | None = None
) -> None:
    """Call a compiler.

    Args:
        command: the compiler, as it is called in messages.
        arguments: what it is given besides.
        source: what it compiles.
        remedy: what to do if it refuses.
        seconds: how long it may take; `COMPILE_SECONDS` if that is None.

    Raises:
        CannotCompile: it refuses the source, or does not end.
    """
    done = _run((*command, *arguments), COMPILE_SECONDS if seconds is None else seconds)
    if done.returncode:
        raise CannotCompile(
            f"{' '.join(command)} refuses {source.name} with exit code {done.returncode}: "
            + (first_error(done.stderr, source.name) or "it says nothing"),
            hint=remedy,
        )


def _sweep(folder: Path) -> None:
    """Take away what builds that were killed have left."""
    for part in folder.glob("*.part"):
        with suppress(FileNotFoundError):  # another process has taken it away
            if part.stat().st_mtime > time.time() - LEFT_SECONDS:
                continue
            if part.is_dir():
                shutil.rmtree(part, ignore_errors=True)
            else:
                part.unlink()


def _run(command: Sequence[str], seconds: float) -> subprocess.CompletedProcess[str]:
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,  # a compiler is several processes, which have to end together
    ) as process:
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as error:
            raise CannotCompile(
                f"{Path(command[0]).name} was not done after {seconds:.0f} s",
                received=" ".join(one for one in command if one.endswith((".cc", ".o", ".so", ".part"))),
                hint="the next run tries again, best when the machine has less to do",
            ) from error
        finally:
            end_group(process.pid)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def first_error(said: str, source: str) -> str:
    """Return the first line of a compiler's words that names an error, shortened; the last line if none does.

    Lines about the source go before those about headers, which are often only where a mistake of the source shows.
    """
    lines = [line for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line] or lines[-1:]
    line = next((line for line in errors if source in line.partition(": ")[0]), errors[0] if errors else "")
    return line if len(line) <= LONGEST_MESSAGE else f"{line[: LONGEST_MESSAGE - 1]}…"
