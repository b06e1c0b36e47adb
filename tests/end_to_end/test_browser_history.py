"""The page of a history in a real browser: charts, hover, filters, links to points, both themes, a phone."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import pytest

import browsers
from histories import CHANGED, commit, stepped, write_commits
from pyopbench.judge.comparison.history import Options, read_history
from pyopbench.report.history_page import html

pytestmark = [pytest.mark.slow, pytest.mark.long]

PATIENCE_SECONDS = 30.0


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return read_history(write_commits(tmp_path_factory.mktemp("runs"), stepped(14, 8, 1.3)), Options())


@pytest.fixture(scope="module")
def path(tmp_path_factory, found) -> Path:
    path = tmp_path_factory.mktemp("page") / "history.html"
    path.write_text(html(found), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    if browsers.found() is None:
        pytest.skip(browsers.WITHOUT)
    with browsers.browser(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture
def page(chromium, path):
    """The page on a wide screen, freshly loaded, with all charts drawn."""
    browsers.emulate(chromium, 1280, height=5000)
    show(chromium, path)
    return chromium


def show(driver, path: Path, anchor: str = "") -> None:
    driver.get("about:blank")
    browsers.complaints(driver), browsers.requests(driver)
    driver.get(path.as_uri() + anchor)
    wait(lambda: ask(driver, "[...document.querySelectorAll('figure.chart:not([hidden]) .canvas.drawn')].length > 0"))


def wait(is_so) -> Any:
    """Wait for what a browser does in its own time."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        if value := is_so():
            return value
        time.sleep(0.05)
    return pytest.fail("it did not come")


def ask(driver, script: str) -> Any:
    return driver.execute_script(f"return {script}")


def test_every_series_is_drawn_and_nothing_is_asked_for_or_complained_of(page, found):
    many = len(found.traced)
    wait(lambda: ask(page, "document.querySelectorAll('figure.chart svg.marks').length") == many)
    assert ask(page, "document.querySelectorAll('figure.chart .mark-symbol path').length") == 14 * many
    assert ask(page, "document.querySelectorAll('figure.chart [stroke-dasharray=\"5,4\"]').length") == 1
    assert browsers.complaints(page) == []
    assert [one for one in browsers.requests(page) if not one.startswith(("file:", "data:", "about:"))] == []


def test_hovering_over_a_point_tells_commit_and_interval(chromium, path, found):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.by import By

    browsers.emulate(chromium, 1280)
    chromium.set_window_size(1280, 900)
    show(chromium, path)
    series = found.traced[found.changes[0].number].series
    points = f"#series-{found.changes[0].number} .mark-symbol.role-mark path"
    point = wait(lambda: chromium.find_elements(By.CSS_SELECTOR, points))[8]
    chromium.execute_script("arguments[0].scrollIntoView({block: 'center'})", point)
    cells = "[...row.cells].map(cell => cell.textContent)"
    told = f"[...document.querySelectorAll('#vg-tooltip-element.visible tr')].map(row => {cells})"

    def hovered() -> list[list[str]]:
        ActionChains(chromium).move_to_element(point).perform()
        return list(ask(chromium, told))

    shown = {name.rstrip(":"): value for name, value in wait(hovered)}
    assert shown["at"] == commit(8)[:10]
    assert float(shown["value"]) == pytest.approx(math.exp(series.values[8]), rel=1e-3)
    ends = [float(end) for end in shown["95% interval"].split(" to ")]
    assert ends == pytest.approx([math.exp(series.lows[8]), math.exp(series.highs[8])], rel=1e-3)
    assert shown["launches"] == "4"


def test_a_link_to_a_point_shows_it(chromium, path, found):
    number = found.changes[0].number
    show(chromium, path, f"#point=series-{number}--8")
    wait(lambda: ask(chromium, f"document.querySelectorAll('#series-{number} path[fill=\"#cc3311\"]').length") == 1)
    assert ask(chromium, "document.querySelector('figure.linked').id") == f"series-{number}"


def test_filters_and_search_hide_series_and_changes(page, found):
    shown = "[...document.querySelectorAll('figure.chart')].filter((one) => !one.hidden).length"
    rows = "[...document.querySelectorAll('#changes tbody tr')].filter((one) => !one.hidden).length"
    assert (ask(page, shown), ask(page, rows)) == (len(found.traced), 1)
    page.execute_script("document.querySelector('#tools input[name=variant][value=native]').click()")
    assert (ask(page, shown), ask(page, rows)) == (4, 0)
    page.execute_script("document.querySelector('#tools button[type=reset]').click()")
    wait(lambda: ask(page, shown) == len(found.traced))
    page.execute_script("document.querySelector('#tools input[name=changed]').click()")
    assert ask(page, shown) == 1
    page.execute_script("document.querySelector('#tools button[type=reset]').click()")
    wait(lambda: ask(page, shown) == len(found.traced))
    page.execute_script(
        "const box = document.querySelector('#tools input[name=name]'); box.value = 'XLA /10/';"
        "box.dispatchEvent(new Event('input', {bubbles: true}))"
    )
    assert ask(page, shown) == 1


def test_a_row_leads_to_its_series(page, found):
    link = ask(page, "document.querySelector('#changes tbody a').getAttribute('href')")
    assert link == f"#series-{found.changes[0].number}"
    assert ask(page, f"document.querySelector('{link} h3').textContent") == CHANGED


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_has_no_sideways_scrolling(chromium, path, scheme):
    browsers.emulate(chromium, 390, scheme)
    show(chromium, path)
    assert ask(chromium, "document.documentElement.scrollWidth") <= 390
    ground = ask(chromium, "getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
