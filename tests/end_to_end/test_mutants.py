"""Commands end as documented whatever was done to the results that they read, as `helpers/mutants.py` does.

What finds faults is seen to find those that are planted, in each command that it drives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import mutants
import pyopbench
from mutant_files import PYTHON
from pyopbench.__main__ import EXIT_INTERRUPTED
from pyopbench.model.errors import InternalError
from pyopbench.store import open_file
from pyopbench.store.check import check

pytestmark = pytest.mark.slow

COUNT = 300
"""Some ten seconds; `make fuzz` goes on for as many as it is told."""
DRIVEN = ("check", "compare", "history", "merge", "pipeline", "probe", "record", "report", "resume", "run", "scan")
NOT_DRIVEN = {
    *("build", "certify", "copies", "doctor", "list"),  # measure or compile, and read no results
    *("placement", "port", "verify"),  # likewise
    *("schema", "version"),  # read nothing
    "advise",  # runs a program; tests/advise has bad reports and folders for it
    *("fleet", "new"),  # need a scheduler; write templates
}
FUNCTIONS = ("compare", "read")
WAYS = [*((one,) for one in DRIVEN), *((PYTHON, one) for one in FUNCTIONS)]


@pytest.fixture(scope="module")
def fuzzer() -> Iterator[mutants.Fuzzer]:
    with mutants.fuzzing() as made:
        yield made


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(mutants, "KEPT", tmp_path / "kept")
    return tmp_path / "kept"


def test_mutants_end_as_documented() -> None:
    assert list(mutants.run(COUNT, 0)) == []


@pytest.mark.parametrize("name", mutants.FOUND)
def test_what_was_found_once_ends_as_documented(name: str) -> None:
    assert [one for content in mutants.FOUND[name] for one in mutants.replay(name, content)] == []


def test_every_command_is_driven_or_reads_no_results(fuzzer: mutants.Fuzzer) -> None:
    assert {words[0] for every in fuzzer.commands.values() for words in every} == {*DRIVEN, PYTHON}
    assert {*DRIVEN} | NOT_DRIVEN == set(mutants.cli().commands)
    assert {words[1] for every in fuzzer.commands.values() for words in every if words[0] == PYTHON} == {*FUNCTIONS}


class _Planted:
    """A fault, in place of a command: does what a test says, and is given anything."""

    def __init__(self, act: Callable[[Path], object], name: str) -> None:
        self._act, self._name = act, name

    def __call__(self, *_: object, **__: object) -> None:
        self._act(Path.cwd() / self._name)


def _raise(path: Path) -> None:
    raise ZeroDivisionError("all is well")


def _raise_what_input_raises(path: Path) -> None:
    raise KeyError("rows")


def _hang(path: Path) -> None:
    while True:
        pass


def _hang_and_answer(path: Path) -> None:
    """Hang where errors of the system are answered, which a `TimeoutError` is one of, and other errors too."""
    try:
        _hang(path)
    except Exception as error:
        raise pyopbench.BadInput("a file cannot be read", received=error) from error


def _hang_and_swallow(path: Path) -> None:
    try:
        _hang(path)
    except BaseException:  # noqa: BLE001 - so nobody should write, and the alarm is remembered all the same
        return


def _fill_memory(path: Path) -> None:
    bytearray(2 << 30)


def _touch_memory(path: Path) -> None:
    """Take memory below what is refused, and answer as if nothing were."""
    content = bytearray(5 * mutants.MOST_BYTES // 4)
    content[:: 1 << 12] = b"1" * len(content[:: 1 << 12])


def _change_input(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[::-1])


def _write_beside(path: Path) -> None:
    (path.parent / "notes.txt").write_text("new", encoding="utf-8")


def _remove_input(path: Path) -> None:
    path.unlink()


def _write_through_a_link(path: Path) -> None:
    (Path.cwd() / mutants.VICTIM).write_text("gone", encoding="utf-8")


HANGS = (_hang, _hang_and_answer, _hang_and_swallow)
FAULTS = [
    *(_raise, _raise_what_input_raises, *HANGS, _fill_memory, _touch_memory),
    *(_change_input, _write_beside, _remove_input, _write_through_a_link),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__.strip("_"))
@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_a_fault_in_any_command_is_found(
    fuzzer: mutants.Fuzzer,
    kept: Path,
    monkeypatch: pytest.MonkeyPatch,
    way: tuple[str, ...],
    fault: Callable[..., None],
) -> None:
    name, words = _way_of(fuzzer, way)
    _plant(monkeypatch, way, _Planted(fault, name))
    if fault in HANGS:
        monkeypatch.setattr(mutants, "SECONDS_EACH", 0.02)
    if fault is _touch_memory:  # as large as is meant takes seconds
        monkeypatch.setattr(mutants, "MOST_BYTES", 1 << 26)
    found = fuzzer.run(name, words, lambda path: None)
    assert found, f"{fault.__name__} in {' '.join(way)}"
    assert fault is _remove_input or list(kept.iterdir()), "what is found is kept"


def _way_of(fuzzer: mutants.Fuzzer, way: tuple[str, ...]) -> tuple[str, list[str]]:
    """Return a file and a command line that reads it; of `resume` one whose input is none that it writes."""
    return next(
        (name, words)
        for name, commands in fuzzer.commands.items()
        for words in commands
        if tuple(words[: len(way)]) == way and not name.endswith(mutants.RESUMED)
    )


def _plant(monkeypatch: pytest.MonkeyPatch, way: tuple[str, ...], fault: Callable[..., None]) -> None:
    if way[0] == PYTHON:
        monkeypatch.setitem(mutants.API, way[1], fault)
    else:
        monkeypatch.setattr(mutants.cli().commands[way[0]], "callback", fault)


def test_what_is_mutated_is_whole_before(fuzzer: mutants.Fuzzer) -> None:
    """What lacks its checksum would be refused whatever is changed in it, and find nothing."""
    found = [file for part in check(fuzzer._template) for file in part.files if not file.is_fine]
    assert found == []


def test_every_command_reads_the_file_that_it_is_driven_with_and_a_bug_in_reading_it_is_found(
    fuzzer: mutants.Fuzzer, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file beside a run that is damaged is left out with a warning; a bug in what reads it is none of its faults.

    What reads nothing would never be found wrong, as where a run is compared with itself, which is refused.
    """
    unplanted = open_file.open_file
    for name, commands in fuzzer.commands.items():

        def stumble(path: Path, kind: open_file.Kind, name: str = name) -> object:
            if Path(path).name in (Path(name).name, AS_A_PART.get(name)):
                raise ZeroDivisionError
            return unplanted(path, kind)

        monkeypatch.setattr(open_file, "open_file", stumble)
        for words in commands:
            fuzzer.ends.clear()
            assert fuzzer.run(name, words, lambda path: None), words
            end = ZeroDivisionError.__name__ if words[0] == PYTHON else InternalError.exit_code
            assert [code for *_, code in fuzzer.ends] == [end], words


AS_A_PART = {"part.json": "1.json"}
"""How what a recorded program leaves is named where it is read."""


def test_a_command_without_a_fault_is_found_to_have_none(fuzzer: mutants.Fuzzer, kept: Path) -> None:
    for way in WAYS:
        name, words = _way_of(fuzzer, way)
        assert fuzzer.run(name, words, lambda path: None) == []
    assert not kept.exists()


def test_what_a_seed_finds_fails_the_program(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["mutants.py", "3", "0"])
    for code, ends_with in ((InternalError.exit_code, 1), (0, 0)):
        monkeypatch.setattr(mutants, "call", lambda words, code=code: (code, "all is well"))
        assert mutants.main() == ends_with


def test_ctrl_c_during_a_command_ends_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands answer Ctrl-C with an exit code, after which the next mutant would be tried."""

    def interrupted(**_: object) -> None:
        raise KeyboardInterrupt

    for command in mutants.cli().commands.values():
        if command.callback is not None:
            monkeypatch.setattr(command, "callback", interrupted)
    monkeypatch.setattr("sys.argv", ["mutants.py", "100", "0"])
    assert mutants.main() == EXIT_INTERRUPTED


def test_ends_are_counted_by_kind_and_command() -> None:
    ends: Counter[tuple[str, str, int | str]] = Counter({("run", "check", 0): 3, ("run", "check", 1): 2})
    assert [line.split() for line in mutants.table(ends)] == [["run", "check", "5", "0:", "3,", "1:", "2"]]
