"""Code for other GPUs is overwritten with zeros, and what a GPU runs stays; of a library that is made by hand."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from places import ROOT

pytestmark = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("cc", "objcopy", "readelf")), reason="a library is made by binutils"
)

with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(str(ROOT / "scripts"))
    import prune_gpu_code as prune


def container(*parts: tuple[int, int, bytes]) -> bytes:
    """Return a container of parts: kind, capability and content, whose length is a multiple of 8."""
    inside = b""
    for kind, capability, content in parts:
        header = struct.pack("<HHIQ", kind, 1, 64, len(content)).ljust(prune.CAPABILITY_AT, b"\x01")
        inside += (header + struct.pack("<I", capability)).ljust(64, b"\x01") + content
    return struct.pack("<IHHQ", prune.MAGIC, 1, 16, len(inside)) + inside


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A library with two kernels, the second of which has no machine code for an H100."""
    code = container((2, 80, b"a" * 16), (2, 90, b"b" * 16), (1, 90, b"c" * 24)) + bytes(8)
    code += container((2, 80, b"d" * 16), (1, 80, b"e" * 8))
    (tmp_path / "code").write_bytes(code)
    (tmp_path / "own.c").write_text("int own;\n")
    made = tmp_path / "lib.so"
    subprocess.run(["cc", "-shared", str(tmp_path / "own.c"), "-o", str(made)], check=True)
    add = f"--add-section={prune.SECTION}={tmp_path / 'code'}"
    subprocess.run(["objcopy", add, str(made)], check=True)
    return made


def test_the_code_of_a_generation_stays_and_else_the_text(library: Path) -> None:
    before = library.read_bytes()
    assert prune.prune(library, 90) == (80, 24)
    after = library.read_bytes()
    gone = (b"a" * 16, b"c" * 24, b"d" * 16)
    assert after == before.replace(gone[0], bytes(16)).replace(gone[1], bytes(24)).replace(gone[2], bytes(16))


def test_a_gpu_that_a_kernel_does_not_run_on_leaves_all_as_it_was(library: Path) -> None:
    before = library.read_bytes()
    with pytest.raises(SystemExit):
        prune.prune(library, 70)
    assert library.read_bytes() == before


def test_a_library_without_code_for_gpus_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "own.c").write_text("int own;\n")
    subprocess.run(["cc", "-shared", str(tmp_path / "own.c"), "-o", str(tmp_path / "own.so")], check=True)
    assert prune.prune(tmp_path / "own.so", 90) == (0, 0)
