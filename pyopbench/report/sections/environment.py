"""Where and how it ran, and the command that repeats it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from pyopbench.model import formatting
from pyopbench.report.sections import Block, Code, Paragraph, Section, Table

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement
    from pyopbench.store.types import LaunchLine

Facts = dict[str, Any]


def build(judgement: Judgement) -> Sequence[Block]:
    """Return the command, the environment, the settings and the launches."""
    run = judgement.run
    if not run.command:  # other tools do not record it, nor launches
        return (*brief(judgement), _facts("Environment", run.environment))
    return (
        *brief(judgement),
        _facts("Environment", run.environment),
        _facts("Settings", msgspec.to_builtins(run.settings)),
        *_launches(run.launches),
    )


def brief(judgement: Judgement) -> Sequence[Block]:
    """Return when it ran with what, and the command that repeats it."""
    run = judgement.run
    version = run.environment.get("tensorflow") or "of an unknown version"
    made = f"Run {run.name}, {formatting.moment(run.created or '') or 'on an unknown day'}, TensorFlow {version}"
    if not run.command:
        return (Paragraph(f"{made}, by {run.tool}."),)
    return (Paragraph(f"{made}:"), Code(shlex.join(run.command)))


def flat(facts: Mapping[str, Any], prefix: str = "") -> Facts:
    """Return nested mappings as one level: `{"a": {"b": 1}}` is `{"a.b": 1}`."""
    result: Facts = {}
    for key, value in facts.items():
        name = f"{prefix}{key}"
        result.update(flat(value, f"{name}.") if isinstance(value, Mapping) else {name: value})
    return result


def _facts(title: str, facts: Mapping[str, Any]) -> Table:
    rows = tuple((key, _shown(key, value)) for key, value in sorted(flat(facts).items()))
    return Table(("name", "value"), rows, title, folded=True)


def _shown(key: str, value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)) and key.endswith("_bytes"):
        return formatting.byte_count(value)
    if isinstance(value, (int, float)) and key.endswith("_seconds"):
        return formatting.seconds(value)
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _launches(launches: Sequence[LaunchLine]) -> Sequence[Block]:
    """Return how many launches there were, and what differed between them."""
    if not launches:
        return (Paragraph("No launch is recorded.", "warn"),)
    facts = [flat(launch.environment) for launch in launches]
    keys = sorted({key for fact in facts for key in fact})
    varying = [key for key in keys if len({json.dumps(fact.get(key), sort_keys=True) for fact in facts}) > 1]
    rows = tuple(
        (_shown("launch", launch.launch), *(_shown(key, fact.get(key)) for key in varying))
        for launch, fact in zip(launches, facts, strict=True)
    )
    versions = sorted({str(fact["tensorflow"]) for fact in facts if "tensorflow" in fact})
    under = f" under TensorFlow {formatting.listing(versions)}" if versions else ""
    differ = f", which differ in {formatting.listing(varying)}" if varying else "; nothing differs between them"
    many = len({launch.launch for launch in launches})
    processes = "each a process of its own" if many == len(launches) else f"in {len(launches):,} processes"
    said = Paragraph(f"{formatting.count(many, 'launch', 'launches')}, {processes}{under}{differ}.")
    if not varying:
        return (said,)
    return (said, Table(("launch", *varying), rows, "What differs between launches", folded=True))


SECTION = Section("environment", "Environment and settings", 50, build, brief)
