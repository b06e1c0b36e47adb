"""Tries probes with variants, of ops or of the cube, by workers; one that hangs or dies costs the probe it was at.

What was found is kept in the user's data folder: runs need not try again what this TensorFlow can do. There is a file
for each software and state of the probes, and one more for each op that something was tried with and each state of its
files.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, reduce
from pathlib import Path
from typing import Any, TypeAlias

import platformdirs

import pyopbench
from pyopbench.engine import environments
from pyopbench.engine.plan import require_loaded
from pyopbench.engine.worker_process import CaseLost, Worker, WorkerLoop, ask_once
from pyopbench.judge.requirements import OF_THE_GRADIENT, PROBES, probes_for
from pyopbench.model.case import Case
from pyopbench.model.discover import BUILTIN, KERNELS, OPS, PACKAGE, WORKER, find, find_probes, require_known
from pyopbench.model.errors import BadInput
from pyopbench.model.label import Label
from pyopbench.model.own_target import NO_OWN_OPS, OwnOps
from pyopbench.model.side import HERE, Environment
from pyopbench.store import probes
from pyopbench.store.probes import SCHEMA, SOFTWARE, Key, ProbeRow
from pyopbench.store.run_folder import OpenSide
from pyopbench.store.run_json import Catalogue, RunContent

TIMEOUT_SECONDS = 180.0
"""Longest silence of one probe. They take seconds at the most, but for the first with a kernel, which compiles it."""

Tell: TypeAlias = Callable[[int, int], None]
"""Is told how many probes are done, of how many."""


@dataclass(frozen=True)
class Attempt:
    """One probe to try with one label, a variant or `variant+gradient`, of an op; of the cube if that is None."""

    probe: str
    label: str
    op: str | None = None

    @property
    def key(self) -> Key:
        """The key of the row that comes of it."""
        return self.op, self.probe, self.label


@dataclass(frozen=True)
class ProbeOptions:
    """Where to try: in which environment, with how much patience, and with which own ops among the ops."""

    environment: Environment = HERE
    timeout_seconds: float = TIMEOUT_SECONDS
    own: OwnOps = NO_OWN_OPS


def all_attempts(
    probes: Sequence[str], variants: Sequence[str], options: ProbeOptions, ops: Sequence[str] = ()
) -> list[Attempt]:
    """Return all that can be asked of some probes, variants and ops, or of every one where none is named.

    Without ops it is asked of the cube; with some, of them alone, by the probes that settle requirements.

    Raises:
        BadInput: an unknown name, or a probe that is not made for ops; or a file of a variant cannot be loaded.
    """
    with_ops = sorted(PROBES.values())
    require_known("probe", probes, find_probes())
    require_known("op", ops, {*find("ops"), *options.own})
    if ops:
        require_known("probe of an op", probes, with_ops)
    require_known("variant", [Label.parse(label).variant for label in variants], find("variants"))
    labels = variants or _usual_variants(options, is_own=any(op in options.own for op in ops))
    asked = probes or (with_ops if ops else find_probes())
    return [Attempt(probe, label, op) for op in ops or (None,) for label in labels for probe in asked]


def _usual_variants(options: ProbeOptions, *, is_own: bool) -> list[str]:
    variants = _describe(options)["variants"]
    return [name for name, one in variants.items() if one["is_usual"] or (is_own and one.get("is_usual_for_own"))]


def try_all(
    attempts: Sequence[Attempt], options: ProbeOptions, tell: Tell, known: Collection[Key] = ()
) -> dict[str, Any]:
    """Try each and return the document that results/README.md describes.

    Args:
        attempts: what to try. What cannot be tried with its op is tried with the cube as well.
        options: where, and with how much patience.
        tell: is told how far it is.
        known: keys of rows that there are already, so that they need not be tried with the cube.

    Raises:
        BadInput: an unknown gradient of a variant, or a file of one cannot be loaded.
    """
    probing = _Probing(attempts, options, tell, known)
    probing.run()
    described = probing.described or _describe(options)
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
    found = ask_once({"do": "probes"}, python=environments.python_of(options.environment), own=options.own)
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

    def __init__(self, attempts: Sequence[Attempt], options: ProbeOptions, tell: Tell, known: Collection[Key]) -> None:
        self._attempts = list(attempts)  # grows by what cannot be tried with its op
        super().__init__(self._attempts)
        self.rows: list[ProbeRow] = []
        self.described: Mapping[str, Any] = {}
        self._options = options
        self._gradients: dict[str, str] = {}
        self._tell = tell
        self._known = {*known, *(attempt.key for attempt in attempts)}

    def start(self) -> Worker:
        options = self._options
        python = environments.python_of(options.environment)
        return Worker(options.timeout_seconds, python, own=options.own, hides_gpu=True)

    def prepare(self, worker: Worker) -> bool:
        """Ask the first worker what there is, which another one would import TensorFlow for once more."""
        if not self.described:
            found = worker.ask({"do": "probes"})
            require_loaded(found)
            self._gradients = {one.label: _gradient_of(one.label, found["variants"]) for one in self.items}
            self.described = found
        return True

    def ask(self, worker: Worker, item: Attempt) -> bool:
        self._tell(self.done, len(self.items))
        variant, gradient = Label.parse(item.label).variant, self._gradients[item.label]
        request = {"do": "probe", "probe": item.probe, "variant": variant, "gradient": gradient}
        answer = worker.ask(request if item.op is None else {**request, "op": item.op})
        self._add(ProbeRow(item.probe, item.label, **answer, op=item.op))
        return True

    def record_loss(self, item: Attempt, lost: CaseLost) -> bool:
        self._add(ProbeRow(item.probe, item.label, "fails", lost.reason, op=item.op))
        return True

    def _add(self, row: ProbeRow) -> None:
        """Keep a row; where there was nothing to try with its op, have the cube tried too."""
        self.rows.append(row)
        instead = Attempt(row.probe, row.label)
        if row.could_not_be_tried and instead.key not in self._known:
            self._known.add(instead.key)
            self._attempts.append(instead)


def add_to(path: Path, document: Mapping[str, Any]) -> None:
    """Write what was found to a file, beside what it holds already of the same software."""
    probes.write(path, probes.merged(_of_software(path, document), document))


def _of_software(path: Path, software: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a file holds if that was found on some software (the keys of `SOFTWARE`); else None."""
    before = probes.read(path) if path.exists() else None
    return before if before and all(before[key] == software.get(key) for key in SOFTWARE) else None


def keep_beside(side: OpenSide, requires: Iterable[str], tell: Tell, own: OwnOps = NO_OWN_OPS) -> None:
    """Put beside a run what its report needs: what the current callback blocks, and what candidates can of `requires`.

    What the current callback blocks is seen with the cube, once for each software, and what is required with each op of
    the run, of which `own` are own ones; only what is not known yet is tried.
    """
    path, run = side.folder / probes.FILE, side.content
    before = _known(path, run, own)
    known = {row.key for row in probes.rows_of(before)} if before else set()
    missing = [one for one in _needed(run, requires) if one.key not in known]
    # What could not be tried with an op before is seen with the cube.
    missing += [one for one in _with_cube(before, requires) if one.key not in known]
    if not missing and before is not None:
        probes.write(path, before)
        return
    found = try_all(list(dict.fromkeys(missing)), ProbeOptions(run.settings.environment, own=own), tell, known)
    keep(found, own)
    probes.write(path, probes.merged(before, found))


def _known(path: Path, run: RunContent, own: OwnOps) -> dict[str, Any] | None:
    """Return what is known of the software of a run and its ops: what is kept, and what lies beside the run."""
    ops = dict.fromkeys(case.op for case in _candidates(run))
    there = [read_kept(run.environment, ops, own), _of_software(path, run.environment)]
    found = [document for document in there if document is not None]
    return reduce(probes.merged, found) if found else None


def _candidates(run: RunContent) -> list[Case]:
    """Return the cases of a run without parts of callbacks and ops of the floor, about which nothing is decided."""
    ops, variants = run.catalogue.ops, run.catalogue.variants
    return [case for case in map(Case.from_id, run.cases) if case.op in ops and case.variant in variants]


def _needed(run: RunContent, requires: Iterable[str]) -> list[Attempt]:
    baseline = run.settings.baseline
    today = [Attempt(probe, baseline) for probe in PROBES.values()]
    asked = [
        Attempt(PROBES[name], label if name in OF_THE_GRADIENT else Label.parse(label).variant, op)
        for op, label in sorted({(case.op, _label(case, run.catalogue)) for case in _candidates(run)})
        for name in requires
        if name in PROBES
    ]
    return list(dict.fromkeys([*today, *asked]))


def _with_cube(before: Mapping[str, Any] | None, requires: Iterable[str]) -> list[Attempt]:
    asked = probes_for(requires)
    rows = probes.rows_of(before) if before else []
    return [Attempt(row.probe, row.label) for row in rows if row.could_not_be_tried and row.probe in asked]


def _label(case: Case, catalogue: Catalogue) -> str:
    return str(Label.of(case.variant, case.gradient, catalogue.variants[case.variant].gradients))


SOURCES = (".py", ".cc", ".cpp", ".cu", ".h", ".hpp")
"""What an op may be made of: its file may load any of these that lies beside it."""

KERNEL_FOLDERS = (BUILTIN, OPS / "numba_bodies", KERNELS)
"""Where the bodies of the built-in ops are."""

DIGITS = 12
"""Of a digest in the name of a file."""


def keep(document: Mapping[str, Any], own: OwnOps = NO_OWN_OPS) -> None:
    """Keep what was found, beside what was found before on the same software with the same ops."""
    rows = probes.rows_of(document)
    for op in dict.fromkeys(row.op for row in rows):
        path = path_for(document, op, own)
        if path is None:
            continue
        part = {**document, "rows": [row for row in document["rows"] if row.get("op") == op]}
        try:
            probes.write(path, probes.merged(_read(path), part))
        except OSError:
            return  # a home that cannot be written to only costs the time of trying again


def read_kept(software: Mapping[str, Any], ops: Iterable[str] = (), own: OwnOps = NO_OWN_OPS) -> dict[str, Any] | None:
    """Return what was found before with the same software and the same probes and variants; None if nothing was.

    Args:
        software: the keys of `SOFTWARE`.
        ops: what was found with these ops as well, as they are now.
        own: the own ops among them.
    """
    paths = [path_for(software, op, own) for op in (None, *ops)]
    found = [document for path in paths if path is not None and (document := _read(path)) is not None]
    return reduce(probes.merged, found) if found else None


def path_for(software: Mapping[str, Any], op: str | None = None, own: OwnOps = NO_OWN_OPS) -> Path | None:
    """Return where what was found with some software (the keys of `SOFTWARE`) is kept, with the cube or with an op.

    None for an op that is named as a module: where its source is, only an import would tell.
    """
    digests = [_digest(_sources())]
    if op is not None:
        of_op = _digest_of(op, own)
        if of_op is None:
            return None
        digests += [op, of_op]
    name = "-".join(str(software[key]) for key in SOFTWARE)
    folder = Path(platformdirs.user_data_dir("pyopbench", appauthor=False)) / "probes"
    return folder / f"{re.sub('[^A-Za-z0-9.]+', '-', name)}-{'-'.join(digests)}.json"


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return probes.read(path) if path.exists() else None
    except BadInput:
        return None


def _sources() -> list[Path]:
    """Return the files of what is tried: probes, what they are made of, and variants."""
    parts = (WORKER / "subject.py", WORKER / "op_subject.py")
    return sorted({*(WORKER / "probes").glob("*.py"), *parts, *find("variants").values()})


def _digest_of(op: str, own: OwnOps) -> str | None:
    """Return a digest of all that an op may be made of; None where it is not there, or only an import would tell."""
    target = own.get(op)
    path = find("ops").get(op) if target is None else Path(target.place) if target.is_file else None
    if path is None:
        return None
    words = [] if target is None else [target.function, *target.inputs]
    inputs = [Path(text) for text in words if text.endswith(".npy")]
    try:
        beside = [one for folder in _folders_of(path) for one in folder.iterdir() if one.suffix in SOURCES]
        return _digest(sorted({path, *beside, *inputs}), words)
    except OSError:
        return None


def _folders_of(path: Path) -> Sequence[Path]:
    """Return the folders that hold what the file of an op may load."""
    if PACKAGE in path.parents:
        return KERNEL_FOLDERS
    root = path.parent.parent
    # A folder of PYOPBENCH_PATH holds its ops in a folder, and beside that what they share.
    return (
        [root, *(one for one in root.iterdir() if one.is_dir())]
        if path.parent == BUILTIN or path.parent.name == "ops"
        else [path.parent]
    )


def _digest(paths: Iterable[Path], words: Iterable[str] = ()) -> str:
    found = hashlib.sha256("\0".join(words).encode())
    for path in paths:
        found.update(path.read_bytes())
    return found.hexdigest()[:DIGITS]
