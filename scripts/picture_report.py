"""Take the pictures of docs/images anew: each part of the report of results/reference, as Chromium shows it.

python scripts/picture_report.py               all of them, after that report was written again
python scripts/picture_report.py holes noise   some of them

Chromium and its driver have to be installed, and what the extra `dev` brings.
"""

from __future__ import annotations

import base64
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
REPORT = ROOT / "results" / "reference" / "report.html"
sys.path.insert(0, str(ROOT / "tests" / "helpers"))

import browsers  # noqa: E402

WIDTH = 1100
MARGIN = 8
PATIENCE_SECONDS = 20.0
CHARTS_BELOW = "arguments[0].querySelectorAll('figure.chart .canvas:not(:has(svg))').length"


@dataclass(frozen=True)
class Part:
    """What a picture shows.

    Attributes:
        name: of the picture, behind `report-`; empty for the one that README shows.
        anchor: part of the address; opens the page of an op.
        selector: CSS of the element that it begins with.
        height: in CSS pixels, at most; what is higher is cut off.
        number: which of the elements.
    """

    name: str
    anchor: str
    selector: str
    height: int
    number: int = 0


PARTS = (
    Part("", "", "header", 900),
    Part("answers", "", "#decisions", 560),
    Part("op", "#op-sinh", "#op-sinh", 480),
    Part("latency", "#op-sinh", "#op-sinh figure.chart", 560, 0),
    Part("ratio", "#op-sinh", "#op-sinh figure.chart", 560, 1),
    Part("probes", "", "#probes", 460),
    Part("limits", "", "#limits", 460),
    Part("holes", "", "#holes", 420),
    Part("noise", "", "#noise", 420),
    Part("certificate", "", "#certificate", 520),
)


def take(driver: Any, part: Part) -> bytes:
    """Return the picture of a part as PNG."""
    driver.get("about:blank")
    driver.get(REPORT.as_uri() + part.anchor)
    _wait(driver, "return document.querySelectorAll(arguments[0]).length", part.selector)
    element = driver.find_elements("css selector", part.selector)[part.number]
    driver.execute_script("arguments[0].scrollIntoView()", element)
    box = driver.execute_script(
        "const b = arguments[0].getBoundingClientRect(); return [b.x + scrollX, b.y + scrollY, b.width, b.height];",
        element if part.name else driver.find_element("css selector", "body"),
    )
    time.sleep(1.0)  # charts are drawn once they come into view
    clip = {
        "x": max(0, box[0] - MARGIN),
        "y": max(0, box[1] - MARGIN),
        "width": min(WIDTH, box[2] + 2 * MARGIN),
        "height": min(part.height, box[3] + 2 * MARGIN),
        "scale": 1,
    }
    taken = driver.execute_cdp_cmd(
        "Page.captureScreenshot", {"format": "png", "clip": clip, "captureBeyondViewport": True}
    )
    return base64.b64decode(taken["data"])


def _wait(driver: Any, script: str, *values: Any) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not driver.execute_script(script, *values):
        if time.monotonic() > end:
            sys.exit(f"{REPORT} has no {' '.join(map(str, values))}")
        time.sleep(0.1)


def main(names: list[str]) -> None:
    """Take the pictures of some parts, or of all."""
    with tempfile.TemporaryDirectory() as profile, browsers.browser(Path(profile)) as driver:
        browsers.emulate(driver, WIDTH)
        for part in PARTS:
            if not names or part.name in names:
                path = IMAGES / f"report{f'-{part.name}' if part.name else ''}.png"
                path.write_bytes(take(driver, part))


if __name__ == "__main__":
    main(sys.argv[1:])
