"""What an answer means where data live on a device, of counts that are made up: what it saves there, and what not."""

from __future__ import annotations

from typing import Any

import judgements
from pyopbench.gpu_advice import with_copies
from test_routes import row, rows

UP_AND_DOWN = {"to_device": [1, 4], "to_host": [1, 8]}
ON_HOST = {"inputs": "host", "result": "host", "outputs_on": ["host"]}


def told(choice: str | None, *counted: dict[str, Any], **fields: Any) -> str:
    action = "port" if choice else "keep"
    known = {"op": "sinh", "baseline": "py_func", "action": action, "choice": choice}
    decision = judgements.decision("x", **{**known, **fields})
    return with_copies(decision, rows(*counted))


def test_a_port_that_runs_on_the_device_saves_all_copies() -> None:
    assert told("native", row("py_func", **UP_AND_DOWN), row()) == (
        "With data on the device py_func moves at least 12 B in 2 copies per call of 10 (pinned to the device), "
        "all of which is saved too: native copies nothing (pinned to the device)."
    )


def test_a_choice_that_saves_nothing_is_told_with_what_would() -> None:
    sentence = told("py_function", row("py_func", **UP_AND_DOWN), row("py_function", **UP_AND_DOWN), row())
    assert "py_function saves none of that: at least 12 B in 2 copies" in sentence
    assert sentence.endswith("; nothing crosses with native.")


def test_a_choice_that_saves_some_of_it_is_told() -> None:
    assert "and native only 8 B in 1 copy" in told("native", row("py_func", **UP_AND_DOWN), row(to_host=[1, 8]))


def test_a_choice_that_cannot_run_there_is_told_with_the_reason() -> None:
    refused = row(refused="no kernel")
    today, on_host = row("py_func", **UP_AND_DOWN), row(pinned="host", **UP_AND_DOWN)
    unknown = "; what native would move is not known: "
    assert f"{unknown}the simulated device has no way to run it" in told("native", today, refused, on_host)
    real = [{**one, "case": one["case"].replace("simgpu", "gpu")} for one in (today, refused, on_host)]
    assert f"{unknown}it was refused (no kernel)" in told("native", *real)
    assert f"{unknown}it was not counted" in told("native", today)


def test_keeping_a_callback_names_what_would_copy_nothing() -> None:
    sentence = told(None, row("py_func", **UP_AND_DOWN), row())
    assert sentence.startswith("With data on the device py_func moves at least 12 B")
    assert sentence.endswith("; nothing crosses with native.")


def test_where_nothing_is_copied_today_nothing_is_saved() -> None:
    assert told("native", row("py_func", pinned="unpinned"), row()) == (
        "With data on the device py_func copies nothing (unpinned), and neither does native (pinned to the device)."
    )


def test_data_on_the_host_may_need_a_pin() -> None:
    loose = row("py_func", pinned="unpinned", **ON_HOST, **UP_AND_DOWN)
    pin = "With data on the host py_func goes by the device unless it is pinned to the host"
    assert told(None, loose, row("py_func", pinned="host", **ON_HOST)) == f"{pin}, where nothing crosses."
    bounces = row("py_func", pinned="host", **ON_HOST, **UP_AND_DOWN)
    assert told(None, loose, bounces).startswith(f"{pin}, and pinned there still moves 12 B in 2 copies")
    assert told(None, row("py_func", pinned="unpinned", **ON_HOST), bounces) == ""


def test_only_counts_of_the_same_op_mode_and_use_count() -> None:
    counted = (row("py_func", **UP_AND_DOWN), row())
    assert told("native", *counted, mode="eager") == ""
    assert told("native", *counted, use="training") == ""
    assert told("native", *counted, mode="node") == told("native", *counted)
    assert told("native", *counted, baseline="py_func+override_map").startswith("With data on the device py_func+over")
    assert told("native", row()) == ""
