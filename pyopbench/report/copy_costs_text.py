"""What copies cost in words: tables of bridges on the host and of copies to a GPU, and what to beware of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyopbench.model import formatting
from pyopbench.report.sections import Cell
from pyopbench.store.copy_costs import CopyCost, GpuCopyCost, costs, gpu_costs, overwriting

COLUMNS = ("bridge", "mode", "array", "memory", "one element", "MB/s")
GPU_COLUMNS = ("direction", "way", "host memory")
LATENCIES = "time of a copy between host and GPU"
RATES = "bytes per second of a copy between host and GPU, in GB/s"


def table(document: Mapping[str, Any], direction: str) -> list[tuple[Cell | str, ...]]:
    """Return the cells of `COLUMNS` for each way over a bridge in a direction."""
    return [_row(cost) for cost in costs(document) if cost.direction == direction]


def _row(cost: CopyCost) -> tuple[Cell | str, ...]:
    return (
        cost.bridge,
        {"call": "graph"}.get(cost.mode, cost.mode),
        cost.layout,
        "shared" if cost.shared else "copied",
        formatting.seconds(cost.bridge_seconds),
        Cell(formatting.MISSING if cost.rate is None else f"{cost.rate / 1e6:,.0f}"),
    )


def refusals(document: Mapping[str, Any]) -> list[str]:
    """Return each way over a bridge that TensorFlow refuses, with its reason; older files have none."""
    return [
        f"{refused['bridge']} does not accept an array that is {refused['layout']}: {refused['reason']}"
        for refused in document.get("refused", ())
    ]


def hazards(document: Mapping[str, Any]) -> str:
    """Return where a body that writes to its input changes the tensor of its caller, and where it does not."""
    changed = _by_mode(overwriting(document, overwrites=True))
    kept = _by_mode(overwriting(document, overwrites=False))
    sentences = (
        f"A body that writes to its input changes the caller's tensor {changed}." if changed else "",
        f"It does not {kept}." if kept else "",
    )
    return " ".join(filter(None, sentences))


def _by_mode(modes: Mapping[str, list[str]]) -> str:
    words = {"call": "in a graph", "eager": "eagerly"}
    # In quotation marks, because the name of a bridge may have a comma.
    bridges = {mode: formatting.listing([f'"{name}"' for name in names]) for mode, names in modes.items()}
    return formatting.listing([f"{words[mode]} by {listed}" for mode, listed in bridges.items()])


def gpu_tables(document: Mapping[str, Any]) -> list[tuple[str, tuple[str, ...], list[tuple[Cell | str, ...]]]]:
    """Return title, columns and rows of what copies took and at which rate, by bytes; nothing without a GPU."""
    found = gpu_costs(document)
    if not found:
        return []
    sizes = sorted({size for cost in found for size in cost.seconds})
    columns = (*GPU_COLUMNS, *map(formatting.byte_count, sizes))
    tables = ((LATENCIES, _seconds), (RATES, _rate))
    return [(title, columns, [_gpu_row(cost, sizes, show) for cost in found]) for title, show in tables]


def _gpu_row(cost: GpuCopyCost, sizes: list[int], show: Callable[[int, float], str]) -> tuple[Cell | str, ...]:
    memory = ", ".join(cost.memory) or "unknown"
    shown = (show(size, cost.seconds[size]) if size in cost.seconds else formatting.MISSING for size in sizes)
    return (cost.direction, cost.way, memory, *shown)


def _seconds(size: int, seconds: float) -> str:
    return formatting.seconds(seconds)


def _rate(size: int, seconds: float) -> str:
    return f"{size / seconds / 1e9:.3g}"


def gpu_devices(document: Mapping[str, Any]) -> str:
    """Return on what the copies to a GPU were made, and what held its clocks back meanwhile."""
    transfers = document["transfers"]
    gpus = [gpu for reading in transfers["gpu"] for gpu in reading["gpus"]]
    reasons = dict.fromkeys(reason for gpu in gpus for reason in gpu["held_back_by"] or ())
    made = f"Copies between host and GPU were measured on {formatting.listing(transfers['environment']['devices'])}"
    if not gpus:
        return f"{made}; its clocks are not known: {transfers['gpu'][-1]['reason']}."
    return f"{made}; its clocks were limited by: {formatting.listing(list(reasons)) or 'nothing'}."
