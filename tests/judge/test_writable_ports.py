"""Which answers have a command that writes them as source."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from pyopbench.judge.writable_ports import WritablePort, writable_ports
from pyopbench.report.wording.port import command_text


def judgement(*choices: str | None, own: bool = True) -> Any:
    decisions = tuple(SimpleNamespace(op="mine", choice=choice) for choice in choices)
    words = {"mine": ("my file.py:body", "--input", "rng.random(3)")} if own else {}
    return SimpleNamespace(decisions=decisions, run=SimpleNamespace(own=words))


def test_a_port_of_an_own_op_has_one_command_that_names_it_with_its_inputs() -> None:
    (port,) = writable_ports(judgement("traced", "traced"))
    assert port == WritablePort("mine", "traced", port.words)
    assert command_text(port) == (
        "pyopbench port 'my file.py:body' --input 'rng.random(3)' --to traced --out mine_traced.py"
    )


def test_a_gradient_mechanism_is_no_part_of_the_variant() -> None:
    assert [port.variant for port in writable_ports(judgement("njit+defun"))] == ["njit"]


def test_what_the_user_wrote_and_what_stays_has_none() -> None:
    assert writable_ports(judgement("native", None)) == ()


def test_built_in_ops_have_none() -> None:
    assert writable_ports(judgement("tnp", own=False)) == ()
