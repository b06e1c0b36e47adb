"""What becomes of a fleet when hosts are killed, the scheduler is killed, a host vanishes and a disk is full.

python scripts/fleet_faults.py RUNS [SEED [SECONDS]]      no run is begun after so many seconds

Ten hosts are processes of this machine, and what measures is made up; the scheduler, the hosts, the client, the locks
and the folders are real. In each run one host in ten is killed at a random moment, and so is the scheduler; one host is
stopped for 30 s; the disk of one is full. A client that ends otherwise than with everything is resumed.

Nothing is timed, so it may run on a busy machine. Ends with 1 if a sample is lost or doubled, or two measurements were
on a host at once.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fleet_hosts import Site, run_client, samples_in

HOSTS = 10
KILLED = 1
SHARDS = 40
CASES = 8
ROUNDS = 12
CASE_SECONDS = 0.25
SILENCE_SECONDS = 30.0
MOST_SECONDS = 15.0
"""Within which everything happens: about what a run takes."""
DISK_BYTES = 49_152
MOST_RESUMES = 5


@dataclass(frozen=True)
class Outcome:
    """What came of a run.

    Attributes:
        lost: samples that are not there.
        doubled: samples that are there more than once.
        codes: exit codes of the client: of the run, then of each time that it was resumed.
        faults: what went wrong while the client ran, beside the full disk.
        seconds: that it took.
    """

    lost: int
    doubled: int
    codes: tuple[int, ...]
    faults: tuple[str, ...]
    seconds: float


def full_disk(folder: Path) -> dict[str, str]:
    """Return what a host is told whose disk is full: a real one, of a few pages, where one may be mounted."""
    disk = folder / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=700", "tmpfs", str(disk)],
        check=False,
        capture_output=True,
    )
    if mounted.returncode:
        return {"FAKE_SHARD_BAD": "full=--full"}
    with (disk / "full").open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass
    return {"XDG_CACHE_HOME": str(disk)}


def faults(site: Site, scheduler: str, rng: random.Random, begun: list[str]) -> list[threading.Thread]:
    """Begin what goes wrong in a run, each at a random moment; what has come is noted in `begun`."""
    names = [name for name, _ in site.hosts if name != "full"]
    *killed, silent = rng.sample(names, KILLED + 1)

    def later(what: str, act: Callable[[], None]) -> threading.Thread:
        wait = rng.uniform(1.0, MOST_SECONDS)

        def run() -> None:
            time.sleep(wait)
            begun.append(what)
            act()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    return [
        *(later(f"{name} killed", site.hosts[name, scheduler].kill) for name in killed),
        later("scheduler killed", site.schedulers[scheduler].kill),
        later(f"{silent} silent", lambda: site.hosts[silent, scheduler].freeze(SILENCE_SECONDS)),
    ]


def run_once(site: Site, scheduler: str, number: int, rng: random.Random) -> Outcome:
    """Run a fleet while things go wrong, and count its samples."""
    out, log, began = site.folder / f"fleet-{number}", site.folder / f"client-{number}.log", time.monotonic()
    begun: list[str] = []
    threads = faults(site, scheduler, rng, begun)
    options = ["--scheduler", scheduler, "--patience", "60s"]
    codes = [run_client(["run", "double", "--shards", str(SHARDS), "--out", str(out), *options], log)]
    while codes[-1] not in (0, 2) and len(codes) <= MOST_RESUMES:
        codes.append(run_client(["resume", str(out), *options], log))
    in_time = tuple(begun)
    for thread in threads:
        thread.join()
    found = samples_in(out)
    planned = SHARDS * CASES * ROUNDS
    doubled = sum(count - 1 for count in found.values())
    return Outcome(planned - len(found), doubled, tuple(codes), in_time, time.monotonic() - began)


def main() -> None:
    """Run so many fleets and print what came of each."""
    runs, seed = int(sys.argv[1]), int((*sys.argv[2:3], "0")[0])
    until = time.monotonic() + float((*sys.argv[3:4], "inf")[0])
    rng = random.Random(seed)
    folder = Path(tempfile.mkdtemp(prefix="fleet-faults-"))
    os.environ["PYOPBENCH_LOCK_FOLDER"] = str(folder / "locks")
    site = Site(folder, {"FAKE_SHARD_CASES": str(CASES), "FAKE_SHARD_SECONDS": str(CASE_SECONDS)})
    outcomes: list[Outcome] = []
    try:
        scheduler = site.add_scheduler()
        for number in range(HOSTS - 1):
            site.add_host(f"host{number}", scheduler)
        site.add_host("full", scheduler, **full_disk(folder))
        while len(outcomes) < runs and time.monotonic() < until:
            outcomes.append(run_once(site, scheduler, len(outcomes), rng))
            print(f"run {len(outcomes)}: {outcomes[-1]}", flush=True)
    finally:
        site.close()
        subprocess.run(["umount", str(folder / "disk")], check=False, capture_output=True)
    lost, doubled = sum(one.lost for one in outcomes), sum(one.doubled for one in outcomes)
    samples = len(outcomes) * SHARDS * CASES * ROUNDS
    codes = dict(Counter(code for one in outcomes for code in one.codes))
    print(f"{len(outcomes)} runs, {samples:,} samples: {lost:,} lost, {doubled:,} doubled; exit codes {codes}")
    print(f"{site.overlaps()} measurements begun before another had ended; logs in {folder}")
    sys.exit(bool(lost or doubled or site.overlaps()))


if __name__ == "__main__":
    main()
