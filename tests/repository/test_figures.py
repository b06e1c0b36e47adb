"""Each figure of README and docs/ is quoted from what is stored or printed, made from the code, or the reader's own."""

from __future__ import annotations

import pytest

import figures
import held_figures
import simulation_tables
from places import ROOT

PAGES = {page.name: page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))}
HELD = held_figures.held()
ADVICE = """No test holds these figures. A measured one is quoted from what is stored (scripts/quote_reference.py), a
constant is compared with the code (tests/helpers/held_figures.py), or the page says it without a figure."""


@pytest.mark.parametrize("name", sorted(PAGES))
def test_each_figure_of_a_page_is_held_and_nothing_is_held_that_is_gone(name: str) -> None:
    found = set(figures.figures(PAGES[name].read_text(encoding="utf-8")))
    holders = HELD.get(name, {})
    assert sorted(found - set(holders)) == [], ADVICE
    assert sorted(set(holders) - found) == []


@pytest.mark.parametrize(("name", "claims"), held_figures.claims().items(), ids=lambda one: one if one in PAGES else "")
def test_a_page_claims_what_the_constants_of_the_code_are(name: str, claims: tuple[str, ...]) -> None:
    text = " ".join(PAGES[name].read_text(encoding="utf-8").split())
    assert [claim for claim in claims if claim not in text] == []


def test_what_is_held_is_of_pages_that_there_are_and_is_what_the_page_says() -> None:
    assert set(HELD) <= set(PAGES)
    assert [
        figure
        for holders in HELD.values()
        for figure, holder in holders.items()
        if not isinstance(holder, held_figures.Example) and holder != figure
    ] == []


@pytest.mark.parametrize("name", simulation_tables.TABLES)
def test_the_page_has_each_table_of_the_simulations_with_the_head_that_is_printed(name: str) -> None:
    (found,) = simulation_tables.block(name).finditer(PAGES["statistics.md"].read_text(encoding="utf-8"))
    assert found["head"] == next(simulation_tables.TABLES[name]())


def test_no_mark_is_left_open() -> None:
    for name, page in PAGES.items():
        text = page.read_text(encoding="utf-8")
        assert set(figures.marks(text)) == {len(figures.QUOTED.findall(text))}, name


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It is 3.5% faster, by 20 µs.", ["3.5%", "20 µs"]),
        ("67 of 72 pairs; 1,057 files", ["67 of 72", "1,057 files"]),
        ("asv took 5:06, and 2 GiB", ["5:06", "2 GiB"]),
        ("in `--step-ms 40 ms` or [40%](page.md#40%)", ["40%"]),
        ("```sh\nsleep 5 s\n```\n\n## 1. 40% of it\n", []),
        ("<!-- quoted: a -->\n| 40% |\n<!-- end of quote -->\n41%", ["41%"]),
        ("``x `y` 3 s`` and 4 s", ["4 s"]),
        ("TensorFlow 2.21.0 on Python 3.11, in 2026", []),
    ],
)
def test_what_counts_as_a_figure(text: str, found: list[str]) -> None:
    assert list(figures.figures(text)) == found


def test_a_figure_that_nobody_holds_is_found() -> None:
    assert "12.5%" not in HELD["start.md"]
    assert set(figures.figures("A port is 12.5% faster.")) - set(HELD["start.md"]) == {"12.5%"}
