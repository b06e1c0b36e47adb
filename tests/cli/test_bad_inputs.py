"""Bad input: exit code 2 (3 where results hold no number), one line that names the bad value, and no traceback.

A traceback is shown only where `--debug` asks for one.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import stored
from commands import Call
from pyopbench.store.run import RUN_FILE, SAMPLES_FILE

pytestmark = pytest.mark.usefixtures("_no_worker")

HOSTILE = "<script>alert(1)</script>\n[red]\x1b]0;title\x07../../x"
BAD: list[tuple[str, str]] = [
    ("runn", "runn"),
    ("--nosuch", "--nosuch"),
    ("run --launchs 3", "--launchs"),
    ("run --launches", "--launches"),
    ("run --launches many", "many"),
    ("run --launches=1", "--launches=1"),
    ("run sihn", "sihn"),
    ("run ../../etc/passwd", "../../etc/passwd"),
    ("run nosuch.py", "nosuch.py"),
    ("run nosuch.py:f --input 1", "nosuch.py"),
    ("run sinh --input 1", "--input"),
    ("run --seed-with seed()", "--seed-with"),
    ("run --variant nativ", "nativ"),
    ("run --variant native", "py_function_numpy"),
    ("run --baseline nosuch", "nosuch"),
    ("run --axis size=0", "received: '0'"),
    ("run --axis size=1e999", "1e999"),
    ("run --axis size", "size"),
    ("run --axis colour=red", "colour=red"),
    ("run --axis dtype=int8", "int8"),
    ("run --axis direction=up", "up"),
    ("run --axis mode=nodes", "nodes"),
    ("run --axis gradient=magic", "magic"),
    ("run --axis device=tpu", "tpu"),
    ("run --axis threads=0", "received: '0'"),
    ("run --budget soon", "soon"),
    ("run --budget 0", "--budget '0'"),
    ("run --min-effect 3", "--min-effect '3'"),
    ("run --min-effect nan", "nan"),
    ("run --require magic", "magic"),
    ("run --fail-on sometimes", "sometimes"),
    ("run --shard 3/2", "3/2"),
    ("run --shard 1/2 --rev HEAD", "--shard 1/2"),
    ("run --tf 1.15", "1.15"),
    ("run --out FILE", "FILE"),
    ("run --list sihn", "sihn"),
    ("resume nosuch", "nosuch"),
    ("resume nosuch sinh", "sinh"),
    ("report", "report"),
    ("report nosuch", "nosuch"),
    ("report nosuch --mix nosuch.csv", "nosuch"),
    ("report nosuch --export other", "other"),
    ("compare nosuch neither", "nosuch"),
    ("compare a b --fail-on sometimes", "sometimes"),
    ("history nosuch", "nosuch"),
    ("history nosuch --by moon", "moon"),
    ("scan nosuch", "nosuch"),
    ("record", "record"),
    ("advise", "advise"),
    ("advise --steps 0 -- python x.py", "0"),
    ("verify sihn", "sihn"),
    ("verify --require magic", "magic"),
    ("verify --require gpu", "gpu"),
    ("pipeline sihn", "sihn"),
    ("pipeline sinh --parallel none", "none"),
    ("pipeline sinh --step-ms 0", "--step-ms 0"),
    ("port sinh --to traced --out x.py", "sinh"),
    ("placement --device moon", "moon"),
    ("fleet merge --out x", "merge"),
    ("fleet run", "--scheduler"),
    ("certify --quick=1", "--quick"),
    ("doctor extra", "extra"),
]


@pytest.mark.parametrize(("words", "value"), BAD, ids=[words for words, _ in BAD])
def test_bad_input_is_one_line_with_the_value(
    call: Call, words: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = call(*words.replace("FILE", __file__).split())
    assert (ended.code, ended.out) == (2, "")
    what, *details = ended.err.splitlines()
    assert re.fullmatch(r"error: \S.{4,}", what)
    assert value.replace("FILE", __file__) in ended.err
    assert any(line.startswith("  next:") for line in details)
    assert not list(tmp_path.iterdir()), "nothing is left of it"


def test_what_a_terminal_would_obey_is_shown_instead(call: Call) -> None:
    ended = call("run", HOSTILE)
    assert ended.code == 2
    assert "\x1b" not in ended.err


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        (RUN_FILE, b"", "run.json"),
        (RUN_FILE, b"[]", "run.json"),
        (SAMPLES_FILE, b'{"kind": "launch"}\n', "samples.jsonl"),
        (SAMPLES_FILE, b"\n{}\n", "samples.jsonl"),
    ],
)
@pytest.mark.parametrize("command", ["report", "resume", "history"])
def test_results_that_cannot_be_decoded_are_named(
    call: Call, tmp_path: Path, command: str, name: str, content: bytes, place: str
) -> None:
    cases = [stored.case("py_function_numpy")]
    folder = stored.write(tmp_path / "run", stored.run(cases), [stored.launch_line(0), stored.group_line(0, cases)])
    (folder / name).write_bytes(content)
    ended = call(command, folder)
    assert (ended.code, ended.out) == (2, "")
    assert place in ended.err.replace("\n", "")


def test_results_without_a_sample_are_nothing_measured(call: Call, tmp_path: Path) -> None:
    folder = stored.write(tmp_path / "run", stored.run([stored.case("well")]), [])
    ended = call("report", folder)
    assert ended.code == 3
    assert str(folder) in ended.err


def test_a_run_is_never_overwritten(call: Call, tmp_path: Path) -> None:
    folder = stored.write(tmp_path / "run", stored.run([stored.case("well")]), [])
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    ended = call("run", "sinh", "--out", folder)
    assert ended.code == 2
    assert str(folder) in ended.err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_bug_is_no_slowdown_and_shows_its_traceback_if_asked(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stumble(*_: object) -> None:
        raise ZeroDivisionError("by nothing")

    folder = stored.write(tmp_path / "run", stored.run([stored.case("well")]), [])
    monkeypatch.setattr("pyopbench.api.results.open_sources", stumble)
    ended = call("report", folder)
    assert ended.code == 2
    assert "ZeroDivisionError: by nothing" in ended.err
    with pytest.raises(AssertionError):  # of `call`, which takes no traceback
        call("--debug", "report", folder)


@pytest.mark.parametrize(("package", "is_of_extra"), [("pandas", True), ("a_package_of_nobody", False)])
def test_a_package_of_an_extra_that_is_not_installed_is_bad_input_with_what_installs_it(
    package: str, is_of_extra: bool, call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stumble(*_: object) -> None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)

    folder = stored.write(tmp_path / "run", stored.run([stored.case("well")]), [])
    monkeypatch.setattr("pyopbench.api.results.open_sources", stumble)
    ended = call("report", folder)
    assert ended.code == 2
    assert package in ended.err
    assert ("pyopbench[report]" in ended.err) == is_of_extra


def test_nothing_at_all_is_answered_with_the_help_which_lists_every_command(call: Call) -> None:
    shown = call("--help").out
    ended = call()
    assert ended.out + ended.err == shown
    names = re.findall(r"^│ ([a-z]+) ", shown, re.MULTILINE)
    assert sorted(names) == [
        "advise", "certify", "compare", "doctor", "fleet", "history", "pipeline", "placement", "port", "record",
        "report", "resume", "run", "scan", "verify",
    ]  # fmt: skip
