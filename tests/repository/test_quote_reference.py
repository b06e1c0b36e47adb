"""What README and the pages quote of stored results is what those results say."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from types import ModuleType

import pytest

import stored as stored_runs
from places import ROOT


@pytest.fixture(scope="module")
def quote() -> ModuleType:
    specification = importlib.util.spec_from_file_location("quote_reference", ROOT / "scripts" / "quote_reference.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_pages_say_what_is_stored(quote: ModuleType) -> None:
    pages = {page: page.read_text(encoding="utf-8") for page in quote.PAGES}
    wrong = [page.name for page, text in pages.items() if text != quote.written(text)]
    assert wrong == [], "run: python scripts/quote_reference.py"


def test_each_quote_stands_on_a_page(quote: ModuleType) -> None:
    quoted = [found["name"] for page in quote.PAGES for found in quote.BLOCK.finditer(page.read_text(encoding="utf-8"))]
    assert sorted(quoted) == sorted(quote.QUOTES)


def test_another_run_gives_another_table(quote: ModuleType, tmp_path: Path) -> None:
    shutil.copy(quote.REFERENCE / "run.json", tmp_path)
    content = json.loads((quote.REFERENCE / "decisions.json").read_text(encoding="utf-8"))
    first = content["decisions"][0]
    content["decisions"] = [{**first, "action": "keep", "choice": None, "use": "training"}]
    (tmp_path / "decisions.json").write_text(json.dumps(content), encoding="utf-8")
    assert quote.decided(tmp_path).splitlines()[-1] == f"| `{first['op']}` | – | – | keep | – |"


def test_a_run_without_a_certificate_has_no_figures_of_one(quote: ModuleType, tmp_path: Path) -> None:
    assert "|" in quote.trusted()
    folder = stored_runs.write(tmp_path / "run", stored_runs.run([stored_runs.case("well")]), [])
    assert "|" not in quote.trusted(folder)


def test_certificates_stand_beside_one_another_with_what_they_lack(quote: ModuleType, tmp_path: Path) -> None:
    stored = sorted(quote.CERTIFICATES.glob("*.json"))[0]
    content = json.loads(stored.read_text(encoding="utf-8"))
    for name, created, injected in (
        ("1", "2026-01-02T03:04:05", content["injected"]),
        ("2", "2026-02-03T04:05:06", []),
    ):
        changed = {**content, "created": created, "injected": injected}
        (tmp_path / f"{name}.json").write_text(json.dumps(changed), encoding="utf-8")
    lines = quote.certified(tmp_path).splitlines()
    assert lines[0] == "| what | promised | 2026-01-02 03:04 | 2026-02-03 04:05 |"
    (slowed,) = (line for line in lines if line.split(" | ")[0] == "| slowed by 5%, found")
    assert slowed.endswith(" | – |")


def test_tools_without_a_stored_result_are_said_to_have_none(quote: ModuleType, tmp_path: Path) -> None:
    told = "No result is stored with this version. `make peers` measures it on your machine.\n"
    assert quote.compared(tmp_path / "none.json") == told


def test_the_table_of_tools_is_made_from_their_stored_pairs(quote: ModuleType, tmp_path: Path) -> None:
    row = {"tool": "asv", "run_seconds": 66.0, "compare_seconds": 132.5, "moved": {"3%": 0.5, "5%": 0.25, "10%": 0.0}}
    row |= {"resolved": None, "missed": 0.125, "called_different": 1, "pairs": [{}, {}]}
    environment = {"machine": "Linux x86_64", "cores": 2, "packages": {"asv": "0.6"}}
    path = tmp_path / "peers.json"
    path.write_text(json.dumps({"environment": environment, "cases": ["a", "b"], "rows": [row]}), encoding="utf-8")
    lines = quote.compared(path).splitlines()
    assert lines[0] == "2 cases, 2 cores, Linux x86_64, asv 0.6:"
    assert lines[-1] == "| asv | 1:06 | 2:12 | 50% | 25% | 0% | – | 12% | 1 of 2 |"


def test_alarms_are_added_up_over_batches(quote: ModuleType, tmp_path: Path) -> None:
    batch = {"alarmed": 1, "confirmed": 0, "located": 8, "located_confirmed": 6, "series": 10}
    path = tmp_path / "alarms.json"
    path.write_text(json.dumps({f"normal / asv / 10 of seed {seed}": batch for seed in (0, 1)}), encoding="utf-8")
    assert quote.alarms(path).splitlines()[-1] == "| normal | asv | 20 | 2 | 0 | 80.0% | 75.0% |"


def test_runs_of_one_change_are_a_row_and_those_of_5_percent_a_share(quote: ModuleType) -> None:
    usual = {"met": True, "cases": 6, "slower": 0, "faster": 0, "equivalent": 0, "unresolved": 6, "values": 0}
    found = {**usual, "change": "slower", "slower": 2, "unresolved": 4, "minutes": 1.26}
    missed = {**usual, "change": "slower", "met": False, "minutes": 5.0}
    document = {"rows": [{**usual, "change": "nothing", "minutes": 5.0}, found, missed]}
    text = quote.gate_tables.found(document)
    rows = [line.split(" | ")[1:] for line in text.splitlines() if line.startswith("| ")][2:]
    assert [row[:6] for row in rows] == [["2", "1", "12", "2", "0", "0"], ["1", "1", "6", "0", "0", "0"]]
    assert [row[-1] for row in rows] == ["1.3 to 5.0 |", "5.0 |"]
    told = "A slowdown of 5% was found in 1 of 2 runs: in at least 3% (95% confidence)."
    assert text.splitlines()[-1] == told


def test_runs_that_could_find_nothing_say_so(quote: ModuleType) -> None:
    rows = [{"rows": 399, "control_rows": 69, "minutes": 5.0, "told_apart": [], "smallest_found": 30.0}]
    told = "So short a run over so many cases would not even have found a case that takes twice as long."
    assert quote.gate_tables.identical({"rows": rows}) == (
        "In 1 run of the built-in ops, 5.0 minutes each, 0 of 468 rows were called slower or faster: at most 0.64% "
        f"(95% confidence). {told}\n"
    )


def test_rows_of_identical_commits_are_added_up_with_their_control(quote: ModuleType) -> None:
    usual = {"rows": 399, "control_rows": 69, "minutes": 8.0, "told_apart": []}
    document = {"rows": [{**usual, "smallest_found": 0.5}, {**usual, "smallest_found": 0.25, "told_apart": [{}]}]}
    assert quote.gate_tables.identical(document) == (
        "In 2 runs of the built-in ops, 8.0 minutes each, 1 of 936 rows were called slower or faster: at most 0.51% "
        "(95% confidence). The smallest slowdown that such a run would have found in a typical case is 25% to 50%.\n"
    )
