"""A port as files: a worker writes the text, and its test is run, without pyopbench, before they are put in place."""

from __future__ import annotations

import importlib.util
import json
import keyword
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyopbench.engine import port_test_process
from pyopbench.engine.worker_process import START_TIMEOUT_SECONDS, CaseLost, Worker
from pyopbench.model.arrangement import read_key
from pyopbench.model.case import NO_GRADIENT, UNLIMITED, Case
from pyopbench.model.child_process import which
from pyopbench.model.errors import BadInput, WrongResult
from pyopbench.model.own_target import Target, own_ops
from pyopbench.model.variant import PORTABLE, WRITABLE

TIMED_BLOCKS = 40
"""Blocks of port and callback together, by whose medians they are compared."""


@dataclass(frozen=True)
class WrittenPort:
    """A port that was written and has passed its own test."""

    port: Path
    function: str  # its name in the file: of tensors, or of datasets
    test: Path
    passed: tuple[str, ...]  # names of the tests
    not_run: tuple[
        tuple[str, int], ...
    ]  # file and line of statements that no example went through, written as they stood
    # `known sizes: NAME` if those have to be where it is traced, `callback` if it is one, `64 bits` if it multiplies
    # integers of Python's, `prints: LINES`.
    notes: tuple[str, ...]
    is_formatted: bool
    dataset: str = ""  # the call of `Dataset.map` that goes with a batched form; empty for others
    ratios: Mapping[int, float] = field(default_factory=dict)  # size -> times as fast as the current callback, if timed


def write_port(  # noqa: PLR0913 - the last two are for tests, which have TensorFlow already
    target: Target,
    variant: str,
    out: Path,
    timeout_seconds: float = 600.0,
    *,
    timed_seconds: float = 0.0,
    ask: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    test: Callable[[Path, str, float], dict[str, Any]] | None = None,
) -> WrittenPort:
    """Write a port of an own op to a new file, and its test next to it, if that passes within so many seconds.

    The variant is one of `WRITABLE`, or the key of an arrangement. Port and current callback are timed for
    `timed_seconds` at each size of the test; not at all if that is 0.

    Raises:
        BadInput: the file is there already, or no port can be written, with the user's line.
        WrongResult: the port fails its own test; nothing is written.
    """
    test_file = out.with_name(f"test_{out.name}")
    _check(variant, out, test_file)
    with ExitStack() as stack:
        test = test or stack.enter_context(port_tester())
        ask = ask or stack.enter_context(Worker(START_TIMEOUT_SECONDS, own=own_ops(target))).ask
        answer = ask({"do": "port", "op": asdict(target), "variant": variant, "module": out.stem})
        _require_written(answer, target, variant)
        files = {out: answer["port"], test_file: answer["test"]}
        with TemporaryDirectory() as scratch:
            for path, text in files.items():
                Path(scratch, path.name).write_text(text, encoding="utf-8")
            result = test(Path(scratch), test_file.stem, timeout_seconds)
        if "failed" in result:
            raise WrongResult(
                f"the port to {variant} fails its own test, {result['failed']}, so it is not written",
                received=str(result["error"])[:2_000],
                hint=f"`pyopbench verify {target.text}` shows which variants are correct; try another one",
            )
        for path, text in files.items():
            with path.open("x", encoding="utf-8") as stream:  # not through a link, even one that leads nowhere
                stream.write(text)
        ratios = _ratios(ask, answer, variant, timed_seconds) if timed_seconds and variant in PORTABLE else {}
    return WrittenPort(
        port=out,
        function=answer["function"],
        test=test_file,
        passed=tuple(result["passed"]),
        not_run=tuple((str(file), int(line)) for file, line in answer["not_run"]),
        notes=tuple(answer["notes"]),
        is_formatted=which("ruff") is not None,
        dataset=answer["dataset"],
        ratios=ratios,
    )


def _ratios(
    ask: Callable[[dict[str, Any]], dict[str, Any]], answer: Mapping[str, Any], variant: str, seconds: float
) -> dict[int, float]:
    """Return how many times as fast as the current callback a port is in a graph, by size.

    A size is left out where one of them is not right, or ends its process: this is a hint and no measurement.
    """
    op, dtype, callback = answer["op"], answer["dtype"], answer["callback"]
    port = {"op": op, "variant": variant, "dtype": dtype, "text": answer["port"], "function": answer["function"]}
    ratios: dict[int, float] = {}
    for size in answer["sizes"]:
        cases = [Case(op, one, NO_GRADIENT, "forward", "call", dtype, size).id for one in (callback, variant)]
        timed = {"cases": cases, "seed": 0, "launch": 0, "pass": 0, "first_round": 0}
        blocks = {"block_seconds": seconds / TIMED_BLOCKS, "group_seconds": seconds, "rounds": UNLIMITED}
        try:
            ask({"do": "prepare", **timed, "finite_differences": False, "ports": [port]})
            samples = ask({"do": "sample", **timed, **blocks})["samples"]
        except CaseLost:
            break
        if len(samples) == len(cases):
            old, new = (statistics.median(row[3] / row[2] for row in samples[case]) for case in cases)
            ratios[size] = old / new
    return ratios


def _check(variant: str, out: Path, test: Path) -> None:
    if variant not in WRITABLE and read_key(variant) is None:
        raise BadInput(
            "this variant cannot be written as source",
            received=variant,
            legal=f"{', '.join(WRITABLE)}; or an arrangement of a pipeline: map, processes, port NAME, "
            "batch_body batch=N, batch_loop batch=N, port_batch NAME batch=N",
            hint="for example --to traced; `pyopbench pipeline` prints the arrangements that it has measured",
        )
    is_name = out.suffix == ".py" and out.stem.isidentifier() and not keyword.iskeyword(out.stem)
    # pytest reads `conftest` as something else; a name of a module that there is would hide it from the test.
    if not is_name or out.stem == "conftest" or importlib.util.find_spec(out.stem) is not None:
        raise BadInput(
            "a port needs a file name that Python can import, and that no module has",
            received=out,
            hint="for example --out ported.py",
        )
    for path in (out, test):
        if os.path.lexists(path) or not path.parent.is_dir():
            hint = "choose a name that is not taken, in a folder that is there"
            raise BadInput("the port and its test must be new files in an existing folder", received=path, hint=hint)


def _require_written(answer: dict[str, Any], target: Target, variant: str) -> None:
    if "error" in answer:
        raise BadInput.from_plain(answer["error"])
    if "refused" in answer:
        refused = answer["refused"]
        raise BadInput(
            f"cannot write a port to {variant}: {refused['why']}",
            received=":".join(map(str, refused["place"] or ())) or target.text,
            legal="bodies and functions that docs/port.md lists",
            hint=refused["fix"] or "write it in another way that returns the same values, or keep the callback",
        )


@contextmanager
def port_tester() -> Iterator[Callable[[Path, str, float], dict[str, Any]]]:
    """Start a process where pyopbench cannot be imported; yield a function that runs a module's tests in it, once.

    It imports TensorFlow while a worker does. It runs in the current folder: a body may read a file by a relative path.
    """
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    command = [sys.executable, "-B", port_test_process.__file__]
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, env=environment, text=True, errors="replace", **pipes) as process:
        try:
            yield partial(_run_test_in, process)
        finally:
            process.kill()


def _run_test_in(process: subprocess.Popen[str], folder: Path, module: str, timeout_seconds: float) -> dict[str, Any]:
    folder = folder.resolve()
    answer = folder / "answer.json"
    try:
        _, errors = process.communicate(json.dumps([str(folder), module, str(answer)]), timeout_seconds)
    except subprocess.TimeoutExpired:
        return {"passed": [], "failed": module, "error": f"it took longer than {timeout_seconds:g} s"}
    try:
        result: dict[str, Any] = json.loads(answer.read_bytes())
    except (OSError, ValueError):
        last = (errors.strip().splitlines() or ["nothing"])[-1]
        return {"passed": [], "failed": module, "error": f"the process ended with {process.returncode}: {last}"}
    return result
