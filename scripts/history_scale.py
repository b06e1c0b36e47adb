"""Write the page of a made-up history of 500 commits x 300 series; print its bytes, and the seconds to its first chart.

python scripts/history_scale.py FOLDER [--commits 500] [--series 300]

The page is opened in Chromium where that is installed (`apt-get install chromium chromium-driver`), several times; then
it is filtered, a point is hovered over and linked to, and pictures of it are left in `FOLDER`: wide and on a phone, in
both themes. The exit code is 1 if the page has more than 8 MB or takes more than 2 s.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from helpers import helper

from pyopbench.judge.comparison.changes import Traced, changes_in, importance
from pyopbench.judge.comparison.history import History, Options
from pyopbench.judge.comparison.series import Moment, Series
from pyopbench.report.history_page import html
from pyopbench.stats.change_points import segment

PAGE = "history.html"
MOST_BYTES, MOST_SECONDS = 8_000_000, 2.0
OPENED = 5
PATIENCE_SECONDS = 30.0
ERROR, STEP, CHANGED = 0.02, 0.05, 10
"""The standard error of a point; one of so many series changes by a step somewhere."""
VARIANTS = ("native", "xla", "py_function_numpy", "tnp", "numba")
WIDTHS = {"wide": 1280, "phone": 390}
FIRST_CHART = "performance.getEntriesByName('first chart').map((one) => one.startTime)"
SHOWN = "[...document.querySelectorAll('figure.chart')].filter((one) => !one.hidden).length"


def made_history(commits: int, series: int) -> History:
    """Return a history of noise and steps, as asv's results would give it."""
    rng = np.random.default_rng(1)
    moments = tuple(_moment(number) for number in range(commits))
    made = [_series(rng, number, commits) for number in range(series)]
    options = Options(axis="commit")
    traced = tuple(
        Traced(one, segment(one.values, one.errors, one.noise, options.alarm_rate, one.between)) for one in made
    )
    changes = tuple(sorted(changes_in("commit", moments, traced, ()), key=importance))
    return History("commit", moments, options, traced, changes, (), (), ("asv",))


def _moment(number: int) -> Moment:
    day = f"2026-{1 + number // 28 % 12:02}-{1 + number % 28:02}T10:00:00+00:00"
    return Moment(
        f"{number:010x}", f"{number:040x}", day, "run", f"Change {number}: make the loss right for an empty batch"
    )


def _series(rng: np.random.Generator, number: int, commits: int) -> Series:
    op, variant, size = f"op_{number % 12}", VARIANTS[number % len(VARIANTS)], 10 ** (number % 6) + number
    names = ("op", "variant", "direction", "mode", "dtype", "size", "placement")
    fields = dict(zip(names, (op, variant, "forward", "call", "float32", str(size), "cpu"), strict=True))
    values = ERROR * rng.standard_normal(commits)
    if number % CHANGED == 0:
        values[rng.integers(commits // 10, commits - commits // 10) :] += STEP
    reach = 1.96 * ERROR * rng.uniform(0.8, 1.2, (2, commits))
    return Series(
        case=f"{op}/{variant}/none/forward/call/float32/{size}/cpu",
        fields=fields,
        environment=(),
        tool="asv",
        measure="ratio",
        anchor=_moment(0).label,
        anchored_to="moment",
        noise="independent",
        between=0.0,
        places=np.arange(commits),
        values=values,
        errors=np.full(commits, ERROR),
        lows=values - reach[0],
        highs=values + reach[1],
        launches=np.full(commits, 8),
    )


def looked_at(path: Path) -> Iterator[tuple[str, bool]]:
    """Open the page in a browser; yield what was seen and whether it is wrong, the seconds to the first chart first."""
    browsers = helper("browsers")
    if browsers.found() is None:
        yield browsers.WITHOUT, True
        return
    with tempfile.TemporaryDirectory() as profile, browsers.browser(Path(profile)) as driver:
        seconds = [_opened(driver, path) for _ in range(OPENED)]
        middle = statistics.median(seconds)
        told = f"first chart after {middle:.2f} s (median; {min(seconds):.2f} to {max(seconds):.2f})"
        yield f"{told}, at most {MOST_SECONDS} s are promised", middle > MOST_SECONDS
        yield from ((line, False) for line in _used(driver, path))
        for name, width in WIDTHS.items():
            for scheme in ("light", "dark"):
                browsers.emulate(driver, width, scheme)
                _opened(driver, path)
                picture = path.with_name(f"{name}-{scheme}.png")
                driver.save_screenshot(str(picture))
                wide = driver.execute_script("return document.documentElement.scrollWidth")
                yield f"{picture}: {wide} of {width} pixels wide", wide > width
        complaints = browsers.complaints(driver)
        told = f"{len(complaints)} complaints of the page{': ' if complaints else ''}{'; '.join(complaints[:3])}"
        yield told, bool(complaints)


def _opened(driver: Any, path: Path, anchor: str = "") -> float:
    """Load the page anew and return the seconds until its first chart was drawn, on the page's own clock."""
    driver.get("about:blank")
    driver.get(path.as_uri() + anchor)
    return float(_wait(lambda: driver.execute_script(f"return {FIRST_CHART}"))[0]) / 1000


def _wait(is_so: Callable[[], Any]) -> Any:
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        if value := is_so():
            return value
        time.sleep(0.02)
    raise TimeoutError("the page did not do it")


def _used(driver: Any, path: Path) -> Iterator[str]:
    """Filter, hover and follow a link; yield what came of each."""
    webdriver: Any = import_module("selenium.webdriver")
    by: Any = import_module("selenium.webdriver.common.by").By

    def ask(script: str) -> Any:
        return driver.execute_script(f"return {script}")

    before = ask(SHOWN)
    start = time.monotonic()
    driver.execute_script("document.querySelector('#tools input[name=variant][value=native]').click()")
    yield f"filter: {before} series, {ask(SHOWN)} without native, after {time.monotonic() - start:.2f} s"
    driver.execute_script("document.querySelector('#tools button[type=reset]').click()")
    number = next(iter(ask("[...document.querySelectorAll('#changes tbody a')].map((one) => one.hash)")), "")
    points = f"{number} .mark-symbol.role-mark path"
    _opened(driver, path, f"#point={number[1:]}--8")
    point = _wait(lambda: driver.find_elements(by.CSS_SELECTOR, points))[8]
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", point)

    def hovered() -> list[Any]:
        webdriver.ActionChains(driver).move_to_element(point).perform()
        cells = "[...row.cells].map((cell) => cell.textContent).join(' ')"
        return list(ask(f"[...document.querySelectorAll('#vg-tooltip-element.visible tr')].map((row) => {cells})"))

    yield f"hover: {'; '.join(_wait(hovered))}"
    yield f"link to a point: {ask('document.querySelector(`figure.linked`).id')} is marked"
    driver.save_screenshot(str(path.with_name("hover.png")))


def main() -> None:
    """Make the page, and print what it is like."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--commits", type=int, default=500)
    parser.add_argument("--series", type=int, default=300)
    asked = parser.parse_args()
    start = time.monotonic()
    history = made_history(asked.commits, asked.series)
    judged = time.monotonic()
    content = html(history).encode()
    written = time.monotonic()
    asked.folder.mkdir(parents=True, exist_ok=True)
    path = asked.folder.resolve() / PAGE
    path.write_bytes(content)
    sys.stdout.write(
        f"{asked.commits} commits x {asked.series} series, {len(history.changes)} changes: judged in "
        f"{judged - start:.1f} s, written in {written - judged:.1f} s, {len(content) / 1e6:.1f} MB\n"
    )
    seen = list(looked_at(path))
    sys.stdout.writelines(f"{line}\n" for line, _ in seen)
    sys.exit(1 if len(content) > MOST_BYTES or any(is_wrong for _, is_wrong in seen) else 0)


if __name__ == "__main__":
    main()
