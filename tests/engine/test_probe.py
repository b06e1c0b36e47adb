"""Probes are tried by workers that come back: a lost one costs a probe; what is known is not tried again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import stored
from commands import CRASHED
from places import FAKE_WORKER_COMMAND
from probe_files import document, row
from pyopbench.engine import probe as probe_module
from pyopbench.engine import worker_process
from pyopbench.engine.probe import Attempt, ProbeOptions
from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import OwnOps, Target
from pyopbench.store import probes
from pyopbench.store.run_folder import open_side

OPTIONS = ProbeOptions(timeout_seconds=1.0)
TODAY = stored.run([stored.case("native")])["settings"]["baseline"]
REQUIRED = ("savedmodel", "xla", "second_order", "server_other_process", "tflite")


@pytest.fixture(autouse=True)
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(worker_process, "COMMAND", FAKE_WORKER_COMMAND)
    monkeypatch.setattr("platformdirs.user_data_dir", lambda name, appauthor: str(tmp_path / "data"))
    monkeypatch.setenv("FAKE_WORKER_LOG", str(tmp_path / "log"))
    probe_module._describe.cache_clear()
    return tmp_path / "log"


def tried(log: Path) -> list[tuple[str, str, str]]:
    return [(one["probe"], one["variant"], one["gradient"]) for one in requests_of(log) if one["do"] == "probe"]


def tried_with(log: Path) -> list[tuple[str | None, str]]:
    return [(one.get("op"), one["variant"]) for one in requests_of(log) if one["do"] == "probe"]


def requests_of(log: Path) -> list[Any]:
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []


def tell(done: int, total: int) -> None:
    pass


def test_a_worker_that_is_lost_costs_the_probe_that_it_was_at() -> None:
    labels = ("well", "crashing", "hanging", "native")
    made = probe_module.try_all([Attempt("xla", label) for label in labels], OPTIONS, lambda done, total: None)
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
    probe_module.try_all(
        [Attempt("xla", "well"), Attempt("xla", "well+override_map")], OPTIONS, lambda done, total: None
    )
    assert tried(log) == [("xla", "well", "custom_gradient"), ("xla", "well", "override_map")]
    with pytest.raises(BadInput) as refused:
        probe_module.try_all([Attempt("xla", "well+tape")], OPTIONS, lambda done, total: None)
    assert refused.value.received == "'tape'"


def test_a_bad_name_is_refused() -> None:
    with pytest.raises(BadInput) as refused:
        probe_module.all_attempts(["xlaa"], [], OPTIONS)
    assert refused.value.received == "'xlaa'"
    with pytest.raises(BadInput) as refused:
        probe_module.all_attempts(["xla"], ["natve+tape"], OPTIONS)
    assert refused.value.received == "'natve'"
    assert probe_module.all_attempts(["xla"], ["native"], OPTIONS) == [Attempt("xla", "native")]


def test_a_run_gets_what_its_baseline_blocks_and_no_second_one_tries_it_again(tmp_path: Path, log: Path) -> None:
    cases = [stored.case("numpy_function"), stored.case("native")]
    for name in ("first", "second"):
        stored.write(tmp_path / name, stored.run(cases, environment=software()), [])
        probe_module.keep_beside(open_side(tmp_path / name), (), lambda done, total: None)
    made = probes.read(tmp_path / "second" / probes.FILE)
    baseline = TODAY
    assert {(one.probe, one.label) for one in probes.rows_of(made)} == {(name, baseline) for name in REQUIRED}
    assert len(tried(log)) == len(REQUIRED)


def test_what_is_required_is_tried_with_every_variant_of_the_run(tmp_path: Path, log: Path) -> None:
    cases = [stored.case("numpy_function"), stored.case("native")]
    stored.write(tmp_path / "run", stored.run(cases, environment=software()), [])
    probe_module.keep_beside(open_side(tmp_path / "run"), ("xla", "gpu"), lambda done, total: None)
    assert {(probe_module, variant) for probe_module, variant, _ in tried(log) if variant == "native"} == {
        ("xla", "native")
    }
    assert set(tried_with(log)) == {("double", "native"), ("double", "numpy_function"), (None, TODAY)}


def begin(folder: Path, *variants: str, op: str = "double") -> Path:
    cases = [stored.case(name, op=op) for name in variants]
    stored.write(folder, stored.run(cases, environment=software()), [])
    return folder


def test_what_was_tried_with_an_op_is_not_tried_again_until_its_file_is_another(tmp_path: Path, log: Path) -> None:
    own = tmp_path / "own" / "mine.py"
    own.parent.mkdir()
    own.write_text("OP = 1\n", encoding="utf-8")
    ops = OwnOps((Target("mine", str(own)),))
    for name in ("first", "second"):
        probe_module.keep_beside(open_side(begin(tmp_path / name, "native", op="mine")), ("xla",), tell, ops)
    assert tried_with(log).count(("mine", "native")) == 1
    found = probes.rows_of(probes.read(tmp_path / "second" / probes.FILE))
    assert [row.status for row in found if row.key == ("mine", "xla", "native")] == ["works"]
    own.write_text("OP = 2\n", encoding="utf-8")
    probe_module.keep_beside(open_side(begin(tmp_path / "third", "native", op="mine")), ("xla",), tell, ops)
    assert tried_with(log).count(("mine", "native")) == 2


def test_what_lies_beside_the_file_of_an_op_may_be_a_part_of_it(tmp_path: Path) -> None:
    own = tmp_path / "mine.py"
    own.write_text("from helper import OP\n", encoding="utf-8")
    ops = OwnOps((Target("mine", str(own)),))
    alone = probe_module.path_for(software(), "mine", ops)
    (tmp_path / "helper.py").write_text("OP = 1\n", encoding="utf-8")
    assert probe_module.path_for(software(), "mine", ops) != alone
    assert probe_module.path_for(software(), "double") != probe_module.path_for(software())


def test_an_op_of_a_module_is_tried_each_time(tmp_path: Path, log: Path) -> None:
    """Where its source is, only an import would tell, and what is kept of another source is of another op."""
    ops = OwnOps((Target("mine", "package.module", "function", ("1",)),))
    assert probe_module.path_for(software(), "mine", ops) is None
    for name in ("first", "second"):
        probe_module.keep_beside(open_side(begin(tmp_path / name, "native", op="mine")), ("xla",), tell, ops)
    assert tried_with(log).count(("mine", "native")) == 2


def test_a_worker_that_is_lost_with_an_op_costs_that_row_alone(
    tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_WORKER_PROBED", json.dumps({"double": "crashing"}))
    cases = [stored.case("native"), stored.case("native", op="log")]
    stored.write(tmp_path / "run", stored.run(cases, environment=software()), [])
    probe_module.keep_beside(open_side(tmp_path / "run"), ("xla",), tell)
    rows = {row.key: row for row in probes.rows_of(probes.read(tmp_path / "run" / probes.FILE))}
    lost = rows["double", "xla", "native"]
    assert (lost.status, lost.told) == ("fails", CRASHED)
    assert rows["log", "xla", "native"].status == "works"
    assert {row.status for key, row in rows.items() if key[0] != "double"} == {"works"}


def test_what_cannot_be_tried_with_an_op_is_seen_with_the_cube(
    tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_WORKER_PROBED", json.dumps({"double": "inapplicable"}))
    probe_module.keep_beside(open_side(begin(tmp_path / "run", "native")), ("xla",), tell)
    assert [one for one in tried_with(log) if one[1] == "native"] == [("double", "native"), (None, "native")]
    rows = probes.rows_of(probes.read(tmp_path / "run" / probes.FILE))
    assert {row.op: row.status for row in rows if row.label == "native"} == {"double": "does not apply", None: "works"}
    probe_module.keep_beside(open_side(begin(tmp_path / "again", "native")), ("xla",), tell)
    assert len([one for one in tried_with(log) if one[1] == "native"]) == 2


def test_a_gradient_is_tried_only_for_what_depends_on_it(tmp_path: Path, log: Path) -> None:
    gradient = stored.case("native", gradient="override_map", direction="forward_backward")
    run = stored.run([gradient], environment=software())
    native = run["catalogue"]["variants"]["native"]
    run["catalogue"]["variants"] = {"native": {**native, "gradients": ["custom_gradient", "override_map"]}}
    stored.write(tmp_path / "run", run, [])
    probe_module.keep_beside(open_side(tmp_path / "run"), ("xla", "second_order"), tell)
    assert [one for one in tried(log) if one[1] == "native"] == [
        ("xla", "native", "custom_gradient"),
        ("second_order", "native", "override_map"),
    ]


def test_one_worker_tries_all(tmp_path: Path, log: Path) -> None:
    probe_module.keep_beside(open_side(begin(tmp_path / "run", "native")), ("xla",), tell)
    assert [one["do"] for one in requests_of(log)].count("probes") == 1


def test_ops_are_tried_by_the_probes_of_requirements_alone() -> None:
    assert probe_module.all_attempts(["xla"], ["native"], OPTIONS, ["sinh"]) == [Attempt("xla", "native", "sinh")]
    asked = probe_module.all_attempts([], ["native"], OPTIONS, ["sinh", "log"])
    assert {(one.op, one.probe) for one in asked} == {(op, name) for op in ("sinh", "log") for name in REQUIRED}
    for probes_, ops, received in ((["gradient"], ["sinh"], "'gradient'"), ([], ["sinhh"], "'sinhh'")):
        with pytest.raises(BadInput) as refused:
            probe_module.all_attempts(probes_, ["native"], OPTIONS, ops)
        assert refused.value.received == received


def test_parts_of_callbacks_are_no_candidates_and_are_not_tried(tmp_path: Path, log: Path) -> None:
    """A run measures the floor and the body alone beside callbacks; the worker knows no variants of these names."""
    cases = [stored.case(name) for name in ("numpy_function", "native", "native_floor", "numpy_alone")]
    run = stored.run(cases, environment=software())
    for part in ("native_floor", "numpy_alone"):
        run["catalogue"]["variants"].pop(part, None)
    stored.write(tmp_path / "run", run, [])
    probe_module.keep_beside(open_side(tmp_path / "run"), ("savedmodel",), lambda done, total: None)
    rows = probes.rows_of(probes.read(tmp_path / "run" / probes.FILE))
    assert {row.label for row in rows if row.probe == "savedmodel"} == {
        *("numpy_function", "native"),
        str(run["settings"]["baseline"]),
    }


def test_what_was_found_on_other_software_is_tried_again(tmp_path: Path, log: Path) -> None:
    stored.write(tmp_path / "run", stored.run([stored.case("native")], environment=software()), [])
    path = tmp_path / "run" / probes.FILE
    probes.write(path, document(row("xla", "native", "fails", "no"), tensorflow="2.16.2"))
    probe_module.keep_beside(open_side(tmp_path / "run"), ("xla",), lambda done, total: None)
    found = probes.read(path)
    assert found["tensorflow"] == "2.21.0"
    assert [row.status for row in probes.rows_of(found) if row.label == "native"] == ["works"]


def test_a_file_keeps_what_it_holds_of_the_same_software(tmp_path: Path) -> None:
    path = tmp_path / probes.FILE
    for made in (document(row("xla", "native")), document(row("tflite", "native"))):
        probe_module.add_to(path, made)
    assert [row.probe for row in probes.rows_of(probes.read(path))] == ["tflite", "xla"]
    probe_module.add_to(path, document(row("xla", "traced"), tensorflow="2.22.0"))
    assert [row.label for row in probes.rows_of(probes.read(path))] == ["traced"]


def software() -> dict[str, object]:
    return {**stored.ENVIRONMENT, "tensorflow": "2.21.0", "numpy": "2.4.6", "python": "3.11.7"}
