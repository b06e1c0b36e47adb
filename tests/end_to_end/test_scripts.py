"""Each script that README, docs, CONTRIBUTING or benchmarks/README.md name starts, and those that measure do so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from places import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md", *ROOT.glob("docs/**/*.md")]
NAMED = re.compile(r"\b(?:benchmarks|scripts)/[\w/]+\.(?:py|sh)\b")

MEASURES = (
    ["benchmarks/against_peers.py", "--tools", "pyopbench", "--cases", "1", "--trial"],
    ["benchmarks/corpus.py", "pinball"],
    ["benchmarks/random_inputs.py", "pinball", "--examples", "5"],
)
"""Commands that measure or try something in seconds; the others need a folder with code of others, or a GPU."""


def named_scripts() -> list[str]:
    return sorted({name for page in PAGES for name in NAMED.findall(page.read_text(encoding="utf-8"))})


def run(*words: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / words[0]), *words[1:]]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in named_scripts() if name.endswith(".py")])
def test_a_script_that_a_page_names_starts(name: str) -> None:
    done = run(name, "--help")
    assert done.returncode == 0, done.stderr
    assert "usage" in done.stdout


def test_scripts_of_the_shell_that_a_page_names_are_there_and_can_be_parsed() -> None:
    names = [name for name in named_scripts() if name.endswith(".sh")]
    assert names
    for name in names:
        subprocess.run(["bash", "-n", str(ROOT / name)], check=True, timeout=60)


@pytest.mark.slow
@pytest.mark.parametrize("words", MEASURES, ids=lambda words: Path(words[0]).stem)
def test_a_script_that_measures_does_so(words: list[str], tmp_path: Path) -> None:
    done = run(*words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
