"""Answers requests for an op in a pipeline: which arrangements there are, preparing one, timing a block of it."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from typing import Any

from pyopbench.model.arrangement import Arrangement
from pyopbench.model.discover import find
from pyopbench.model.failures import describe_error, failure_of
from pyopbench.ops.load import load_form, load_op, why_unloadable
from pyopbench.worker import environment
from pyopbench.worker.pipeline.elements import make_elements
from pyopbench.worker.pipeline.form import Build, PipelineContext, PipelineSettings
from pyopbench.worker.pipeline.lock_share import thread_rate
from pyopbench.worker.pipeline.running import RunningPipeline

Emit = Callable[[Mapping[str, Any]], None]
BODY = "the body alone"
"""Names in events what is called before there is any arrangement."""


class Pipelines:
    """The pipelines of one op in one worker."""

    def __init__(self) -> None:
        self._context: PipelineContext | None = None
        self._arranged: dict[str, tuple[Arrangement, Build | str]] = {}
        self._running: dict[str, RunningPipeline] = {}

    def describe(self, request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
        """Answer a request for the arrangements of an op, or the error of its file, or what the body raised.

        Args:
            request: `op`, `variant` (the current callback), `size`, `dtype` (each empty for the usual one), `parallel`,
                `batch`, `deterministic`, `processes`, `private_threads`, and `elements`, how many, or None in the first
                worker.
            emit: sends an event.
        """
        reason = why_unloadable()
        if reason:
            return {"error": reason}
        emit({"event": "at", "case": BODY})
        settings = PipelineSettings(
            tuple(request["parallel"]),
            tuple(request["batch"]),
            request["deterministic"],
            request["processes"],
            request["private_threads"],
        )
        try:
            op = load_op(request["op"])
            size = request["size"] or op.quick_sizes[len(op.quick_sizes) // 2]
            dtype = request["dtype"] or op.dtypes[0]
            elements = make_elements(op.name, request["variant"], size, dtype, request["elements"])
            shapes = elements.shapes
        except Exception as error:  # noqa: BLE001 - a body may raise anything
            return {"failure": describe_error(error)}
        self._context = PipelineContext(elements, settings)
        found = [one for name in find("forms") for one in load_form(name).arrange(self._context)]
        self._arranged = {arrangement.key: (arrangement, build) for arrangement, build in found}
        return {
            "arrangements": [dataclasses.asdict(one) for one, build in self._arranged.values() if callable(build)],
            "holes": [
                {"arrangement": dataclasses.asdict(one), "reason": build}
                for one, build in self._arranged.values()
                if not callable(build)
            ],
            "op": {"summary": op.summary, "size_unit": op.size_unit},
            "size": size,
            "dtype": dtype,
            "elements": len(elements.inputs),
            "delivered": elements.delivered,
            "told_apart": elements.are_told_apart,
            "body_seconds": elements.body_seconds,
            "output_shapes": [list(shape) for shape in shapes],
            "environment": {**environment.machine(), **environment.software()},
        }

    def prepare(self, request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
        """Answer a request to build, check and warm an arrangement: how it became steady, or the failure.

        Args:
            request: `key`, and of another worker `elements`, after which it was steady, and `typical_seconds`, that one
                took then; or None.
            emit: sends an event.
        """
        arrangement, build = self._arranged[request["key"]]
        emit({"event": "at", "case": arrangement.key})
        assert self._context is not None
        assert callable(build)
        start = time.perf_counter()
        try:
            # Kept, whatever comes of it: TensorFlow waits for calls under way when it frees a pipeline, and holds the
            # interpreter's lock, for which those calls wait.
            running = self._running[arrangement.key] = RunningPipeline(arrangement, build, self._context)
            largest, is_ordered = running.check()
            warm_up = running.warm_up(request["elements"], request["typical_seconds"])
        except Exception as error:  # noqa: BLE001 - what a pipeline raises is the answer
            return {"failure": self._failure(error)}
        running.rest()
        pool_seconds = self._context.start_seconds.get(arrangement.form)
        if arrangement.action == "processes":
            pool_seconds = self._context.pool.start_seconds
        return {
            "checked": {"values": largest, "is_ordered": is_ordered},
            "warm_up": dataclasses.asdict(warm_up),
            "pool_start_seconds": pool_seconds,
            "seconds": time.perf_counter() - start,
        }

    def block(self, request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
        """Answer a request to time a block of an arrangement that was prepared: elements and seconds, or a failure."""
        running = self._running[request["key"]]
        assert self._context is not None
        emit({"event": "at", "case": request["key"]})
        try:
            if running.arrangement.action == "processes":
                self._context.start_pool()  # another arrangement may have broken it
            elements, seconds = running.block(request["seconds"])
        except Exception as error:  # noqa: BLE001 - a body may raise at any element
            return {"failure": self._failure(error)}
        running.rest()
        return {"elements": elements, "seconds": seconds}

    def _failure(self, error: Exception) -> dict[str, str]:
        assert self._context is not None
        failure = failure_of(self._context.elements.case, error, None)
        return {"status": failure.status, "reason": failure.reason}

    def threads(self, request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
        """Answer a request for calls of the body a second: by threads and by processes, one and several of each."""
        emit({"event": "at", "case": "threads"})
        assert self._context is not None
        seconds, many = request["seconds"], request["threads"]
        try:
            pool = self._context.pool if request["processes"] else None
            return {
                "one_thread": thread_rate(self._context, 1, seconds),
                "threads": thread_rate(self._context, many, seconds),
                "one_process": None if pool is None else pool.rate(1, seconds),
                "processes": None if pool is None else pool.rate(many, seconds),
            }
        except Exception as error:  # noqa: BLE001 - a body may raise anything
            return {"failure": self._failure(error)}
