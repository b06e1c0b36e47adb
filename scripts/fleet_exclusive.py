"""Whether two fleets that share their hosts ever measure at once on one of them, from when each measurement was made.

python scripts/fleet_exclusive.py

Four hosts are processes of this machine, each with a worker for each of two schedulers, and what measures is made up;
the locks, the schedulers and the clients are real. Prints how often a measurement was begun before another on the same
host had ended, which has to be never, and how long fleets waited for each other.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from pathlib import Path

from fleet_hosts import Site, run_client, samples_in

HOSTS = 4
SHARDS = 24
CASES = 6
ROUNDS = 12
CASE_SECONDS = 0.1


def main() -> None:
    """Run both fleets at the same time and print what came of them."""
    folder = Path(tempfile.mkdtemp(prefix="fleet-exclusive-"))
    os.environ["PYOPBENCH_LOCK_FOLDER"] = str(folder / "locks")
    site = Site(folder, {"FAKE_SHARD_CASES": str(CASES), "FAKE_SHARD_SECONDS": str(CASE_SECONDS)})
    codes: dict[str, int] = {}

    def run(name: str, scheduler: str) -> None:
        words = ["run", "double", "--shards", str(SHARDS), "--out", str(folder / name), "--scheduler", scheduler]
        codes[name] = run_client(words, folder / f"{name}.client.log")

    try:
        schedulers = [site.add_scheduler(), site.add_scheduler()]
        for scheduler in schedulers:
            for number in range(HOSTS):
                site.add_host(f"host{number}", scheduler)
        threads = [threading.Thread(target=run, args=(f"fleet-{place}", one)) for place, one in enumerate(schedulers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        site.close()
    for name in sorted(codes):
        found = samples_in(folder / name)
        whole = len(found) == sum(found.values()) == SHARDS * CASES * ROUNDS
        print(f"{name}: exit code {codes[name]}, {len(found):,} samples, {'each once' if whole else 'NOT each once'}")
    times = site.intervals()
    measured = sum(map(len, times.values()))
    print(f"{measured:,} measurements on {len(times)} hosts, {site.overlaps()} begun before another had ended")
    sys.exit(bool(site.overlaps()))


if __name__ == "__main__":
    main()
