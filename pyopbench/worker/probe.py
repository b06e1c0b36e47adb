"""Answers requests for probes in a worker: what there is to try, and what came of one probe with one variant."""

from __future__ import annotations

import dataclasses
import re
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf

from pyopbench.model.failures import describe_error
from pyopbench.model.variant import Variant
from pyopbench.ops.load import load_variants, why_unloadable
from pyopbench.worker import environment
from pyopbench.worker.op_subject import load_op_subject
from pyopbench.worker.probes.table import PROBES
from pyopbench.worker.subject import Differs, Fails, Inapplicable, Raised, Status, load_subject

LOGICAL_CPUS = 2
FOLDERS = re.compile(r'File "[^"<]*/([^"/]+)"')
"""A line of a traceback; folders of one machine mean nothing on another, and may hold somebody's name."""
MOST_WORDS = 4000
"""Characters of an error that are kept; some quote a whole graph."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """What came of one probe with one variant.

    Attributes:
        status: what it comes to.
        told: in one line; empty where it works without a remark.
        words: the error as it was, where there is one.
        figures: numbers that were seen, by name.
    """

    status: Status
    told: str = ""
    words: str = ""
    figures: Mapping[str, float] = dataclasses.field(default_factory=dict)


def describe(request: Mapping[str, Any], emit: Callable[[Mapping[str, Any]], None]) -> dict[str, Any]:
    """Answer a request for what there is to probe: probes, variants, gradients and software; or the error of a file."""
    reason = why_unloadable()
    if reason:
        return {"error": reason}
    return {
        "probes": {name: one.summary for name, one in PROBES.items()},
        "variants": {name: _describe_variant(variant) for name, variant in load_variants().items()},
        "environment": {**environment.machine(), **environment.software()},
    }


def _describe_variant(variant: Variant) -> dict[str, Any]:
    is_for_own = variant.is_usual or variant.role == "own_attempt"
    return {"gradients": list(variant.gradients), "is_usual": variant.is_usual, "is_usual_for_own": is_for_own}


def probe(request: Mapping[str, Any], emit: Callable[[Mapping[str, Any]], None]) -> dict[str, Any]:
    """Answer a request to try one probe with one variant and gradient: the finding, and how long it took in seconds.

    With `op` it is tried with that op, else with the cube.
    """
    op = request.get("op")
    emit({"event": "at", "case": "/".join(filter(None, (request["probe"], request["variant"], op)))})
    _use_two_cpus()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="pyopbench-probe-") as folder:
        found = find_out(request["probe"], request["variant"], request["gradient"], Path(folder), op)
    return {**dataclasses.asdict(found), "seconds": time.perf_counter() - start}


def find_out(probe_name: str, variant: str, gradient: str, folder: Path, op: str | None = None) -> Finding:
    """Try one probe with one variant, of an op or of the cube; whatever is raised becomes the finding."""
    try:
        subject = (
            load_subject(variant, gradient, folder) if op is None else load_op_subject(variant, gradient, folder, op)
        )
        seen = PROBES[probe_name].run(subject)
    except Inapplicable as reason:
        return Finding("does not apply", str(reason))
    except Differs as difference:
        return Finding("silently wrong", str(difference))
    except Fails as failure:
        return Finding("fails", str(failure))
    except Raised as there:
        return Finding("fails", there.told, _words(there.words))
    except Exception as error:  # noqa: BLE001 - what TensorFlow raises is what is asked for
        return Finding("fails", describe_error(error), _words(f"{type(error).__name__}: {error}"))
    return Finding("works", seen.remark, "", dict(seen.figures))


def _words(message: str) -> str:
    """Return a message to be stored: of files their names, without the folders that they are in on this machine."""
    return FOLDERS.sub(r'File "\1"', message)[:MOST_WORDS]


def _use_two_cpus() -> None:
    """Split the CPU for MirroredStrategy, before TensorFlow looks for devices; where it has, that probe will say so."""
    try:
        tf.config.set_logical_device_configuration(
            tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * LOGICAL_CPUS
        )
        tf.config.set_visible_devices([], "GPU")
    except RuntimeError:
        return
