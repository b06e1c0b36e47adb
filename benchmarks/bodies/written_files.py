"""Files that `pyopbench port` writes: does each have the bytes that were measured, and does its own test pass?

A measured port is a module that the writer makes and imports. The command `port` makes it again, with a
test, as it does for a user. That test runs where pyopbench cannot be imported.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

from pyopbench.engine.port import write_port
from pyopbench.model.errors import PyopbenchError, WrongResult
from pyopbench.model.failures import LONGEST_REASON, describe_error, describe_message
from pyopbench.model.op import Op
from pyopbench.model.own_target import Target
from pyopbench.ops.port_file import PORTS
from pyopbench.worker.requests import write_port as answer

PROCESS = Path(__file__).with_name("own_test_process.py")
TEST_SECONDS = 120.0


def became_of_file(op: Op, target: Target, variant: str, folder: Path, seconds: float = TEST_SECONDS) -> dict[str, str]:
    """Write a port and its test into a folder as the command `port` does, and return the outcome.

    Args:
        op: as it was measured.
        target: its name on the command line.
        variant: of the port.
        folder: which exists; the file is named after the op and the variant.
        seconds: how long its own test may take.

    Returns:
        `became`: `right`, `refused` if nothing can be written, `failed` if its own test fails, `other bytes`
        if it is not the file that is measured; and of the last three `reason` and `at`.
    """
    out = path_of(op, variant, folder)
    try:
        write_port(target, variant, out, seconds, ask=_answer, test=_own_tests().run)
    except WrongResult as error:
        said = describe_message(*str(error.received).partition(": ")[::2])
        return _became("failed", "its own test", f"{error.message}: {said}")
    except PyopbenchError as error:
        return _became("refused", Path(str(error.received)).name, error.message)
    except Exception as error:  # noqa: BLE001 - defects of the writer are counted too
        return _became("failed", "while it is written", describe_error(error))
    measured, written = PORTS.file_of(op, variant, op.dtypes[0]).text.encode(), out.read_bytes()
    if measured != written:
        lines = zip(measured.splitlines(), written.splitlines(), strict=False)
        pairs = (f"{one!r} was measured, {other!r} is written" for one, other in lines if one != other)
        return _became("other bytes", out.name, next(pairs, f"{len(measured)} and {len(written)} bytes"))
    return {"became": "right"}


def path_of(op: Op, variant: str, folder: Path) -> Path:
    """Return the path of the file of a port."""
    return folder / f"{op.name}_{variant}.py"


def _became(became: str, at: str, reason: str) -> dict[str, str]:
    return {"became": became, "at": at, "reason": " ".join(reason.split())[:LONGEST_REASON]}


@functools.cache
def _own_tests() -> OwnTests:
    return OwnTests()


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    """Write in this process, which already has TensorFlow."""
    return answer(request, lambda event: None)


class OwnTests:
    """A process that runs tests of ports one after another, because starting TensorFlow for each takes seconds.

    It runs each as `pyopbench port` does, by the same function, without pyopbench. It is started again after a crash or
    a test that took too long.
    """

    def __init__(self) -> None:
        """Start nothing yet."""
        self._process: subprocess.Popen[str] | None = None
        atexit.register(self.close)

    def run(self, folder: Path, module: str, timeout_seconds: float) -> dict[str, Any]:
        """Run the tests of a module; as `pyopbench.engine.port.run_test`."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = self._start()
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([str(folder), module]) + "\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], timeout_seconds)
        line = process.stdout.readline() if ready else ""
        if line:
            found: dict[str, Any] = json.loads(line)
            return found
        self.close()
        error = (
            f"the process ended with {process.returncode}" if ready else f"it took longer than {timeout_seconds:g} s"
        )
        return {"passed": [], "failed": module, "error": error}

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()  # which closes the pipes
            self._process = None

    def _start(self) -> subprocess.Popen[str]:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        environment.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        return subprocess.Popen([sys.executable, "-B", str(PROCESS)], env=environment, text=True, **pipes)
