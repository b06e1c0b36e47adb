"""Tries probes with variants, by workers; a worker that hangs or dies costs the probe that it was at.

What was found is kept in the user's data folder, so that runs need not try again what this TensorFlow can do.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import platformdirs

import pyopbench
from pyopbench.core.discover import WORKER, find, require_known
from pyopbench.core.errors import BadInput
from pyopbench.core.label import Label
from pyopbench.core.model import Case
from pyopbench.judge.requirements import PROBES, probes_for
from pyopbench.results import probes, store
from pyopbench.results.probes import SCHEMA, SOFTWARE, Row
from pyopbench.run.planning import python_for, require_loaded
from pyopbench.run.worker_loop import WorkerLoop
from pyopbench.run.worker_process import CaseLost, Worker, ask_once

TIMEOUT_SECONDS = 180.0
"""Longest silence of one probe. They take seconds at the most, but for the first with a kernel, which compiles it."""

Tell: TypeAlias = Callable[[int, int], None]
"""Is told how many probes are done, of how many."""


@dataclass(frozen=True)
class Attempt:
    """One probe to try with one label: a variant, or `variant+gradient`."""

    probe: str
    label: str


@dataclass(frozen=True)
class ProbeOptions:
    """Where to try: on which version of TensorFlow (None is the one beside this Python), with how much patience."""

    tf: str | None = None
    timeout_seconds: float = TIMEOUT_SECONDS


def all_attempts(probes: Sequence[str], variants: Sequence[str], options: ProbeOptions) -> list[Attempt]:
    """Return all that can be asked of some probes and variants, or of every one where none is named.

    Raises:
        BadInput: an unknown name; or a file of a variant cannot be loaded.
    """
    require_known("probe", probes, find("probes"))
    require_known("variant", [Label.parse(label).variant for label in variants], find("variants"))
    labels = variants or [name for name, one in _describe(options)["variants"].items() if one["is_usual"]]
    return [Attempt(probe, label) for label in labels for probe in probes or find("probes")]


def try_all(attempts: Sequence[Attempt], options: ProbeOptions, tell: Tell) -> dict[str, Any]:
    """Try each and return the document that results/README.md describes.

    Raises:
        BadInput: an unknown gradient of a variant, or a file of one cannot be loaded.
    """
    described = _describe(options)
    gradients = {attempt.label: _gradient_of(attempt.label, described["variants"]) for attempt in attempts}
    probing = _Probing(attempts, options, gradients, tell)
    probing.run()
    return {
        "schema": SCHEMA,
        "pyopbench": pyopbench.__version__,
        **{name: described["environment"][name] for name in (*SOFTWARE, "cpu", "cores")},
        "probes": {name: described["probes"][name] for name in sorted({attempt.probe for attempt in attempts})},
        "rows": [asdict(row) for row in probing.rows],
    }


@cache
def _describe(options: ProbeOptions) -> dict[str, Any]:
    """Return what there is to probe, by a worker: asked once, because that takes an import of TensorFlow."""
    found = ask_once({"do": "probes"}, python=python_for(options.tf))
    require_loaded(found)
    return found


def _gradient_of(label: str, variants: Mapping[str, Any]) -> str:
    asked = Label.parse(label)
    require_known("variant", [asked.variant], variants)
    legal = variants[asked.variant]["gradients"]
    gradient = asked.gradient or str(legal[0])
    require_known(f"gradient of {asked.variant}", [gradient], legal)
    return gradient


class _Probing(WorkerLoop[Attempt]):
    """Keeps a row for each probe that a worker was asked to try."""

    def __init__(
        self, attempts: Sequence[Attempt], options: ProbeOptions, gradients: Mapping[str, str], tell: Tell
    ) -> None:
        super().__init__(attempts)
        self.rows: list[Row] = []
        self._options = options
        self._gradients = gradients
        self._tell = tell

    def start(self) -> Worker:
        return Worker(self._options.timeout_seconds, python_for(self._options.tf))

    def ask(self, worker: Worker, item: Attempt) -> bool:
        self._tell(self.done, len(self.items))
        variant, gradient = Label.parse(item.label).variant, self._gradients[item.label]
        answer = worker.ask({"do": "probe", "probe": item.probe, "variant": variant, "gradient": gradient})
        self.rows.append(Row(item.probe, item.label, **answer))
        return True

    def record_loss(self, item: Attempt, lost: CaseLost) -> bool:
        self.rows.append(Row(item.probe, item.label, "fails", lost.reason))
        return True


def keep(document: Mapping[str, Any]) -> None:
    """Keep what was found in the user's data folder, beside what was found before on the same software."""
    path = path_for(document)
    try:
        probes.write(path, probes.merged(kept(document), document))
    except OSError:
        pass  # a home that cannot be written to only costs the time of trying again


def kept(software: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what was found before with the same software and the same probes and variants; None if nothing was."""
    path = path_for(software)
    try:
        return probes.read(path) if path.exists() else None
    except BadInput:
        return None


def add_to(path: Path, document: Mapping[str, Any]) -> None:
    """Write what was found to a file, beside what it holds already of the same software."""
    probes.write(path, probes.merged(_of_software(path, document), document))


def _of_software(path: Path, software: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a file holds if that was found on some software (the keys of `SOFTWARE`); else None."""
    before = probes.read(path) if path.exists() else None
    return before if before and all(before[key] == software.get(key) for key in SOFTWARE) else None


def path_for(software: Mapping[str, Any]) -> Path:
    """Return where what was found with some software (the keys of `SOFTWARE`) is kept."""
    sources = sorted({*(WORKER / "probes").glob("*.py"), WORKER / "subject.py", *find("variants").values()})
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    name = "-".join(str(software[key]) for key in SOFTWARE)
    folder = Path(platformdirs.user_data_dir("pyopbench", appauthor=False)) / "probes"
    return folder / f"{re.sub('[^A-Za-z0-9.]+', '-', name)}-{digest}.json"


def keep_beside(folder: Path, requires: Iterable[str], tell: Tell) -> None:
    """Put beside a run what its report needs: what the callback of today blocks, and what others can of `requires`.

    Only what is not known yet of this software is tried.
    """
    path = folder / probes.FILE
    run = store.read_run(folder)
    before = _of_software(path, run["environment"]) or kept(run["environment"])
    known = {(row.probe, row.label) for row in probes.rows_of(before)} if before else set()
    missing = [one for one in _needed(run, requires) if (one.probe, one.label) not in known]
    if not missing and before is not None:
        probes.write(path, before)
        return
    found = try_all(missing, ProbeOptions(run["settings"].get("tf")), tell)
    keep(found)
    probes.write(path, probes.merged(before, found))


def _needed(run: Mapping[str, Any], requires: Iterable[str]) -> list[Attempt]:
    baseline = str(run["settings"]["baseline"])
    today = [Attempt(probe, baseline) for probe in PROBES.values()]
    probes = probes_for(requires)
    variants = run["catalogue"]["variants"]  # without the parts of callbacks, which are no candidates
    cases = [case for case in map(Case.from_id, run["cases"]) if case.variant in variants]
    labels = sorted({_label(case, run["catalogue"]) for case in cases if probes})
    return list(dict.fromkeys([*today, *(Attempt(probe, label) for label in labels for probe in probes)]))


def _label(case: Case, catalogue: Mapping[str, Any]) -> str:
    gradients = catalogue["variants"][case.variant]["gradients"]
    return str(Label.of(case.variant, case.gradient, gradients))
