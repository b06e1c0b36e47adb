"""Which machine this is, in the results of several: a name that tells machines apart and says nothing of them."""

from __future__ import annotations

import hashlib
import os
import re
import socket
from functools import cache
from pathlib import Path

from pyopbench.model.errors import BadInput

VARIABLE = "PYOPBENCH_HOST"
"""Environment variable with the name to use in place of the hash."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
BOOT = Path("/proc/sys/kernel/random/boot_id")
"""New at each start of a Linux kernel, and the same in all containers on it. A machine id is no help: nodes that start
from one image have the same. Source: https://man7.org/linux/man-pages/man5/proc_sys_kernel.5.html"""
HASH_DIGITS = 12


def host_name() -> str:
    """Return the name of this machine: that in `PYOPBENCH_HOST`, else a hash that holds until it is started again."""
    told = os.environ.get(VARIABLE)
    if told is None:
        return _hashed()
    if not NAME.fullmatch(told):
        raise BadInput(
            "not a name for a machine",
            received=f"{VARIABLE}={told!r}",
            hint=f"use up to 63 letters, digits, dots, dashes and underscores, as {VARIABLE}=$(hostname -s) does",
        )
    return told


@cache
def _hashed() -> str:
    try:
        seed = BOOT.read_text(encoding="ascii").strip()
    except OSError:  # no Linux
        seed = socket.gethostname()
    return hashlib.sha256(seed.encode()).hexdigest()[:HASH_DIGITS]
