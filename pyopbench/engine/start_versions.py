"""Begins a run on several versions of TensorFlow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pyopbench.engine import start
from pyopbench.engine.environments import require_available
from pyopbench.model.errors import BadInput
from pyopbench.store import run_folder, versions


def begin(folder: Path | None, request: start.Request, asked: Sequence[str]) -> tuple[Path, list[start.PlannedRun]]:
    """Plan a run for each version and make the folders.

    Args:
        folder: where; None for a new folder under `results/`.
        request: what is asked for.
        asked: versions of TensorFlow, in the order to show them in; one may be named twice, to see what noise is.

    Returns:
        The folder of all, and each run in it.

    Raises:
        BadInput: a version cannot be had, or as `start.begin`.
    """
    require_available(asked)
    folder = folder or start.new_folder()
    require_new(folder)
    named = versions.named(folder, asked)
    begun = start.begin_all([(one.folder, replace(request, tf=one.tf)) for one in named])
    versions.write(folder, named)
    return folder, begun


def measured(folder: Path) -> tuple[list[versions.Version], dict[str, str]]:
    """Return the versions in a folder that have a sample, and label -> why the others have none.

    Raises:
        NothingMeasured: none has; with the first reasons.
    """
    found = versions.read(folder)
    whys = {version.label: why for version in found if (why := start.why_nothing(version.folder)) is not None}
    if len(whys) == len(found):
        start.require_measured(found[0].folder)
    return [version for version in found if version.label not in whys], whys


def require_new(folder: Path) -> None:
    """Check that a folder holds no run yet, neither of one version nor of several.

    Raises:
        BadInput: it does, or it cannot be written to.
    """
    run_folder.require_new(folder)
    if versions.is_here(folder):
        raise BadInput(
            "the output folder already contains a run of several versions",
            received=folder,
            legal="an empty or new folder",
            hint=f"choose another --out, or resume that run: pyopbench resume {folder}",
        )
