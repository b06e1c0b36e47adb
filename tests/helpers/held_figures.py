"""What holds each figure of README and docs/: a constant of the code, a formula, or the reader's own example.

`held()` has the figures of each page as `figures.figures` yields them. A figure is held by

- a text that is made from the code's own constants here, and has to be equal to it;
- `Example`: a number of the reader's, as in a command of the page, or one that explains a word.

What was measured or simulated has no place here. It stands between marks that a script fills from what is stored
(`scripts/quote_reference.py`, `tests/helpers/simulation_tables.py`), is cited with its source, or is not given.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scipy import stats

import simulated_states
import simulation_tables as tables
from places import ROOT
from pyopbench.advise import attempt, draws, program, trial, turns
from pyopbench.engine import certify, environments, memory, revisions, settings
from pyopbench.engine import pipeline as pipelines
from pyopbench.engine.interim_analyses import WITHIN_RUN
from pyopbench.find.usage import DISPATCH_SECONDS
from pyopbench.judge import interim_analysis as interim
from pyopbench.judge import pipeline
from pyopbench.judge.choice import PROVISIONAL
from pyopbench.judge.machines import BORDERS
from pyopbench.judge.noise import FAR_DEVIATIONS, LARGE_STEAL, LEAST_BLOCKS
from pyopbench.judge.verdicts import INTERLEAVED_ERROR
from pyopbench.model import formatting
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.report import gate
from pyopbench.report.sections import limits
from pyopbench.stats import change_points, estimate, launch_model, series_noise, step_search, unpaired
from pyopbench.stats.corrections import MOST_ANALYSES
from pyopbench.store import open_file
from pyopbench.worker.prepare import node_graph


@dataclass(frozen=True)
class Example:
    """A figure that nobody measured: the reader's own, or one that explains."""

    why: str


Holder = str | Example


def value_of(path: str, name: str) -> Any:
    """Return what a name is bound to in a file that is not imported; sums, products and powers included."""
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        targets = {ast.Assign: "targets", ast.AnnAssign: "target"}.get(type(node))
        bound = getattr(node, targets) if targets else []
        for target in bound if isinstance(bound, list) else [bound]:
            if isinstance(target, ast.Name) and target.id == name:
                return eval(compile(ast.Expression(node.value), path, "eval"))  # type: ignore[attr-defined]
    raise LookupError(f"{path} binds no {name}")


def percent(share: float) -> str:
    """Return a share as pages have it, without a zero behind the point."""
    return f"{100 * share:.4g}%"


def points(share: float) -> str:
    """Return a share in points of a hundredth."""
    return f"{100 * share:.4g} points"


def seconds(value: float) -> str:
    """Return a duration in the unit that pages have for it."""
    unit, name = next((unit, name) for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")) if value >= unit)
    return f"{value / unit:g} {name}"


def size(count: float) -> str:
    """Return a number of bytes in the largest binary unit that leaves a whole number."""
    unit, name = next((unit, name) for unit, name in formatting.BYTE_UNITS if count >= unit and count % unit == 0)
    return f"{count / unit:.0f} {name}"


def bodies() -> str:
    """Return how many bodies examples/corpus has, beside the modules that some of them import."""
    names = [path.stem for path in (ROOT / "examples" / "corpus").glob("*/*.py")]
    return f"{sum(not name.endswith('_utils') for name in names)} bodies"


LEVEL = percent(estimate.LEVEL)
MINIMUM = percent(MINIMUM_EFFECT)
ERROR = percent(estimate.FAMILY_ERROR)
RUN_EFFECT = percent(launch_model.RUN_EFFECT)
LARGEST_GRAPH = f"{max(value_of('pyopbench/worker/prepare/node_graph.py', 'LINEAR'))} copies"
WHOLE = Example("all of it")
THREE_RUNS = 2
"""Degrees of freedom of what three runs differ by."""
NORMAL = float(stats.norm.ppf((1 + estimate.LEVEL) / 2))


def held_by_student(times: float) -> float:
    """Return how often an interval holds that is a normal quantile of a deviation of three runs, so many times."""
    return float(2 * stats.t.cdf(NORMAL * times, THREE_RUNS) - 1)


def six_times() -> float:
    """Return how far the upper end of the interval of a deviation that three runs show lies above it."""
    return float((THREE_RUNS / stats.chi2.ppf((1 - estimate.LEVEL) / 2, THREE_RUNS)) ** 0.5)


def held() -> dict[str, dict[str, Holder]]:
    """Return what holds the figures of each page."""
    return {
        "README.md": _exact(bodies()),
        "against-peers.md": _against_peers(),
        "api.md": {"40%": Example("0.4 in other words"), **_exact(LEVEL)},
        "certification.md": _certification(),
        "commands.md": _exact(LARGEST_GRAPH),
        "comparing.md": {
            **_exact(f"{gate.MOST_LINES} lines", percent(unpaired.RUN_SPREAD), ERROR, percent(INTERLEAVED_ERROR)),
            **_exact(*(f"{100 * ratio - 100:.0f}%" for ratio in tables.SLOWDOWNS)),
        },
        "corpus.md": _exact(bodies()),
        "decisions-json.md": {"98 of 100": Example("0.98 in other words"), **_exact(LEVEL)},
        "faults.md": _exact(
            size(value_of("pyopbench/worker/requests.py", "MOST_LOG_BYTES")),
            seconds(value_of("pyopbench/ops/kernels/compiler.py", "COMPILE_SECONDS")),
            size(memory.LEAST_BYTES),
        ),
        "advise.md": _exact(
            *(seconds(attempt.BUDGET_SECONDS), percent(turns.CONFIDENCE), formatting.seconds(DISPATCH_SECONDS)),
            *(percent(trial.LEAST_GAIN), MINIMUM, size(program.COPIED_BYTES)),
            *(f"{100 * one:g}%" for one in draws.EXTREMES),
        ),
        "find-and-watch.md": {
            "100%": WHOLE,
            **_exact(MINIMUM, seconds(value_of("pyopbench/find/injected/recorder.py", "SAVE_SECONDS"))),
            **_exact(formatting.seconds(DISPATCH_SECONDS)),
        },
        "fleet.md": _fleet(),
        "gpu.md": _exact(size(4 * max(value_of("pyopbench/worker/gpu_copies.py", "SIZES")))),
        "history.md": _history(),
        "how-it-measures.md": _how_it_measures(),
        "pipelines.md": {
            **_exact(seconds(pipelines.BUDGET_SECONDS)),
            **_exact(*map(percent, list(value_of("pyopbench/worker/prepare/threads.py", "QUANTILES").values())[1:])),
        },
        "reading-a-report.md": {
            "98%": Example("a saving that explains what the column means"),
            "2%": Example("a cost that explains the sentence"),
            "100%": WHOLE,
            **_exact(LEVEL, MINIMUM, percent(PROVISIONAL), percent(limits.ENOUGH_SHARE)),
        },
        "recipes.md": {
            "40 ms": Example("--step-ms 40 of the command"),
            "5%": Example("--fail-on slower:5% of the command"),
        },
        "revisions.md": {
            "5%": Example("--fail-on slower:5% of the command"),
            **_exact(f"{gate.MOST_LINES} lines", percent(INTERLEAVED_ERROR), percent(LARGE_STEAL)),
            **_exact(size(revisions.LARGEST_UNTRACKED), size(revisions.WORKER_BYTES)),
        },
        "start.md": _exact(seconds(settings.QUICK_OP_SECONDS), seconds(settings.QUICK.budget_seconds or 0)),
        "statistics.md": _statistics(),
        "tensorflow-versions.md": _exact(f"{environments.INSTALLED_GB} GB"),
        "what-changed-when.md": {
            "300 series": Example("so many that the rate makes three"),
            **_exact(
                *map(percent, (change_points.ALARM_RATE, step_search.STEP, 1 - step_search.NAME_ERROR)),
                f"{series_noise.FEWEST_POINTS} points",
                f"{value_of('pyopbench/cli/history.py', 'MOST_ROUNDS')} rounds",
            ),
        },
        "your-own-op.md": {
            "20%": Example("a share that explains the bound"),
            **_exact(
                bodies(),
                f"{value_of('pyopbench/worker/prepare/gradient_check.py', 'MOST_ELEMENTS')} elements",
                f"{1 / (1 - 0.2):g} times",
            ),
        },
    }


NUMBERS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
TENS = {50: "fifty"}
PARTS = {0.2: "a fifth", 0.0005: "half a millisecond"}


def in_words(number: float) -> str:
    """Return a number as prose has it."""
    return TENS.get(round(number)) or NUMBERS[round(number)]


def claims() -> dict[str, tuple[str, ...]]:
    """Return what pages claim with numbers that are no figures, made from the constants of the code."""
    steps = ", ".join(map(str, node_graph.STEPS[:-1]))
    graphs = f"{node_graph.LINEAR[1]}, {node_graph.LINEAR[2]} ... {node_graph.LINEAR[-1]}"
    (block,) = {settings.QUICK.block_seconds, settings.FULL.block_seconds}
    trimmed, looks = in_words(estimate.TRIMMED), in_words(MOST_ANALYSES)
    value_of("pyopbench/worker/sampling.py", "LARGEST_TIMER_SHARE")
    far, lag = in_words(series_noise.FARTHEST), in_words(series_noise.LAG)
    rows, gates, slower = tables.GATE_ROWS, tables.MOST_GATES, tables.GATE_SLOWDOWNS
    return {
        "how-it-measures.md": (
            (
                f"the fewest copies ({steps} or {node_graph.STEPS[-1]}) at which the current callback takes "
                f"{in_words(node_graph.SHARE_OF_EMPTY)} times as long as an empty graph, "
                f"or {node_graph.USUAL} if it never does"
            ),
            f"need more than {node_graph.MOST_NODES} nodes",
            f"makes graphs of {graphs} copies instead (and of {node_graph.LINEAR[0]} for a callback)",
            f"It lasts about {PARTS[block]}",
            f"more than {value_of('pyopbench/worker/sampling.py', 'LARGEST_TIMER_SHARE'):.0e} of it".replace(
                "e-0", "e-"
            ),
            f"at least {in_words(value_of('pyopbench/worker/sampling.py', 'LEAST_ROUNDS'))} unless",
        ),
        "what-changed-when.md": (
            (
                f"default: {in_words(value_of('pyopbench/cli/history.py', 'RERUN_SECONDS') / 60)} minutes, "
                f"plus {in_words(value_of('pyopbench/cli/history.py', 'CASE_SECONDS') / 60)} for each case"
            ),
        ),
        "revisions.md": (
            f"more than {in_words(FAR_DEVIATIONS)} robust standard deviations",
            f"With fewer than {in_words(LEAST_BLOCKS)} pairs",
        ),
        "statistics.md": (
            f"From {trimmed} launches on, one in {trimmed} is trimmed at each end",
            f"n - 1 - {estimate.DEGREES_PER_PAIR:g} g, and with Yuen's number",
            f"are trimmed from {in_words(estimate.TRIMMED_ALONE)} launches on",
            f"launches would keep {estimate.own_degrees(estimate.TRIMMED):.1f} degrees of freedom if trimmed",
            f"worth at most {estimate.MOST_DEGREES:g} degrees of freedom",
            f"in fewer than one case in {in_words(1 / estimate.RARE)}",
            f"times {student_over_normal():.1f}, the ratio of the {percent((1 + estimate.LEVEL) / 2)} quantiles",
            f"at most {in_words(WITHIN_RUN)}, and continues with the cases that are open",
            f"all {looks} possible analyses are charged",
            f"p at most a / {MOST_ANALYSES} at some analysis",
            f"one that takes at most {PARTS[pipeline.ALIKE]} longer than the best is as good",
            f"may cost at most {in_words(100 * MINIMUM_EFFECT * interim.CERTAIN)} point",
            f"From {in_words(estimate.LEAST_COMPARISONS)} others on",
            (
                f"at most {estimate.MOST_DEGREES:g}, and below {in_words(unpaired.MANY_COMPARISONS)} others at least "
                f"{unpaired.LEAST_DEGREES:g}"
            ),
            f"further than {far} standard errors from a running median of {in_words(series_noise.WINDOW)}",
            f"what points differ by over {lag} places",
            f"as have {rows:,} rows, at most {gates}, and {slower} gates of slower code",
        ),
    }


def student_over_normal() -> float:
    """Return how many times as wide as a normal interval one of Student's t is after three runs."""
    return float(stats.t.ppf((1 + estimate.LEVEL) / 2, THREE_RUNS)) / NORMAL


def dependent_over_independent() -> float:
    """Return the largest ratio of the two thresholds of a change, from so many points on as both are estimated."""
    rate, kinds = change_points.ALARM_RATE, change_points.THRESHOLDS
    pairs = zip(kinds["autocorrelated"][rate], kinds["independent"][rate], strict=True)
    return max(more / less for more, less in pairs)


def _exact(*texts: str) -> Mapping[str, Holder]:
    return {text: text for text in texts}


def _against_peers() -> Mapping[str, Holder]:
    figures = "benchmarks/peers/figures.py"
    return {
        "20 processes": Example("pyperf's own default, https://pyperf.readthedocs.io"),
        **_exact(
            *map(percent, value_of(figures, "MOVES")),
            percent(value_of(figures, "LEVEL")),
            percent(value_of("benchmarks/peers/asv.py", "STATED_LEVEL")),
            f"{max(value_of('benchmarks/peers/cases.py', 'SIZES')):,} elements",
            f"{value_of('benchmarks/against_peers.py', 'PYPERF_PROCESSES')} processes",
        ),
    }


def _certification() -> Mapping[str, Holder]:
    controls = certify.CONTROL_SETTINGS
    return _exact(
        f"{controls.launches} launches",
        f"{controls.rounds} rounds",
        seconds(controls.group_seconds),
        f"{max(certify.INJECTED)}%",
        *map(seconds, value_of("pyopbench/worker/sampling.py", "DURATIONS")),
        points(MINIMUM_EFFECT),
        MINIMUM,
        RUN_EFFECT,
        LEVEL,
        f"{held_by_student(1):.0%}",
        f"{held_by_student(six_times()):.0%}",
    )


def _fleet() -> Mapping[str, Holder]:
    return _exact(
        seconds(value_of("scripts/fleet_faults.py", "SILENCE_SECONDS")),
        f"{value_of('scripts/fleet_scale.py', 'CASES'):,} cases",
        f"{value_of('scripts/fleet_scale.py', 'HOSTS')} hosts",
        size(open_file.SAMPLES.most_bytes),
        percent(max(value_of("tests/stats/test_launch_model.py", "BETWEEN"))),
    )


def _history() -> Mapping[str, Holder]:
    alarms = "scripts/change_alarms.py"
    return _exact(
        f"{value_of(alarms, 'POINTS')} points",
        percent(value_of(alarms, "STEP_SHARE")),
        percent(value_of(alarms, "ERROR")),
        f"{value_of(alarms, 'RERUN_LAUNCHES')} launches",
        points(value_of(alarms, "NEAR") / 100),
        LEVEL,
        MINIMUM,
        "100,000 elements",
        f"{value_of('benchmarks/conftest.py', 'MOST_SECONDS')} seconds",
    )


def _how_it_measures() -> Mapping[str, Holder]:
    sets = value_of("pyopbench/worker/machine_limits.py", "working_sets")
    return _exact(
        seconds(value_of("pyopbench/worker/prepare/node_graph.py", "LONGEST_CALL_SECONDS")),
        LARGEST_GRAPH,
        size(min(sets)),
        size(max(sets)),
        percent(limits.ENOUGH_SHARE),
        seconds(limits.OVERHEAD_SECONDS),
        MINIMUM,
        ERROR,
    )


def _statistics() -> Mapping[str, Holder]:
    machines, alarms = "tests/stats/test_launch_model.py", "scripts/change_alarms.py"
    no_false = f"{1 - 0.05 ** (1 / tables.REPORTS):.0%}"
    return {
        "1%": Example("a share that explains the spread, what runs of the simulations differ by, and a default rate"),
        "300%": Example("a share that explains the spread"),
        "90%": Example("a share of the simulations' ports"),
        "6 points": Example("twice the minimum effect, and what a port of the simulations lags by"),
        "2%": Example("a spread of the simulations' launches, and the error of a simulated series"),
        **_exact(LEVEL, MINIMUM, ERROR, RUN_EFFECT, points(MINIMUM_EFFECT), points(PROVISIONAL), no_false),
        **_exact(percent((1 + estimate.LEVEL) / 2), f"{held_by_student(1):.0%}"),
        **_exact(*(percent(border) for border, _ in BORDERS)),
        **_exact(*(f"{100 * ratio - 100:.0f}%" for ratio in tables.SLOWDOWNS[:1])),
        **_exact(percent(value_of("tests/helpers/simulated_worlds.py", "launch"))),
        **_exact(f"{series_noise.MANY_POINTS} runs", f"{value_of(alarms, 'POINTS')} points", *_lengths()),
        **_exact(f"{value_of(alarms, 'RERUN_LAUNCHES')} launches", f"{value_of(machines, 'TRIALS'):,} draws"),
        **_exact(percent(simulated_states.SHARE), f"{math.exp(simulated_states.SLOW_CORE):g} times"),
        **_exact(f"{100 * math.expm1(simulated_states.EFFECT):.2f}%", percent(math.expm1(simulated_states.SLOWER))),
        **_exact(percent(value_of(machines, "LEAST_COVERAGE")), percent(value_of(machines, "MOST_COVERAGE_POOLED"))),
        **_settings(),
    }


def _lengths() -> tuple[str, ...]:
    shortest, *_, longest = change_points.LENGTHS
    return f"{longest:,} points", f"{shortest} points", f"{dependent_over_independent():.1f} times"


def _settings() -> Mapping[str, Holder]:
    """Return the settings of the simulations whose tables the page has."""
    return _exact(
        "4 launches",
        "8 launches",
        f"{tables.PAIRS} pairs",
        "196 ports",
        f"{tables.REPORTS} reports",
        f"{tables.POWER_REPORTS * 20} slowdowns",
        f"{tables.CHOICE_RUNS * tables.OF_REPORT} decisions",
        f"{tables.CHOICE_ROUNDS} rounds",
        f"{2 * tables.BOUND_RUNS * tables.BOUND_SETTINGS} decisions",
        "24 decisions",
        f"{tables.CHANGE_REPORTS} reports",
        f"{tables.DROPPED.rounds} rounds",
        f"{tables.DROPPED.launches} launches",
        f"{tables.DROPPED_RUNS * tables.OF_REPORT} decisions",
        f"{tables.CONTRAST_SETTINGS * tables.CONTRAST_LAUNCHES} launches",
    )
