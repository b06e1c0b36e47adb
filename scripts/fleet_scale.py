"""How much of the time of forty hosts is measuring, for 10,000 cases on 10 versions of TensorFlow, by simulation.

python scripts/fleet_scale.py [HOSTS [SECONDS]]

Dask's workers are in this process and share its cores, and what measures sleeps for SECONDS (0.12) for each case and
version; the scheduler, the processes of shards, the locks, and what they write are real. Shards of hours, as real ones
are, lose less of their time to being begun and handed over than these of half a minute.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from fleet_hosts import Site, dask_hosts

from pyopbench.engine.fleet import folder as fleet_folder
from pyopbench.engine.fleet.dispatch import Dispatch, Rules
from pyopbench.engine.fleet.scheduler import Access, Scheduler

HOSTS = 40
CASES = 10_000
VERSIONS = 10
SHARDS = 400


def main() -> None:
    """Run a fleet and print the share of its hosts' time that was measuring."""
    hosts, seconds = int((*sys.argv[1:], HOSTS)[0]), float((*sys.argv[2:], "0.12")[0])
    folder = Path(tempfile.mkdtemp(prefix="fleet-scale-"))
    of_shard = CASES * VERSIONS // SHARDS
    site = Site(folder, {"FAKE_SHARD_CASES": str(of_shard), "FAKE_SHARD_SECONDS": str(seconds)})
    os.environ.update(site.variables)
    names = [f"host{number}" for number in range(hosts)]
    with dask_hosts(*names) as cluster:
        access = Access(cluster.scheduler_address)
        with Scheduler(access, lambda event: None, 60.0) as scheduler:
            while len(scheduler.hosts()) < hosts:
                time.sleep(0.1)
            out = folder / "fleet"
            fleet_folder.create(out, fleet_folder.FleetPlan(words=[], own_words=[], shards=SHARDS))
            began, cpu = time.monotonic(), time.process_time()
            missing = Dispatch(out, [], scheduler, Rules(lambda event: None)).run()
            took, cpu = time.monotonic() - began, time.process_time() - cpu
    measured = sum(ended - begun for times in site.intervals().values() for begun, ended in times)
    delivered = len(fleet_folder.arrivals(out))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{delivered} of {SHARDS} shards ({of_shard} cases each) in {took:.1f} s on {hosts} hosts; "
        f"{len(missing)} missing"
    )
    print(
        f"{100 * measured / (hosts * took):.1f}% of the hosts' time was measuring, {site.overlaps()} at once on a host"
    )
    print(f"client, scheduler and {hosts} workers: {cpu:.1f} s of processor time, at most {memory:.2f} GiB")


if __name__ == "__main__":
    main()
