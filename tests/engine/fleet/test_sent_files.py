"""Files go to hosts only if they are named for it, and by what is in them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from pyopbench.engine.fleet import sent_files
from pyopbench.model.errors import BadInput


@pytest.fixture
def op_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("my_op.py")
    path.write_text("x = 1\n", encoding="utf-8")
    return path


def test_a_file_is_read_with_its_hash(op_file: Path) -> None:
    (file,) = sent_files.read_sent([f"./{op_file}"])
    told = (file.text, file.name, file.sha256, file.content)
    assert told == ("./my_op.py", "my_op.py", hashlib.sha256(b"x = 1\n").hexdigest(), b"x = 1\n")


def test_what_cannot_be_read_or_is_too_large_is_refused(op_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput):
        sent_files.read_sent(["missing.py"])
    with pytest.raises(BadInput):
        sent_files.read_sent(["."])
    monkeypatch.setattr(sent_files, "MOST_SENT_BYTES", 5)
    with pytest.raises(BadInput):
        sent_files.read_sent(["my_op.py"])


@pytest.mark.parametrize("op", ["my_op.py", "my_op.py:function", "other/my_op.py"])
def test_an_op_in_a_file_that_is_not_sent_is_refused(op: str) -> None:
    with pytest.raises(BadInput):
        sent_files.check_sent([op], [], [])


@pytest.mark.parametrize("text", ["points.npy", "x=points.npy", "data/points.npy"])
def test_an_input_in_a_file_that_is_not_sent_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        sent_files.check_sent(["package.module:function"], [text], [])
    sent_files.check_sent(["package.module:function"], ["/data/points.npy", "np.zeros(3)"], [])


def test_ops_that_are_sent_or_installed_are_fine(op_file: Path) -> None:
    files = sent_files.read_sent(["my_op.py"])
    sent_files.check_sent(["sinh", "my_op.py", "my_op.py:function", "package.module:function"], [], files)


def test_own_ops_are_named_again_with_their_inputs_when_a_shard_is_continued() -> None:
    words = sent_files.own_words(["sinh", "my_op.py:f"], ["np.zeros(3)", "n=1"], "")
    assert words == ["my_op.py:f", "--input", "np.zeros(3)", "--input", "n=1"]
    assert sent_files.own_words(["sinh"], [], "") == []
    assert sent_files.own_words(["a.b:f"], [], "seed()") == ["a.b:f", "--seed-with", "seed()"]
