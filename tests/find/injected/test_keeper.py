"""What is kept of callbacks: real inputs and outputs, the source of the body, and how it is called."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from places import ROOT
from pyopbench.find.injected.keeper import MOST_OF_A_SHAPE, MOST_SHAPES, Keeper, as_written, describe_call
from pyopbench.find.injected.tallies import Site

FACTOR = 2.0
SITE = Site(("train.py", 3, "f", "numpy_function", "graph"), "scale")


def scale(x: Any) -> Any:
    return x * FACTOR


def fill(x: Any) -> Any:
    x[...] = 7
    return x


def call(keeper: Keeper, function: Any, *arrays: Any) -> None:
    """Do what the recorder does with a call."""
    keeper.called_with(SITE, function, {"dtypes": ["float32"]})
    inputs = keeper.inputs_of(SITE, arrays)
    result = function(*arrays)
    if inputs is not None:
        keeper.keep(SITE, inputs, result)


def kept(keeper: Keeper, folder: Path) -> dict[str, Any]:
    keeper.save(folder / "1.kept")
    (found,) = json.loads((folder / "1.kept" / "kept.json").read_text())
    return dict(found)


@pytest.fixture
def keeper() -> Keeper:
    return Keeper(10**6, str(ROOT))


def test_inputs_are_kept_as_they_were_before_the_body_wrote_to_them(keeper: Keeper, tmp_path: Path) -> None:
    call(keeper, fill, np.array([1.0, 2.0], np.float32))
    (example,) = kept(keeper, tmp_path)["examples"]
    assert np.load(tmp_path / "1.kept" / example["inputs"][0]["file"]).tolist() == [1, 2]
    assert np.load(tmp_path / "1.kept" / example["outputs"][0]["file"]).tolist() == [7, 7]


def test_some_calls_of_each_shape_and_some_shapes_are_kept(keeper: Keeper, tmp_path: Path) -> None:
    for size in range(1, MOST_SHAPES + 4):
        for _ in range(2**MOST_OF_A_SHAPE):
            call(keeper, scale, np.ones(size, np.float32))
    assert len(kept(keeper, tmp_path)["examples"]) == MOST_SHAPES * MOST_OF_A_SHAPE


def test_no_more_is_kept_than_the_limit(tmp_path: Path) -> None:
    keeper = Keeper(100, str(ROOT))
    for size in (10, 1000, 2):
        call(keeper, scale, np.ones(size, np.float32))
    examples = kept(keeper, tmp_path)["examples"]
    assert [np.load(tmp_path / "1.kept" / one["inputs"][0]["file"]).size for one in examples] == [10, 2]


def test_text_is_kept_byte_for_byte(keeper: Keeper, tmp_path: Path) -> None:
    call(keeper, lambda x: x, np.array([b"a\0\xff", "ä".encode()], object))
    ((array,),) = [one["inputs"] for one in kept(keeper, tmp_path)["examples"]]
    assert [one.encode("latin-1") for one in array["text"]] == [b"a\0\xff", "ä".encode()]
    assert array["shape"] == [2]


def test_the_source_stands_by_itself(keeper: Keeper, tmp_path: Path) -> None:
    call(keeper, scale, np.ones(2))
    source = kept(keeper, tmp_path)["source"]
    scope: dict[str, Any] = {}
    exec(source["text"], scope)
    assert scope[source["name"]](3.0) == 6.0


def test_a_body_that_reads_what_changes_is_noticed(
    keeper: Keeper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call(keeper, scale, np.ones(2))
    assert not kept(keeper, tmp_path / "a")["changed_values"]
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert kept(keeper, tmp_path / "b")["changed_values"] == ["FACTOR"]


SCRIPT = """import atexit, sys
from pathlib import Path
import numpy.linalg as algebra
import test_keeper
from pyopbench.find.injected.keeper import Keeper

def norm(x):
    return algebra.norm(x)

keeper = Keeper(10**6, str(test_keeper.ROOT))
test_keeper.call(keeper, norm, test_keeper.np.ones(2))
atexit.register(keeper.save, Path(sys.argv[1]))
"""


def test_nothing_has_changed_when_a_script_has_come_to_its_end(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    path = (Path(__file__).parent, ROOT / "tests" / "helpers", ROOT)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    subprocess.run([sys.executable, script, tmp_path / "kept"], check=True, env=environment)
    (found,) = json.loads((tmp_path / "kept" / "kept.json").read_text())
    assert "algebra.norm" in found["source"]["text"]
    assert found["changed_values"] == []


class Scaler:
    def __init__(self) -> None:
        self.limits = SimpleNamespace(upper=1.0)

    def scaled(self, x: Any) -> Any:
        return x * self.limits.upper


def test_what_changes_is_named_as_the_code_spells_it(keeper: Keeper, tmp_path: Path) -> None:
    scaler = Scaler()
    call(keeper, scaler.scaled, np.ones(2))
    scaler.limits.upper = 2.0
    assert kept(keeper, tmp_path / "a")["changed_values"] == ["self.limits.upper"]


def test_what_has_no_source_is_kept_with_the_reason(keeper: Keeper, tmp_path: Path) -> None:
    call(keeper, eval("lambda x: x"), np.ones(2))
    assert kept(keeper, tmp_path)["source"]["refused"]


def test_several_bodies_of_a_line_are_counted(keeper: Keeper, tmp_path: Path) -> None:
    for function in (scale, fill, scale):
        call(keeper, function, np.ones(2))
    assert kept(keeper, tmp_path)["bodies"] == 2


def test_the_random_numbers_of_the_program_stay(keeper: Keeper) -> None:
    random.seed(3)
    np.random.seed(3)  # noqa: NPY002 - the program's own
    state, of_numpy = random.getstate(), np.random.get_state()[1]  # noqa: NPY002
    call(keeper, scale, np.ones(2))
    assert random.getstate() == state
    assert np.array_equal(np.random.get_state()[1], of_numpy)  # noqa: NPY002


@pytest.mark.parametrize("value", [np.array([{}, []], object), np.ones(2, ml_dtypes.bfloat16)])
def test_what_cannot_be_kept_is_refused_and_the_program_goes_on(keeper: Keeper, tmp_path: Path, value: Any) -> None:
    call(keeper, lambda x: x, value)
    assert kept(keeper, tmp_path)["refused"]


PROGRAM = """def outer(limit):
    def bounded(x):
        return min(x, limit)
    return bounded

table = [lambda x: x + 1, lambda x: x + 2]
other = lambda x: x * 3
both = lambda v: (lambda x: x * 7)
"""


@pytest.mark.parametrize(
    ("name", "line", "expected"),
    [("bounded", 1, 5), ("<lambda>", 7, 27), ("<lambda>", 8, 63), ("<lambda>", 6, None), ("nowhere", 1, None)],
)
def test_what_autograph_made_is_taken_as_the_program_has_it(
    tmp_path: Path, name: str, line: int, expected: int | None
) -> None:
    """A stand-in of what AutoGraph writes: of the same name, and with what it captures, but another body."""
    (tmp_path / "program.py").write_text(PROGRAM)
    made = "def make(ag__, limit):\n    def tf__f(x):\n        return ag__, limit\n    return tf__f\n"
    scope: dict[str, Any] = {"__file__": str(tmp_path / "program.py"), "__name__": "program", "min": min}
    exec(compile(made, "__autograph_generated_file1.py", "exec"), scope)
    function = scope["make"](None, 5)
    function.__code__ = function.__code__.replace(co_name=name)
    if expected is None:
        with pytest.raises(LookupError):
            as_written(function, line)
        return
    assert as_written(function, line)(9) == expected
    assert as_written(scale, 1) is scale


def test_a_call_counts_as_converted_if_every_trace_made_it_from_converted_code() -> None:
    keeper = Keeper(1000, str(ROOT))
    codes = {name: compile("1", f"/tmp/{name}.py", "eval") for name in ("train", "__autograph_generated_file1")}

    def kept(site: Site, *names: str) -> bool:
        for name in names:
            keeper.called_with(site, max, describe_call([], np.float32, codes[name], "", np.dtype))
        return bool(keeper.held[site.key].call["is_converted"])

    converted, plain = "__autograph_generated_file1", "train"
    found = [
        kept(Site(("train.py", number, "f", "numpy_function", "graph"), "f"), *names)
        for number, names in enumerate([(converted, converted), (plain,), (converted, plain), (plain, converted)])
    ]
    assert found == [True, False, False, False]
