"""The page in a real browser: charts, filters, hover, sorting, links, copies, hostile names, nothing from outside."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import browsers
from full_matrix import OPS, full
from hostile_names import OPS as HOSTILE_OPS
from hostile_names import write_run
from judgements import HOSTILE, hostile_report, plain, plain_report
from pyopbench.judge import judge
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.report import vega, write

pytestmark = [pytest.mark.slow, pytest.mark.long]

MOST_BYTES = 8_000_000
PATIENCE_SECONDS = 30.0


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    made = {"plain": plain_report(), "hostile": hostile_report()}
    for name, texts in made.items():
        (folder / f"{name}.html").write_text(texts["report.html"], encoding="utf-8")
    named = write_run(folder / "named", ("well", "native", "constructor", "__proto__"))
    write.report_results([named], named, judge.Judging("well", MINIMUM_EFFECT))
    return {**{name: folder / f"{name}.html" for name in made}, "named": folder / "named" / "report.html"}


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    if browsers.found() is None:
        pytest.skip(browsers.WITHOUT)
    with browsers.browser(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture
def page(chromium, pages):
    """The plain page on a wide screen, freshly loaded, with the page of `sinh` open."""
    browsers.emulate(chromium, 1280)
    show(chromium, pages["plain"], "#op-sinh")
    return chromium


def show(driver, path: Path, anchor: str = "") -> None:
    driver.get("about:blank")
    browsers.complaints(driver), browsers.requests(driver)
    driver.get(path.as_uri() + anchor)
    wait(lambda: driver.execute_script("return !!document.querySelector('figure.chart svg')"), "a chart")


def wait(is_so: Callable[[], Any], what: str) -> Any:
    """Wait for what a browser does in its own time."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        if found := is_so():
            return found
        time.sleep(0.05)
    return pytest.fail(f"{what} did not come")


def ask(driver, script: str, *values: Any) -> Any:
    return driver.execute_script(f"return {script}", *values)


def test_charts_are_drawn_and_nothing_is_asked_for_or_complained_of(page, pages):
    ask(page, "document.querySelector('[data-open=true]').click()")
    ask(page, "document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    total = ask(page, "document.querySelectorAll('figure.chart').length")
    for place in range(total):
        ask(page, "document.querySelectorAll('figure.chart')[arguments[0]].scrollIntoView()", place)
        drawn = "!!document.querySelectorAll('figure.chart')[arguments[0]].querySelector('svg')"
        wait(lambda drawn=drawn, place=place: ask(page, drawn, place), f"chart {place}")
    assert total >= 6
    assert browsers.complaints(page) == []
    outside = [url for url in browsers.requests(page) if not url.startswith(("data:", "about:", "chrome:"))]
    assert {url.partition("#")[0] for url in outside} == {pages["plain"].as_uri()}


def test_hostile_names_run_nothing_and_are_shown(chromium, pages):
    browsers.emulate(chromium, 1280)
    show(chromium, pages["hostile"])
    ask(chromium, "document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    words = " ".join(ask(chromium, "document.body.textContent").split())
    assert all(" ".join(name.split()) in words for name in HOSTILE)
    assert ask(chromium, "document.querySelectorAll('main img, main b, main iframe').length") == 0
    assert browsers.complaints(chromium) == []
    assert ask(chromium, "document.title").startswith("pyopbench: </script>")


def show_open(driver, path: Path) -> None:
    """Show a page with everything unfolded."""
    browsers.emulate(driver, 1280)
    driver.get("about:blank")
    browsers.complaints(driver)
    driver.get(path.as_uri())
    ask(driver, "document.querySelectorAll('details').forEach((one) => { one.open = true; })")


MARKS = """
const drawn = [...arguments[0].querySelectorAll('svg .role-mark path, svg .role-mark rect, svg .role-mark line')];
return drawn.filter((one) => one.getBBox().width + one.getBBox().height > 0).length;
"""


def test_charts_of_ops_that_scripts_know_by_other_meanings_are_not_empty(chromium, pages):
    """An object of JavaScript has a `constructor` and a `__proto__` that nobody put there; U+2028 ends a line of it."""
    show_open(chromium, pages["named"])
    pages_of = "[...document.querySelectorAll('details.op')].filter((one) => one.querySelector('figure.chart'))"
    names = ask(chromium, f"{pages_of}.map((one) => one.id)")
    assert len(names) == len(HOSTILE_OPS)
    for place, name in enumerate(names):
        figures = ask(chromium, f"[...{pages_of}[{place}].querySelectorAll('figure.chart')]")
        for number, figure in enumerate(figures):
            chromium.execute_script("arguments[0].scrollIntoView()", figure)
            what = f"what chart {number} of {name!a} draws"
            wait(lambda figure=figure: chromium.execute_script(MARKS, figure), what)
    assert browsers.complaints(chromium) == []


@pytest.mark.parametrize("name", ["constructor", "__proto__"])
def test_a_variant_that_scripts_know_by_another_meaning_is_left_out_and_comes_back(chromium, pages, name):
    show_open(chromium, pages["named"])
    figure = ask(chromium, "document.querySelector('details.op figure.chart')")
    chromium.execute_script("arguments[0].scrollIntoView()", figure)

    def drawn() -> int:
        return chromium.execute_script(MARKS, figure)

    before = wait(drawn, "a chart")
    ask(chromium, f"document.querySelector('input[name=variant][value={name}]').click()")
    wait(lambda: 0 < drawn() < before, f"a chart without {name}")
    ask(chromium, "document.querySelector('#tools button[type=reset]').click()")
    wait(lambda: drawn() == before, f"a chart with {name}")
    assert browsers.complaints(chromium) == []


def rows_of(driver, caption: str) -> list[list[str]]:
    script = (
        "[...document.querySelectorAll('table')].filter((t) => t.caption.textContent.includes(arguments[0]))"
        ".flatMap((t) => [...t.tBodies[0].rows]).filter((r) => !r.hidden)"
        ".map((r) => [...r.cells].filter((c) => !c.classList.contains('tools')).map((c) => c.textContent))"
    )
    found: list[list[str]] = ask(driver, script, caption)
    return found


TIMES = "[...document.querySelectorAll('table')].find((t) => t.caption.textContent.includes('sinh: time per call'))"


def unfold_times(driver) -> None:
    """Open the table of times, and wait until it has what it gets when it comes near the window."""
    ask(driver, f"{TIMES}.closest('details').open = true")
    ask(driver, f"{TIMES}.scrollIntoView()")
    wait(lambda: ask(driver, f"!!{TIMES}.querySelector('thead button')"), "buttons of the table")


def test_filters_hide_rows_and_leave_them_out_of_charts(page):
    before = rows_of(page, "sinh: time per call")
    svg = "document.querySelector('#op-sinh figure svg').textContent"
    wait(lambda: "float64" in ask(page, svg), "the panels of float64")
    ask(page, "document.querySelector('input[name=dtype][value=float64]').click()")
    ask(page, "document.querySelector('input[name=variant][value=native]').click()")
    after = rows_of(page, "sinh: time per call")
    assert after == [row for row in before if row[1] != "float64" and row[2] != "native"]
    assert 0 < len(after) < len(before)
    wait(lambda: "float64" not in ask(page, svg), "a chart without float64")
    assert "float64" in ask(page, "document.querySelector('#tools output').textContent")
    ask(page, "document.querySelector('#tools button[type=reset]').click()")
    wait(lambda: rows_of(page, "sinh: time per call") == before, "all rows")
    wait(lambda: "float64" in ask(page, svg), "all panels")


def seconds_of(shown: str) -> float:
    """Return the seconds of a number with a prefix, such as `15.02µs`."""
    number, prefix = re.fullmatch(r"([0-9.]+) ?([nµm]?)s", shown).groups()
    return float(number) * {"n": 1e-9, "µ": 1e-6, "m": 1e-3, "": 1.0}[prefix]


def test_hover_tells_the_value_and_its_interval(page):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.by import By

    page.set_window_size(1280, 900)
    mark = wait(lambda: page.find_elements(By.CSS_SELECTOR, "#op-sinh figure .mark-symbol.role-mark path"), "points")[0]
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", mark)
    cells = "[...row.cells].map(cell => cell.textContent)"
    told = f"[...document.querySelectorAll('#vg-tooltip-element.visible tr')].map(row => {cells})"

    def hovered() -> list[list[str]]:
        ActionChains(page).move_to_element(mark).perform()
        return list(ask(page, told))

    shown = {name.rstrip(":"): value for name, value in wait(hovered, "a tooltip")}
    found = plain().latencies
    size = int(shown["size"].replace(",", ""))
    there = (found["label"] == shown["variant"]) & (found["size"] == size) & (found["op"] == "sinh")
    (row,) = found[there & (found["direction"] == "forward") & (found["dtype"] == "float32")].itertuples()
    assert shown["measured"] == "forward · float32"
    assert seconds_of(shown["time per call"]) == pytest.approx(row.seconds, rel=1e-3)
    assert [seconds_of(end) for end in shown["95% interval"].split(" to ")] == pytest.approx([row.low, row.high], 1e-3)


def test_a_click_on_a_heading_sorts_and_another_turns_it_round(page):
    unfold_times(page)
    column = 3
    heading = f"{TIMES}.tHead.rows[0].cells[{column}].firstChild.click()"
    ask(page, heading)
    up = [row[column] for row in rows_of(page, "sinh: time per call")]
    ask(page, heading)
    down = [row[column] for row in rows_of(page, "sinh: time per call")]
    units = {"µs": 1e-6, "ms": 1e-3, "s": 1.0}

    def seconds(words: str) -> float:
        value, unit = words.split()[:2]
        return float(value) * units[unit]

    assert [seconds(one) for one in up] == sorted(seconds(one) for one in up)
    assert [seconds(one) for one in down] == sorted((seconds(one) for one in up), reverse=True)
    assert len(set(up)) > 2


def test_a_link_leads_to_its_row_however_deep_it_is_folded(page, pages):
    unfold_times(page)
    link = f"{TIMES}.querySelector('tbody td.tools a')"
    address = ask(page, f"{link}.getAttribute('href')")
    row = ask(page, f"{link}.closest('tr').cells[2].textContent")
    show(page, pages["plain"], address)
    linked = wait(lambda: ask(page, "document.querySelector('tr.linked')?.cells[2].textContent"), "the linked row")
    assert linked == row
    assert ask(page, "document.querySelector('#op-sinh').open") is True


def test_a_row_is_copied_as_markdown(page):
    page.execute_cdp_cmd("Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
    ask(page, "document.querySelector('#decisions table').scrollIntoView()")
    button = "document.querySelector('#decisions td.tools button')"
    wait(lambda: ask(page, f"!!{button}"), "a button to copy")
    ask(page, f"{button}.click()")
    wait(lambda: ask(page, f"{button}.textContent") == "copied", "the copy")
    lines = page.execute_async_script("navigator.clipboard.readText().then(arguments[0])").split("\n")
    assert lines[0] == "| op | for inference | for training | confidence |"
    assert set(lines[1]) == {"|", "-", " "}
    assert lines[2].startswith("| sinh | ")
    assert len({line.count("|") for line in lines}) == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_telephone_shows_it_without_scrolling_sideways(chromium, pages, scheme):
    browsers.emulate(chromium, 390, scheme)
    show(chromium, pages["plain"], "#op-sinh")
    assert ask(chromium, "document.documentElement.scrollWidth") <= 390
    background = ask(chromium, "getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(21, 24, 29)"}[scheme]


PRINTED = """
addEventListener('afterprint', () => {
  const figures = [...document.querySelectorAll('details.op figure.chart')];
  window.printed = {
    pages: [...document.querySelectorAll('details.op')].every((one) => one.open),
    charts: figures.length,
    drawn: figures.filter((one) => one.querySelector('svg')).length,
    answers: document.querySelector('#decisions figure.chart svg').height.baseVal.value,
    widest: Math.max(...figures.map((one) => one.querySelector('svg')?.width.baseVal.value ?? 0)),
  };
}, { capture: true });
"""


def test_paper_has_every_op_with_its_charts_and_the_page_is_as_before_afterwards(chromium, pages):
    """The listener of the test comes first and sees what was put on paper; most charts were never near the window."""
    browsers.emulate(chromium, 1280)
    added = chromium.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": PRINTED})
    try:
        show(chromium, pages["plain"])
    finally:
        chromium.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)
    opened = "[...document.querySelectorAll('.op, .guide, .fold')].map((one) => one.open)"
    before = ask(chromium, opened)
    assert not any(before)
    answers = "document.querySelector('#decisions figure.chart svg')?.height.baseVal.value"
    on_screen = wait(lambda: ask(chromium, answers), "the picture of the answers")
    assert browsers.printed(chromium).startswith(b"%PDF")
    seen = wait(lambda: ask(chromium, "window.printed"), "the end of printing")
    assert seen["pages"] is True
    assert seen["drawn"] == seen["charts"] >= 6
    assert 400 < seen["widest"] <= 760
    assert 0 < seen["answers"] < on_screen, "rows are lower on paper"
    assert ask(chromium, opened) == before
    assert browsers.complaints(chromium) == []


def test_no_table_is_wider_than_paper(chromium, pages):
    """One that is makes a browser print everything smaller."""
    browsers.emulate(chromium, 718)
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        show(chromium, pages["plain"])
        ask(chromium, "dispatchEvent(new Event('beforeprint'))")
        assert ask(chromium, "document.documentElement.scrollWidth") <= 718
    finally:
        chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_options_are_never_parted_and_labels_never_lie_on_other_rows(chromium, pages):
    browsers.emulate(chromium, 390)
    show(chromium, pages["plain"], "#op-sinh")
    lines = ask(chromium, "[...document.querySelectorAll('span.whole')].map((one) => one.getClientRects().length)")
    assert lines
    assert set(lines) <= {0, 1}, "0 is not shown"
    # A label that takes more lines than its value makes the row as high as it is.
    script = """
      const cells = [...document.querySelectorAll('.stacked td[data-label]')].filter((cell) => cell.clientHeight);
      return cells.map((cell) => {
        const said = document.createElement('span');
        said.textContent = cell.dataset.label;
        said.style.cssText = 'display: block; width: 6.5rem';
        cell.append(said);
        const wanted = said.offsetHeight;
        said.remove();
        return cell.offsetHeight - wanted;
      });
    """
    spare = chromium.execute_script(script)
    assert len(spare) > 10
    assert min(spare) >= 0


def test_without_scripts_every_number_is_in_a_table(chromium, pages):
    browsers.emulate(chromium, 1280)
    chromium.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        chromium.get(pages["plain"].as_uri())
        warning = ask(chromium, "document.querySelector('noscript p').innerText")
        assert warning == "Charts, filters and sorting need JavaScript. Every number is in a table."
        assert ask(chromium, "document.querySelector('#decisions table caption').innerText") == "Answers at a glance"
        assert ask(chromium, "document.querySelector('#tools').checkVisibility()") is False
    finally:
        chromium.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_the_page_of_a_full_matrix_fits():
    """The page of one op, measured in every way, is small enough for twelve of them and the library."""
    one = len(write.render(full(OPS[:1], launches=2))["report.html"].encode())
    library = len(vega.library().encode())
    assert library + len(OPS) * (one - library) <= MOST_BYTES
