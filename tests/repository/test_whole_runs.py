"""What holds every measured run to be whole is seen to find one that is not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

import stored
from pyopbench.results import store
from pyopbench.run import schedule
from whole_runs import NotWhole, whole_runs_required

LINES = [stored.launch_line(0), stored.look_line(0), stored.look_line(0), stored.ended_line(1)]


@pytest.mark.parametrize("is_damaged", [False, True])
def test_a_run_that_is_damaged_when_it_ends_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_damaged: bool
) -> None:
    folder = stored.write(tmp_path / "run", stored.run([stored.case("well")]), LINES)

    def run(self: schedule._Schedule) -> list[schedule.Ended]:
        path = folder / store.SAMPLES_FILE
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:1] * is_damaged + lines))
        return []

    monkeypatch.setattr(schedule._Schedule, "run", run)
    measuring = schedule._Schedule.__new__(schedule._Schedule)
    monkeypatch.setattr(measuring, "_works", [SimpleNamespace(folder=folder)], raising=False)
    with whole_runs_required():
        if is_damaged:
            with pytest.raises(NotWhole):
                measuring.run()
        else:
            assert measuring.run() == []
