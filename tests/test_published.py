"""The published schema: what a report writes fits it, what it does not write does not, and its file is in step."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from judgements import hostile, plain
from pyopbench import published
from pyopbench.decisions_file import decisions_json

FILE = Path(__file__).parent.parent / "docs" / "decisions.schema.json"


@pytest.fixture(scope="module")
def validator():
    jsonschema.Draft202012Validator.check_schema(published.schema())
    return jsonschema.Draft202012Validator(published.schema())


@pytest.mark.parametrize("make", [plain, hostile, lambda: plain(launches=1)])
def test_what_a_report_writes_fits(validator, make):
    assert list(validator.iter_errors(json.loads(decisions_json(make())))) == []


@pytest.mark.parametrize(
    ("key", "value"), [("schema", 1), ("decisions", [{}]), ("noise", None), ("tool", "abacus"), ("extra", 1)]
)
def test_what_is_not_of_the_format_does_not_fit(validator, key, value):
    document = {**json.loads(decisions_json(plain())), key: value}
    assert list(validator.iter_errors(document))


def test_the_file_in_docs_is_the_schema():
    assert FILE.read_text(encoding="utf-8") == published.as_text()
