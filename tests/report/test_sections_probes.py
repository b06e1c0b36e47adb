"""The report's matrix of what works, and what it says of requirements; the same sentences as on the terminal."""

from __future__ import annotations

import json
from typing import Any

from probe_files import document, row
from pyopbench.judge.decision import Bar, Substituted, Unknown
from pyopbench.judge.judge import judge_run
from pyopbench.judge.requirements import CUBE, bar_text, blocks_text, required_text, substituted_text, unknown_text
from pyopbench.report.sections import Bullets, Paragraph, Table, decisions, probes
from pyopbench.report.sections._required import remarks
from pyopbench.report.write import render
from required import TODAY, judged, run_with

OP = "sinh"
REQUIRED = Paragraph("Required: xla. Only variants that were seen to support it are candidates:", "warn")


def words(blocks: Any) -> str:
    return "\n".join(block.text for block in blocks if isinstance(block, Paragraph))


def test_without_probes_there_is_no_section() -> None:
    assert probes.build(judge_run(run_with(probes=None))) == ()


def test_the_matrix_has_a_row_for_each_probe_and_today_first() -> None:
    made = judged(row("xla", "native"), row("xla", TODAY, "fails", "no kernel"), row("own", "native"), requires=())
    matrix, failures = (block for block in probes.build(made) if isinstance(block, Table))
    assert matrix.columns == ("tried", TODAY, "native")
    assert [[str(cell) for cell in line] for line in matrix.rows] == [
        ["what xla is", "fails", "works"],
        ["what own is", "", "works"],
    ]
    assert failures.rows == ((CUBE, "what xla is", "fails", TODAY, "no kernel"),)


def test_what_was_tried_with_ops_has_a_matrix_of_its_own() -> None:
    """Rows of an op that nothing is decided about are of another run's."""
    rows = [
        row("xla", "native", op=OP),
        row("xla", TODAY, "fails", "no kernel", op=OP),
        row("xla", "traced", op="other"),
    ]
    made = judged(row("tflite", TODAY), *rows, requires=())
    with_op, with_cube, failures = (block for block in probes.build(made) if isinstance(block, Table))
    assert with_op.columns == ("op", "tried", TODAY, "native")
    assert [[str(cell) for cell in line] for line in with_op.rows] == [[OP, "what xla is", "fails", "works"]]
    assert [[str(cell) for cell in line] for line in with_cube.rows] == [["what tflite is", "works"]]
    assert failures.rows == ((OP, "what xla is", "fails", TODAY, "no kernel"),)


def test_requirements_and_what_they_removed_are_told_first() -> None:
    made = judged(
        row("xla", "native", "fails", "no", op=OP), row("xla", TODAY, "fails", "no", op=OP), requires=("xla",)
    )
    head, removed, *_ = probes.build(made)
    assert head == REQUIRED
    assert isinstance(removed, Bullets)
    assert removed.items == (
        bar_text([TODAY, "native"], Bar("", "xla", "xla", "fails", "no"), [OP]),
        unknown_text(Unknown("xla", ("numpy_function", "xla")), [OP]),
    )
    blocks = blocks_text(TODAY, ["xla"])
    assert blocks in words(decisions.build(made))
    assert remarks(made) == (blocks, *map(required_text, removed.items))


def test_the_cube_is_named_where_it_stood_in_for_an_op() -> None:
    cannot = [row("second_order", name, "does not apply", "no gradient", op=OP) for name in ("native", "xla")]
    met = [row("second_order", name) for name in ("native", "xla")]
    made = judged(*cannot, *met, requires=("second_order",))
    _, removed, *_ = probes.build(made)
    assert isinstance(removed, Bullets)
    told = substituted_text(["native", "xla"], Substituted("", "second_order", "no gradient"), [OP])
    assert told in removed.items


def test_the_answer_at_a_glance_names_what_it_blocks() -> None:
    def told(*rows: Any) -> str:
        (table, *_) = (block for block in decisions.build(judged(*rows, requires=())) if isinstance(block, Table))
        assert table.columns[-1] == "does not work with"
        return str(table.rows[0][-1])

    assert told(row("tflite", "xla", "fails", "no"), row("xla", "xla")) == "tflite"
    assert told(row("xla", "xla")) == "nothing seen"
    assert told(row("xla", TODAY)) == "not probed"


def test_a_matrix_of_another_version_is_told() -> None:
    run = run_with(probes=document(row("xla", TODAY), tensorflow="2.16.2"))
    again = "They were tried on TensorFlow 2.16.2, but this run used 2.21.0: probe again."
    assert Paragraph(again, "warn") in probes.build(judge_run(run))


def test_every_output_of_the_report_holds_it() -> None:
    made = render(judged(row("xla", TODAY, "fails", "own <words>", op=OP), requires=("xla",)))
    assert "own &lt;words&gt;" in made["report.html"]
    assert REQUIRED.text in made["report.md"]
    (decision,) = json.loads(made["decisions.json"])["decisions"]
    assert decision["blocks"] == ["xla"]
    bar = {"label": TODAY, "requirement": "xla", "probe": "xla", "status": "fails", "told": "own <words>", "op": OP}
    assert decision["barred"] == [bar]
