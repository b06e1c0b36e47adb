"""How the suite runs: what its processes share, which tests begin first, and where those are that run alone.

`make test` runs the tests that are not marked `slow`, `make test-slow` those that are, and `make test-nightly` those
marked `nightly`, which neither of the two runs. Of the first two, tests that are not marked `measures` come first, in
several processes, each module in one of them because its tests share fixtures; the marked ones follow in one process.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import cache_from_source, find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from forked_workers import ForkedWorkers
from places import CACHE
from simulated import Process


def keep_bytecode() -> None:
    """Let the processes of the suite keep their bytecode where Python is told to write none, as in many containers.

    TensorFlow's Python takes three times as long to compile as to import, and dozens of processes import it. Where the
    installation has not compiled it, all bytecode goes into the folder of the suite, which is then read in place of
    what lies beside the sources; otherwise only the package and the tests lack theirs.
    """
    if not os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        return
    sys.dont_write_bytecode = False
    tensorflow = find_spec("tensorflow")
    if tensorflow and tensorflow.origin and not Path(cache_from_source(tensorflow.origin)).exists():
        sys.pycache_prefix = os.environ.setdefault("PYTHONPYCACHEPREFIX", str(CACHE / "bytecode"))


QUICK = "quick"
PARTS = {
    QUICK: set(),
    "quick-alone": {"measures"},
    "slow": {"slow"},
}
"""Part of the suite -> the marks that each of its tests has. Those that measure run alone, one after another."""

COLLECTED = CACHE / "collected.json"
"""The file with the parts that each file of tests has tests of."""

OBJECTS_BETWEEN_COLLECTIONS = 20_000
"""With Python's own 700 a thirtieth of the processor time of the tests goes into looking for garbage."""

# The same examples at every run; and how long they take to draw says how busy the machine is, and nothing else.
settings.register_profile(
    "suite", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")
keep_bytecode()
os.environ.setdefault("NUMBA_CACHE_DIR", str(CACHE / "numba"))
# Numba compiles in two thirds of the time, and no test compares how fast its code is. With 0 it caches nothing.
os.environ.setdefault("NUMBA_OPT", "1")
# Runs of the suite measure nothing, and those of its processes need not wait for each other.
os.environ["PYOPBENCH_LOCK_FOLDER"] = tempfile.mkdtemp(prefix="pyopbench-locks-")
atexit.register(shutil.rmtree, os.environ["PYOPBENCH_LOCK_FOLDER"], ignore_errors=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--part",
        choices=sorted(PARTS),
        help="run only the tests of this part of the suite",
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Import all that tests import without looking for garbage among it, which takes a tenth of the time; nor later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files without tests of the part, where that is known and nobody has named files."""
    part = config.getoption("--part")
    if part in (None, QUICK) or collection_path.suffix != ".py" or not COLLECTED.exists():
        return None
    if config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return None
    parts = json.loads(COLLECTED.read_text(encoding="utf-8"))
    return part not in parts.get(str(collection_path), PARTS) or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of other parts, and put the modules in order."""
    part = config.getoption("--part")
    parts = [_part_of(item) for item in items]
    if part == QUICK and config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        _keep_parts(items, parts)
    if part is not None:
        config.hook.pytest_deselected(items=[item for item, other in zip(items, parts, strict=True) if other != part])
        items[:] = [item for item, other in zip(items, parts, strict=True) if other == part]
    # One module has the kernels compiled while others do what takes long; what needs kernels too comes after those, so
    # that no process waits for the compiler with nothing to do.
    compiled = dict.fromkeys(item.path for item in items if "kernels" in _fixtures_of(item))
    long = {item.path for item in items if item.get_closest_marker("long")}
    first = next((path for path in compiled if path in long), None)
    ranks = {item.path: 2 if item.path in compiled else 1 if item.path in long else 3 for item in items}
    items.sort(key=lambda item: 0 if item.path == first else ranks[item.path])


def _part_of(item: pytest.Item) -> str:
    marks = {mark for mark in ("slow", "measures") if item.get_closest_marker(mark)}
    marks |= {"slow"} if "kernels" in _fixtures_of(item) else set()
    found = next((part for part, those in PARTS.items() if those == marks), None)
    if found is None:
        raise pytest.UsageError(f"{item.nodeid} is slow and measures: it has no part of the suite")
    return found


def _keep_parts(items: list[pytest.Item], parts: list[str]) -> None:
    """Write which parts have tests in which file, so that later parts need not import the others."""
    parts_of_file: dict[str, list[str]] = {}
    for item, part in zip(items, parts, strict=True):
        known = parts_of_file.setdefault(str(item.path), [])
        known += [part] if part not in known else []
    with one_process_at_a_time("collected"):  # every process of the suite collects the same
        COLLECTED.write_text(json.dumps(parts_of_file), encoding="utf-8")


def _fixtures_of(item: pytest.Item) -> tuple[str, ...]:
    return tuple(getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def simulated(kernels: None) -> Iterator[Process]:
    """The process with the simulated device. What copies it counts does not depend on what else the machine does."""
    from pyopbench.ops.kernels.simulated_device import why_not

    if why_not():
        pytest.skip(why_not())
    process = Process()
    yield process
    process.close()


@pytest.fixture(scope="session")
def forked_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The Python file of a worker that begins with TensorFlow imported, which takes most of the time to start one.

    It is for tests of what workers answer. A limit that is set for the process from outside, or a signal to its group,
    only reaches the process that has asked for the fork.
    """
    with ForkedWorkers() as workers:
        yield workers.write_client(tmp_path_factory.mktemp("worker") / "worker.py")


@contextmanager
def one_process_at_a_time(name: str) -> Iterator[None]:
    """Wait until no other process of the suite is here."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def kernels() -> None:
    """The kernels of all ops and the simulated device, compiled by one process on all cores while the others wait.

    Whatever uses it, or `simulated`, is slow.
    """
    from pyopbench.model.discover import KERNELS
    from pyopbench.ops.kernels.compiler import library_of
    from pyopbench.ops.kernels.simulated_device import BORROWED_KERNELS, KERNEL_DEFINES, PLUG_IN

    counted = (KERNELS / "elementwise_ops.cc", KERNEL_DEFINES)  # those whose copies are counted
    sources = [PLUG_IN, BORROWED_KERNELS, *sorted(KERNELS.glob("*.cc"))]
    with one_process_at_a_time("kernels"), ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(library_of, *zip(counted, *((source, ()) for source in sources), strict=True)))
