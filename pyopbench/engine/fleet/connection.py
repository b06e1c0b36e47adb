"""The hosts of a fleet as Dask's scheduler knows them: who can measure, what they are asked, and what they answer.

A shard is given to one host by name, with the resource `measure`, so that Dask decides nothing about where it runs: its
work stealing has nothing to steal, and what a lost host was at is given to another by `dispatch`.
"""

from __future__ import annotations

import logging
import queue
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from pyopbench.engine.fleet import messages, on_host
from pyopbench.engine.fleet.addresses import Access
from pyopbench.engine.fleet.answers import Known, Told, other_pyopbench, require_dask
from pyopbench.engine.fleet.messages import Delivery, Facts, KeptShards, Question, Request
from pyopbench.model.errors import BadInput, PyopbenchError, WorkerLost
from pyopbench.store.fleet_findings import FleetEvent

RESOURCE = "measure"
ANSWER_SECONDS = 5.0
"""How long a host may take to answer what is no measurement: it may be busy, or asleep."""
SILENCE_SECONDS = 30.0
"""After which a host that did not answer is asked again: whoever asks waits, and gives nothing to others meanwhile."""
CLOSING_SECONDS = 10.0
RESULT_SECONDS = 30.0
"""How long a result may take to come, which is in the memory of its host."""
GONE = ("cancelled", "lost")
"""States of what was asked for when the scheduler, or the host, is gone."""
Tell = Callable[[FleetEvent], None]


class Connection:
    """Speaks to the hosts of a fleet through a scheduler. Use as a context manager.

    Args:
        access: how the scheduler is reached.
        tell: is told who joins, who is refused, and when the scheduler is not heard.
        patience_seconds: how long to wait for the scheduler, now and when it is lost.

    Raises:
        BadInput: the address may not be connected to, Dask is not there, or nobody answers.
    """

    def __init__(self, access: Access, tell: Tell, patience_seconds: float) -> None:
        require_dask()
        access.check()
        from distributed import Client

        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters of it is told by events
        self._access, self._tell = access, tell
        self._known: dict[str, Known] = {}
        self._asked: dict[str, float] = {}
        self._futures: dict[str, tuple[str, int, Any]] = {}
        self._done: queue.Queue[str] = queue.Queue()
        self._is_heard = True
        try:
            self._client = Client(
                access.address,
                security=access.security(),
                timeout=patience_seconds,
                set_as_default=False,
                name="pyopbench",
            )
        except (OSError, ValueError, RuntimeError) as error:
            raise BadInput(
                "the scheduler cannot be connected to",
                received=f"{access.address}: {error}",
                legal="the address of a scheduler of Dask that is running, with the right certificates",
                hint="start one: dask scheduler --host 127.0.0.1; docs/fleet.md has the rest",
            ) from error

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close(timeout=CLOSING_SECONDS)

    def workers(self) -> list[Known]:
        """Return every worker of the scheduler, each asked once what it is.

        Raises:
            WorkerLost: the scheduler is gone and did not come back.
        """
        found = self._scheduler_workers()
        self._known = {address: known for address, known in self._known.items() if address in found}
        for address, worker in found.items():
            if address not in self._known and time.monotonic() > self._asked.get(address, 0.0) + SILENCE_SECONDS:
                known = self._ask_what_it_is(address, worker)
                self._asked[address] = time.monotonic()
                if known.facts is not None or known.refused:
                    self._known[address] = known
                    self._tell_of(known)
        return list(self._known.values())

    def hosts(self) -> dict[str, str]:
        """Return the hosts that can measure, and the address of each."""
        able = [one for one in self.workers() if one.facts is not None and one.has_resource and not one.refused]
        return {one.facts.host: one.address for one in reversed(able) if one.facts is not None}

    def refused(self) -> dict[str, str]:
        """Return the workers that are given no shards, by host, or address where that is not known, and why."""
        return {_name_of(one): why for one in self._known.values() if (why := _why_refused(one))}

    def begin(self, address: str, host: str, request: Request) -> None:
        """Give a shard to a host."""
        future = self._client.submit(
            on_host.measure_shard,
            messages.packed(request),
            key=f"pyopbench-{request.fleet}-{request.shard}-{secrets.token_hex(4)}",
            workers=[address],
            allow_other_workers=False,
            resources={RESOURCE: 1},
            retries=0,
            pure=False,
        )
        self._futures[future.key] = (host, request.shard, future)
        future.add_done_callback(lambda done: self._done.put(done.key))

    def wait(self, seconds: float) -> list[Told]:
        """Return what became of shards since it was last asked, at the latest after some seconds."""
        keys = set()
        try:
            keys.add(self._done.get(timeout=seconds))
            while True:
                keys.add(self._done.get_nowait())
        except queue.Empty:
            pass
        return [self._told(key) for key in sorted(keys & set(self._futures))]

    def give_up(self, host: str) -> None:
        """Wait no longer for what a host was given."""
        for key in [key for key, (owner, _, _) in self._futures.items() if owner == host]:
            _, _, future = self._futures.pop(key)
            future.release()

    def kept(self, address: str, fleet: str) -> KeptShards | None:
        """Return the shards of a fleet that a host keeps; None if it does not answer."""
        question = messages.packed(Question(fleet=fleet))
        answer: KeptShards | None = self._ask(address, on_host.kept_shards, question, KeptShards)
        return answer

    def forget(self, address: str, fleet: str, shards: list[int]) -> None:
        """Have a host remove what it keeps of shards that are here; of the whole fleet if none is named."""
        seconds = 0.0 if shards else ANSWER_SECONDS
        self._ask(address, on_host.forget, messages.packed(Question(fleet=fleet, shards=shards)), None, seconds)

    def stop(self, fleet: str) -> None:
        """Have every host stop measuring for a fleet."""
        if self._client.status == "closed":
            return
        question = messages.packed(Question(fleet=fleet))
        addresses = [known.address for known in self._known.values() if known.facts is not None]

        def ask() -> None:
            with suppress(Exception):  # as in `_ask`
                self._client.run(on_host.stop, question, workers=addresses, on_error="ignore")

        # All at once, because whoever has pressed Ctrl-C waits for it.
        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        asking.join(ANSWER_SECONDS)

    def ask_for_facts(self, address: str) -> Facts | None:
        """Return what a host is, asked now; None if it does not answer."""
        answer: Facts | None = self._ask(address, on_host.describe, b"", Facts)
        return answer

    def may_steal(self) -> bool | None:
        """Whether Dask's work stealing is on; None if the scheduler does not say."""
        import dask

        try:
            return bool(self._client.run_on_scheduler(dask.config.get, "distributed.scheduler.work-stealing"))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def _scheduler_workers(self) -> Mapping[str, Any]:
        found: dict[str, Any] | None
        try:
            found = dict(self._client.scheduler_info(n_workers=-1)["workers"])
        except (OSError, TimeoutError, KeyError):
            found = None
        if self._client.status == "closed":
            raise WorkerLost(
                "the scheduler is gone and did not come back",
                received=self._access.address,
                legal="a scheduler that is running",
                hint="start it again, then continue; what was finished is kept",
            )
        if (found is not None) is not self._is_heard:
            self._is_heard = found is not None
            self._tell(FleetEvent("heard_again" if self._is_heard else "not_heard"))
        return found or {}

    def _ask_what_it_is(self, address: str, worker: Mapping[str, Any]) -> Known:
        has_resource = worker.get("resources", {}).get(RESOURCE, 0) >= 1
        try:
            self._access.check_open(address)
        except PyopbenchError as error:
            return Known(address, None, has_resource, error.in_a_line)
        facts = self.ask_for_facts(address)
        if facts is not None and (other := other_pyopbench(facts)):
            return Known(address, facts, has_resource, other)
        return Known(address, facts, has_resource)

    def _tell_of(self, known: Known) -> None:
        host, refused = _name_of(known), _why_refused(known)
        if refused:
            self._tell(FleetEvent("refused", host, told=refused))
        else:
            self._tell(FleetEvent("joined", host))
            if known.facts is not None and known.facts.dask:
                self._tell(FleetEvent("disturbed", host, told=" and ".join(known.facts.dask)))

    def _told(self, key: str) -> Told:
        host, shard, future = self._futures.pop(key)
        status = future.status
        if status in GONE:
            return Told(host, shard, None)
        if status == "error":
            return Told(host, shard, None, f"{type(future.exception()).__name__}: {future.exception()}")
        try:
            return Told(host, shard, messages.read(future.result(timeout=RESULT_SECONDS), Delivery, host))
        except BadInput as error:
            return Told(host, shard, None, error.in_a_line)
        except Exception as error:  # noqa: BLE001 - Dask raises here whatever went wrong on the way, of any type
            # Its host may have gone since it was finished, and with it the result: then it is lost, and no failure.
            return Told(host, shard, None, f"{type(error).__name__}: {error}" if status == future.status else "")
        finally:
            future.release()

    def _ask(
        self, address: str, function: Callable[..., bytes], content: bytes, kind: Any, seconds: float = ANSWER_SECONDS
    ) -> Any:
        """Return the answer of a host outside of what it measures; None if there is none that can be read.

        In a thread that is not waited for: of a host that is asleep, or has just gone, no answer may ever come.
        """
        answers: queue.Queue[Any] = queue.Queue()

        def ask() -> None:
            try:
                answers.put(self._client.run(function, content, workers=[address])[address])
            except Exception:  # noqa: BLE001 - Dask raises what the host raised, and whatever went wrong on the way
                answers.put(None)

        threading.Thread(target=ask, daemon=True).start()
        try:
            answer = answers.get(timeout=seconds)
            return answer if kind is None or answer is None else messages.read(answer, kind, address)
        except (queue.Empty, BadInput):
            return None


def _name_of(known: Known) -> str:
    return known.address if known.facts is None else known.facts.host


def _why_refused(known: Known) -> str:
    return known.refused or ("" if known.has_resource else f"no resource {RESOURCE}=1")
