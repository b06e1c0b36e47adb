"""Lines of samples.jsonl: what is taken, and what an error says of one that is refused."""

from __future__ import annotations

from typing import Any

import pytest

import stored
from pyopbench.model.errors import BadInput
from pyopbench.store import samples_schema

CASES = (stored.case("well"), stored.case("slow"))
GROUP = stored.group_line(0, CASES, [stored.failure(stored.case("bad"))])


def test_keys_of_other_versions_are_let_be() -> None:
    samples_schema.check_line({**GROUP, "later": None, "noise": {**stored.NOISE, "later": "x"}}, "here")


@pytest.mark.parametrize(
    ("line", "kind"), [({}, None), ({"kind": "later"}, "later"), ({"kind": 1}, 1), ([], None), (None, None)]
)
def test_a_line_of_no_kind_is_refused_with_the_kinds_that_there_are(line: Any, kind: Any) -> None:
    with pytest.raises(BadInput) as caught:
        samples_schema.check_line(line, "line 3")
    assert caught.value.received == f"line 3: kind is {kind!r}, not one of {', '.join(samples_schema.LINES)}"


@pytest.mark.parametrize("by", ["", "rounds", None])
def test_what_nothing_ends_a_run_by_is_refused(by: str | None) -> None:
    line = {"kind": "ended", "launch": 2, "by": by, "looks": 0, "seconds": 1.0, "sampling_seconds": 1.0}
    assert "by: " in str(stored.refusal(lambda: samples_schema.check_line(line, "here")))


@pytest.mark.parametrize(
    ("gpus", "told"),
    [
        ([], ""),
        ([{"name": "a GPU", "held_back_by": ["power cap"]}, {"held_back_by": None}], ""),
        ([{"name": "a GPU"}], "noise.gpus[0]: missing held_back_by"),
        ([{"held_back_by": "power cap"}], "noise.gpus[0].held_back_by: expected array | null, got str"),
    ],
)
def test_readings_of_gpus_are_checked_where_they_are(gpus: list[Any], told: str) -> None:
    line = {**GROUP, "noise": {**stored.NOISE, "gpus": gpus}}
    received = stored.refusal(lambda: samples_schema.check_line(line, "here"))
    assert told in received if received else not told
