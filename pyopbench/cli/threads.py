"""`pyopbench run --threads`: calls from several threads, measured beside a run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rich.markup import escape

from pyopbench.cli.output import err, say_error
from pyopbench.engine import concurrent_calls
from pyopbench.engine.worker_process import Worker
from pyopbench.model.case import Axes
from pyopbench.model.errors import BadInput, PyopbenchError
from pyopbench.model.parse import split_some
from pyopbench.store import threads_file

MOST_THREADS = 256


def read_threads(text: str, others: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers of threads of a command line, ascending; none for an empty text.

    Args:
        text: of `--threads`.
        others: options beside which it cannot be.

    Raises:
        BadInput: no numbers, or an option beside which it cannot be.
    """
    words = split_some("--threads", [text]) if text else []
    numbers = tuple(sorted({int(word) for word in words if word.isdecimal()}))
    if not all(word.isdecimal() for word in words) or any(not 1 <= one <= MOST_THREADS for one in numbers):
        raise BadInput(
            "--threads takes numbers",
            received=text,
            legal=f"whole numbers from 1 to {MOST_THREADS}, comma-separated",
            hint="for example --threads 1,2,4",
        )
    if numbers and others:
        raise BadInput(
            "calls from several threads are measured on one version and one machine",
            received=f"--threads {text} with {', '.join(others)}",
            legal="--threads without --tf, --rev and --shard",
            hint="make a run for each: pyopbench run OP --threads 1,2,4",
        )
    return numbers


def measure_beside(folder: Path, axes: Axes, threads: Sequence[int], timeout_seconds: float) -> None:
    """Measure calls from threads and keep them beside a run, which is worth having without."""
    try:
        with err.status("calls from several threads") as status:

            def tell(launch: int, launches: int, case: str) -> None:
                status.update(escape(f"calls from several threads: launch {launch + 1} of {launches}, {case}"))

            document = concurrent_calls.measure(axes, threads, partial(Worker, timeout_seconds), tell)
        threads_file.write(folder / threads_file.FILE, document)
    except PyopbenchError as error:
        say_error(error, "[yellow]warning:[/] calls from several threads were not measured:")
