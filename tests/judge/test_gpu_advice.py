"""What an answer means where data live on a device, of counts that are made up: what it saves there, and what not."""

from __future__ import annotations

from typing import Any

import judgements
from counted_files import row, rows
from pyopbench.judge.copies_advice import Copied, CopiesAdvice, DataOnDevice, NotCounted, PinToHost
from pyopbench.judge.gpu_advice import advice_on_copies

UP_AND_DOWN = {"to_device": [1, 4], "to_host": [1, 8]}
ON_HOST = {"inputs": "host", "result": "host", "outputs_on": ["host"]}


BOUNCES, NOTHING = Copied(2, 12, 10, "device"), Copied(0, 0, 10, "device")


def advice(choice: str | None, *counted: dict[str, Any], **fields: Any) -> tuple[CopiesAdvice, ...]:
    action = "port" if choice else "keep"
    known = {"op": "sinh", "baseline": "py_func", "action": action, "choice": choice}
    decision = judgements.decision("x", **{**known, **fields})
    return advice_on_copies(decision, rows(*counted))


def test_a_port_that_runs_on_the_device_saves_all_copies() -> None:
    found = advice("native", row("py_func", **UP_AND_DOWN), row())
    assert found == (DataOnDevice("py_func", BOUNCES, "native", NOTHING, ()),)


def test_a_choice_that_saves_nothing_comes_with_what_would() -> None:
    found = advice("py_function", row("py_func", **UP_AND_DOWN), row("py_function", **UP_AND_DOWN), row())
    assert found == (DataOnDevice("py_func", BOUNCES, "py_function", BOUNCES, ("native",)),)


def test_a_choice_that_saves_some_of_it() -> None:
    found = advice("native", row("py_func", **UP_AND_DOWN), row(to_host=[1, 8]))
    assert found == (DataOnDevice("py_func", BOUNCES, "native", Copied(1, 8, 10, "device"), ()),)


def test_a_choice_that_was_not_counted_there_comes_with_the_reason() -> None:
    def unknown(*counted: dict[str, Any]) -> Any:
        (found,) = advice("native", *counted)
        assert isinstance(found, DataOnDevice)
        return found.afterwards

    refused = row(refused="no kernel")
    today, on_host = row("py_func", **UP_AND_DOWN), row(pinned="host", **UP_AND_DOWN)
    assert unknown(today, refused, on_host) == NotCounted("native", "simulated")
    real = [{**one, "case": one["case"].replace("simgpu", "gpu")} for one in (today, refused, on_host)]
    assert unknown(*real) == NotCounted("native", "refused", "no kernel")
    assert unknown(today) == NotCounted("native", "left_out")


def test_keeping_a_callback_comes_with_what_would_copy_nothing() -> None:
    found = advice(None, row("py_func", **UP_AND_DOWN), row())
    assert found == (DataOnDevice("py_func", BOUNCES, None, None, ("native",)),)


def test_where_nothing_is_copied_today_nothing_is_saved() -> None:
    found = advice("native", row("py_func", pinned="unpinned"), row())
    assert found == (DataOnDevice("py_func", Copied(0, 0, 10, "unpinned"), "native", NOTHING, ()),)


def test_data_on_the_host_may_need_a_pin() -> None:
    loose = row("py_func", pinned="unpinned", **ON_HOST, **UP_AND_DOWN)
    quiet = row("py_func", pinned="host", **ON_HOST)
    bounces = row("py_func", pinned="host", **ON_HOST, **UP_AND_DOWN)
    assert advice(None, loose, quiet) == (PinToHost("py_func", Copied(0, 0, 10, "host")),)
    assert advice(None, loose, bounces) == (PinToHost("py_func", Copied(2, 12, 10, "host")),)
    assert advice(None, row("py_func", pinned="unpinned", **ON_HOST), bounces) == ()


def test_only_counts_of_the_same_op_mode_and_use_count() -> None:
    counted = (row("py_func", **UP_AND_DOWN), row())
    assert advice("native", *counted, mode="eager") == ()
    assert advice("native", *counted, use="training") == ()
    assert advice("native", *counted, mode="node") == advice("native", *counted) != ()
    gradient = "py_func+override_map"
    assert advice("native", *counted, baseline=gradient) == (DataOnDevice(gradient, BOUNCES, "native", NOTHING, ()),)
    assert advice("native", row()) == ()
