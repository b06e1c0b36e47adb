"""The scheduler of Dask that a fleet is reached by: who can measure, what they are asked, and shards as futures.

Whoever can speak to a scheduler of Dask, or in its place, can have Python run on every machine that is connected to it,
this one too: that is what Dask is. TLS with certificates of one's own is what keeps others out. Source:
https://distributed.dask.org/en/stable/tls.html
"""

from __future__ import annotations

import ipaddress
import logging
import os
import queue
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyopbench.engine.fleet import host as on_host
from pyopbench.engine.fleet.facts import Facts, Host
from pyopbench.engine.fleet.host import Request
from pyopbench.model.errors import BadInput, WorkerLost
from pyopbench.store.fleet_findings import FleetEvent

ADDRESS = re.compile(
    r"(?P<protocol>tcp|tls)://(\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[A-Za-z0-9._-]+)):(?P<port>[0-9]{1,5})/?"
)
LOOPBACK_NAME = "localhost"
RESOURCE = "measure"
"""Of which each host has one, so that Dask gives it one shard at a time."""
ANSWER_SECONDS = 5.0
"""How long a host may take to answer what is no measurement: it may be busy, or asleep."""
SILENCE_SECONDS = 30.0
"""After which a host that did not answer is asked again: whoever asks waits, and gives nothing to others meanwhile."""
CLOSING_SECONDS = 10.0
Tell = Callable[[FleetEvent], None]


@dataclass(frozen=True)
class Access:
    """How a scheduler is reached.

    Attributes:
        address: of it, `tcp://HOST:PORT` or `tls://HOST:PORT`.
        allowed: hosts that may be spoken to without TLS, as the user says; loopback always may.
        ca_file: the certificates that the others' are checked by.
        certificate: that this client shows.
        key: of that certificate; None if it is in the same file.
    """

    address: str
    allowed: tuple[str, ...] = ()
    ca_file: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    def check(self) -> None:
        """Check that the address may be connected to.

        Raises:
            BadInput: it is no address, one that needs TLS and has none, or certificates are missing, unreadable or not
            used.
        """
        match = ADDRESS.fullmatch(self.address)
        if match is None:
            raise BadInput(
                "not the address of a scheduler",
                received=repr(self.address),
                hint="take the address that `dask scheduler` prints: tls://HOST:PORT or tcp://HOST:PORT",
            )
        options = {"--tls-ca-file": self.ca_file, "--tls-cert": self.certificate, "--tls-key": self.key}
        missing = [option for option in ("--tls-ca-file", "--tls-cert") if options[option] is None]
        if self.is_over_tls and missing:
            raise BadInput(
                "a scheduler is reached over TLS by certificates",
                received=f"{self.address} without {' and '.join(missing)}",
                hint="give the files that the scheduler and the hosts were started with",
            )
        if not self.is_over_tls and any(file is not None for file in options.values()):
            raise BadInput(
                "certificates are of no use without TLS",
                received=self.address,
                hint=f"--scheduler tls{self.address.removeprefix('tcp')}, or leave the certificates out",
            )
        for option, file in options.items():
            if file is not None and not os.access(file, os.R_OK):
                raise BadInput(
                    "a certificate or key cannot be read",
                    received=f"{option} {file}",
                    hint="check the path and the permissions; it is a file in PEM",
                )
        host = match["six"] or match["host"]
        if not (self.is_over_tls or is_loopback(host) or host in self.allowed):
            raise BadInput(
                "without TLS, anyone on the network can read and change what is sent, and so run programs on every "
                "host",
                received=self.address,
                hint="start the scheduler and the hosts with --tls-ca-file, --tls-cert and --tls-key; "
                f"or, in a network that only you use, --allow-address {host}",
            )

    @property
    def is_over_tls(self) -> bool:
        """Is the address one over TLS?"""
        return self.address.startswith("tls://")

    def security(self) -> Any:
        """Return Dask's `Security` of the certificates; None without TLS."""
        if not self.is_over_tls:
            return None
        from distributed.security import Security

        return Security(
            require_encryption=True,
            tls_ca_file=str(self.ca_file),
            tls_client_cert=str(self.certificate),
            tls_client_key=str(self.key or self.certificate),
        )


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by the one name that always is or by its number; other names may be anybody's."""
    with suppress(ValueError):
        return host == LOOPBACK_NAME or ipaddress.ip_address(host).is_loopback
    return False


class Scheduler:
    """Speaks to the hosts of a fleet through a scheduler. Use as a context manager.

    Args:
        access: how the scheduler is reached.
        tell: is called with who joins, who is refused, and when the scheduler is not heard.
        patience_seconds: how long to wait for the scheduler, now and when it is lost.

    Raises:
        BadInput: the address may not be connected to, Dask is not there, or nobody answers.
    """

    def __init__(self, access: Access, tell: Tell, patience_seconds: float) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise BadInput(
                "a fleet needs Dask.distributed, which is not installed",
                received=str(error),
                hint="pip install 'pyopbench[fleet]', here and on every host; "
                "without Dask: pyopbench run --shard 1/4, then pyopbench merge",
            ) from error
        access.check()
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters of it is an event
        self._access, self._tell = access, tell
        self._known: dict[str, Host] = {}
        self._asked: dict[str, float] = {}
        self._is_heard = True
        try:
            self._client = Client(
                access.address,
                security=access.security(),
                timeout=patience_seconds,
                name="pyopbench",
            )
        except (OSError, ValueError, RuntimeError) as error:
            raise BadInput(
                "the scheduler cannot be connected to",
                received=f"{access.address}: {error}",
                hint="start one: dask scheduler --host 127.0.0.1; docs/fleet.md has the rest",
            ) from error

    def __enter__(self) -> Scheduler:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close(timeout=CLOSING_SECONDS)

    def workers(self) -> list[Host]:
        """Return every worker of the scheduler, each asked once what it is, and again if it did not answer.

        Raises:
            WorkerLost: the scheduler is gone and did not come back.
        """
        found = self._scheduler_workers()
        self._known = {address: host for address, host in self._known.items() if address in found}
        for address, worker in found.items():
            is_answered = address in self._known and self._known[address].facts is not None
            if not is_answered and time.monotonic() > self._asked.get(address, 0.0) + SILENCE_SECONDS:
                self._known[address] = self.examine(address, worker.get("resources", {}).get(RESOURCE, 0) >= 1)
                self._asked[address] = time.monotonic()
                self._report(self._known[address])
        return list(self._known.values())

    def hosts(self) -> dict[str, str]:
        """Return the hosts that can measure, and the address of each."""
        return {host.name: host.address for host in reversed(self.workers()) if not host.unfit}

    def refused(self) -> dict[str, str]:
        """Return the workers that are given no shards, by host, or address where that is not known, and why."""
        return {host.name: host.unfit for host in self._known.values() if host.unfit}

    def examine(self, address: str, has_resource: bool) -> Host:  # noqa: FBT001 - a fact of the worker, passed on
        """Ask a worker what it is, and by how much its clock is off."""
        before = time.time()
        facts: Facts | None = self._ask(address, on_host.describe)
        after = time.time()
        if facts is None:
            return Host(address, None, has_resource)
        return Host(address, facts, has_resource, facts.now - (before + after) / 2, (after - before) / 2)

    def submit(self, address: str, request: Request) -> Any:
        """Give a shard to a host; return Dask's future of its `Delivery`.

        The host is named, because a shard that was begun there is continued there, and replicates of a part are
        measured on different hosts.
        """
        return self._client.submit(
            on_host.measure_shard,
            request,
            key=f"pyopbench-{request.fleet}-{request.shard}-{secrets.token_hex(4)}",
            workers=[address],
            resources={RESOURCE: 1},
            pure=False,
        )

    def wait(self, futures: Sequence[Any], seconds: float) -> None:
        """Wait until one of some futures is done, at the most for some seconds."""
        from distributed import CancelledError, wait

        if not futures:
            time.sleep(seconds)  # until a host comes
            return
        with suppress(TimeoutError, CancelledError):
            wait(futures, timeout=seconds, return_when="FIRST_COMPLETED")

    def kept(self, address: str, fleet: str) -> tuple[list[int], list[int]] | None:
        """Return the shards of a fleet that a host keeps, finished and begun; None if it does not answer."""
        answer: tuple[list[int], list[int]] | None = self._ask(address, on_host.kept_shards, fleet)
        return answer

    def forget(self, address: str, fleet: str, shards: list[int]) -> None:
        """Have a host remove what it keeps of shards that are here; of the whole fleet if none is named."""
        self._ask(address, on_host.forget, fleet, shards, seconds=0.0 if shards else ANSWER_SECONDS)

    def stop(self, fleet: str) -> None:
        """Have every host stop measuring for a fleet: all at once, because whoever has pressed Ctrl-C waits for it."""
        if self._client.status != "closed":
            self._ask([host.address for host in self._known.values() if host.facts], on_host.stop, fleet)

    def _scheduler_workers(self) -> Mapping[str, Any]:
        found: dict[str, Any] | None = None
        with suppress(OSError, TimeoutError, KeyError):
            found = dict(self._client.scheduler_info(n_workers=-1)["workers"])
        if self._client.status == "closed":
            raise WorkerLost(
                "the scheduler is gone and did not come back",
                received=self._access.address,
                hint="start it again, then continue; what was finished is kept",
            )
        if (found is not None) is not self._is_heard:
            self._is_heard = found is not None
            self._tell(FleetEvent("heard_again" if self._is_heard else "not_heard"))
        return found or {}

    def _report(self, host: Host) -> None:
        if host.facts is None:
            return
        if host.unfit:
            self._tell(FleetEvent("refused", host.name, told=host.unfit))
        else:
            self._tell(FleetEvent("joined", host.name))
            if host.facts.dask:
                self._tell(FleetEvent("disturbed", host.name, told=" and ".join(host.facts.dask)))

    def _ask(
        self, address: str | list[str], function: Callable[..., Any], *given: Any, seconds: float = ANSWER_SECONDS
    ) -> Any:
        """Return the answer of a host, or of the first of several, outside of what it measures; None if there is none.

        In a thread that is not waited for: of a host that is asleep, or has just gone, no answer may ever come.
        """
        answers: queue.Queue[Any] = queue.Queue()
        addresses = [address] if isinstance(address, str) else address

        def ask() -> None:
            try:
                found = self._client.run(function, *given, workers=addresses, on_error="ignore")
                answers.put(next(iter(found.values()), None))
            except Exception:  # noqa: BLE001 - Dask raises what the host raised, and whatever went wrong on the way
                answers.put(None)

        threading.Thread(target=ask, daemon=True).start()
        with suppress(queue.Empty):
            return answers.get(timeout=seconds)
        return None
