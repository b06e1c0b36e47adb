"""The commands that try ports on code of others find what is wrong, and say which of it nobody would have found."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import types
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from bodies import tables, written_files
from outside import (
    callbacks,
    examine_numba_bodies,
    examine_numpy_tests,
    examine_numpys_own_tests,
    judging,
    npbench,
    numba_bodies,
    numpy_tests,
    numpys_own_tests,
    ported_calls,
    tallies,
)
from pyopbench.model.errors import BadInput
from pyopbench.model.op import Op
from pyopbench.model.own_target import read_target
from pyopbench.ops.port_file import PortFile

OP_FILE = """
import numpy as np
from pyopbench import OwnOp


def doubled(x):
    return x * 2.0


def inputs(size, rng):
    return (rng.uniform(1.0, 2.0, size),)


OP = OwnOp(inputs=inputs, sizes=(3, 5), numpy=doubled, differentiable=())
"""


@pytest.fixture
def op(tmp_path: Path) -> Op:
    path = tmp_path / "doubled_outside.py"
    path.write_text(OP_FILE)
    return judging.load(path)


def judged(op: Op, function: Callable[[Any], Any], seeds: int = 2) -> dict[str, Any]:
    return judging.judge(op, lambda: function, judging.trials_of(op, range(seeds), op.sizes))


def test_a_port_that_gives_what_numpy_gives_is_right(op: Op) -> None:
    assert judged(op, lambda x: x * 2.0) == {"became": "right"}


def test_a_port_that_is_wrong_from_the_start_is_not_silent_and_one_that_is_wrong_later_is(op: Op) -> None:
    at_once = judged(op, lambda x: x * 2.5)
    assert (at_once["became"], at_once["is_silent"], at_once["at"]) == ("wrong", False, "3 elements, seed 0")
    later = judged(op, lambda x: x * 2.0 if x.shape == (3,) else x * 2.5)
    assert (later["became"], later["is_silent"], later["at"]) == ("wrong", True, "5 elements, seed 0")


def test_an_error_does_not_hide_a_value_that_is_wrong(op: Op) -> None:
    def fails_first(x: Any) -> Any:
        if x.shape == (3,):
            raise ValueError("three")
        return x * 2.5

    assert judged(op, fails_first)["became"] == "wrong"


def test_a_port_that_changes_its_input_is_wrong(op: Op) -> None:
    class Writing:
        def __call__(self, x: Any) -> Any:
            found = x * 2.0
            x._numpy()[...] = 0.0
            return found

    assert judged(op, Writing())["became"] == "wrong"


def test_what_is_refused_while_it_is_built_says_why(op: Op) -> None:
    def build() -> Any:
        raise ValueError("nothing")

    became = judging.judge(op, build, [])
    assert became["became"] == "refused"
    assert "nothing" in became["reason"]


def test_a_file_whose_test_passes_and_whose_values_differ_later_is_silently_wrong(
    op: Op, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "doubled_outside.py"
    text = "def ported(x):\n    return x * {factor}\n"

    def passes(target: Any, variant: str, out: Path, *_: Any) -> None:
        out.write_text(text.format(factor=factor))

    def file_of(op: Op, variant: str, dtype: str) -> PortFile:
        return PortFile(op.name, variant, dtype, text.format(factor=factor), "ported")

    monkeypatch.setattr(written_files, "write_port", passes)
    monkeypatch.setattr("pyopbench.ops.port_file.PORTS.file_of", file_of)
    factor = 2.0
    assert judging.judge_file(path, "traced", tmp_path) == {"became": "right"}
    factor = 2.5
    became = judging.judge_file(path, "njit", tmp_path)
    assert (became["became"], became["is_silent"]) == ("wrong", True)


FAILING = """
import tensorflow as tf


@tf.function
def doubled(x):
    raise ValueError("planted")
"""


class TestFiles:
    """The file of a port has the bytes that were measured, and its own test passes without pyopbench."""

    def became(
        self, op: Op, path: Path, change: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
    ) -> dict[str, str]:
        """Return the outcome for a file whose text is changed while it is written."""
        tools = written_files._tools()

        def ask(request: dict[str, Any]) -> dict[str, Any]:
            found = tools.ask(request)
            return found | {"port": change(found["port"])}

        monkeypatch.setattr(written_files, "_tools", lambda: replace(tools, ask=ask))
        with tempfile.TemporaryDirectory() as folder:
            return written_files.became_of_file(op, read_target(str(path), [], []), "traced", Path(folder))

    @pytest.mark.parametrize(
        ("change", "became"),
        [
            (lambda text: text, "right"),
            (lambda text: f"{text}# planted\n", "other bytes"),
            (lambda text: text.replace("2.0", "2.5"), "failed"),
            (lambda text: f"import pyopbench.ports\n{text}", "failed"),
            (lambda text: f"{text}\n\n{FAILING}", "failed"),
            (lambda text: f"{text}\nimport os\nos._exit(7)\n", "failed"),
        ],
    )
    def test_a_planted_difference_is_found(
        self, change: Callable[[str], str], became: str, op: Op, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found = self.became(op, tmp_path / "doubled_outside.py", change, monkeypatch)
        assert found["became"] == became
        assert f"{tempfile.gettempdir()}/" not in found.get("reason", "")

    def test_a_test_that_does_not_end_is_ended(self, tmp_path: Path) -> None:
        (tmp_path / "test_endless.py").write_text("import time\n\n\ndef test_it():\n    time.sleep(600)\n")
        (tmp_path / "test_short.py").write_text("def test_it():\n    pass\n")
        tests = written_files.OwnTests()
        assert tests.run(tmp_path, "test_endless", 0.1)["failed"] == "test_endless"
        assert tests.run(tmp_path, "test_short", 60.0) == {"passed": ["test_it"]}
        tests.close()

    def test_files_are_counted_and_those_that_are_not_right_are_listed(self) -> None:
        right, other = {"became": "right"}, {"became": "other bytes", "at": "a.py", "reason": "one line"}
        bodies = [
            {"body": "a", "forms": [form("traced", "port", "right", file=right), form("tnp", "port", "failed")]},
            {"body": "b", "forms": [form("traced", "port", "right", file=other)]},
        ]
        assert tables.files(bodies) == (2, ["`traced` of `b`: one line"])


def test_shares_have_wilsons_interval() -> None:
    z, n, k = 1.959964, 60, 33
    middle = (k + z * z / 2) / (n + z * z)
    half = z * np.sqrt(k * (n - k) / n + z * z / 4) / (n + z * z)
    assert tallies.interval(k, n) == pytest.approx((middle - half, middle + half), abs=1e-6)
    assert tallies.share(33, 60) == "33 of 60, 55% (42-67%)"
    assert tallies.share(0, 0) == "0 of 0"


def form(name: str, kind: str, became: str, **more: Any) -> dict[str, Any]:
    return {"form": name, "kind": kind, "became": became, **more}


def callback(name: str, *forms: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"body": name, "sizes": [3, 5], "size_unit": "elements", "forms": list(forms), **more}


def test_callbacks_are_counted_and_files_that_are_silently_wrong_come_first() -> None:
    late = {"at": "5 elements, seed 1", "reason": "differs"}
    examined = [
        callback(
            "a",
            form("traced", "port", "right"),
            form("traced_file", "file", "right"),
            form("njit", "callback", "right"),
        ),
        callback("b", form("tnp", "port", "wrong", at="3 elements, seed 0", reason="differs")),
        callback("c", form("njit", "callback", "wrong", **late)),
        callback("d", form("traced", "port", "wrong", **late), form("traced_file", "file", "right")),
        callback("e", form("autograph", "port", "right"), is_on_tensors=True),
    ]
    counted = callbacks.counts(examined)
    assert [(one["count"], one["of"]) for one in counted["shares"].values()] == [
        (2, 5),
        (1, 4),
        (2, 4),
        (1, 4),
        (2, 5),
    ]
    assert [(one["body"], one["form"]) for one in counted["silently wrong"]] == [("d", "traced_file"), ("c", "njit")]


def test_the_obstacle_of_a_callback_is_that_of_its_file() -> None:
    stopped = callback(
        "a", form("traced", "port", "failed", reason="r"), form("traced_file", "file", "refused", reason="f")
    )
    assert callbacks.obstacle(stopped) == "f"
    assert callbacks.obstacle(callback("b", form("traced_file", "file", "right"))) == ""
    assert callbacks.obstacle(callback("c", failed="the process ended with 1")) == "the process ended with 1"


def summed(a, axis=None, keepdims=False):  # type: ignore[no-untyped-def] # as in Numba's tests
    return np.sum(a, axis=axis, keepdims=keepdims)


def filled(a, value):  # type: ignore[no-untyped-def]
    a.fill(value)


def test_arguments_of_a_function_are_made_by_rule() -> None:
    assert examine_numba_bodies.ways_to_call(summed) == [("summed", 1), ("summed with all arguments", 3)]
    call = examine_numba_bodies.call_of(summed, 1)
    assert call is not None
    assert call.arguments == ("matrix",)
    assert "numpy=summed" in call.text()
    of_constants = examine_numba_bodies.call_of(filled, 2)
    assert of_constants is not None
    assert of_constants.arguments == ("matrix", "1")
    assert "    a = a.copy()\n    filled(a, 1)\n    return a\n" in of_constants.text()


def test_a_function_of_numbas_is_held_against_numpy_on_edge_cases(tmp_path: Path) -> None:
    became = examine_numba_bodies._became(summed, 1, tmp_path)
    assert became["file"] == {"became": "right"}
    assert became["trials"] > len(examine_numba_bodies.SIZES) * 3


def test_inputs_of_which_the_body_makes_another_dtype_are_no_trial(op: Op) -> None:
    def halves(x: Any) -> Any:
        return 0 if x.size == 3 else x / 2

    of_halves = replace(op, numpy=halves)
    assert [trial.label for trial in judging.trials_of(of_halves, [0], (3, 5))] == ["5 elements, seed 0"]


def test_what_is_wrong_in_numbas_functions_is_listed() -> None:
    wrong = {"became": "wrong", "at": "edge case NaN", "reason": "differs", "is_silent": True}
    examined: list[dict[str, Any]] = [{"body": "test_x", "forms": [{"form": "f", "became": "wrong", "file": wrong}]}]
    counted = numba_bodies.counts(examined)
    assert counted["became"]["file"] == {"wrong": 1}
    assert [one["form"] for one in counted["silently wrong"]] == ["file: f"]
    examined[0]["forms"][0]["form"] = "searchsorted_left"
    assert numba_bodies.counts(examined)["became"]["file"] == {"left open": 1}


TESTS = """
import unittest

import numpy as onp
import trax.tf_numpy.numpy as lnp


class Tests(unittest.TestCase):
    def _CheckAgainstNumpy(self, *given):
        raise AssertionError("is replaced")

    def testSum_of_rows(self):
        self._CheckAgainstNumpy(onp.sum, lambda x: lnp.sum(x, 0), lambda: [onp.ones((2, 3), onp.float32)])

    def testIndexing_of_rows(self):
        self._CheckAgainstNumpy(
            lambda x: x[1:], lambda x: lnp.asarray(x)[1:] + lnp.array(x, onp.float32)[0], lambda: [onp.ones((2, 3))]
        )

    def testEig_of_one(self):
        self._CheckAgainstNumpy(onp.linalg.eig, lnp.linalg.eig, lambda: [onp.eye(2)])

    @unittest.skipIf(True, "with NumPy 2")
    def testNegative_of_bytes(self):
        self._CheckAgainstNumpy(onp.negative, lnp.negative, lambda: [onp.uint8([1, 2])])
"""


def test_the_calls_of_tests_are_written_and_held_against_numpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.meta_path", [*__import__("sys").meta_path])
    path = tmp_path / "np_planted_test.py"
    path.write_text(TESTS)
    lines = [json.loads(json.dumps(line)) for line in examine_numpy_tests.examined(path, ["testNegative"])]
    by_name = {line["form"]: line for line in lines if "form" in line}
    assert by_name["testSum"]["calls"] == {"traced": {"right": 1}, "tnp": {"right": 1}}
    assert by_name["testIndexing"]["calls"]["traced"] == {"right": 1}
    assert by_name["testEig"]["calls"]["traced"] == {"refused": 1}
    assert "testNegative" not in by_name
    counted = numpy_tests.counts([{"body": "np_planted_test", "forms": list(by_name.values())}])
    assert (counted["groups with calls"], counted["groups that are right"]) == (3, 2)


def test_a_module_without_a_tried_call_has_no_share() -> None:
    calls = {"traced": {"not tried": 3}, "tnp": {"right": 2, "wrong": 1}}
    one = {"body": "a_test", "forms": [form("testX", "tests", "not tried", calls=calls)]}
    rows = numpy_tests.totals({"examined": [one]}).splitlines()[2:]
    assert ["of 3" in row for row in rows] == [False, True]
    assert "0 of" not in rows[0]


def wrong_port(text: str) -> Callable[..., Any]:
    return lambda *arrays: tf.constant([1.0, 3.0])


def test_a_call_that_is_wrong_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ported_calls, "_port", wrong_port)
    calls = examine_numpy_tests.Calls()
    calls.check("testX", np.positive, [np.array([1.0, 2.0])])
    assert calls.counted["traced"] == {"wrong": 1}
    assert calls.shown["wrong"][0]["at"] == "testX(float64[2]): np.positive(x0)"


def failing_port(text: str) -> Callable[..., Any]:
    def fail(*arrays: Any) -> Any:
        raise ValueError(
            f'in user code:\n\n    File "{tempfile.gettempdir()}/port.py", line 3, in body\n\n    ValueError: no\n'
        )

    return fail


def test_the_reason_for_a_failed_call_has_no_path_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ported_calls, "_port", failing_port)
    with ported_calls.noted() as calls:
        np.positive(ported_calls.ported(np.array([1.0, 2.0])))
    became, _, reason = calls.worst
    assert became == "failed"
    assert f"{tempfile.gettempdir()}/" not in reason


def test_calls_are_bodies_of_one_line_and_go_on_with_what_numpy_returns() -> None:
    x = ported_calls.ported(np.arange(6.0).reshape(2, 3))
    with ported_calls.noted() as calls:
        total = np.sum(x, axis=0, keepdims=True).max()
        part = np.linalg.norm(x[:, 1:] + 1, axis=-1, ord=2)
        x[0, [0, 2]] = -1
        x.sort(axis=1)
        np.concatenate([x, x]).astype(np.float32)
        np.apply_along_axis(lambda row: row.sum(), 0, x)
        with pytest.raises(ValueError, match="broadcast"):
            np.add(x, np.ones(4))
    lines = [(became, line) for became, line, _ in calls.found]
    assert lines == [
        ("right", "np.sum(x0, axis=0, keepdims=True)"),
        ("right", "x0.max()"),
        ("right", "x0[:, 1:]"),
        ("right", "np.add(x0, 1)"),
        ("right", "np.linalg.norm(x0, axis=-1, ord=2)"),
        ("right", "x0[0, [0, 2]] = -1"),
        ("right", "x0.sort(axis=1)"),
        ("right", "np.concatenate([x0, x1])"),
        ("right", "x0.astype(np.float32)"),
        ("not tried", ""),
    ]
    assert (float(total), part.shape, x.tolist()) == (7.0, (2,), [[-1, -1, 1], [3, 4, 5]])
    assert calls.worst[0] == "right"


OWN_TESTS = """
import numpy as np
from numpy.testing import assert_equal


class TestPlanted:
    def test_right(self):
        assert_equal(np.cumsum(np.array([1, 2, 3])), [1, 3, 6])

    def test_wrong(self):
        assert_equal(np.flip(np.array([1, 2, 3])), [3, 2, 1])

    def test_refused(self):
        np.linalg.eig(np.eye(2))

    def test_of_numbers(self):
        assert_equal(1 + 1, 2)
"""


def test_calls_can_be_run_by_something_else_than_ports() -> None:
    def twice(text: str, arrays: Sequence[Any]) -> list[Any]:
        assert "np.flip(x0)" in text
        return [arrays[0] * 2]

    with ported_calls.noted(twice) as calls:
        np.flip(ported_calls.ported(np.array([1, 2, 3])))
    assert calls.worst[0] == "wrong"


class OtherArray:
    """An array of another library, which holds its values in `tensor`."""

    def __init__(self, values: Any) -> None:
        self.tensor = tf.constant(values)


def test_a_peer_runs_a_body_by_its_own_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    def flip(array: OtherArray) -> list[Any]:
        return [OtherArray(array.tensor[::-1]), 5]

    other = types.SimpleNamespace(asarray=OtherArray, ndarray=OtherArray, flip=flip)
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(_numpy=other))
    flipped, number = ported_calls.by_torch(BODY.format("np.flip(x0)"), [np.array([3.0, 1.0])])
    assert (flipped.tolist(), int(number)) == ([1.0, 3.0], 5)
    with pytest.raises(BadInput):
        ported_calls.by_torch(BODY.format("np.sort(x0)"), [np.array([3.0, 1.0])])


BODY = "import numpy as np\n\n\ndef body(x0):\n    return {}\n"


def test_keys_are_written_as_python_reads_them() -> None:
    x = ported_calls.ported(np.arange(12.0).reshape(4, 3))
    with ported_calls.noted() as calls:
        x[(0, -1),]
        x[..., [-1]]
        x[1, ::2]
    assert [(became, line) for became, line, _ in calls.found] == [
        ("right", "x0[(0, -1),]"),
        ("right", "x0[..., [-1]]"),
        ("right", "x0[1, ::2]"),
    ]


def test_truth_values_that_are_neither_0_nor_1_are_not_tried() -> None:
    with ported_calls.noted() as calls:
        np.unique(ported_calls.ported(np.array([0, 1, 2], np.uint8).view(bool)))
    assert calls.worst[0] == "not tried"


def test_each_call_of_numpys_tests_is_a_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = ported_calls._port
    monkeypatch.setattr(ported_calls, "_port", lambda text: (wrong_port if "flip" in text else original)(text))
    path = tmp_path / "test_planted.py"
    path.write_text(OWN_TESTS)
    lines: list[dict[str, Any]] = []
    watch = examine_numpys_own_tests.Watch(lines.append, frozenset())
    pytest.main(
        ["-q", "-p", "no:cacheprovider", "-c", "/dev/null", f"--rootdir={tmp_path}", str(path)], plugins=[watch]
    )
    watch.finish()
    became = {line["form"].partition(".")[2]: line["became"] for line in lines if "form" in line}
    assert became == {
        "test_right": "right",
        "test_wrong": "wrong",
        "test_refused": "refused",
        "test_of_numbers": "not tried",
    }
    counted = numpys_own_tests.counts([{"body": "planted", "forms": [line for line in lines if "form" in line]}])
    assert counted["tests"] == {"right": 1, "refused": 1, "wrong": 1, "not tried": 1}


PROGRAMS = {
    "benchmarks": [
        {
            "benchmark": "fast",
            "forms": [{"form": "traced", "became": "right"}, {"form": "traced written", "became": "passed"}],
            "seconds": {"numpy": 4.0, "traced": 2.0, "njit": 1.0, "jax by hand": 1.5, "numba by hand": "it ended"},
        },
        {"benchmark": "slow", "forms": [{"form": "traced", "became": "lost", "reason": "took longer"}]},
        {"benchmark": "none", "forms": [], "failed": "ValueError: none"},
    ]
}


def test_programs_are_counted_and_their_times_compared() -> None:
    assert cells(npbench.totals(PROGRAMS))["traced"].startswith("1 of 3, 33%")
    assert cells(npbench.totals(PROGRAMS))["njit"].startswith("0 of 3, 0%")
    assert [one.split(" | ")[0] for one in npbench.obstacles(PROGRAMS).splitlines()[2:]] == ["| `none`", "| `slow`"]
    times = npbench.times(PROGRAMS)
    assert cells(times)["traced"] == "0.75 (0.75-0.75), 1"
    assert cells(times)[npbench.FASTEST] == "1.50 (1.50-1.50), 1"
    assert times.splitlines()[-1] == "| `fast` | 4e+03 | 2e+03 | 1e+03 |  | 1.5e+03 |  |"
    assert npbench.times({"benchmarks": PROGRAMS["benchmarks"][1:]}).count("|") == 0


def cells(text: str) -> dict[str, str]:
    """Return the second cell of each row of a table, by the first."""
    rows = [row.strip("| ").split(" | ") for row in text.splitlines() if row.count("|") > 2]
    return {row[0].strip("`"): row[1] for row in rows if len(row) > 1}


def test_programs_whose_times_are_missing_are_timed_later() -> None:
    examined, timed = {"forms": []}, {"forms": [], "seconds": {}}
    for is_asked, left in ((False, [True, False, False]), (True, [True, True, False])):
        options = argparse.Namespace(time=is_asked)
        assert [npbench._is_left(one, options) for one in (None, examined, timed)] == left


def test_a_python_without_the_peers_is_bad_usage(tmp_path: Path) -> None:
    (tmp_path / "bench_info").mkdir()
    with pytest.raises(SystemExit) as ended:
        npbench.main([str(tmp_path), "--time", "--peers", str(tmp_path / "python")])
    assert ended.value.code == 2
