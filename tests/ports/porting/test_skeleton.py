"""The skeleton of a custom op: it compiles, says what is missing, and is right once its loops are written."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pyopbench.ops.kernels.compiler import CannotCompile, compiler, library_of
from pyopbench.ops.kernels.load_library import load_custom_ops
from pyopbench.ports.porting.refusal import CannotPort
from pyopbench.ports.porting.skeleton import build_command
from written_ports import lines_of, run_its_test, write, write_source

SOURCE = "def body(x, Name):\n    # as it was\n    return np.tanh(x) * Name\n"
INPUTS = ("rng.random((4, 3))", "rng.random(3)")
OWN = """import numpy as np

from pyopbench import OwnOp


def scaled_tanh(x, y):
    return np.tanh(x) * y


def inputs(size, rng):
    return rng.random(size), rng.random(size)


OP = OwnOp(inputs=inputs, sizes=(5, 7), numpy=scaled_tanh)
"""


def test_it_has_the_signature_the_old_body_and_the_command_that_builds_it(tmp_path: Path) -> None:
    made = write_source(tmp_path, SOURCE, *INPUTS, to="custom_op")
    lines = lines_of(made.kernel)
    assert {'REGISTER_OP("PortedBody")', '    .Input("x: double")', '    .Input("input_1: double")'} <= lines
    assert {'    .Output("output: double")', "//         return np.tanh(x) * Name"} <= lines
    assert f"//     {build_command('ported')}" in lines
    assert dict(made.commands) == {"build": build_command("ported")}
    assert build_command("ported") in made.port
    assert made.notes == ("skeleton",)


def test_no_input_has_a_name_of_cpp_or_of_the_skeleton(tmp_path: Path) -> None:
    names = ("new", "double", "output", "context", "x_tensor", "d_output")
    source = f"def größe_a_b(x, {', '.join(names)}):\n    return x * 2\n"
    (tmp_path / "mine.py").write_text(source)
    made = write(f"{tmp_path / 'mine.py'}:größe_a_b", *["np.ones(3)"] * 7, to="custom_op")
    lines = lines_of(made.kernel)
    assert {'    .Input("x: double")', *(f'    .Input("input_{place}: double")' for place in range(1, 7))} <= lines
    assert 'REGISTER_OP("PortedGrEAB")' in made.kernel
    if _has_compiler():
        (tmp_path / "ported.cc").write_text(made.kernel)
        called = re.findall(r"_LIBRARY\.(\w+)", made.port)
        assert {"ported_gr_eab"} <= {*called} <= vars(load_custom_ops(library_of(tmp_path / "ported.cc"))).keys()


def test_sizes_that_are_those_of_an_input_are_written_and_others_are_left(tmp_path: Path) -> None:
    path = tmp_path / "scaled.py"
    path.write_text(OWN)
    made = write(str(path), to="custom_op")
    assert "      shapes->set_output(0, shapes->MakeShape({shapes->Dim(input[0], 0)}));" in lines_of(made.kernel)


def test_a_dtype_without_a_name_in_cpp_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CannotPort):
        write_source(tmp_path, "def body(x):\n    return x\n", "np.array(['a'])", to="custom_op")


def _has_compiler() -> bool:
    try:
        compiler()
    except CannotCompile:
        return False
    return True


@pytest.mark.skipif(not (_has_compiler() and shutil.which("g++")), reason="there is no C++ compiler")
def test_with_its_loops_it_passes_its_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "scaled.py"
    path.write_text(OWN)
    made = write(str(path), to="custom_op")
    second = made.kernel.index("PortedScaledTanhGradientOp")
    value, gradient = made.kernel[:second], made.kernel[second:]
    value = _filled(value, "for (int i = 0; i < x.size(); ++i) output(i) = std::tanh(x(i)) * y(i);")
    gradient = _filled(
        gradient,
        "for (int i = 0; i < x.size(); ++i) { const double t = std::tanh(x(i)); d_y(i) = d_output(i) * t; "
        "d_x(i) = d_output(i) * y(i) * (1 - t * t); }",
    )
    (tmp_path / "ported.cc").write_text(value + gradient)
    command = build_command("ported").replace("$(python", f"$({sys.executable}")
    subprocess.run(["sh", "-c", command.replace("-O3", "-O0 -w")], cwd=tmp_path, check=True, capture_output=True)
    assert run_its_test(made, tmp_path, monkeypatch) == ["test_values", "test_gradient"]


def _filled(text: str, loops: str) -> str:
    lines = [line for line in text.splitlines(keepends=True) if "CtxFailure" not in line]
    place = next(place for place, line in enumerate(lines) if line.lstrip(" /")[:5] == "Write")
    return "".join([*lines[:place], f"    {loops}\n", *lines[place + 1 :]])
