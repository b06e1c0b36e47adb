"""Lines of samples.jsonl: what is taken, how it is read quickly, and what an error says of one that is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import structs

import stored
from pyopbench.model.case import Failure
from pyopbench.model.errors import BadInput
from pyopbench.store import line_types as lines
from pyopbench.store import run_folder
from pyopbench.store.line_types import KINDS, decode_line, line_of

CASES = (stored.case("well"), stored.case("slow"))
GROUP = stored.group_line(0, CASES, [stored.failure(stored.case("bad"))])


def encode(line: Any) -> bytes:
    return json.dumps(line, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    ("line", "kind"), [({}, None), ({"kind": "later"}, "later"), ({"kind": 1}, 1), ([], None), (None, None)]
)
def test_a_line_of_no_kind_is_refused_with_the_kinds_that_there_are(line: Any, kind: Any) -> None:
    with pytest.raises(BadInput) as caught:
        decode_line(encode(line), "line 3")
    assert caught.value.received == f"line 3: kind is {kind!r}, not one of {', '.join(KINDS)}"


@pytest.mark.parametrize("by", ["", "rounds", None])
def test_what_nothing_ends_a_run_by_is_refused(by: str | None) -> None:
    line = {"kind": "ended", "launch": 2, "by": by, "looks": 0, "seconds": 1.0, "sampling_seconds": 1.0}
    assert "by: " in str(stored.refusal(lambda: decode_line(encode(line), "here")))


WAITS = {"calls": 10, "p50": 0.25, "p95": None, "p99": None}


@pytest.mark.parametrize(
    ("case", "changes", "is_fine"),
    [
        (CASES[0], {}, True),
        (CASES[0], {"calls": 0}, False),
        (CASES[0], {"p50": -1.0}, False),
        (stored.case("bad"), {}, False),
    ],
)
def test_waits_are_of_calls_that_were_timed(case: str, changes: dict[str, Any], is_fine: bool) -> None:
    line = {**GROUP, "waits": {case: {**WAITS, **changes}}}
    assert (stored.refusal(lambda: decode_line(encode(line), "here")) is None) == is_fine


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
    received = stored.refusal(lambda: decode_line(encode(line), "here"))
    assert told in received if received else not told


def test_what_a_run_writes_is_read_without_the_strict_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes several times as long; that it is not asked is seen by taking it away."""
    written = run_folder.encode_line(line_of({**GROUP, "pass": 3}, "here"))
    monkeypatch.setattr(lines, "parse_at", None)
    line = decode_line(written, "here")
    assert isinstance(line, lines.GroupLine)
    assert (line.sweep, line.failures) == (3, [Failure(stored.case("bad"), "raised", "it did not work", 0)])
    assert line.samples == GROUP["samples"]


@pytest.mark.parametrize(
    "twice",
    [
        (b'"launch":0,', b'"launch":0,"launch":1,'),
        (b'"launch":0,', b'"launch" :0,"launch":1,'),
        (b'"switches":3', b'"switches":3,"switches":4'),
        (b'"reason":', b'"reason":"","reason":'),
        (b'"samples":{', b'"samples":{"%s":[[0,0,1,1.0]],' % CASES[0].encode()),
    ],
    ids=lambda pair: pair[1].decode()[:30],
)
def test_a_key_that_is_there_twice_is_refused_wherever_it_is(twice: tuple[bytes, bytes]) -> None:
    content = encode(GROUP)
    assert twice[0] in content
    assert stored.refusal(lambda: decode_line(content, "here")) is None
    assert stored.refusal(lambda: decode_line(content.replace(*twice, 1), "here")) is not None


@pytest.mark.parametrize(
    "content",
    [b'"pid":%d' % 2**63, b'"pid":1e999', b'"name":"\\ud800"', b'"deep":' + b"[" * 70 + b"]" * 70, b'"pid":1,"pid":2'],
    ids=lambda content: content.decode()[:20],
)
def test_the_environment_of_a_launch_is_read_as_strictly(content: bytes) -> None:
    line = b'{"kind":"launch","launch":0,"environment":{%s}}'
    assert stored.refusal(lambda: decode_line(line % b'"pid":1', "here")) is None
    assert stored.refusal(lambda: decode_line(line % content, "here")) is not None


def test_a_row_holds_whole_numbers_that_a_column_can_hold() -> None:
    for number in (1, 2**53, 2**53 + 1, 10**30, 1.0):
        line = {**GROUP, "samples": {CASES[0]: [[0, 0, number, 1.0]]}}
        refusal = stored.refusal(lambda: decode_line(encode(line), "here"))  # noqa: B023
        assert (refusal is None) == (number in (1, 2**53) and isinstance(number, int)), number


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"case": "bad"}, "here: 'bad' is not the id of a case"),
        ({"status": "odd"}, "here: failures[0].status: invalid enum value 'odd'"),
    ],
)
def test_a_failure_of_no_case_or_status_is_named(changes: dict[str, str], told: str) -> None:
    line = {**GROUP, "failures": [{**stored.failure(stored.case("bad")), **changes}]}
    assert stored.refusal(lambda: decode_line(encode(line), "here")) == told


def test_a_line_without_what_need_not_be_there_is_stored_without_it() -> None:
    line = line_of(stored.group_line(0, CASES), "here")
    assert b"null" not in run_folder.encode_line(structs.replace(line, noise=None))
