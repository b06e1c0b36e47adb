"""The content of run.json: what is taken, what an error says of one that is refused, and the published schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import stored
from certificates import as_stored, certificate
from places import ROOT
from pyopbench.store import line_types as lines
from pyopbench.store import run_folder, schema
from pyopbench.store.run_json import RunContent
from pyopbench.store.strict_json import convert

RUNS = (ROOT / "results" / "reference", ROOT / "tests" / "data" / "stored_run")
CASES = (stored.case("well"), stored.case("slow"))
RUN: dict[str, Any] = {**stored.run(CASES), "certificate": as_stored(certificate())}
GROUP = stored.group_line(0, CASES, [stored.failure(stored.case("bad"))])


def read(content: Any) -> None:
    convert(content, RunContent, "run.json").check("run.json")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({**RUN, "settings": {**RUN["settings"], "rounds": "ten"}}, "settings.rounds: expected int, got str: ten"),
        ({**RUN, "settings": {**RUN["settings"], "later": 1}}, "settings: unknown key later"),
        ({**RUN, "later": 1}, "unknown key later"),
        ({**RUN, "cases": ["no case"]}, "'no case' is not the id of a case"),
        ({**RUN, "environment": {**RUN["environment"], "cores": None}}, "environment: cores: expected int, got null"),
        (
            {**RUN, "skips": [{**stored.failure(CASES[0]), "status": "odd"}]},
            "skips[0].status: invalid enum value 'odd'",
        ),
    ],
)
def test_errors_name_the_file_and_the_place(content: Any, told: str) -> None:
    assert stored.refusal(lambda: read(RUN)) is None
    assert stored.refusal(lambda: read(content)) == f"run.json: {told}"


def test_what_is_not_known_of_an_op_or_a_variant_can_be_asked_for() -> None:
    catalogue = stored.typed(RUN).catalogue
    assert catalogue.op("double").bytes_moved["float32"] == {1: 8, 10: 80}
    assert (catalogue.op("other").size_unit, catalogue.variant("other").kind) == ("elements", "")


# The published schemas: what is stored fits, what is refused does not, their files are in step.


@pytest.fixture(scope="module", params=sorted(schema.PUBLISHED))
def published(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    content = json.loads(schema.as_text(name))
    jsonschema.Draft202012Validator.check_schema(content)
    return jsonschema.Draft202012Validator(content)


def wrong_in(name: str, content: Any) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in validator(name).iter_errors(content)]


def test_the_file_in_docs_is_the_schema(published: str) -> None:
    path = ROOT / "docs" / f"{published}.schema.json"
    assert path.read_text(encoding="utf-8") == schema.as_text(published)


@pytest.mark.parametrize("folder", RUNS, ids=lambda folder: folder.name)
def test_stored_runs_fit(folder: Path) -> None:
    """Of each case of a group two samples: all of them would take jsonschema many seconds."""
    assert wrong_in("run", json.loads((folder / run_folder.RUN_FILE).read_bytes())) == []
    checks = validator("samples")
    whole = (folder / run_folder.SAMPLES_FILE).read_bytes().splitlines()
    found = [json.loads(line) for line in whole]
    for samples in [samples for line in found for samples in line.get("samples", {}).values()]:
        del samples[2:]
    assert {line["kind"] for line in found} >= {"launch", "group", "limits"}
    assert [error.message for line in found for error in checks.iter_errors(line)] == []


def test_what_the_tests_store_fits() -> None:
    every = [
        stored.launch_line(0),
        GROUP,
        {"kind": "lost", "launch": 1, "group": stored.group(), "failures": [stored.failure(CASES[1], "crashed", 1)]},
        {"kind": "look", "launch": 2, "open": list(CASES)},
        {"kind": "resumed", "launch": 2, "lacking": {stored.group(): 1}},
        stored.limits_line(0),
        {"kind": "prepared", "launch": 0, "group": stored.group(), "failures": [], "seconds": 1.5},
        {
            "kind": "port",
            "launch": 0,
            "op": "a",
            "variant": "b",
            "dtype": "float32",
            "text": "x = 1\n",
            "function": "x",
        },
        {
            "kind": "workers",
            "launch": 0,
            "launches": [0, 1],
            "at_once": 2,
            "limited_by": "",
            "seconds": 9.5,
            "worker_bytes": None,
            "available_bytes": 2**30,
        },
        {"kind": "ended", "launch": 1, "by": "look", "looks": 1, "seconds": 60.0, "sampling_seconds": 45.0},
    ]
    assert {line["kind"] for line in every} == set(lines.KINDS)
    assert [wrong for line in every for wrong in wrong_in("samples", line)] == []
    assert wrong_in("run", RUN) == []


def changed(content: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each key and the content without it, or with `[[]]`, which no key is, in its place."""
    for key in content:
        yield key, {other: value for other, value in content.items() if other != key}
        yield key, {**content, key: [[]]}


@pytest.mark.parametrize("name", ["run", "samples"])
def test_the_schema_and_the_reader_take_the_same(name: str) -> None:
    """What one refuses the other does; but for what no JSON Schema can say, such as what is the id of a case."""
    content = {"run": RUN, "samples": GROUP}[name]
    check = {"run": read, "samples": lambda line: lines.line_of(line, "here").check("here")}[name]
    for key, one in changed(content):
        refused = stored.refusal(lambda: check(one)) is not None  # noqa: B023
        if (key, one.get(key)) == ("environment", [[]]) or key != "environment":
            assert refused == bool(wrong_in(name, one)), key


@pytest.mark.parametrize("key", ["settings", "catalogue", "certificate"])
def test_so_they_do_within_a_run(key: str) -> None:
    for inner, one in changed(RUN[key]):
        refused = stored.refusal(lambda: read({**RUN, key: one}))  # noqa: B023
        if (key, inner) == ("certificate", "environment"):
            assert refused is not None, "no type of its own says so"
        else:
            assert (refused is not None) == bool(wrong_in("run", {**RUN, key: one})), inner
