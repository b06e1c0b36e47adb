"""Cache folders of a test's own, with what takes seconds to make and is always the same."""

from __future__ import annotations

import shutil
from pathlib import Path

from pyopbench.model.cache_folder import folder_of
from pyopbench.report import vega

CHARTS = "vega"


def with_charts(folder: Path) -> Path:
    """Put the script of the charts into a folder for XDG_CACHE_HOME, and return the folder."""
    vega.library()  # makes it where nobody has
    (folder / "pyopbench").mkdir(mode=0o700, parents=True)
    if folder_of(CHARTS).exists():
        shutil.copytree(folder_of(CHARTS), folder / "pyopbench" / CHARTS)
    return folder
