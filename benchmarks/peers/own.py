"""pyopbench: sessions in which every case has a twin, the same code prepared a second time and timed interleaved."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from peers.figures import LEVEL, Pair, Row, Stated, missing, ratio_of_stated
from peers.processes import PeerFailed, Task
from peers.table import OWN_TOOL
from pyopbench.engine import plan, sides
from pyopbench.engine.run import measure
from pyopbench.judge import judge
from pyopbench.judge.decision import Verdict
from pyopbench.model.case import MINIMUM_EFFECT, Axes, Case
from pyopbench.model.discover import PATH_VARIABLE
from pyopbench.store.types import Settings

SETTINGS: Settings = replace(plan.QUICK, launches=9, rounds=150, until="resolved", budget_seconds=None)
"""How a session measures, in one place. Many launches of few rounds: these resolve all pairs in 36% of the time of one
asv run; eight of at most 450 rounds resolved 96% in 55%, and four or six of as few rounds 88%."""

TRIAL: Settings = replace(SETTINGS, launches=2, rounds=10, until="end")

SEEDS = (1, 2)
"""One session for each."""

TWIN = "_twin"

_TWIN_SOURCE = '''"""{base} under a second name."""

from dataclasses import replace

from pyopbench.ops.load import load_variant

VARIANT = replace(
    load_variant("{base}"), name="{base}{twin}", summary="{base} under a second name", role="control"
)
'''

TWINS_NOTE = (
    "pyopbench, A/A controls: both copies of a case are in one session, so that one run is the whole comparison; the "
    "estimate is the ratio paired by round, the interval its 95% interval over launches (of this one verdict, not "
    "corrected for many), the verdict `faster` or `slower` by more than 3%, corrected for all of "
    "the session; the cases of both sessions are counted."
)
SESSIONS_NOTE = (
    "pyopbench, ratios and latencies: how far the ratios to the A/A control, and the latencies as such, moved from one "
    "session to the next; it gives no verdict on either."
)


@dataclass(frozen=True)
class Session:
    """One session: how long it took, the verdict and the stated latency of each case."""

    seconds: float
    verdicts: dict[str, Verdict]
    latencies: dict[str, Stated]


def compare(task: Task, settings: Settings = SETTINGS) -> list[Row]:
    """Measure one session for each of `SEEDS`.

    Raises:
        PeerFailed: a case has no verdict.
        PyopbenchError: nothing could be measured.
    """
    cases = [Case.from_id(key) for key in task.cases]
    with _path_of_twins(task.folder, sorted({case.variant for case in cases})):
        sessions = [
            measure_session(task.folder / f"seed-{seed}", cases, replace(settings, seed=seed)) for seed in SEEDS
        ]
    for session in sessions:
        if lacking := missing(task.cases, session.verdicts, session.latencies):
            raise PeerFailed(f"pyopbench has no verdict for {', '.join(lacking)}")
    return rows(task.cases, sessions)


@contextmanager
def _path_of_twins(folder: Path, variants: Sequence[str]) -> Iterator[None]:
    """Let this process and its workers find a twin of each variant, written into a folder."""
    before = os.environ.get(PATH_VARIABLE)
    os.environ[PATH_VARIABLE] = os.pathsep.join(filter(None, (before, str(_twins(folder, variants)))))
    try:
        yield
    finally:
        os.environ.pop(PATH_VARIABLE)
        if before is not None:
            os.environ[PATH_VARIABLE] = before


def _twins(folder: Path, variants: Sequence[str]) -> Path:
    written = folder / "twins" / "variants"
    written.mkdir(parents=True)
    for base in variants:
        (written / f"{base}{TWIN}.py").write_text(_TWIN_SOURCE.format(base=base, twin=TWIN), encoding="utf-8")
    return written.parent


def measure_session(folder: Path, cases: Sequence[Case], settings: Settings) -> Session:
    """Measure and judge every case with its twin, along the path of `pyopbench run`."""
    began = time.monotonic()
    run, how = sides.begin(folder, _request(cases, settings)), _how(cases)
    deque(measure(run, how), maxlen=0)
    verdicts, latencies = judged(folder, cases)
    return Session(time.monotonic() - began, verdicts, latencies)


def _request(cases: Sequence[Case], settings: Settings) -> plan.Request:
    bases = tuple(dict.fromkeys(case.variant for case in cases))
    axes = Axes(
        ops=tuple(dict.fromkeys(case.op for case in cases)),
        variants=(*bases, *(base + TWIN for base in bases)),
        directions=("forward",),
        modes=("call",),
        sizes=tuple(dict.fromkeys(case.size for case in cases)),
        parts=False,
    )
    pairs = {base + TWIN: base for base in bases}
    return plan.Request(axes, replace(settings, baseline=bases[0], pairs=pairs), ("against_peers",))


def _how(cases: Sequence[Case]) -> judge.Judging:
    return judge.Judging(cases[0].variant, MINIMUM_EFFECT)


def judged(folder: Path, cases: Sequence[Case]) -> tuple[dict[str, Verdict], dict[str, Stated]]:
    """Return the verdict on each case's twin, and the latency of each case, by id of the case."""
    judgement = judge.judge([folder], _how(cases))
    table = judgement.latencies.set_index("case")
    stated = {case: Stated(row.seconds, row.low, row.high) for case, row in table.iterrows()}
    return {verdict.baseline: verdict for verdict in judgement.verdicts}, stated


def rows(cases: Sequence[str], sessions: Sequence[Session]) -> list[Row]:
    """Return the lines for twins, for the ratios of two sessions and for their latencies."""
    took = [session.seconds for session in sessions]
    mean, total = sum(took) / len(took), sum(took)
    first, second = sessions[0], sessions[-1]
    twins = tuple(_twin_pair(case, session) for session in sessions for case in cases)
    ratios = tuple(_moved(case, _ratio(first.verdicts[case]), _ratio(second.verdicts[case])) for case in cases)
    latencies = tuple(_moved(case, first.latencies[case], second.latencies[case]) for case in cases)
    return [
        Row(OWN_TOOL, mean, mean, twins, TWINS_NOTE),
        Row("pyopbench: ratios", mean, total, ratios, SESSIONS_NOTE),
        Row("pyopbench: latencies", mean, total, latencies, SESSIONS_NOTE),
    ]


def _twin_pair(case: str, session: Session) -> Pair:
    verdict, seconds = session.verdicts[case], session.latencies[case].value
    different = verdict.outcome in ("faster", "slower")
    return Pair(case, seconds, seconds * verdict.ratio, verdict.low, verdict.high, different)


def _ratio(verdict: Verdict) -> Stated:
    return Stated(verdict.ratio, verdict.low, verdict.high)


def _moved(case: str, first: Stated, second: Stated) -> Pair:
    return Pair(case, first.value, second.value, *ratio_of_stated(first, second, LEVEL), different=None)
