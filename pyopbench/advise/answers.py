"""What to do with each callback: its op is measured on the inputs that the program passed, and the port is written."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from pyopbench.advise.callbacks import MIX_FILE, Callback, Shown, Step, load, recorded_inputs, write_op_file
from pyopbench.api import frames, measure
from pyopbench.engine.port import run_test, write_port
from pyopbench.find.draft import BASELINES
from pyopbench.judge.decision import Decision
from pyopbench.judge.judge import Judgement
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.model.cores import usable_cores
from pyopbench.model.errors import PyopbenchError
from pyopbench.model.label import Label
from pyopbench.model.own_target import read_target
from pyopbench.model.write_file import write_atomically

PORTS = ("traced", "njit", "autograph")
"""What can replace a callback: TensorFlow ops; a callback whose body Numba compiles; or, for a py_function that already
computes with TensorFlow, its unchanged body, converted by AutoGraph."""

IN_GRAPH = "in_graph"
AUTOGRAPH_PORT = '''"""`{name}` of {place}, called in the graph instead of by tf.py_function."""

{head}
{name}_{suffix} = tf.autograph.to_graph({name})
'''
AUTOGRAPH_TEST = '''"""Checks a port against the body that it replaces, `{module}.{name}`, called eagerly."""

{inputs}

import numpy as np
import tensorflow as tf

import {module}


def test_values():
    """The port returns in a graph what the body does eagerly."""
    for arguments in RECORDED_INPUTS:
        tensors = [tf.constant(one) for one in arguments]
        expected = tf.nest.flatten({module}.{name}(*tensors))
        found = tf.nest.flatten(tf.function({module}.{name}_{suffix}, autograph=False)(*tensors))
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            one, other = np.asarray(one), np.asarray(other)
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            if other.dtype.kind in "fc":
                np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5 * np.abs(other).max(initial=0))
            else:
                np.testing.assert_array_equal(one, other)


if __name__ == "__main__":
    test_values()
    print("passed: test_values")
'''

Action: TypeAlias = Literal["leave", "port"]


@dataclass(frozen=True)
class Share:
    """A share of the time of a step, with an interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Candidate:
    """A port of a callback, and the share of the callback's own time that it saves, with an interval."""

    variant: str
    saved: float
    low: float
    high: float


@dataclass(frozen=True)
class Answer:
    """What to do with a callback.

    Attributes:
        action: `leave` it or `port` it.
        why: the reason to leave it, or what the measurement says.
        candidates: ports that may save time, the surest first.
        variant: the port that was chosen.
        port, test: file names of the port and its test.
        function: the name of the port in its file.
        promised: share of a step of the program that is saved.
        seconds: of a call today, as measured outside of the program.
    """

    action: Action
    why: str
    candidates: tuple[Candidate, ...] = ()
    variant: str = ""
    port: str = ""
    test: str = ""
    function: str = ""
    promised: Share | None = None
    seconds: float | None = None

    @property
    def text(self) -> str:
        """The answer in a few words."""
        return "leave it" if self.action == "leave" else f"port to {self.variant}"

    def as_plain(self) -> dict[str, Any]:
        """Return the answer as plain data."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Any) -> Answer:
        """Return what `as_plain` made plain, after JSON too."""
        return msgspec.convert(plain, cls)


def leave(shown: Shown) -> Answer:
    """Return the answer for a callback that is not measured."""
    return Answer("leave", shown.why_not)


def decide(
    callback: Callback, step: Step, folder: Path, budget_seconds: float, minimum_effect: float = MINIMUM_EFFECT
) -> Answer:
    """Measure a callback against its ports, and write the one that is best.

    Args:
        callback: which.
        step: of the program.
        folder: for its op file, its run and its port; an interrupted measurement of the same callback is continued.
        budget_seconds: for sampling.
        minimum_effect: a share of a step that is worth a change.

    Returns:
        The answer; whatever goes wrong with this callback is a reason to leave it alone.
    """
    folder.mkdir(parents=True, exist_ok=True)
    op_file = folder / f"{callback.name}.py"
    if not op_file.exists():
        op_file = write_op_file(callback, folder)
    try:
        judgement = _measured(callback, op_file, folder, budget_seconds)
    except PyopbenchError as error:
        return Answer("leave", f"it could not be measured: {error.message}: {_last(error.received)}")
    use = "training" if callback.gradient_calls else "inference"
    made = [one for one in judgement.decisions if one.use == use] or list(judgement.decisions)
    if not made:
        return Answer("leave", "nothing about it could be measured")
    decision = made[0]
    candidates = _candidates(decision)
    if not candidates:
        return Answer("leave", _why_kept(judgement, decision), seconds=_today(decision))
    refused = ""
    for candidate in candidates:
        promised = _promised(callback, step, candidate, _today(decision))
        if promised.high < minimum_effect:
            return Answer("leave", "the best port would save too little of a step", candidates, promised=promised)
        written = _write(callback, op_file, folder, candidate.variant)
        if isinstance(written, str):
            refused = written
            continue
        return Answer(
            "port",
            decision.reason.text(),
            candidates,
            candidate.variant,
            *written,
            promised=promised,
            seconds=_today(decision),
        )
    return Answer("leave", f"its port cannot be written: {refused}", candidates, seconds=_today(decision))


def _last(received: object) -> str:
    lines = [line for line in str(received).splitlines() if line.strip()]
    return lines[-1].strip()[:200] if lines else ""


def _measured(callback: Callback, op_file: Path, folder: Path, budget_seconds: float) -> Judgement:
    mix = folder / MIX_FILE if (folder / MIX_FILE).exists() else None
    run = folder / "run"
    if (run / "run.json").exists():
        return measure.resume(run, str(op_file), mix=mix).judgement  # type: ignore[union-attr]
    result = measure.run(
        str(op_file),
        quick=True,
        variants=(_current(callback), *ports_of(callback)),
        directions=() if callback.gradient_calls else ("forward",),
        modes=("node",) if callback.mode == "graph" else ("eager",),
        mix=mix,
        budget_seconds=budget_seconds,
        parts=False,
        probes=False,
        out=run,
    )
    return result.judgement  # type: ignore[union-attr]


def ports_of(callback: Callback) -> tuple[str, ...]:
    """Return what a callback is compared with: only the body of a py_function can consist of TensorFlow ops."""
    return PORTS if callback.kind == "py_function" else PORTS[:2]


def _current(callback: Callback) -> str:
    return BASELINES[callback.kind]


def _candidates(decision: Decision) -> tuple[Candidate, ...]:
    """Return the ports that may save time; the one that was decided on is the first."""
    gains = getattr(decision.reason, "candidates", ())
    found = {
        name: Candidate(name, one.saved, _finite(one.low), _finite(one.high, 1.0))
        for one in gains
        for name in [Label.parse(one.label).variant]
    }
    if decision.choice is not None and decision.saved is not None:
        name = Label.parse(decision.choice).variant
        found = {
            name: Candidate(name, decision.saved, _finite(decision.saved_low), _finite(decision.saved_high, 1.0))
        } | {key: one for key, one in found.items() if key != name}
        rest = list(found.values())[1:]
        return (found[name], *(one for one in rest if one.variant in PORTS and one.saved > MINIMUM_EFFECT))
    if decision.action == "keep":
        return ()
    ports = [one for one in found.values() if one.variant in PORTS and one.saved > MINIMUM_EFFECT]
    return tuple(sorted(ports, key=lambda one: -one.saved))


def _finite(value: float | None, otherwise: float = -1.0) -> float:
    return otherwise if value is None or not math.isfinite(value) else value


def _today(decision: Decision) -> float | None:
    return decision.seconds[-1].today if decision.seconds else None


def _why_kept(judgement: Judgement, decision: Decision) -> str:
    failed = frames.failures(judgement)
    said = []
    for variant in PORTS:
        mine = failed[failed["variant"] == variant]
        if len(mine):
            said.append(f"{variant}: {_last(mine['reason'].iloc[0])}")
    return ". ".join([decision.reason.text(), *said])


def _promised(callback: Callback, step: Step, candidate: Candidate, today: float | None) -> Share:
    """Return the share of a step that a port saves: the callback's share of it, times what the port saves of that.

    The callback takes at least the time seen from Python, and at most the time between its inputs and its outputs. A
    pipeline runs while the program does, so a program that hardly waits for its input may gain nothing. It never gains
    more than the callback takes.
    """
    least = min(1.0, callback.seconds / step.steps / step.seconds)
    most = min(1.0, max(callback.most_seconds / step.steps / step.seconds, least))
    usual = most if today is None else today * callback.calls / step.steps / step.seconds
    usual = min(max(usual, least), most)
    low, high = least * max(candidate.low, 0.0), most * min(candidate.high, 1.0)
    value = usual * candidate.saved
    if callback.in_input:
        low = min(low, step.waited) / len(usable_cores()) if step.waited >= MINIMUM_EFFECT else 0.0
        value = min(value, max(step.waited, 0.0))
    return Share(min(max(value, low), high), low, high)


def _write(callback: Callback, op_file: Path, folder: Path, variant: str) -> tuple[str, str, str] | str:
    """Write a port, and return the names of its files and of its function, or why it cannot be written."""
    name = f"{callback.name}_port"
    place = folder / "port"
    place.mkdir(exist_ok=True)
    for left in (place / f"{name}.py", place / f"test_{name}.py"):
        if os.path.lexists(left):
            left.unlink()
    if variant == "autograph":
        return _write_body(callback, op_file, place, name)
    target = read_target(str(op_file), (), ())
    try:
        files = write_port(target, variant, place / f"{name}.py")
    except PyopbenchError as error:
        return f"{error.message}: {_last(error.received)}"
    return files.port.name, files.test.name, files.function


def _write_body(callback: Callback, op_file: Path, place: Path, module: str) -> tuple[str, str, str] | str:
    """Write the unchanged body of a py_function, and a test that it does in a graph what it does eagerly."""
    assert callback.kept is not None
    source = callback.kept.source
    text = source.text.strip()
    tensorflow, future = "import tensorflow as tf", "from __future__ import annotations\n"
    imports = "" if tensorflow in text.splitlines() else f"{tensorflow}\n"
    head = f"{future}\n{imports}{text.removeprefix(future).lstrip()}" if text.startswith(future) else imports + text
    inputs = recorded_inputs(callback, op_file.parent)
    named = {"name": source.name, "place": callback.place, "module": module, "suffix": IN_GRAPH}
    files = {
        f"{module}.py": AUTOGRAPH_PORT.format(head=f"{head}\n\n", **named),
        f"test_{module}.py": AUTOGRAPH_TEST.format(
            inputs=f"import base64\nimport zlib\n\nimport numpy\n\n{inputs}", **named
        ),
    }
    for file, content in files.items():
        write_atomically(place / file, content.encode())
    result = run_test(place, f"test_{module}", TEST_SECONDS)
    if "failed" in result:
        return f"its test fails: {_last(result['error'])}"
    return f"{module}.py", f"test_{module}.py", f"{source.name}_{IN_GRAPH}"


TEST_SECONDS = 300.0


def output_dtypes(callback: Callback) -> list[str]:
    """Return the dtypes of the body's results."""
    assert callback.kept is not None
    outputs = callback.kept.examples[0].outputs
    arrays = [load(one, Path(callback.kept.folder)) for one in outputs]
    return ["string" if one.dtype.hasobject else one.dtype.name for one in arrays]
