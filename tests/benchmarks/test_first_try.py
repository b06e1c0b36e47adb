"""The script that tries functions of libraries, and the table of what it stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import first_try
import first_try_tables
from markdown_table import cell

DECISIONS = {
    "decisions": [{"action": "port", "choice": "traced"}],
    "verdicts": [
        {"case": "zscore/traced/none/forward/call/float64/256", "ratio": 0.25, "outcome": "faster"},
        {"case": "zscore/njit/none/forward/call/float64/256", "ratio": 0.9, "outcome": "unresolved"},
        {"case": "zscore/py_func/none/forward/call/float64/256", "ratio": 1.1, "outcome": "slower"},
    ],
    "failures": [
        {"case": f"zscore/{variant}/none/forward/call/float64/256", "reason": "no | `len`", "change": change}
        for variant, change in (("tnp", None), ("tnp_xla", None), ("keras_ops", {"line": 3, "now": "a", "then": "b"}))
    ],
}


def test_an_outcome_has_what_is_right_and_why_the_rest_is_not() -> None:
    found = first_try.outcome(DECISIONS)
    assert found["answer"] == "port traced"
    assert sorted(found["right"]) == ["njit", "py_func", "traced"]
    assert sorted(found["not_right"]) == ["keras_ops", "tnp", "tnp_xla"]


def test_the_table_has_forms_with_their_times_and_each_reason_once() -> None:
    row = {"name": "zscore", "words": ["zscore", "--input", "rng.random(3)"], **first_try.outcome(DECISIONS)}
    document = {"functions": [row]}
    *_, line = first_try_tables.functions(document).splitlines()
    command, answer, right, why = line.replace("\\|", "").split(" | ")
    assert command == "| `zscore --input 'rng.random(3)'`"
    assert answer == "port traced"
    assert right.split("<br>") == ["`njit` 0.90, perhaps", "`py_func` 1.10", "`traced` 0.25, faster"]
    assert len(why.split("<br>")) == 2
    refused = {"name": "a", "words": ["a"], "answer": "refused", "right": {}, "not_right": {}}
    assert first_try_tables.counted({"functions": [row, refused]}) != first_try_tables.counted(document)


def test_a_cell_has_no_links_but_leaves_code_as_it_is() -> None:
    assert cell("[ a\n] [(0)] and [b](c), but `x[0](1)`") == "[ a ] \\[(0)] and [b]\\(c), but `x[0](1)`"


def test_what_is_done_is_kept_and_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def once(name: str, _: str) -> dict[str, Any]:
        if tried[-1:] == ["zscore"]:
            raise KeyboardInterrupt
        tried.append(name)
        return {"exit": 0, **first_try.outcome(DECISIONS)}

    monkeypatch.setattr(first_try, "tried", once)
    path = tmp_path / "kept.json"
    with pytest.raises(KeyboardInterrupt):
        first_try.main(["--json", str(path)])
    assert [one["name"] for one in json.loads(path.read_text(encoding="utf-8"))["functions"]] == ["cdist", "zscore"]
    tried.clear()
    assert first_try.main(["--json", str(path), "--resume", "zscore", "softmax"]) == 0
    assert tried == ["softmax"]
    assert first_try.main(["--json", str(path), "--resume", "--budget", "5s"]) == 2
    assert first_try.main(["--json", str(tmp_path / "none.json"), "--resume"]) == 2


def test_a_name_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        first_try.main(["zscores"])
    assert ended.value.code == 2
    assert "zscores" in capsys.readouterr().err
