"""Probes are tried by workers that come back: a lost one costs a probe; what is known is not tried again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import stored
from commands import CRASHED
from places import FAKE_WORKER_COMMAND
from probe_files import document, row
from pyopbench.core.errors import BadInput
from pyopbench.results import probes
from pyopbench.run import probe, worker_process
from pyopbench.run.probe import Attempt, ProbeOptions

OPTIONS = ProbeOptions(timeout_seconds=1.0)
REQUIRED = ("savedmodel", "xla", "second_order", "server_other_process", "tflite")


@pytest.fixture(autouse=True)
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(worker_process, "COMMAND", FAKE_WORKER_COMMAND)
    monkeypatch.setattr("platformdirs.user_data_dir", lambda name, appauthor: str(tmp_path / "data"))
    monkeypatch.setenv("FAKE_WORKER_LOG", str(tmp_path / "log"))
    probe._describe.cache_clear()
    return tmp_path / "log"


def tried(log: Path) -> list[tuple[str, str, str]]:
    requests = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []
    return [(one["probe"], one["variant"], one["gradient"]) for one in requests if one["do"] == "probe"]


def test_a_worker_that_is_lost_costs_the_probe_that_it_was_at() -> None:
    labels = ("well", "crashing", "hanging", "native")
    made = probe.try_all([Attempt("xla", label) for label in labels], OPTIONS, lambda done, total: None)
    rows = probes.rows_of(made)
    assert [(row.label, row.status) for row in rows] == [
        ("well", "works"),
        ("crashing", "fails"),
        ("hanging", "fails"),
        ("native", "works"),
    ]
    assert rows[1].told == CRASHED
    assert rows[2].told == "no sign of life for 1 s; the worker was killed"


def test_a_label_tells_the_gradient(log: Path) -> None:
    probe.try_all([Attempt("xla", "well"), Attempt("xla", "well+override_map")], OPTIONS, lambda done, total: None)
    assert tried(log) == [("xla", "well", "custom_gradient"), ("xla", "well", "override_map")]
    with pytest.raises(BadInput) as refused:
        probe.try_all([Attempt("xla", "well+tape")], OPTIONS, lambda done, total: None)
    assert refused.value.received == "'tape'"


def test_a_bad_name_is_refused() -> None:
    with pytest.raises(BadInput) as refused:
        probe.all_attempts(["xlaa"], [], OPTIONS)
    assert refused.value.received == "'xlaa'"
    with pytest.raises(BadInput) as refused:
        probe.all_attempts(["xla"], ["natve+tape"], OPTIONS)
    assert refused.value.received == "'natve'"
    assert probe.all_attempts(["xla"], ["native"], OPTIONS) == [Attempt("xla", "native")]


def test_a_run_gets_what_its_baseline_blocks_and_no_second_one_tries_it_again(tmp_path: Path, log: Path) -> None:
    cases = [stored.case("numpy_function"), stored.case("native")]
    for name in ("first", "second"):
        stored.write(tmp_path / name, stored.run(cases, environment=software()), [])
        probe.keep_beside(tmp_path / name, (), lambda done, total: None)
    made = probes.read(tmp_path / "second" / probes.FILE)
    baseline = stored.run(cases)["settings"]["baseline"]
    assert {(one.probe, one.label) for one in probes.rows_of(made)} == {(name, baseline) for name in REQUIRED}
    assert len(tried(log)) == len(REQUIRED)


def test_what_is_required_is_tried_with_every_variant_of_the_run(tmp_path: Path, log: Path) -> None:
    cases = [stored.case("numpy_function"), stored.case("native")]
    stored.write(tmp_path / "run", stored.run(cases, environment=software()), [])
    probe.keep_beside(tmp_path / "run", ("xla", "gpu"), lambda done, total: None)
    assert {(probe, variant) for probe, variant, _ in tried(log) if variant == "native"} == {("xla", "native")}


def test_parts_of_callbacks_are_no_candidates_and_are_not_tried(tmp_path: Path, log: Path) -> None:
    """A run measures the floor and the body alone beside callbacks; the worker knows no variants of these names."""
    cases = [stored.case(name) for name in ("numpy_function", "native", "native_floor", "numpy_alone")]
    run = stored.run(cases, environment=software())
    for part in ("native_floor", "numpy_alone"):
        run["catalogue"]["variants"].pop(part, None)
    stored.write(tmp_path / "run", run, [])
    probe.keep_beside(tmp_path / "run", ("savedmodel",), lambda done, total: None)
    rows = probes.rows_of(probes.read(tmp_path / "run" / probes.FILE))
    assert {row.label for row in rows if row.probe == "savedmodel"} == {
        *("numpy_function", "native"),
        str(run["settings"]["baseline"]),
    }


def test_what_was_found_on_other_software_is_tried_again(tmp_path: Path, log: Path) -> None:
    stored.write(tmp_path / "run", stored.run([stored.case("native")], environment=software()), [])
    path = tmp_path / "run" / probes.FILE
    probes.write(path, document(row("xla", "native", "fails", "no"), tensorflow="2.16.2"))
    probe.keep_beside(tmp_path / "run", ("xla",), lambda done, total: None)
    found = probes.read(path)
    assert found["tensorflow"] == "2.21.0"
    assert [row.status for row in probes.rows_of(found) if row.label == "native"] == ["works"]


def test_a_file_keeps_what_it_holds_of_the_same_software(tmp_path: Path) -> None:
    path = tmp_path / probes.FILE
    for made in (document(row("xla", "native")), document(row("tflite", "native"))):
        probe.add_to(path, made)
    assert [row.probe for row in probes.rows_of(probes.read(path))] == ["tflite", "xla"]
    probe.add_to(path, document(row("xla", "tnp"), tensorflow="2.22.0"))
    assert [row.label for row in probes.rows_of(probes.read(path))] == ["tnp"]


def software() -> dict[str, object]:
    return {**stored.ENVIRONMENT, "tensorflow": "2.21.0", "numpy": "2.4.6", "python": "3.11.7"}
