"""What is said of a port that was written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pyopbench.engine.port import PortFiles
from pyopbench.judge.writable_ports import WritablePort
from pyopbench.report.wording.port import COMMANDS, NOTES, command_text, commands_text, how_to_write, notes_text

WRITTEN = PortFiles(Path("a.py"), Path("test_a.py"), ("test_values",), (), (), is_formatted=True)


def test_each_thing_to_know_is_a_sentence() -> None:
    known = replace(
        WRITTEN,
        notes=("fixed shapes", "callback"),
        not_run=(("/a/mine.py", 3),),
        is_formatted=False,
        not_built="no g++",
    )
    found = notes_text(known)
    assert len(found) == 5
    assert "no g++" in found[2]
    assert "mine.py:3" in found[3]


def test_every_kind_of_note_has_its_own_sentence() -> None:
    assert len(set(notes_text(replace(WRITTEN, notes=tuple(NOTES))))) == len(NOTES)


def test_nothing_to_know_is_nothing() -> None:
    assert notes_text(WRITTEN) == ()


def test_a_command_stands_behind_what_it_is_for() -> None:
    assert [line.partition(": ")[2] for line in commands_text(dict.fromkeys(COMMANDS, "g++ -a"))] == ["g++ -a"] * 2


def test_the_command_is_in_the_sentence() -> None:
    port = WritablePort("mine", "njit", ("pyopbench", "port", "a b.py"))
    assert command_text(port) == "pyopbench port 'a b.py'"
    assert command_text(port) in how_to_write(port)
