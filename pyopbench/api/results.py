"""What `pyopbench.run`, `read`, `compare` and `pipeline` return: results with frames, for scripts and notebooks."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from pyopbench.api import frames
from pyopbench.model import formatting
from pyopbench.model.errors import BadInput
from pyopbench.model.write_file import write_atomically
from pyopbench.store.run import copy_run, require_new

if TYPE_CHECKING:
    from pyopbench.judge.comparison.diff import Comparison
    from pyopbench.judge.judge import Judgement
    from pyopbench.judge.pipeline import PipelineJudgement
    from pyopbench.store.run import OpenRun

SHOWN = 20
"""So many decisions are in the text of a result; its frame has all."""
COMPARISON, COMPARISON_TEXT = "comparison.json", "comparison.md"


class RunResult:
    """What was measured of ops, and what to do with them.

    Attributes:
        judgement: all that the report is made of; its parts are not kept stable.
        folder: where a report goes that is given no other.
        sources: the folders and files that it was read from.
    """

    def __init__(
        self, judgement: Judgement, sources: Sequence[Path], folder: Path, side: OpenRun | None = None
    ) -> None:
        """Hold a judgement; `side` is the run of a side alone, where the sources hold others too."""
        self.judgement, self.sources, self.folder, self._side = judgement, tuple(sources), folder, side

    @cached_property
    def decisions(self) -> pd.DataFrame:
        """What to do: a row for each op and use. `docs/api.md` has the columns and their units."""
        return frames.decisions(self.judgement)

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """How each variant compares with the current callback: a row for each case beside the baseline."""
        return frames.verdicts(self.judgement)

    @cached_property
    def latencies(self) -> pd.DataFrame:
        """How long a call takes, in seconds: a row for each measured case."""
        return frames.latencies(self.judgement)

    @cached_property
    def failures(self) -> pd.DataFrame:
        """What has no number, and why: a row for each case."""
        return frames.failures(self.judgement)

    def report(self, folder: str | Path | None = None) -> Path:
        """Write `report.html`, `report.md` and `decisions.json`, and return the path of the first.

        Args:
            folder: where; None for that of the results, or `results/report-NAME` for a file of another tool.

        Raises:
            BadInput: the folder is another user's.
        """
        from pyopbench.report.write import write  # half a second, which no frame needs

        place = self.folder if folder is None else Path(folder)
        return write(self.judgement, place)[0]

    def save(self, folder: str | Path) -> Path:
        """Copy the stored results into a new folder, with their report, and return the folder.

        Args:
            folder: a new or empty one. `pyopbench.read` reads it again.

        Raises:
            BadInput: the folder holds a run, or these results were pooled of several.
        """
        place = Path(folder)
        if len(self.sources) > 1:
            raise BadInput(
                "these results were pooled from several folders, and a folder can contain only one run",
                received=formatting.listing([str(one) for one in self.sources]),
                hint="result.report(folder) writes the report of all of them",
            )
        require_new(place)
        (source,) = self.sources
        place.mkdir(parents=True, exist_ok=True)
        if self._side is not None:
            copy_run(self._side, place)
        elif source.is_dir():
            shutil.copytree(source, place, ignore=links_in, dirs_exist_ok=True)
        else:
            shutil.copy(source, place)
        self.report(place)
        return place

    def __repr__(self) -> str:
        made = self.judgement.decisions
        lines = [f"  {one.op} for {one.use}: {one.answer.text()}{_saving(one.saved, one.saved_low)}" for one in made]
        more = [f"  and {len(made) - SHOWN:,} more"] if len(made) > SHOWN else []
        where = formatting.listing([str(one) for one in self.sources])
        return "\n".join([f"RunResult of {where}: {formatting.count(len(made), 'decision')}", *lines[:SHOWN], *more])


class ComparisonResult:
    """What changed between two results, side A and side B.

    Attributes:
        comparison: all that the outputs are made of; its parts are not kept stable.
    """

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """What became slower or faster on side B: a row for each case of both sides, the worst first."""
        return frames.compared(self.comparison)

    @cached_property
    def unmatched(self) -> pd.DataFrame:
        """What one side alone has a number for: a row for each case."""
        return frames.unmatched(self.comparison)

    def slower(self, by: float | None = None) -> pd.DataFrame:
        """Return the rows of `verdicts` that are slower, and by at least a share; None for the minimum effect.

        An empty frame is what a gate passes on.
        """
        share = self.comparison.minimum_effect if by is None else by
        found = self.verdicts
        return found[(found["outcome"] == "slower") & (found["ratio"] >= 1 + share)]

    def report(self, folder: str | Path) -> Path:
        """Write `comparison.md` into a folder and return its path."""
        return self.save(folder) / COMPARISON_TEXT

    def save(self, folder: str | Path) -> Path:
        """Write `comparison.json` and `comparison.md`, and return the folder."""
        from pyopbench.report import comparison as report

        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        slowdown = self.comparison.minimum_effect
        failed = bool(self.comparison.slower_by(slowdown) or self.comparison.bodies_slower_by(slowdown))
        document = report.as_json(self.comparison, slowdown, failed=failed)
        write_atomically(place / COMPARISON, document.encode())
        write_atomically(place / COMPARISON_TEXT, report.markdown(self.comparison, "").encode())
        return place

    def __repr__(self) -> str:
        return f"ComparisonResult: {self.comparison.title()}\n  {self.comparison.summary()}"


class PipelineResult:
    """What was measured of an op in a `tf.data` pipeline, and which arrangement to go to.

    Attributes:
        judgement: of the pipeline; its parts are not kept stable.
    """

    def __init__(self, judgement: Judgement, run: OpenRun) -> None:
        assert judgement.pipeline is not None
        self.judgement: PipelineJudgement = judgement.pipeline
        self._whole, self._run = judgement, run

    @cached_property
    def arrangements(self) -> pd.DataFrame:
        """How fast each arrangement is: a row for each one with a number, the quickest first."""
        return frames.arrangements(self.judgement)

    def report(self, folder: str | Path) -> Path:
        """Write what was measured and its report into a folder, and return the path of `report.html`."""
        return self.save(folder) / "report.html"

    def save(self, folder: str | Path) -> Path:
        """Write the run, which `pyopbench report` reads again, and its report into a new folder; return the folder.

        Raises:
            BadInput: the folder holds a run.
        """
        from pyopbench.report.write import write

        place = Path(folder)
        require_new(place)
        copy_run(self._run, place)
        write(self._whole, place)
        return place

    def __repr__(self) -> str:
        name = self.judgement.rows.current.op
        return f"PipelineResult of {name}\n  {self.judgement.answer_text()}"


def _saving(saved: float | None, saved_low: float | None) -> str:
    return "" if saved is None else f", saves {formatting.saved_at_least(saved, saved_low)}"


def links_in(folder: str, names: list[str]) -> list[str]:
    """Return the names that are not copied: where a link leads is not part of the results."""
    return [name for name in names if (Path(folder) / name).is_symlink()]
