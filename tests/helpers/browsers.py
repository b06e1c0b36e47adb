"""A headless Chromium for the tests of the page: with a log of what a page asks for and complains of."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars"),
    *("--disable-dev-shm-usage", "--allow-file-access-from-files"),
)
WIDE = (1280, 900)
WITHOUT = "Chromium with its driver is not installed: apt-get install chromium chromium-driver"


def found() -> tuple[str, str] | None:
    """Return the paths of Chromium and of its driver, or None where either is missing."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    return (chromium, driver) if chromium and driver else None


@contextmanager
def browser(profile: Path) -> Iterator[Chrome]:
    """Open a browser on an empty profile, and close it in the end."""
    paths = found()
    assert paths is not None
    options = ChromeOptions()
    options.binary_location = paths[0]
    for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={WIDE[0]},{WIDE[1]}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = Chrome(options=options, service=Service(paths[1]))
    try:
        yield driver
    finally:
        driver.quit()


def complaints(driver: Chrome) -> list[str]:
    """Return what the console of the page holds since the last call."""
    return [entry["message"] for entry in driver.get_log("browser")]


def requests(driver: Chrome) -> list[str]:
    """Return the addresses that pages have asked for since the last call."""
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [one["params"]["request"]["url"] for one in events if one["method"] == "Network.requestWillBeSent"]


def printed(driver: Chrome) -> bytes:
    """Return the page as PDF, as a reader would print it."""
    return base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", {})["data"])


def emulate(driver: Chrome, width: int, scheme: str = "light", height: int = 900) -> None:
    """Make the page as wide as a device, in a colour scheme."""
    size: dict[str, Any] = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
