"""What is left of a run is what it plans, less what is stored; and it shrinks with failures and looks."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

import stored
from pyopbench.engine.remaining_work import RemainingWork, remaining_work
from pyopbench.engine.settings import Settings
from pyopbench.model.errors import BadInput
from pyopbench.store import run_folder
from pyopbench.store.line_types import PortLine

FIRST, SECOND = stored.case("well"), stored.case("well", size=10)
OTHER = stored.case("other")
WORKERS: dict[str, Any] = {
    "kind": "workers",
    "at_once": 4,
    "limited_by": "",
    "worker_bytes": None,
    "available_bytes": None,
    "seconds": 1.0,
}
ENDED = {"kind": "ended", "by": "budget", "looks": 0, "seconds": 1.0, "sampling_seconds": 0.5}
SETTINGS = Settings(**{name: stored.SETTINGS[name] for name in Settings.__dataclass_fields__})


def work_of(folder: Path, *lines: dict[str, Any]) -> RemainingWork:
    stored.write(folder, stored.run([FIRST, OTHER, SECOND]), lines)
    return remaining_work(run_folder.open_side(folder), SETTINGS, None)


def test_of_a_new_run_everything_is_left_by_groups(tmp_path: Path) -> None:
    work = work_of(tmp_path / "run")
    assert work.groups == {stored.group(): [FIRST, OTHER], stored.group(size=10): [SECOND]}
    assert work.sampled == {stored.group(): set(), stored.group(size=10): set()}
    assert (work.launches, work.next_launch, work.most_needed) == (0, 0, 2)
    assert work.unfailed() == [FIRST, OTHER, SECOND]


def test_what_is_stored_is_not_left(tmp_path: Path) -> None:
    failed = {"kind": "lost", "launch": 1, "group": stored.group(size=10), "failures": [stored.failure(SECOND)]}
    lines = [stored.launch_line(0), stored.group_line(0, [FIRST, OTHER]), failed]
    work = work_of(tmp_path / "run", *lines)
    assert work.sampled[stored.group()] == {0}
    assert (work.launches, work.next_launch) == (1, 1)
    assert work.failed == {SECOND}
    assert work.unfailed() == [FIRST, OTHER]
    assert [work.needs(stored.group()), work.needs(stored.group(size=10))] == [1, 0], "what failed needs nothing"


def test_a_line_that_was_not_finished_is_dropped(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    work_of(folder, stored.launch_line(0))
    whole = (folder / run_folder.SAMPLES_FILE).read_bytes()
    (folder / run_folder.SAMPLES_FILE).write_bytes(whole + b'{"kind": "group", "lau')
    assert remaining_work(run_folder.open_side(folder), SETTINGS, None).launches == 0
    assert (folder / run_folder.SAMPLES_FILE).read_bytes() == whole


def test_several_passes_are_one_launch(tmp_path: Path) -> None:
    passes = [{**stored.group_line(3, [FIRST]), "pass": number} for number in (0, 1)]
    work = work_of(tmp_path / "run", stored.launch_line(3), *passes)
    assert work.sampled[stored.group()] == {3}
    assert work.next_launch == 4


def rounds_line(launch: int, cases: list[str], rounds: int, sweep: int = 0) -> dict[str, Any]:
    rows = {key: [[number, place, 3, 0.5] for number in range(rounds)] for place, key in enumerate(cases)}
    return {**stored.group_line(launch, cases), "samples": rows, "pass": sweep}


@pytest.mark.parametrize(
    ("made", "more", "needed"),
    [
        ((2, 2, 2, 2), (), [3, 4]),  # of ten rounds: the four lack 3.2 launches
        ((5, 2, 2, 2), (), [2, 4]),
        ((9, 9, 9, 9), (), [0, 4]),
        ((2, 2, 2, 2), ("ended",), [0, 4]),
        ((2, 2, 2, 2), ("launch",), [0, 4]),  # the next batch is being prepared, so this one has ended
        ((2, 2, 2, 2), ("resumed",), [5, 4]),  # it lacked five once before
        ((2, 2, 2, 2), ("resumed", "launch"), [5, 4]),
        ((2, 2, 2, 2), ("launch", "sweep"), [3, 4]),  # that worker has taken the place of one that was lost
    ],
)
def test_short_launches_of_a_run_that_was_interrupted_are_made_up_for(
    tmp_path: Path, made: tuple[int, ...], more: tuple[str, ...], needed: list[int]
) -> None:
    """As many as are asked for take turns, so all of them may have had one of many."""
    after = {
        "ended": {**ENDED, "launch": 4},
        "launch": stored.launch_line(4),
        "resumed": {"kind": "resumed", "launch": 3, "lacking": {stored.group(): 5}},
        "sweep": rounds_line(3, [FIRST, OTHER], 1, 2),
    }
    lines = [
        *map(stored.launch_line, range(4)),
        {**WORKERS, "launch": 0, "launches": [0, 1, 2, 3]},
        *(rounds_line(launch, [FIRST, OTHER], rounds - 1) for launch, rounds in enumerate(made)),
        *(rounds_line(launch, [FIRST, OTHER], 1, 1) for launch in range(4)),
        *(after[name] for name in more),
    ]
    stored.write(tmp_path / "run", stored.run([FIRST, OTHER, SECOND]), lines)
    settings = dataclasses.replace(SETTINGS, launches=4, rounds=10)
    for _ in range(2):  # what one resume has found out, the next one finds
        work = remaining_work(run_folder.open_side(tmp_path / "run"), settings, None)
        assert [work.needs(stored.group()), work.needs(stored.group(size=10))] == needed


def test_preparing_takes_less_for_what_is_left_open(tmp_path: Path) -> None:
    work = work_of(tmp_path / "run")
    work.start_seconds, work.case_seconds = 4.0, {stored.group(): 1.5, stored.group(size=10): 2.0}
    assert work.preparing_seconds() == 4.0 + 2 * 1.5 + 2.0
    work.narrow_to(frozenset({OTHER}))
    assert work.preparing_seconds() == 4.0 + 1.5


def test_what_was_checked_against_finite_differences_need_not_be_again(tmp_path: Path) -> None:
    checked = {FIRST: {"values": 0.0}}
    line = {
        "kind": "prepared",
        "launch": 0,
        "group": stored.group(),
        "failures": [],
        "seconds": 1.0,
        "checked": checked,
    }
    assert work_of(tmp_path / "run", stored.launch_line(0), line).checked == {stored.group()}


def test_a_look_leaves_what_is_open_with_what_is_timed_in_the_same_pass_and_is_kept(tmp_path: Path) -> None:
    work = work_of(tmp_path / "run", stored.launch_line(0), stored.group_line(0, [FIRST, OTHER]))
    asked: list[int] = []
    work.narrow(lambda launches, most: asked.append(launches) or frozenset([OTHER]))  # type: ignore[func-returns-value]
    assert asked == [1]
    assert work.groups == {stored.group(): [OTHER]}
    again = remaining_work(run_folder.open_side(tmp_path / "run"), SETTINGS, None)
    assert (again.groups, again.looks) == (work.groups, 1)


def port_line(text: str, launch: int = 0) -> PortLine:
    return PortLine(launch=launch, op="well", variant="traced", dtype="float64", text=text, function="body")


def test_a_port_is_stored_once_and_told_to_the_next_worker(tmp_path: Path) -> None:
    work = work_of(tmp_path / "run")
    assert work.ports_request(stored.group()) == {}
    work.keep_ports([port_line("x = 1\n")])
    work.keep_ports([port_line("x = 1\n", launch=1)])
    kept = [line for line in work.side.lines if isinstance(line, PortLine)]
    assert kept == [port_line("x = 1\n")]
    op = stored.group().split("/")[0]
    work.ports = {("a", "b", "c"): replace(port_line("y = 2\n"), op=op)}
    (told,) = work.ports_request(stored.group())["ports"]
    assert (told["text"], sorted(told)) == (
        "y = 2\n",
        ["dtype", "function", "op", "text", "variant"],
    )


def test_a_port_that_is_written_otherwise_later_is_refused(tmp_path: Path) -> None:
    work = work_of(tmp_path / "run", {"kind": "port", **to_builtins(port_line("x = 1\n"))})
    assert work.ports == {}, "what lies in a folder of results is never run"
    with pytest.raises(BadInput) as caught:
        work.keep_ports([port_line("x = 2\n", launch=3)])
    assert caught.value.received == "traced of well"


def test_a_port_may_be_formatted_otherwise_later(tmp_path: Path) -> None:
    """A run that was begun where Ruff is on the path is resumed where it is not."""
    work = work_of(tmp_path / "run", {"kind": "port", **to_builtins(port_line("x = f('a')\n"))})
    work.keep_ports([port_line('x=f( "a" ) # one\n', launch=3)])
    assert [line.text for line in work.side.lines if isinstance(line, PortLine)] == ["x = f('a')\n"]
