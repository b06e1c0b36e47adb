"""A run on several versions of TensorFlow is compared with its first one, and every report of it knows of all."""

from __future__ import annotations

import html
from pathlib import Path

import stored
from pairs import VARIANTS, cases, lines_of, write_versions
from pyopbench.judge import judge
from pyopbench.judge.comparison.gate import read_gate
from pyopbench.judge.comparison.versions import VersionComparison
from pyopbench.judge.judge import Judgement
from pyopbench.report import write
from pyopbench.store.json_file import encode_in_lines
from pyopbench.store.run import RUN_FILE, open_run, report_folder

SLOWER = cases()[-1]
"""xla at its largest size."""
NEW = {"2.21.0": {"factors": {SLOWER: 2.0}}}


def of(folder: Path) -> tuple[list[Judgement], VersionComparison]:
    """Return a judgement for each version, with reports of them written, and what is compared."""
    return write.report_versions(open_run(folder), stored.sides_of(folder), judge.Judging(VARIANTS[0], 0.03), {})


def test_versions_are_compared_with_the_first_in_pairs_and_every_report_shows_all(tmp_path: Path) -> None:
    """A pair of several has the verdict that the gate gives it: both allow for several comparisons."""
    folder = write_versions(tmp_path / "run", "2.16.2", "2.21.0", "2.16.2", **NEW)
    judgements, found = of(folder)
    assert found.labels == ("2.16.2", "2.21.0", "2.16.2-2")
    assert list(found.comparisons) == ["2.21.0", "2.16.2-2"]
    assert {one.sides.paired for one in found.comparisons.values()} == {"block"}
    slower = {label: [str(case.key) for case in one.slower_by(0.5)] for label, one in found.comparisons.items()}
    assert slower == {"2.21.0": [SLOWER], "2.16.2-2": []}
    assert not found.unmatched
    gate = read_gate(folder, 0.03)
    assert list(found.comparisons) == list(gate.comparisons)
    for label, one in found.comparisons.items():
        assert [case.verdict for case in one.cases] == [case.verdict for case in gate.comparisons[label].cases]
    for version, judgement in zip(stored.sides_of(folder), judgements, strict=True):
        assert judgement.run.environment["tensorflow"] == version.label.removesuffix("-2")
        page = html.unescape((report_folder(folder, version.label) / "report.html").read_text(encoding="utf-8"))
        said = (
            "Launches on 2.16.2, 2.21.0 and 2.16.2-2 were interleaved in random order, so each side is compared "
            f"with 2.16.2 in pairs. The rest of this report is about {version.label}."
        )
        assert said in page


def test_a_version_that_has_no_case_in_common_says_so(tmp_path: Path) -> None:
    folder = write_versions(tmp_path / "run", "2.16.2", "2.21.0")
    content = stored.read_run(folder)
    others = cases(ops=("cube",))
    content["sides"][1]["cases"] = others
    (folder / RUN_FILE).write_bytes(encode_in_lines(content))
    stored.replace_lines(folder, 1, lines_of(others))
    _, found = of(folder)
    assert not found.comparisons
    assert found.unmatched["2.21.0"].message == "nothing to compare: no case has a number on both sides"


def test_a_run_on_one_version_has_no_others_to_know_of(tmp_path: Path) -> None:
    folder = write_versions(tmp_path / "run", "2.16.2")
    _, found = of(folder)
    assert found.labels == ("2.16.2",)
    page = (report_folder(folder, "2.16.2") / "report.html").read_text(encoding="utf-8")
    assert "Answers by side" not in page
