"""A program is run in a copy of its folder, and watched from inside."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pyopbench.advise import program as program_module
from pyopbench.advise.program import Asked, Program, run_program
from pyopbench.find.scan import ADVICE_FILE
from pyopbench.model.errors import BadInput


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "program"
    (root / "pkg").mkdir(parents=True)
    (root / "pkg" / "data.txt").write_text("data")
    (root / "pkg" / "__pycache__").mkdir()
    (root / "pkg" / "__pycache__" / "x.pyc").write_text("")
    (root / "env").mkdir()
    (root / "env" / "pyvenv.cfg").write_text("")
    (root / "train.py").write_text("open('out.txt', 'w').write(open('pkg/data.txt').read())\nprint('done')\n")
    return root


def test_caches_environments_and_results_are_not_copied(folder: Path, tmp_path: Path) -> None:
    (folder / "advice").mkdir()
    (folder / "advice-earlier").mkdir()
    (folder / "advice-earlier" / ADVICE_FILE).write_text("{}")
    program = Program.here(["python", "train.py"], folder, [folder / "advice"])
    program.copy_to(tmp_path / "copy")
    assert set(files_in(tmp_path / "copy")) == {"train.py", "pkg/data.txt"}
    assert not list((tmp_path / "copy").glob("advice*"))


def test_a_large_file_is_copied_once(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_module, "COPIED_BYTES", 4)
    (folder / "large.bin").write_bytes(b"12345")
    Program.here(["python", "train.py"], folder).copy_to(tmp_path / "copy")
    assert (tmp_path / "copy" / "large.bin").readlink() == tmp_path / "large" / "large.bin"
    (tmp_path / "copy" / "large.bin").write_bytes(b"by the program")
    assert (folder / "large.bin").read_bytes() != b"by the program"
    assert not (tmp_path / "copy" / "pkg" / "data.txt").is_symlink()


def test_too_many_files_are_refused(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_module, "MOST_FILES", 2)
    with pytest.raises(BadInput):
        Program.here(["python", "train.py"], folder).copy_to(tmp_path / "copy")


def test_the_folder_that_is_copied_is_the_repository(folder: Path) -> None:
    (folder / ".git").mkdir()
    program = Program.here(["python", "../train.py"], folder / "pkg")
    assert (program.root, program.folder) == (folder, folder / "pkg")


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["python", "/elsewhere/train.py"],
        ["python", "trian.py"],
    ],
)
def test_a_command_that_cannot_be_advised_on_is_refused(folder: Path, command: list[str]) -> None:
    with pytest.raises(BadInput):
        Program.here(command, folder)


@pytest.mark.parametrize(
    "command",
    [
        ["python", "train.py", "out.py"],
        ["python", "-m", "pkg", "out.py"],
        ["python", "-c", "pass", "out.py"],
        ["python", "-W", "error", "train.py"],
        ["./run", "out.py"],
    ],
)
def test_a_file_that_is_an_argument_need_not_be_there(folder: Path, command: list[str]) -> None:
    assert Program.here(command, folder).command[1:] == tuple(command[1:])


def test_paths_of_the_folder_are_those_of_the_copy(folder: Path, tmp_path: Path) -> None:
    program = Program.here(["python", str(folder / "train.py"), "--x", f"--out={folder / 'new'}"], folder)
    program.copy_to(tmp_path / "copy")
    words = [program.path_in(tmp_path / "copy", word) for word in program.command]
    assert words == ["python", str(tmp_path / "copy" / "train.py"), "--x", f"--out={tmp_path / 'copy' / 'new'}"]
    assert program.original(str(tmp_path / "copy" / "train.py"), tmp_path / "copy") == "train.py"
    assert program.original("train.py", tmp_path / "copy") == "train.py"
    assert program.original(__file__, tmp_path / "copy") == ""
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "ops.py").write_text("")
    (folder / "linked").symlink_to(tmp_path / "shared")
    program.copy_to(tmp_path / "again")
    linked = "linked/ops.py"
    assert (tmp_path / "again" / linked).exists()
    assert program.original(linked, tmp_path / "again") == "", "a change would be one of the user's own file"


def test_an_interpreter_of_the_folder_that_is_not_copied_is_found(folder: Path, tmp_path: Path) -> None:
    (folder / "env" / "python").symlink_to(sys.executable)
    program = Program.here(["env/python", "train.py"], folder)
    program.copy_to(tmp_path / "copy")
    assert run_program(program, tmp_path / "copy", tmp_path / "parts", Asked(counts=False)).code == 0


def test_a_run_leaves_the_users_folder_as_it_was(folder: Path, tmp_path: Path) -> None:
    (folder / "logs").mkdir()
    for name, target in (("near", "logs"), ("far", folder / "logs"), ("shared", tmp_path), ("cfg", "env/pyvenv.cfg")):
        (folder / name).symlink_to(target)
    with (folder / "train.py").open("a") as train:
        train.write("[open(f'{one}/{one}.txt', 'w') for one in ('near', 'far')]")
    before = files_in(folder)
    program = Program.here([sys.executable, "train.py"], folder)
    program.copy_to(tmp_path / "copy")
    assert [(tmp_path / "copy" / one).resolve() for one in ("shared", "cfg")] == [
        tmp_path,
        folder / "env" / "pyvenv.cfg",
    ]
    run = run_program(program, tmp_path / "copy", tmp_path / "parts", Asked(counts=False))
    assert (run.code, run.lines, run.ended) == (0, ["done", ""], "")
    assert (tmp_path / "copy" / "out.txt").read_text() == "data"
    assert files_in(folder) == before


def test_a_program_that_fails_keeps_its_code_and_its_last_lines(folder: Path, tmp_path: Path) -> None:
    (folder / "train.py").write_text("raise SystemExit('no data')")
    program = Program.here([sys.executable, "train.py"], folder)
    program.copy_to(tmp_path / "copy")
    run = run_program(program, tmp_path / "copy", tmp_path / "parts", Asked(counts=False))
    assert (run.code, [one for one in run.errors if one]) == (1, ["no data"])


def test_a_process_that_a_program_leaves_behind_is_ended(folder: Path, tmp_path: Path) -> None:
    (folder / "train.py").write_text("import subprocess; subprocess.Popen(['sleep', '60'])")
    program = Program.here([sys.executable, "train.py"], folder)
    program.copy_to(tmp_path / "copy")
    run = run_program(program, tmp_path / "copy", tmp_path / "parts", Asked(counts=False, timeout_seconds=30))
    assert (run.code, run.ended) == (0, "")


def test_a_program_that_hangs_is_ended(folder: Path, tmp_path: Path) -> None:
    (folder / "train.py").write_text("import threading; threading.Event().wait()")
    program = Program.here([sys.executable, "train.py"], folder)
    program.copy_to(tmp_path / "copy")
    run = run_program(program, tmp_path / "copy", tmp_path / "parts", Asked(counts=False, timeout_seconds=0.5))
    assert run.ended == "timeout"
