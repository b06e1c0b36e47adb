"""Files and folders: each file once, broken ones are listed, nothing is waited for and nothing runs in a circle."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pyopbench.find.scan import scan
from pyopbench.model.errors import BadInput

SITE = "import tensorflow as tf\ntf.py_function(f, [x], 1)\n"


def test_what_cannot_be_parsed_or_read_is_listed_and_the_rest_is_scanned(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(SITE)
    (tmp_path / "syntax.py").write_text("def f(:\n")
    (tmp_path / "bytes.py").write_bytes(b'x = "\xff\xfe"\n')
    (tmp_path / "nul.py").write_bytes(b"a\0b\n")
    (tmp_path / "deep.py").write_text("(" * 3000)
    (tmp_path / "sum.py").write_text(SITE.replace("f,", f"lambda x: {' + '.join(['x'] * 900)},"))
    (tmp_path / "circle.py").symlink_to("circle.py")
    (tmp_path / "nowhere.py").symlink_to("missing")
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "up").symlink_to(tmp_path)
    found = scan([tmp_path])
    broken = {Path(one.file).name for one in found.broken}
    assert broken == {"syntax.py", "bytes.py", "nul.py", "deep.py", "sum.py", "circle.py", "nowhere.py", "pipe.py"}
    assert all(one.reason for one in found.broken)
    assert [Path(site.file).name for site in found.sites] == ["good.py"]


def test_a_source_in_another_encoding_is_read_by_its_coding_line(tmp_path: Path) -> None:
    (tmp_path / "latin.py").write_bytes(b"# coding: latin-1\ns = '\xff'\n" + SITE.encode())
    found = scan([tmp_path])
    assert [site.line for site in found.sites] == [4]
    assert not found.broken


def test_hidden_folders_environments_and_results_are_passed_over_unless_named(tmp_path: Path) -> None:
    for name in (".hidden", "env", "results", "__pycache__"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text(SITE)
    (tmp_path / "env" / "pyvenv.cfg").touch()
    (tmp_path / "results" / "advice.json").touch()
    assert [Path(one).name for one in scan([tmp_path]).skipped] == [".hidden", "env", "results"]
    assert not scan([tmp_path]).sites
    assert len(scan([tmp_path / "env"]).sites) == 1


def test_a_file_that_is_reached_twice_is_scanned_once(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SITE)
    (tmp_path / "b.py").symlink_to("a.py")
    found = scan([tmp_path, tmp_path / "a.py"])
    assert (len(found.sites), found.files, found.lines) == (1, 1, 2)


def test_a_path_that_does_not_exist_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        scan([tmp_path / "missing"])
    assert refused.value.received == tmp_path / "missing"


def test_a_file_that_is_named_is_scanned_whatever_its_suffix(tmp_path: Path) -> None:
    (tmp_path / "script").write_text(SITE)
    assert len(scan([tmp_path / "script"]).sites) == 1
