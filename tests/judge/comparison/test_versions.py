"""A run on several versions of TensorFlow is compared with its first one, and every report of it knows of all."""

from __future__ import annotations

from pathlib import Path

import pyopbench
import stored
from pairs import VARIANTS, cases, write_versions
from pyopbench.api.results import SidesResult
from pyopbench.judge.comparison.gate import VersionComparison, read_gate
from pyopbench.judge.judge import Judgement

SLOWER = cases()[-1]
"""xla at its largest size."""
NEW = {"2.21.0": {"factors": {SLOWER: 2.0}}}


def of(folder: Path) -> tuple[list[Judgement], VersionComparison]:
    """Return a judgement for each version, with reports of them written, and what is compared."""
    result = pyopbench.read(folder, baseline=VARIANTS[0], minimum_effect=0.03)
    assert isinstance(result, SidesResult)
    assert result.across is not None
    result.report()
    return [one.judgement for one in result.runs.values()], result.across


def test_versions_are_compared_with_the_first_in_pairs_and_every_report_shows_all(tmp_path: Path) -> None:
    folder = write_versions(tmp_path / "run", "2.16.2", "2.21.0", "2.16.2", **NEW)
    judgements, found = of(folder)
    assert found.labels == ("2.16.2", "2.21.0", "2.16.2-2")
    assert list(found.comparisons) == ["2.21.0", "2.16.2-2"]
    assert all(one.sides.interleaved for one in found.comparisons.values())
    slower = {label: [case.case for case in one.slower_by(0.5)] for label, one in found.comparisons.items()}
    assert slower == {"2.21.0": [SLOWER], "2.16.2-2": []}
    assert not found.unmatched
    for version, judgement in zip(stored.sides_of(folder), judgements, strict=True):
        assert judgement.run.environment["tensorflow"] == version.label.removesuffix("-2")


def test_a_pair_has_one_verdict_in_report_gate_and_frames(tmp_path: Path) -> None:
    """Also where a third side, which was asked for, has no sample: it is one of the comparisons all the same."""
    folder = write_versions(tmp_path / "run", "2.16.2", "2.21.0", "2.20.0", **NEW)
    stored.replace_lines(folder, 2)
    _, across = of(folder)
    result = pyopbench.read(folder, minimum_effect=0.03)
    gate = read_gate(folder, 0.03)
    assert list(across.comparisons) == list(result.comparisons) == list(gate.comparisons) == ["2.21.0"]
    verdicts = {case.case: case.verdict for case in gate.comparisons["2.21.0"].cases}
    assert verdicts[SLOWER].outcome == "slower"
    for comparison in (across.comparisons["2.21.0"], result.comparisons["2.21.0"].comparison):
        assert {case.case: case.verdict for case in comparison.cases} == verdicts
