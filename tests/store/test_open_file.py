"""Only a regular file is opened, and no more of it is read than a file of its kind may have."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import stored
from pyopbench.model.errors import BadInput
from pyopbench.model.read_policy import ReadPolicy, reading_by
from pyopbench.store import (
    certificate,
    copy_costs,
    counted_copies,
    mix_file,
    open_file,
    probes,
    run_folder,
    run_sides,
)
from pyopbench.store.foreign import common
from pyopbench.store.open_file import LONGEST_LINE_BYTES, MIX, SAMPLES


def link(path: Path) -> None:
    target = path.with_name("elsewhere")
    target.write_bytes(b"{}")
    path.symlink_to(target)


def sparse(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(3 << 30)


ODD: dict[str, Callable[[Path], None]] = {
    "a link": link,
    "a named pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "of at most": sparse,
    "a device": lambda path: os.mknod(path, 0o020666, os.makedev(1, 5)),
}
"""What lies in place of a file, by what an error says of it."""


def of_run(path: Path) -> object:
    return run_folder.read_run(path.parent)


def of_lines(path: Path) -> object:
    return run_folder.read_lines(path.parent)


def of_versions(path: Path) -> object:
    return run_sides.read(path.parent)


def of_certificate(path: Path) -> object:
    return certificate.find(stored.ENVIRONMENT)


READERS: dict[str, Callable[[Path], object]] = {
    run_folder.RUN_FILE: of_run,
    run_folder.SAMPLES_FILE: of_lines,
    run_sides.FILE: of_versions,
    "certificate": of_certificate,
    probes.FILE: probes.read,
    counted_copies.FILE: counted_copies.read,
    copy_costs.FILE: copy_costs.read,
    "mix.csv": mix_file.read_mix,
    "foreign.json": common.load,
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", READERS)
def test_no_reader_waits_or_fills_the_memory(
    tmp_path: Path, name: str, odd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name
    monkeypatch.setattr(certificate, "path_for", lambda environment: path)
    try:
        ODD[odd](path)
    except PermissionError:
        pytest.skip("only root makes devices")
    with pytest.raises(BadInput) as refused:
        READERS[name](path)
    assert odd in str(refused.value)
    assert str(path) in str(refused.value)


def test_what_may_not_be_read_is_refused_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*names: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    path = tmp_path / "mix.csv"
    assert stored.refusal(lambda: open_file.read_bytes(path, MIX)) == f"{path}: Permission denied"


def test_the_limit_can_be_raised_and_not_lowered(tmp_path: Path) -> None:
    path = tmp_path / "mix.csv"
    path.write_bytes(b"x" * (MIX.most_bytes + 1))
    told = f"{path}: {MIX.most_bytes + 1:,} bytes, of at most {MIX.most_bytes:,}"
    assert stored.refusal(lambda: open_file.read_bytes(path, MIX)) == told
    with reading_by(ReadPolicy(most_bytes=MIX.most_bytes + 1)):
        assert len(open_file.read_bytes(path, MIX)) == MIX.most_bytes + 1
    with reading_by(ReadPolicy(most_bytes=1)):
        assert open_file.most_bytes_of(MIX) == MIX.most_bytes


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mix.csv"
    path.write_bytes(b"x" * (MIX.most_bytes + 1))
    monkeypatch.setattr(open_file, "_check", lambda path, kind, status: None)
    told = f"{path}: {MIX.most_bytes + 1:,} bytes, of at most {MIX.most_bytes:,}"
    assert stored.refusal(lambda: open_file.read_bytes(path, MIX)) == told


def test_a_line_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    with path.open("wb") as stream:
        stream.truncate(LONGEST_LINE_BYTES + 2)
    told = f"{path}: line 1 is longer than {LONGEST_LINE_BYTES:,} bytes"
    assert stored.refusal(lambda: list(open_file.read_lines(path, SAMPLES))) == told
