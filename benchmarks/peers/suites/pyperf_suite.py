"""Forward cases as benchmarks of a pyperf runner; pyperf starts this file anew for each of its processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyperf

from peers import cases


def main() -> None:
    """Register every case; a worker process prepares only the one that it was started for."""
    runner = pyperf.Runner()
    arguments = runner.parse_args()
    for task, case in enumerate(cases.handed_over()):
        mine = arguments.worker and arguments.worker_task in (task, None)
        runner.bench_func(case, _prepared(case) if mine else _another_process_calls_it)


def _prepared(case: str) -> Callable[[], Any]:
    # Here, so that the process that only starts workers does without TensorFlow.
    from pyopbench.worker.suite_api import Case, prepare

    return prepare(Case.from_id(case)).segments[0]


def _another_process_calls_it() -> None:
    raise RuntimeError("a case that was not prepared must not be called")


if __name__ == "__main__":
    main()
