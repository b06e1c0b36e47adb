"""What `from pyopbench import ...` gives to files of ops and variants, and that it takes nothing heavy along."""

from __future__ import annotations

import re
import subprocess
import sys

import pyopbench
from places import ROOT
from pyopbench.model import case, op, variant


def printed_by(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_nouns_of_users_files_come_from_the_package_itself() -> None:
    assert (pyopbench.Op, pyopbench.Variant, pyopbench.Case) == (op.Op, variant.Variant, case.Case)
    assert pyopbench.OwnOp is op.OwnOp
    assert {"Case", "Op", "OwnOp", "Variant"} <= {*pyopbench.__all__}


def test_everything_that_the_package_offers_is_there() -> None:
    assert {name for name in pyopbench.__all__ if not hasattr(pyopbench, name)} == set()
    assert sorted(pyopbench.__all__) == pyopbench.__all__
    assert {*pyopbench.__all__} <= {*dir(pyopbench)}


def test_no_folder_of_the_package_has_the_name_of_a_function() -> None:
    """Importing a module of such a folder would put the folder in the function's place."""
    folders = {path.name for path in (ROOT / "pyopbench").iterdir() if path.is_dir()}
    assert not folders & {*pyopbench.__all__}


def test_importing_the_package_brings_nothing_heavy() -> None:
    heavy = {"pandas", "tensorflow", "numpy", "rich", "altair", "scipy", "IPython"}
    code = f"import sys\nfrom pyopbench import Case, Op, OwnOp, Variant\nprint({heavy} & {{*sys.modules}})"
    assert printed_by(code) == "set()"


def test_the_version_is_a_line_that_the_build_reads_without_running_it() -> None:
    """Hatch takes the version from this file by a pattern (`[tool.hatch.version]`)."""
    lines = (ROOT / "pyopbench" / "__init__.py").read_text(encoding="utf-8").splitlines()
    (version,) = [found[1] for line in lines if (found := re.fullmatch(r'__version__ = "(.+)"', line))]
    assert version == pyopbench.__version__
