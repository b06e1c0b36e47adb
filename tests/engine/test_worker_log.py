"""The end of a worker's log in one line: since the case, without what TensorFlow says anyway, and where it crashed."""

from __future__ import annotations

import tempfile

import pytest

from pyopbench.engine.worker_log import LONGEST, TAIL_BYTES, cause_of_end, how_ended, tail_of

INFORMATION = "I0000 00:00:1795201820.852615   29463 port.cc:153] oneDNN custom operations are on.\n"
STACKS_OF_ANY = """\
Fatal Python error: {}

Thread 0x00007f0000000001 (most recent call first):
  File "/python/threading.py", line 1 in wait

Current thread 0x00007f0000000002 (most recent call first):
  File "/usr/lib/python3.11/ctypes/__init__.py", line 519 in string_at
  File "/ops/my_op.py", line 12 in body
  File "/python/script_ops.py", line 3 in __call__

Extension modules: numpy, tensorflow (total: 2)
"""
STACKS, STACKS_OF_ABORTED = map(STACKS_OF_ANY.format, ("Segmentation fault", "Aborted"))


def test_only_what_was_said_since_the_case_counts() -> None:
    assert cause_of_end(f"earlier\na/case\nlater\n{INFORMATION}\n", "a/case") == "later"
    assert cause_of_end("earlier\na/case\n", "a/case") == ""
    assert cause_of_end("earlier\n", None) == "earlier"


def test_a_line_of_tensorflow_is_told_without_time_and_thread() -> None:
    assert cause_of_end("F0000 00:00:1.2   29463 some.cc:1] Check failed\n", None) == "some.cc:1] Check failed"


def test_a_long_line_is_cut() -> None:
    assert cause_of_end("x" * 999, None) == "x" * LONGEST


def test_a_crash_names_the_innermost_place_of_the_thread_that_crashed() -> None:
    assert cause_of_end(f"a/case\n{STACKS}", "a/case") == "Segmentation fault in body (/ops/my_op.py:12)"


def test_what_was_said_before_a_crash_is_told_with_it() -> None:
    said = "terminate called after throwing an instance of 'std::bad_alloc'\n"
    assert cause_of_end(said + STACKS_OF_ABORTED, None) == f"Aborted in body (/ops/my_op.py:12); {said.strip()}"


def test_a_crash_in_libraries_alone_names_the_innermost_of_them() -> None:
    dump = "Fatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call first):\n"
    frames = '  File "/lib/python3.11/a.py", line 1 in inner\n  File "/lib/python3.11/b.py", line 2 in outer\n'
    assert cause_of_end(dump + frames, None) == "Aborted in inner (/lib/python3.11/a.py:1)"


def test_a_crash_outside_of_python_is_told_without_a_place() -> None:
    dump = "Fatal Python error: Bus error\n\nCurrent thread 0x1 (most recent call first):\n  <no Python frame>\n"
    assert cause_of_end(dump, None) == "Bus error"


@pytest.mark.parametrize(
    ("code", "told"),
    [(3, "ended with exit code 3"), (-9, "ended by signal SIGKILL"), (-200, "ended by signal 200")],
)
def test_an_exit_code_and_a_signal_are_named(code: int, told: str) -> None:
    assert how_ended(code) == told


def test_of_a_long_log_the_end_is_read() -> None:
    with tempfile.TemporaryFile() as log:
        log.write(b"begin\n" + b"x" * TAIL_BYTES + b"\nend \xff\n")
        tail = tail_of(log)
    assert "begin" not in tail
    assert tail.endswith("x\nend \N{REPLACEMENT CHARACTER}\n")
