"""CUDA kernels of elementwise ops, in a library next to the op's own, where TensorFlow has CUDA and there is nvcc.

They are a library of their own so that nothing on the CPU depends on them: what nvcc refuses costs the placement on a
GPU and no more. nvcc compiles the formulas of a source, without TensorFlow's headers; the C++ compiler then compiles
the kernels that start them (`kernels/elementwise_gpu.h`), called by nvcc, which knows where its toolkit has headers and
libraries. CUDA's runtime is linked into the library, because TensorFlow's own may be of another version.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

import tensorflow as tf

from pyopbench.model.discover import KERNELS
from pyopbench.ops.kernels.compiler import COMPILE_SECONDS, CannotCompile, call, compile_once, compiler

TOOLKIT_VARIABLES = ("CUDA_HOME", "CUDA_PATH")
"""Folders of a toolkit: the usual name on Linux, and the one that NVIDIA's installer sets elsewhere."""

FLAGS = ("-w", "-O3", "-Xcompiler=-fPIC")
FORMULA_FLAGS = ("-x", "cu", "--expt-relaxed-constexpr", "-c")
"""A formula may then call what the standard library has as constexpr, such as numeric_limits."""

KERNEL_FLAGS = ("-DPYOPBENCH_GPU", "-shared", "-cudart=static")

ANY_GPU = ("-arch=all-major",)
"""For no GPU in particular: every major architecture that nvcc knows (from 11.5 on), and what later GPUs translate."""

ELEMENTWISE = '#include "elementwise.h"'

REMEDY = "check that nvcc, its host compiler (CXX) and the GPU fit together; the next run tries again"


def why_not() -> str | None:
    """Return why no op can have CUDA kernels here, or None."""
    if not tf.sysconfig.get_build_info().get("is_cuda_build", False):
        return (
            f"TensorFlow {tf.version.VERSION} is built without CUDA; pip install 'pyopbench[gpu]' installs one with it"
        )
    try:
        nvcc()
    except CannotCompile as error:
        return error.sentence
    return None


def why_not_for(source: Path) -> str | None:
    """Return why a source can have no CUDA kernels, as far as its text tells; None if it can."""
    if source.exists() and ELEMENTWISE not in source.read_text(encoding="utf-8", errors="replace"):
        return f"{source.name} has no CUDA kernels: only elementwise ops do, which include elementwise.h"
    return None


def library_of(source: Path) -> Path:
    """Return the library of a source's CUDA kernels, compiled first where it is not there yet.

    It registers kernels for ops of the source's own library, which has to be loaded before.

    Raises:
        CannotCompile: there is no nvcc, it refuses the source, or the cache cannot be written.
    """
    program, version = nvcc()
    wanted = architectures()
    dependencies = (program, version, *FLAGS, *FORMULA_FLAGS, *KERNEL_FLAGS, *wanted)
    return compile_once(source, f"{source.stem}-cuda", dependencies, partial(_compile, source, wanted))


@cache
def nvcc() -> tuple[str, str]:
    """Return the path of nvcc and what it says of its version.

    Raises:
        CannotCompile: there is none.
    """
    for program in _candidates():
        try:
            done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
        except OSError:
            continue
        if done.returncode == 0:
            return program, done.stdout
    named = [f"{name}={os.environ[name]}" for name in TOOLKIT_VARIABLES if name in os.environ]
    raise CannotCompile(
        "there is no nvcc",
        received=f"not in {', '.join((*named, 'PATH', 'the packages of NVIDIA next to TensorFlow'))}",
        hint="install NVIDIA's CUDA toolkit, of the version that TensorFlow was built with if possible, "
        "and set CUDA_HOME",
    )


def _candidates() -> Iterator[str]:
    for name in TOOLKIT_VARIABLES:
        if os.environ.get(name):
            yield str(Path(os.environ[name]) / "bin" / "nvcc")
    on_path = shutil.which("nvcc")
    if on_path:
        yield on_path
    packages = importlib.util.find_spec("nvidia")
    for folder in (packages.submodule_search_locations or ()) if packages else ():
        yield from map(str, sorted(Path(folder).glob("*/bin/nvcc")))


def architectures() -> tuple[str, ...]:
    """Return nvcc's arguments for the GPUs of this machine; for no GPU in particular where there is none."""
    details = map(tf.config.experimental.get_device_details, tf.config.list_physical_devices("GPU"))
    capabilities = {one["compute_capability"] for one in details if one.get("compute_capability")}
    names = [f"{major}{minor}" for major, minor in sorted(capabilities)]
    return tuple(f"-gencode=arch=compute_{name},code=[sm_{name},compute_{name}]" for name in names) or ANY_GPU


def _compile(source: Path, wanted: tuple[str, ...], written: Path) -> None:
    program, _ = nvcc()
    (host, *arguments), _ = compiler()
    before, after = tf.sysconfig.get_compile_flags(), tf.sysconfig.get_link_flags()
    standard = [flag for flag in before if "std=" in flag]
    common = (*FLAGS, f"-ccbin={host}", *(f"-Xcompiler={one}" for one in arguments), f"-I{KERNELS}")
    end = time.monotonic() + COMPILE_SECONDS  # of both calls: a worker may not be silent for twice as long
    with tempfile.TemporaryDirectory() as folder:
        formulas = Path(folder) / f"{source.stem}.o"
        call(
            (program,), (*common, *standard, *wanted, *FORMULA_FLAGS, str(source), "-o", str(formulas)), source, REMEDY
        )
        parts = (*before, *KERNEL_FLAGS, str(source), str(formulas), "-o", str(written))
        call((program,), (*common, *parts, *after), source, REMEDY, max(end - time.monotonic(), 0.0))
