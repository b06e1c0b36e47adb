"""What was tried by itself: what works with its gain, what does not with its reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from frames import VARIANTS, Bench, run_of
from pyopbench.core.model import Case, Change, Failure
from pyopbench.judge.decide import Judgement, judge
from pyopbench.judge.tried_ports import Attempt, attempts_of
from pyopbench.report import terminal, write
from pyopbench.report.sections import automatic as section
from pyopbench.report.wording.tried_ports import change_text

CURVES = {"py_function_numpy": 1e-3, "tnp": 1e-4, "native": 2e-4}
NJIT = {**VARIANTS["numpy_function"], "automatic": True}
WHY = "Numba: no, mine.py line 3"


def judged(*, own: bool = True, tried: tuple[str, ...] = ("numpy",)) -> Judgement:
    case = Case("mine", "njit", "none", "forward", "call", "float32", 1_000).id
    bench = Bench(CURVES, op="mine", within=0.0, between=0.01, launches=6)
    run = run_of(bench, failures=[Failure(case, "unsupported", WHY, 0)])
    catalogue: dict[str, Any] = {**run.catalogue}
    op = {**catalogue["ops"]["mine"], **({"own": True, "tried": list(tried)} if own else {})}
    variants = {**catalogue["variants"], "tnp": {**VARIANTS["tnp"], "automatic": True}, "njit": NJIT}
    run.catalogue = {**catalogue, "ops": {"mine": op}, "variants": variants}
    return judge(run)


def test_each_attempt_is_there_with_what_it_saves_or_its_reason() -> None:
    found = {attempt.variant: attempt for attempt in attempts_of(judged())}
    assert set(found) == {"tnp", "njit"}
    assert found["tnp"].works
    assert found["tnp"].saved == pytest.approx(0.9, abs=0.01)
    assert found["tnp"].saved_low == pytest.approx(0.9, abs=0.05)
    assert found["njit"] == Attempt("mine", "njit", False, None, None, WHY)


def test_a_body_that_the_user_wrote_is_no_attempt_and_one_that_was_tried_is() -> None:
    names = [attempt.variant for attempt in attempts_of(judged(tried=("numpy", "tensor")))]
    assert "native" in names
    assert "native" not in [attempt.variant for attempt in attempts_of(judged())]


def test_ops_of_the_catalogue_have_none() -> None:
    assert attempts_of(judged(own=False)) == ()
    assert section.build(judged(own=False)) == ()


def test_reasons_are_in_every_output() -> None:
    judgement = judged()
    assert WHY in write.render(judgement)["report.html"]
    tables = {table.title: table.rows for table in terminal.tables(judgement)}
    rows = tables["Automatic ports"]
    assert ("mine", "njit", "no", "–", WHY) in rows


def test_the_shortest_change_stands_behind_the_reason_in_every_output() -> None:
    judgement = judged()
    change = Change("list_index", 3, "x[[1, 0]]", "x[np.array([1, 0])]")
    judgement.run.failures = tuple(replace(one, change=change) for one in judgement.run.failures)  # type: ignore[misc]
    assert {one.variant: one.change for one in attempts_of(judgement)} == {"tnp": None, "njit": change}
    said = f"{WHY}. {change_text(change)}"
    assert ("mine", "njit", "no", "–", said) in {table.title: table.rows for table in terminal.tables(judgement)}[
        "Automatic ports"
    ]
    assert "x[np.array([1, 0])]" in write.render(judgement)["report.html"]


def test_what_fails_for_the_same_reason_is_one_row_in_a_terminal() -> None:
    judgement = judged()
    judgement.run.failures = tuple(  # type: ignore[misc]
        failure
        for old in judgement.run.failures
        for failure in (old, replace(old, case=old.case.replace("/njit/", "/tnp_alone/")))
    )
    judgement.run.catalogue["variants"]["tnp_alone"] = judgement.run.catalogue["variants"]["njit"]
    tables = {table.title: table.rows for table in terminal.tables(judgement)}
    rows = tables["Automatic ports"]
    assert ("mine", "njit\ntnp_alone", "no", "–", WHY) in rows


def test_a_hostile_reason_is_text() -> None:
    judgement = judged()
    failures = [replace(failure, reason="<script>alert(1)</script>") for failure in judgement.run.failures]
    judgement.run.failures = failures  # type: ignore[misc]
    assert "<script>alert(1)" not in write.render(judgement)["report.html"]
