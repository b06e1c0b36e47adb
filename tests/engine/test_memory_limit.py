"""A process with a limit is refused more memory and lives on, and goes before its parent when there is none left."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pyopbench.engine import memory_limit
from pyopbench.model.errors import BadInput

pytestmark = [
    pytest.mark.measures,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits what a process may take"),
]

CHILD = """
input()
try:
    bytearray(1 << 30)
except MemoryError:
    print("refused")
else:
    print("given")
"""


def ask(limit_bytes: int | None) -> tuple[str, str]:
    """Return what a process that wants a GiB says, and how near it is to be ended for want of memory."""
    with subprocess.Popen([sys.executable, "-c", CHILD], stdin=-1, stdout=-1, text=True) as child:
        memory_limit.offer(child.pid)
        if limit_bytes is not None:
            memory_limit.limit(child.pid, limit_bytes)
        score = Path(f"/proc/{child.pid}/oom_score_adj").read_text(encoding="ascii").strip()
        said, _ = child.communicate("\n")
    return said.strip(), score


def test_a_process_cannot_have_more_than_its_limit() -> None:
    assert ask(256 << 20) == ("refused", memory_limit.FIRST_TO_GO)
    assert ask(None) == ("given", memory_limit.FIRST_TO_GO)


def test_a_process_that_has_ended_has_no_limit_and_is_no_error() -> None:
    with subprocess.Popen(["true"]) as child:
        child.wait()
    memory_limit.offer(child.pid)
    memory_limit.limit(child.pid, 1 << 30)


def test_a_limit_that_leaves_tensorflow_no_room_is_refused() -> None:
    memory_limit.require_limitable(memory_limit.LEAST_BYTES)
    with pytest.raises(BadInput) as caught:
        memory_limit.require_limitable(memory_limit.LEAST_BYTES - 1)
    assert caught.value.received == "2,147,483,647 bytes"
    assert caught.value.legal == "at least 2G"


def test_a_limit_is_refused_where_the_system_keeps_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(BadInput) as refused:
        memory_limit.require_limitable(memory_limit.LEAST_BYTES)
    assert refused.value.received == "a limit on darwin"
