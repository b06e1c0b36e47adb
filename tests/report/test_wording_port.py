"""What is said of a port that was written."""

from __future__ import annotations

from pyopbench.judge.writable_ports import WritablePort
from pyopbench.report.wording.port import command_text, how_to_write, notes_text


def test_each_thing_to_know_is_a_sentence() -> None:
    found = notes_text(["fixed shapes", "callback"], [("/a/mine.py", 3)], is_formatted=False)
    assert len(found) == 4
    assert "mine.py:3" in found[2]


def test_nothing_to_know_is_nothing() -> None:
    assert notes_text([], [], is_formatted=True) == ()


def test_the_command_is_in_the_sentence() -> None:
    port = WritablePort("mine", "njit", ("pyopbench", "port", "a b.py"))
    assert command_text(port) == "pyopbench port 'a b.py'"
    assert command_text(port) in how_to_write(port)
