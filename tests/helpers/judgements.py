"""Judgements for the tests of the report: a plain one, and one with hostile names in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from types import MappingProxyType, SimpleNamespace
from typing import Any

from msgspec import structs

from frames import Bench, run_of
from pyopbench.judge.comparison.gate import VersionComparison
from pyopbench.judge.decision import Decision, Reason, SizeRange, SizeSeconds
from pyopbench.judge.judge import Judgement, judge_run
from pyopbench.model.case import Case, Failure
from pyopbench.model.errors import NothingMeasured
from pyopbench.report.write import render
from pyopbench.store.caveats import Caveat
from pyopbench.store.types import UNKNOWN_OP, PortLine

DIRECTIONS = ("forward", "backward", "forward_backward")
SCRIPT = "<script>alert(1)<\\script><img src=x onerror=alert(1)>"
CLOSING = "</script><script>alert(1)</script>"
MARKUP = "a|b `c` *d* _e_ [f](g) <b>h</b> \"i\" 'j' &amp; ]]> --> $k$"
LINES = "one\n\n# two\n| three |\r\n```four"
HOSTILE = (SCRIPT, CLOSING, MARKUP, LINES)


@cache
def plain(launches: int = 4) -> Judgement:
    """Return three ops: one that is ported, one of a single size, one that crosses bridges; with holes.

    All tests of a process have the same one, which they change by `replace` alone.
    """
    curves = {
        "py_function_numpy": lambda n: 9e-5 + 4e-9 * n,
        "native": lambda n: 6e-6 + 9e-9 * n,
        "numpy_function": lambda n: 7e-5 + 4e-9 * n,
        "py_function": {1_000: 8e-5, 10_000: 1.2e-4},
    }
    benches = [
        Bench(curves, op="sinh", directions=DIRECTIONS, launches=launches),
        Bench(curves, op="sinh", directions=DIRECTIONS, launches=launches, dtype="float64"),
        Bench({**curves, "py_function": 9e-5}, op="edit_distance", sizes=(100,), launches=launches),
        Bench({"py_function_numpy": 9e-5, "native": 2e-6}, op="identity", launches=launches),
    ]
    run = run_of(*benches, failures=failures(), cases=["sinh/xla/none/forward/call/float32/1000/cpu"])
    return judge_run(SimpleNamespace(**{**vars(run), "ports": ()}))


def failures() -> list[Failure]:
    """Return forty cases with one reason, one of them in two launches, and two with others."""
    no_body = [
        Failure(Case("sinh", "numba", gradient, direction, mode, dtype, size).id, "unsupported", "no numba body")
        for gradient, direction in (("none", "forward"), ("custom_gradient", "backward"))
        for mode in ("eager", "call")
        for dtype in ("float32", "float64")
        for size in (10, 100, 1_000, 10_000, 100_000)
    ]
    wrong = Case("sinh", "traced", "none", "forward", "call", "float32", 1_000).id
    crashed = Case("sinh", "native", "none", "forward", "call", "float32", 1_000).id
    return [
        *no_body,
        replace(no_body[0], launch=1),
        Failure(wrong, "wrong", "values differ", 0),
        Failure(crashed, "crashed", "signal 11", 2),
    ]


def hostile() -> Judgement:
    """Return a judgement with hostile names wherever a name or a message can be."""
    judged = plain(launches=2)
    table = judged.latencies.copy()
    table["label"] = table["label"].replace("native", SCRIPT)
    table["op"] = table["op"].replace("sinh", SCRIPT)
    run = judged.run
    op = structs.replace(UNKNOWN_OP, summary=CLOSING, size_unit=MARKUP)
    catalogue = structs.replace(run.catalogue, ops={SCRIPT: op})
    bad: dict[str, Any] = {
        "name": CLOSING,
        "command": ("pyopbench", *HOSTILE),
        "created": MARKUP,
        "environment": {**run.environment, "cpu": CLOSING, MARKUP: LINES},
        "settings": structs.replace(run.settings, pairs={LINES: SCRIPT}),
        "catalogue": catalogue,
        "failures": (
            *run.failures,
            *(Failure("sinh/native/none/forward/call/float32/1000/cpu", "raised", text, 0) for text in HOSTILE),
        ),
        "warnings": tuple(Caveat("unfinished_line", text) for text in HOSTILE),
        "ports": (PortLine(launch=0, op="sinh", variant="traced", dtype="float32", text=CLOSING, function=MARKUP),),
    }
    return replace(
        judged,
        run=SimpleNamespace(**{**vars(run), **bad}),
        baseline=CLOSING,
        latencies=table,
        decisions=(*(decision(text) for text in HOSTILE), *judged.decisions),
    )


def hostile_versions() -> VersionComparison:
    """Return versions of TensorFlow with hostile names, for the report of `hostile()`."""
    versions = dict.fromkeys(HOSTILE, hostile())
    return VersionComparison(SCRIPT, versions, {}, {CLOSING: NothingMeasured(LINES, received=MARKUP)}, {CLOSING: LINES})


@cache
def plain_report() -> Mapping[str, str]:
    """Return the texts of the report of `plain()`, rendered once in a process."""
    return MappingProxyType(render(plain()))


@cache
def hostile_report() -> Mapping[str, str]:
    """Return the texts of the report of `hostile()` with `hostile_versions()`, rendered once in a process."""
    return MappingProxyType(render(hostile(), hostile_versions()))


def decision(name: str, **fields: Any) -> Decision:
    """Return a decision that says `name` wherever it can, with two ranges of sizes."""
    ranges = (SizeRange(1_000, 10_000, "port", name, 0.5, 0.35), SizeRange(100_000, 100_000, "keep", None, -1.0, -1.5))
    where = (name, "inference", "call", "float32", "cpu", name)
    reason = Reason("clear_gain", f"{name} saves 70%")
    made = Decision(*where, reason, "port", name, 0.7, 0.66, 0.74, ranges)
    made = replace(made, loss=0.01, as_good=(name, "xla"), seconds=(SizeSeconds(1_000, 1.2e-4, 3.6e-5),))
    return replace(made, **fields)


def with_noise_for_today(launches: Sequence[float] = (-486e-6, 459.6e-6)) -> Judgement:
    """Return the judgement of an op inside graphs whose callback cost so much, in seconds, in each launch.

    The mean of the default is -13.2 us, with an interval of some 6 ms either way.
    """
    sizes, floor = (1_000,), 1e-3
    curves = {"py_function_numpy": 1e-4, "native": 1e-5}
    bench = Bench(
        curves, sizes=sizes, mode="node", copies=1, floor=floor, within=0.0, between=0.0, launches=len(launches)
    )
    run = bench.run()
    is_today = run.frame["variant"] == "py_function_numpy"
    cost = run.frame["launch"].map(dict(enumerate(launches)))
    run.frame = run.frame.assign(seconds=run.frame["seconds"].mask(is_today, (floor + cost) * run.frame["calls"]))
    return judge_run(run)
