"""CUDA kernels are compiled where there is nvcc, and nowhere run; without it the reason is told and the CPU's stay."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import tensorflow as tf
from tensorflow.python.framework.kernels import get_registered_kernels_for_op

from extra_cases import ELEMENTWISE
from pyopbench.model.case import Case
from pyopbench.model.discover import KERNELS
from pyopbench.model.files import make_cache_folder
from pyopbench.ops.kernels import cuda, register
from pyopbench.ops.kernels.compiler import CannotCompile, library_of
from pyopbench.ops.load import load_op, load_variant
from pyopbench.worker.plan import why_not

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

ON_GPU = Case("square", "custom_op", "none", "forward", "call", "float32", 1000, "gpu")
SOURCE = KERNELS / "elementwise_ops.cc"

FAKE = """#!/bin/sh
if [ "$1" = --version ]; then echo "release %s"; exit 0; fi
for word; do printf "%%s\\n" "$word"; done >> {log}
echo >> {log}
while [ "$1" != -o ]; do shift; done
echo made > "$2"
"""
REFUSING = """#!/bin/sh
if [ "$1" = --version ]; then exit 0; fi
echo "elementwise_ops.cc(7): error: calling a __host__ function is not allowed" >&2
exit 2
"""


@pytest.fixture
def toolkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that is CUDA_HOME, whose nvcc is a test's own; a TensorFlow that has CUDA, and an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    monkeypatch.setattr(tf.sysconfig, "get_build_info", lambda: {"is_cuda_build": True})
    monkeypatch.setattr(register, "_refused_on_gpu", {})
    cuda.nvcc.cache_clear()
    yield tmp_path / "toolkit"
    cuda.nvcc.cache_clear()


def put_nvcc(toolkit: Path, script: str) -> Path:
    """Write an nvcc, in place of the one that was there, and return the file that it writes its arguments to."""
    program = toolkit / "bin" / "nvcc"
    program.parent.mkdir(parents=True, exist_ok=True)
    log = toolkit / "log"
    program.write_text(script.replace("{log}", shlex.quote(str(log))), encoding="utf-8")
    program.chmod(0o755)
    cuda.nvcc.cache_clear()
    return log


@pytest.fixture
def log(toolkit: Path) -> Path:
    return put_nvcc(toolkit, FAKE % "12.5")


def calls(log: Path) -> list[list[str]]:
    return [call.splitlines() for call in log.read_text(encoding="utf-8").split("\n\n")[:-1]]


def test_formulas_are_compiled_without_tensorflow_and_kernels_with_it(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [])
    library = cuda.library_of(SOURCE)
    assert library.read_text(encoding="utf-8") == "made\n"
    formulas, kernels = calls(log)
    include, *_ = tf.sysconfig.get_compile_flags()
    assert (include in formulas, include in kernels) == (False, True)
    assert ("cu" in formulas, "cu" in kernels) == (True, False)
    assert ("-arch=all-major" in formulas, "-DPYOPBENCH_GPU" in kernels) == (True, True)
    assert [one for one in formulas if "std=" in one] == [one for one in kernels if "std=" in one] != []
    assert set(tf.sysconfig.get_link_flags()) <= set(kernels), "linked with TensorFlow"
    made = formulas[formulas.index("-o") + 1]
    assert made in kernels, "the formulas are part of the library"
    assert str(SOURCE) in formulas
    assert str(SOURCE) in kernels


def test_a_library_is_compiled_once_for_each_nvcc_and_gpu(
    toolkit: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = cuda.library_of(SOURCE)
    assert cuda.library_of(SOURCE) == first
    assert len(calls(log)) == 2
    put_nvcc(toolkit, FAKE % "12.6")
    second = cuda.library_of(SOURCE)
    monkeypatch.setattr(cuda, "architectures", lambda: ("-arch=sm_90",))
    assert len({first, second, cuda.library_of(SOURCE)}) == 3
    assert len(calls(log)) == 6
    assert first.name.startswith("elementwise_ops-cuda-"), "the CPU's has a name of its own"


def test_the_gpus_that_are_there_are_compiled_for(monkeypatch: pytest.MonkeyPatch) -> None:
    capabilities = {"a": (9, 0), "b": (8, 6), "c": (9, 0), "plug-in": None}
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: list(capabilities))
    details = {name: {"compute_capability": one} if one else {} for name, one in capabilities.items()}
    monkeypatch.setattr(tf.config.experimental, "get_device_details", details.__getitem__)
    assert cuda.architectures() == (
        "-gencode=arch=compute_86,code=[sm_86,compute_86]",
        "-gencode=arch=compute_90,code=[sm_90,compute_90]",
    )


@pytest.fixture
def for_cpu(kernels: None) -> Path:
    """The library for the CPU, from the cache that the suite shares."""
    return library_of(SOURCE)


def test_what_nvcc_refuses_costs_the_gpu_and_not_the_cpu(for_cpu: Path, toolkit: Path) -> None:
    shutil.copy(for_cpu, make_cache_folder("kernels"))
    put_nvcc(toolkit, REFUSING)
    op, told = load_op("square"), list[Path]()
    assert register.why_not(op, on_gpu=True) is None, "nothing is compiled to answer"
    register.compile_ahead([op], told.append, on_gpu=True)
    assert told == [SOURCE, SOURCE]
    reason = str(register.why_not(op, on_gpu=True))
    assert reason == (
        f"{toolkit / 'bin' / 'nvcc'} refuses elementwise_ops.cc with exit code 2: elementwise_ops.cc(7): error: "
        "calling a __host__ function is not allowed; check that nvcc, its host compiler (CXX) and the GPU fit "
        "together; the next run tries again"
    )
    assert register.why_not(op) is None
    assert why_not(op, load_variant("custom_op"), ON_GPU) == reason


def test_nvcc_is_found_in_the_toolkit_then_on_the_path_then_in_packages(
    toolkit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = [toolkit, tmp_path / "path", tmp_path / "packages" / "cu12"]
    monkeypatch.setenv("PATH", f"{places[1] / 'bin'}:/usr/bin:/bin")
    packages = SimpleNamespace(submodule_search_locations=[str(tmp_path / "packages")])
    monkeypatch.setattr(cuda.importlib.util, "find_spec", lambda name: packages if name == "nvidia" else None)
    for place in reversed(places):
        put_nvcc(place, FAKE % place.name)
        assert cuda.nvcc() == (str(place / "bin" / "nvcc"), f"release {place.name}\n")


def test_without_nvcc_it_says_where_it_was_looked_for(toolkit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(cuda.importlib.util, "find_spec", lambda name: None)
    reason = str(cuda.why_not())
    searched = f"not in CUDA_HOME={toolkit}, PATH, the packages of NVIDIA next to TensorFlow"
    remedy = (
        "install NVIDIA's CUDA toolkit, of the version that TensorFlow was built with if possible, and set CUDA_HOME"
    )
    assert reason == f"there is no nvcc ({searched}); {remedy}"
    assert why_not(load_op("square"), load_variant("custom_op"), ON_GPU) == reason
    with pytest.raises(CannotCompile) as caught:
        cuda.library_of(SOURCE)
    fields = (caught.value.message, caught.value.received, caught.value.hint)
    assert fields == ("there is no nvcc", searched, remedy)


@pytest.fixture(scope="module")
def _compiled(request: pytest.FixtureRequest) -> None:
    """The library of CUDA kernels, by the nvcc of this machine."""
    cuda.nvcc.cache_clear()
    try:
        cuda.nvcc()
    except CannotCompile as error:
        pytest.skip(error.sentence)
    request.getfixturevalue("kernels")
    cuda.library_of(SOURCE)


@pytest.mark.usefixtures("_compiled")
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_nvcc_compiles_every_elementwise_op_for_gpus(name: str) -> None:
    """TensorFlow, with CUDA or without, loads what is compiled and has GPU kernels in both types and all orders."""
    register.body_of(load_op(name), on_gpu=True)
    kind = register._kind_of(load_op(name))
    for order in ("", "Gradient", "GradientGradient"):
        kernels = get_registered_kernels_for_op(kind + order).kernel
        types = [kernel.constraint[0].allowed_values.list.type[0] for kernel in kernels if kernel.device_type == "GPU"]
        assert sorted(types) == [tf.float32.as_datatype_enum, tf.float64.as_datatype_enum]
