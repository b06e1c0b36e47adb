"""The files to start from run as they stand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pyopbench.cli.sources import start_op
from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import read_target
from pyopbench.ops.kernels.compiler import CannotCompile, compiler
from pyopbench.ops.own.load import load_own
from pyopbench.worker.prepare.prepare import prepare
from small_ops import case_of, put_in_place


def test_the_file_is_an_op_whose_gradient_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = start_op(tmp_path / "my_start.py")
    op = load_own(read_target(str(path), [], []))
    put_in_place(monkeypatch, op)
    case = replace(case_of("numpy_function", "custom_gradient"), dtype="float32", size=op.sizes[0])
    checked = prepare(case, finite_differences=True).checked
    assert checked.gradient is not None
    assert checked.finite_difference is not None


@pytest.mark.usefixtures("kernels")  # compiles it among others
def test_the_kernel_gives_what_the_body_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        compiler()
    except CannotCompile as error:
        pytest.skip(error.sentence)
    path, kernel = start_op(tmp_path / "my_kernel_start.py", kernel=True)
    assert kernel.name == "my_kernel_start.cc"
    op = load_own(read_target(str(path), [], []))
    put_in_place(monkeypatch, op)
    case = replace(case_of("custom_op", "autodiff"), dtype="float32", size=op.sizes[0])
    assert prepare(case).checked.gradient is not None


@pytest.mark.parametrize("name", ["sinh.py", "My.py", "my-op.py", "my_op.txt", "3.py"])
def test_a_name_that_no_op_can_have_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        start_op(tmp_path / name)
    assert refused.value.received == tmp_path / name
    assert not list(tmp_path.iterdir())


def test_nothing_that_is_there_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine.cc").write_text("mine", encoding="utf-8")
    with pytest.raises(BadInput) as refused:
        start_op(tmp_path / "mine.py", kernel=True)
    assert refused.value.received == tmp_path / "mine.cc"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.cc"]
