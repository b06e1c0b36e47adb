"""Every run that a test of this process measures is whole when it ends: `pyopbench check` has no wrong alarms."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pyopbench.results.check import check_folder
from pyopbench.run import schedule
from pyopbench.run.schedule import Ended


class NotWhole(AssertionError):
    """A run that was only measured is said to be damaged."""


@contextmanager
def whole_runs_required() -> Iterator[None]:
    """Check the folders of all runs that are measured meanwhile, as soon as each has ended.

    Raises:
        NotWhole: one of them is not as it was written.
    """
    run = schedule._Schedule.run

    def run_and_check(self: schedule._Schedule) -> list[Ended]:
        ended = run(self)
        for work in self._works:
            wrong = [one for one in check_folder(work.folder)[0] if not one.is_fine]
            if wrong:
                raise NotWhole(wrong)
        return ended

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule._Schedule, "run", run_and_check)
        yield
