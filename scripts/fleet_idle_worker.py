"""What a worker of Dask takes of a host while it does nothing but wait for a shard.

python scripts/fleet_idle_worker.py [SECONDS]

Starts a scheduler and two workers, one as `docs/fleet.md` says and one as Dask starts it, and prints the processor time
and the wake-ups of each in the time that is given (60 s). Processor time can be told on a busy machine too.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import psutil
from fleet_hosts import QUIET, Site

SETTLING_SECONDS = 15.0


def main() -> None:
    """Start both workers, wait, and print what each took."""
    seconds = float((*sys.argv[1:], "60")[0])
    site = Site(Path(tempfile.mkdtemp(prefix="fleet-idle-")))
    try:
        scheduler = site.add_scheduler()
        site.add_host("quiet", scheduler)
        site.add_host("usual", scheduler, **dict.fromkeys(QUIET, "True"))
        time.sleep(SETTLING_SECONDS)
        workers = {name: psutil.Process(kept.process.pid) for (name, _), kept in site.hosts.items()}
        before = {name: (one.cpu_times(), one.num_ctx_switches()) for name, one in workers.items()}
        time.sleep(seconds)
        for name, one in workers.items():
            (cpu, switches), (cpu_now, switches_now) = before[name], (one.cpu_times(), one.num_ctx_switches())
            used = cpu_now.user + cpu_now.system - cpu.user - cpu.system
            woken = switches_now.voluntary - switches.voluntary
            print(f"{name}: {100 * used / seconds:.2f}% of a core, {woken / seconds:.0f} wake-ups a second")
    finally:
        site.close()


if __name__ == "__main__":
    main()
