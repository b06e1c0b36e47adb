"""The page in a real browser: every chart is drawn, and nothing is asked of the network."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from judgements import plain
from pyopbench import report

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--enable-logging=stderr", "--v=0"),
    *("--window-size=1200,20000", "--virtual-time-budget=20000", "--dump-dom"),
)

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The page as the browser made it, and what it logged."""
    folder: Path = tmp_path_factory.mktemp("page")
    report.write(plain(), folder)
    command = [str(BROWSER), *OPTIONS, f"--user-data-dir={folder / 'profile'}", (folder / "report.html").as_uri()]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return ended.stdout, ended.stderr


def test_every_chart_is_drawn(page: tuple[str, str]) -> None:
    dom, _ = page
    charts = dom.count('class="chart')
    assert charts > 0
    assert dom.count("<svg") >= charts


def test_the_page_logs_no_error(page: tuple[str, str]) -> None:
    _, log = page
    assert not [line for line in log.splitlines() if "CONSOLE" in line]
