"""Compiles the C++ of custom ops for the TensorFlow that is running, each source once.

A library is named by a hash of all that it comes from: TensorFlow and its flags, the compiler, the CPU's vector
instructions, the source, and the headers (*.h) next to it and in `kernels/`. So one that is there is right, and nothing
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
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import tensorflow as tf

from pyopbench.model.child_process import end_group
from pyopbench.model.discover import KERNELS
from pyopbench.model.errors import Unsupported, describe_error, shorten_reason
from pyopbench.model.files import make_cache_folder

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
which TensorFlow's Eigen does not compile on some CPUs. By default, compilers use half of a vector of AVX-512;
sinh takes 0.36 ns a number with halves and 0.27 ns with whole ones (float32, Xeon of 2023)."""

REMEDY = "fix the source, or use g++ 9 or clang++ 10 or later (CXX); the next run tries again"

COMPILE_SECONDS = 150.0
"""Less than a worker may be silent."""


class CannotCompile(Unsupported):
    """There is no library for a source, with the reason and what to do."""

    @property
    def sentence(self) -> str:
        """Reason and remedy in one line."""
        received = f" ({self.received})" if self.received is not None else ""
        remedy = f"; {self.hint}" if self.hint else ""
        return f"{self.message}{received}{remedy}"


def library_of(source: Path, defines: tuple[str, ...] = ()) -> Path:
    """Return the shared library of a C++ source, compiled first where it is not there yet.

    Args:
        source: the C++ source.
        defines: names of macros to define.

    Raises:
        CannotCompile: there is no compiler, it refuses the source, or the cache cannot be written.
    """
    return compile_once(source, source.stem, defines, partial(_compile, source, defines))


def compile_once(source: Path, stem: str, dependencies: Sequence[str], compile_to: Callable[[Path], None]) -> Path:
    """Return a library that is made of a source, made first where it is not there yet.

    Args:
        source: the C++ source.
        stem: how the name of the library begins.
        dependencies: what the library depends on besides the source, TensorFlow, the C++ compiler and its flags.
        compile_to: writes the library to a path.

    Raises:
        CannotCompile: it cannot be made, or the cache cannot be written.
    """
    try:
        library = make_cache_folder("kernels") / f"{stem}-{_hash_of(source, dependencies)}.so"
        if not library.exists():
            with tempfile.NamedTemporaryFile(dir=library.parent, suffix=".part", delete=False) as file:
                unfinished = Path(file.name)
            try:
                compile_to(unfinished)
                unfinished.replace(library)
            finally:
                unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise CannotCompile(
            f"{source.name} cannot be compiled: {error}",
            hint="check that the source exists, and that the cache folder (XDG_CACHE_HOME) can be written to",
        ) from error
    return library


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


def _hash_of(source: Path, dependencies: Sequence[str]) -> str:
    digest = hashlib.sha256()
    command, version = compiler()
    before, after = flags()
    for part in (tf.version.VERSION, tf.version.GIT_VERSION, *command, version, *before, *after, *dependencies):
        digest.update(part.encode() + b"\0")
    for path in (source, *sorted({*source.parent.glob("*.h"), *KERNELS.glob("*.h")})):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:32]


def _compile(source: Path, defines: Sequence[str], library: Path) -> None:
    command, _ = compiler()
    before, after = flags()
    arguments = (*before, f"-I{KERNELS}", *(f"-D{name}" for name in defines), str(source), "-o", str(library), *after)
    call(command, arguments, source, REMEDY)


def call(
    command: Sequence[str], arguments: Sequence[str], source: Path, remedy: str, seconds: float = COMPILE_SECONDS
) -> None:
    """Call a compiler.

    Args:
        command: the compiler, as it is called in messages.
        arguments: what it is given besides.
        source: what it compiles.
        remedy: what to do if it refuses.
        seconds: how long it may take.

    Raises:
        CannotCompile: it refuses the source, or does not end.
    """
    with subprocess.Popen(
        (*command, *arguments),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,  # a compiler is several processes, which have to end together
    ) as process:
        try:
            _, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as error:
            raise CannotCompile(
                f"{Path(command[0]).name} was not done after {seconds:.0f} s",
                received=source,
                hint="the next run tries again; start it when the machine is less busy",
            ) from error
        finally:
            end_group(process.pid)
    if process.returncode:
        raise CannotCompile(
            f"{' '.join(command)} refuses {source.name} with exit code {process.returncode}: "
            + (_first_error(errors, source.name) or "it says nothing"),
            hint=remedy,
        )


def _first_error(errors: str, source: str) -> str:
    """Return the first line that names an error, shortened: one about the source before one about a header."""
    lines = [line for line in errors.splitlines() if "error" in line] or errors.splitlines()[-1:]
    return shorten_reason(next((line for line in lines if source in line.partition(": ")[0]), "".join(lines[:1])))
