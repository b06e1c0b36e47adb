"""Ports that were tried, and those that can be written."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from frames import VARIANTS, Bench, run_of
from pyopbench.judge.judge import Judgement, judge_run
from pyopbench.judge.ports import (
    NOTES,
    Attempt,
    attempts_of,
    notes_text,
    port_commands,
)
from pyopbench.model import formatting
from pyopbench.model.case import Case, Failure
from pyopbench.model.errors import BadInput
from pyopbench.report import write
from pyopbench.report.sections import Code, Table
from pyopbench.report.sections import support as section
from pyopbench.store.types import PortLine

CURVES = {"py_function_numpy": 1e-3, "traced": 1e-4, "native": 2e-4}
WHY = "Numba: no, mine.py line 3"


def judged(*, own: bool = True, tried: tuple[str, ...] = ("numpy",), name: str = "mine") -> Judgement:
    case = Case(name, "numba_op", "none", "forward", "call", "float32", 1_000).id
    bench = Bench(CURVES, op=name, within=0.0, between=0.01, launches=6)
    run = run_of(bench, failures=[Failure(case, "unsupported", WHY, 0)])
    op = structs.replace(run.catalogue.ops[name], own=own, tried=list(tried) if own else [])
    port = structs.replace(VARIANTS["traced"], automatic=True)
    variants = {**VARIANTS, "traced": port, "numba_op": port}
    run.catalogue = structs.replace(run.catalogue, ops={name: op}, variants=variants)
    run.ports = ()
    return judge_run(run)


def test_each_attempt_is_there_with_what_it_saves_or_its_reason() -> None:
    found = {attempt.variant: attempt for attempt in attempts_of(judged())}
    assert set(found) == {"traced", "numba_op"}
    assert found["traced"].works
    assert found["traced"].saved == pytest.approx(0.9, abs=0.01)
    assert found["traced"].saved_low == pytest.approx(0.9, abs=0.05)
    assert found["numba_op"] == Attempt("mine", "numba_op", False, None, None, WHY)


def test_a_body_that_the_user_wrote_is_no_attempt_and_one_that_was_tried_is() -> None:
    names = [attempt.variant for attempt in attempts_of(judged(tried=("numpy", "tensor")))]
    assert "native" in names
    assert "native" not in [attempt.variant for attempt in attempts_of(judged())]


def test_ops_of_the_catalogue_have_none() -> None:
    assert attempts_of(judged(own=False)) == ()
    assert not section.build(judged(own=False))


def port(variant: str) -> PortLine:
    return PortLine(launch=0, op="mine", variant=variant, dtype="float32", text=f"# {variant}", function="f")


def test_ports_that_work_are_shown_and_written_next_to_the_results(tmp_path: Path) -> None:
    """Of the others there is no file that somebody could merge."""
    judgement = judged()
    judgement.run.ports = (port("traced"), port("numba_op"), port("traced_map"))
    assert [one.text for one in section.build(judgement) if isinstance(one, Code)] == ["# traced"]
    write.write(judgement, tmp_path)
    files = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "ports").iterdir()}
    assert files == {"mine_traced_float32.py": "# traced", "mine_traced_map_float32.py": "# traced_map"}


@pytest.mark.parametrize("kind", ["link", "link to nothing", "file"])
def test_ports_are_written_into_a_folder_of_the_results_alone(kind: str, tmp_path: Path) -> None:
    results, outside = tmp_path / "results", tmp_path / "outside"
    results.mkdir()
    if kind == "file":
        (results / "ports").touch()
    else:
        (results / "ports").symlink_to(outside)
    if kind == "link":
        outside.mkdir()
    judgement = judged()
    judgement.run.ports = (port("traced"),)
    with pytest.raises(BadInput) as caught:
        write.write(judgement, results)
    assert (caught.value.received, bool(caught.value.hint)) == (results / "ports", True)
    assert not outside.exists() or not [*outside.iterdir()]


def rows_of(judgement: Judgement) -> dict[str, tuple[Any, ...]]:
    """Return the rows of the automatic ports of a terminal, by port."""
    return {str(row[1]): row for row in table_of(judgement).rows}


def table_of(judgement: Judgement) -> Table:
    (table,) = (block for block in section.brief(judgement) if isinstance(block, Table))
    return table


def test_reasons_are_in_every_output() -> None:
    judgement = judged()
    assert WHY in write.render(judgement)["report.html"]
    rows = rows_of(judgement)
    assert rows["numba_op"] == ("mine", "numba_op", WHY)
    (traced,) = (one for one in attempts_of(judgement) if one.variant == "traced")
    assert rows["traced"] == ("mine", "traced", formatting.saved_at_least(traced.saved, traced.saved_low))


def judgement(*choices: str | None, own: bool = True) -> Any:
    decisions = tuple(SimpleNamespace(op="mine", choice=choice) for choice in choices)
    words = {"mine": ("my file.py:body", "--input", "rng.random(3)")} if own else {}
    return SimpleNamespace(decisions=decisions, run=SimpleNamespace(own=words))


def test_a_port_of_an_own_op_has_one_command_that_names_it_with_its_inputs() -> None:
    command = "pyopbench port 'my file.py:body' --input 'rng.random(3)' --to traced --out mine_traced.py"
    assert port_commands(judgement("traced", "traced")) == (f"Write mine as traced, with a test: {command}",)


def test_a_gradient_mechanism_is_no_part_of_the_variant() -> None:
    (command,) = port_commands(judgement("numba_op+defun"))
    assert "--to numba_op --out" in command


def test_what_the_user_wrote_what_stays_and_built_in_ops_have_none() -> None:
    assert port_commands(judgement("native", None)) == ()
    assert port_commands(judgement("traced", own=False)) == ()


def test_each_thing_to_know_is_a_sentence() -> None:
    texts = notes_text(("known sizes: `x`", "callback"), (("/a/mine.py", 3),), is_formatted=False)
    assert len(texts) == 4
    assert "`x`" in texts[0]
    assert "mine.py:3" in texts[2]
    assert len(set(notes_text(tuple(NOTES), (), is_formatted=True))) == len(NOTES)
    assert notes_text((), (), is_formatted=True) == ()
