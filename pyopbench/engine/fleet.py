"""Measures the shards of a plan on the workers of a Dask scheduler, and merges them into one run here.

Dask gives each worker one shard at a time, gives a shard to another worker where one is lost, and secures connections
as its own configuration says. Whoever can speak to a scheduler of Dask can have Python run on every machine that is
connected to it, this one too: TLS is what keeps others out. Source:
https://distributed.dask.org/en/stable/tls.html
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pyopbench.model.child_process import die_with_parent
from pyopbench.model.errors import BadInput, NothingMeasured, WorkerLost
from pyopbench.model.files import write_atomically
from pyopbench.model.machine import host_name
from pyopbench.store.merge import Merging, merge
from pyopbench.store.run import RUN_FILE, SAMPLES_FILE

RESOURCE = "measure"
"""Of which a worker that measures has one, so that Dask gives it one shard at a time."""
RETRIES = 2
"""How often a shard that failed is tried again, on any worker."""
SENT = (".py", ".npy")
"""Files that are sent with a shard, if a word of the command names them: own ops, and inputs."""
RESULTS = (RUN_FILE, SAMPLES_FILE)
SHARDS, MERGED = "shards", "merged"


class ShardFailed(Exception):
    """A shard could not be measured; the end of what its process printed."""


def run_shard(
    shard: int, of: int, words: Sequence[str], files: Mapping[str, bytes]
) -> tuple[str, int, dict[str, bytes]]:
    """Measure shard `shard` of `of`, from 1, in a process of its own. Dask calls this on its workers.

    `words` are those of `pyopbench run`, and `files` what they name, by relative path. Returns the host's name, the
    exit code of the run, and the files of its results. Raises `ShardFailed` if nothing was measured: Dask tries again.
    """
    with tempfile.TemporaryDirectory(prefix="pyopbench-shard-") as name:
        folder, results = Path(name), Path(name) / "results"
        for path, content in files.items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_bytes(content)
        done = subprocess.run(
            [sys.executable, "-m", "pyopbench", "run", *words, "--shard", f"{shard}/{of}", "--out", str(results)],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
            preexec_fn=die_with_parent,
        )
        if done.returncode > 1 or done.returncode < 0:  # 1: a variant is wrong, or slower than it may be
            raise ShardFailed(f"{host_name()}: {done.stdout[-2000:].strip()}")
        return host_name(), done.returncode, {name: (results / name).read_bytes() for name in RESULTS}


def take_files(words: Sequence[str]) -> tuple[list[str], dict[str, bytes]]:
    """Return words with the files that they name where `run_shard` writes them, and the content of those files.

    A file can be named alone, with a function (`my_op.py:loss`), or as a value (`--input x=x.npy`).
    """
    places: dict[str, str] = {}
    files: dict[str, bytes] = {}

    def take(word: str) -> str:
        before, equals, last = word.rpartition("=")
        place, colon, function = last.partition(":")
        path = Path(place)
        if path.suffix not in SENT or not path.is_file():
            return word
        sent = places.setdefault(place, f"{len(places)}/{path.name}")
        files[sent] = path.read_bytes()
        return f"{before}{equals}{sent}{colon}{function}"

    return [take(word) for word in words], files


def measure_shards(
    scheduler: str,
    words: Sequence[str],
    folder: Path,
    shards: int | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> tuple[Merging, bool]:
    """Measure a plan on the workers of a scheduler, and merge its shards; was a variant wrong in one, or a regression?

    `words` are those of `pyopbench run`, besides the shard and the folder. Each shard is written to `shards/N` of a new
    folder as it arrives, and all are merged into `merged`; without a number of them there is one for each worker that
    has the resource `measure`. `say` is called with a line when a shard has arrived, or failed.
    """
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise BadInput(
            "Dask is not installed", received=error, hint="pip install 'pyopbench[fleet,report]' on every machine"
        ) from error
    if (folder / SHARDS).exists() or (folder / MERGED).exists():
        raise BadInput("the output folder already contains a fleet", received=folder, hint="choose another --out")
    taken, files = take_files(words)
    try:
        client = Client(scheduler)
    except (OSError, ValueError) as error:
        raise WorkerLost(
            "the Dask scheduler cannot be reached", received=f"{scheduler}: {error}", hint="check --scheduler"
        ) from error
    with client:
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        able = sum(RESOURCE in worker["resources"] for worker in workers)
        if not able:  # Dask would wait for one
            hint = f"start them with: dask worker ADDRESS --nthreads 1 --resources {RESOURCE}=1"
            what = f"no worker of the scheduler has the resource {RESOURCE}"
            raise NothingMeasured(what, received=f"{len(workers)} workers", hint=hint)
        shards = shards or able
        futures = client.map(
            run_shard,
            range(1, shards + 1),
            of=shards,
            words=taken,
            files=files,
            resources={RESOURCE: 1},
            retries=RETRIES,
            pure=False,
        )
        arrived, is_wrong = list[Path](), False
        for future in as_completed(futures):
            number = 1 + futures.index(future)
            if future.status != "finished":
                say(f"shard {number} failed: {future.exception()}")
                continue
            host, code, results = future.result()
            place = folder / SHARDS / str(number)
            place.mkdir(parents=True)
            for name, content in results.items():
                write_atomically(place / name, content)
            arrived.append(place)
            is_wrong = is_wrong or code != 0
            say(f"shard {number} arrived from {host}, {len(arrived)} of {shards}")
            future.release()
    if not arrived:
        hint = "try one on a worker by hand: pyopbench run with the same options and --shard 1/N"
        raise NothingMeasured("no shard was measured", received=f"{shards} shards, all of which failed", hint=hint)
    return merge(arrived, folder / MERGED), is_wrong
