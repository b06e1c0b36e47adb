"""Options of `pytest benchmarks`: what is measured, and where pytest-benchmark keeps it (benchmarks/README.md)."""

from __future__ import annotations

import argparse
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import pytest

STORAGE = Path(__file__).resolve().parents[1] / "results" / "pytest-benchmark"
NAME = "pyopbench"

PLACEMENTS = ("cpu", "gpu")
MOST_THREADS = 256

MOST_SECONDS = 0.2
"""About how long a case is timed, in place of pytest-benchmark's whole second: there are hundreds of them."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that say what is measured."""
    group = parser.getgroup("pyopbench")
    group.addoption(
        "--sizes",
        type=_read_sizes,
        default=(),
        metavar="N,...|all",
        help="sizes of every op, such as 1e3,1e6, or `all` of each op's own; default: the middle one of a quick run",
    )
    group.addoption(
        "--directions",
        type=_read_directions,
        default=(),
        metavar="NAME,...",
        help="of backward, forward and forward_backward; default: all of them",
    )
    group.addoption(
        "--placement",
        choices=PLACEMENTS,
        default="cpu",
        help="default: cpu; without a GPU, the gpu cases are skipped with a reason",
    )
    group.addoption(
        "--in-graph",
        action="store_true",
        help="also what each op costs inside a graph, in extra_info",
    )
    group.addoption(
        "--threads",
        type=_read_threads,
        default=(),
        metavar="N,...",
        help="also calls by so many threads at once, such as 1,2; default: none",
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what no option asks for: it would take as long again as all the rest."""
    asked = {"test_in_graph.py": config.option.in_graph, "test_concurrency.py": config.option.threads}
    return None if asked.get(collection_path.name, True) else True


# What reads options is imported where it is needed: it brings TensorFlow along, and this file is read for --help too.


def _read_sizes(text: str) -> str | tuple[int, ...]:
    from pyopbench.worker.suite_api import BadInput, parse_size, split_some

    try:
        return text if text == "all" else tuple(map(parse_size, split_some("--sizes", [text])))
    except BadInput as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _read_directions(text: str) -> tuple[str, ...]:
    from pyopbench.worker.suite_api import DIRECTIONS, BadInput, require_known, split_some

    try:
        names = split_some("--directions", [text])
        require_known("direction", names, DIRECTIONS)
    except BadInput as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return names


def _read_threads(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.isascii() and part.isdigit() and 0 < int(part) <= MOST_THREADS for part in parts):
        raise argparse.ArgumentTypeError(f"not numbers of threads from 1 to {MOST_THREADS}: {text!r}")
    return tuple(map(int, parts))


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Keep results under `results/` and time each case for a shorter while, unless an option says otherwise."""
    option = config.option
    if not config.pluginmanager.hasplugin("benchmark"):
        return  # pytest itself has refused --benchmark-only already
    if not _given(config, "--benchmark-storage"):
        option.benchmark_storage = f"file://{STORAGE}"
    if not _given(config, "--benchmark-max-time"):
        option.benchmark_max_time = str(MOST_SECONDS)
    if option.benchmark_only and not (option.benchmark_save or option.benchmark_autosave):
        option.benchmark_save = NAME


def _given(config: pytest.Config, name: str) -> bool:
    return any(argument.startswith(name) for argument in config.invocation_params.args)


@pytest.hookimpl(optionalhook=True)
def pytest_benchmark_update_machine_info(config: pytest.Config, machine_info: MutableMapping[str, Any]) -> None:
    """Leave the name of the machine out of what is stored."""
    machine_info.pop("node", None)
