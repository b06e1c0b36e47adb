"""What processes counted is added up; mixes hold the calls of each size, as `--mix` reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from pyopbench.find.usage import InputShare, Part, merge, propose_sizes, write_mixes
from pyopbench.store.mix_file import read_mix


def tally(calls: int = 0, seconds: float = 0.0) -> dict[str, Any]:
    return {"calls": calls, "raised": 0, "seconds": seconds}


def site(line: int, shapes: dict[tuple[int, ...] | None, int], **tallies: Any) -> dict[str, Any]:
    rows = [
        {"inputs": None if shape is None else [{"shape": shape, "dtype": "float32"}], "calls": calls, "seconds": 0.0}
        for shape, calls in shapes.items()
    ]
    names = {"file": "a.py", "line": line, "function": "f", "kind": "py_function", "mode": "graph", "body": "g"}
    return {**names, "forward": tally(), "gradient": tally(), "shapes": rows, **tallies}


def part(*sites: dict[str, Any], trouble: str = "", **more: Any) -> Part:
    return msgspec.convert({"sites": sites, "trouble": trouble, **more}, Part)


def test_processes_are_added_up_and_the_dearest_site_comes_first() -> None:
    cheap = site(1, {}, forward=tally(4, 1.0))
    dear = site(2, {}, forward=tally(2, 1.5), gradient=tally(2, 4.0))
    used = merge([part(cheap, dear), part(cheap), part(trouble="no")], 10.0)
    assert [(one.line, one.forward.calls, one.seconds) for one in used.sites] == [(2, 2, 5.5), (1, 8, 2.0)]
    assert (used.processes, used.troubles) == (3, ["no"])


def test_the_time_after_start_up_goes_from_the_first_call_of_any_process_to_the_last() -> None:
    there = site(1, {}, forward=tally(1, 1.0))
    used = merge([part(there, called=called) for called in ([7.0, 8.0], [5.0, 7.5], None)], 10.0)
    assert used.called_seconds == 3.0
    assert merge([part()], 1.0).called_seconds is None


def test_input_is_what_is_waited_and_what_callbacks_in_there_take_at_least() -> None:
    """By hand: 8 s, 2 of them waited, and callbacks of 1.6 s; then of 24 s by several threads, and waits of 0.1 s."""

    def share(seconds: float, waited: float) -> InputShare | None:
        there = site(1, {}, forward=tally(4, seconds)) | {"in_input": True}
        other = site(2, {}, forward=tally(1, 5.0))
        waits = {"elements": 40, "seconds": waited}
        return merge([part(there, other, called=[1.0, 9.0], waits=waits), part(other)], 10.0).input_share

    assert share(1.6, 2.0) == InputShare(0.25, 0.2)
    found = share(24.0, 2.0)
    assert found is not None
    assert not found.is_hidden
    hidden = share(24.0, 0.1)
    assert hidden is not None
    assert hidden.is_hidden
    assert share(1.0, 100.0) == InputShare(1.0, 0.125)
    assert share(0.0, 2.0) is None


def test_a_program_whose_iterators_were_not_seen_has_no_share_of_its_input() -> None:
    there = site(1, {}, forward=tally(4, 1.0)) | {"in_input": True}
    assert merge([part(there, called=[1.0, 9.0])], 10.0).input_share is None
    waits = {"elements": 40, "seconds": 1.0}
    outside = site(1, {}, forward=tally(4, 1.0))
    assert merge([part(outside, called=[1.0, 9.0], waits=waits)], 10.0).input_share is None


def test_a_site_that_was_never_called_is_left_out() -> None:
    assert merge([part(site(1, {}))], 1.0).sites == []


def test_a_mix_holds_the_calls_of_each_size_of_the_largest_input(tmp_path: Path) -> None:
    shapes = {(2, 3): 5, (6,): 1, (): 2, (0, 4): 7, None: 9}
    used = merge([part(site(1, shapes, forward=tally(24, 2.0)), site(2, {(0,): 1}, forward=tally(1, 1.0)))], 1.0)
    written = write_mixes(used, tmp_path / "r.json")
    assert list(written) == [1]
    assert read_mix(written[1]) == {1: 2.0, 6: 6.0}
    assert written[1].name == "r-mix-1.csv"


def test_proposed_sizes_hold_both_ends() -> None:
    assert propose_sizes([7]) == [7]
    proposed = propose_sizes(list(range(1, 101)))
    assert (proposed[0], proposed[-1], len(proposed)) == (1, 100, 5)
