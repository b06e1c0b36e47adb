"""Ports as source: what is written for bodies of all kinds passes the test that is written beside it."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.model.variant import WRITABLE
from pyopbench.ports.extract.definitions import CannotPort
from pyopbench.ports.porting.module_text import format_text, import_text
from written_ports import CORPUS, body_of, line_of, lines_of, run_its_test, write, write_source

MATRIX, VECTOR, WHOLE = "rng.random((4, 3), dtype=np.float32)", "rng.random(5)", "np.arange(5)"
GRADED = ("np.exp(x)", "np.sin(20 * x) + np.exp(x)")


@pytest.mark.parametrize("body", ["losses/dice", "augmentation/mixup", "audio/mu_law"])
def test_a_body_of_the_corpus_is_written_in_tensorflow(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = write(str(CORPUS / f"{body}.py"))
    assert "pyopbench" not in made.port + made.test
    assert "numpy_function" not in made.port
    assert "test_values" in run_its_test(made, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("statement", "known"), [("return x * y", ""), ("return np.zeros(len(x)) + np.ones(y.size)", "all inputs")]
)
def test_sizes_are_unknown_in_the_test_unless_a_note_says_that_they_have_to_be_known(
    statement: str, known: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = write_source(tmp_path, f"def body(x, *, y):\n    {statement}\n", VECTOR, f"y={VECTOR}")
    assert made.notes == ((f"known sizes: {known}",) if known else ())
    assert ("needs_sizes=True" in made.test) == bool(known)
    run_its_test(made, tmp_path, monkeypatch)


def test_what_a_body_prints_is_printed_whenever_a_graph_runs_and_said(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = """def body(x):
    print("begins")
    s = x.sum()
    print(f"of {s:.1f} in all", end=".")
    print("sum", x.max() + x.sum(), sep="=")
    return x * 2
"""
    made = write_source(tmp_path, source, "np.array([1.5, 2.5])")
    (note,) = made.notes
    assert re.fullmatch(r"prints: mine_\d+.py:5, mine_\d+.py:7, mine_\d+.py:8", note)
    port = tf.function(import_text("printing", made.port).body)
    capfd.readouterr()  # what it has printed while it was written
    for one in (1.0, 2.0):
        port(tf.constant([one]))
    assert capfd.readouterr().out == "begins\nof 1 in all.sum=2\nbegins\nof 2 in all.sum=4\n"


def test_helpers_of_another_file_and_constants_are_written_into_the_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = write(str(CORPUS / "detection" / "proposals.py"))
    assert {"def apply_deltas(anchors, deltas):", "PRE_NMS_TOP_N = 200"} <= lines_of(made.port)
    assert "box_utils" not in made.port + made.test
    run_its_test(made, tmp_path, monkeypatch)


def test_a_file_is_clean_by_the_default_rules_of_ruff(tmp_path: Path) -> None:
    made = write(str(CORPUS / "losses" / "contrastive.py"))
    for name, text in (("ported.py", made.port), ("test_ported.py", made.test)):
        assert format_text(text) == text
        (tmp_path / name).write_text(text, encoding="utf-8")
    command = [str(Path(sys.executable).with_name("ruff")), "check", "--isolated", "--no-cache", "."]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stdout


def test_a_test_is_a_program_that_needs_no_pytest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the command line prints it. It says what has passed."""
    path = tmp_path / "mine.py"
    path.write_text("def body(x):\n    return x * 2\n", encoding="utf-8")
    made = write(f"{path}:body", VECTOR, module="alone")
    (tmp_path / "test_ported.py").write_text(made.test, encoding="utf-8")
    (tmp_path / "alone.py").write_text(made.port, encoding="utf-8")
    monkeypatch.setitem(sys.modules, "pytest", None)
    monkeypatch.syspath_prepend(str(tmp_path))
    runpy.run_path(str(tmp_path / "test_ported.py"), run_name="__main__")
    assert capsys.readouterr().out == "passed: test_values, test_gradient\n"


@pytest.mark.parametrize("to", WRITABLE)
def test_a_body_on_text_keeps_its_callback(to: str, tmp_path: Path) -> None:
    with pytest.raises(CannotPort) as caught:
        write_source(tmp_path, "def body(x):\n    return np.array([len(one) for one in x])\n", "np.array(['a'])", to=to)
    assert caught.value.why == "it works on text, so the callback stays"
    assert line_of(caught.value) == "def body(x):"


def test_promotion_is_written_as_casts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = write_source(tmp_path, "def body(x, n):\n    return 0.5 * n + x / 2 + n // 2\n", VECTOR, WHOLE)
    assert body_of(made) == "return 0.5 * tf.cast(n, tf.float64) + x / 2 + tf.cast(n // 2, tf.float64)"
    assert run_its_test(made, tmp_path, monkeypatch) == ["test_values", "test_gradient"]


def test_what_needs_no_change_stays_as_it_stands(tmp_path: Path) -> None:
    made = write_source(tmp_path, "def body(x):\n    y = x * 2\n    return y + 1e-9\n", VECTOR)
    assert body_of(made) == "y = x * 2\n    return y + 1e-9"


@pytest.mark.parametrize(
    ("statement", "written"),
    [
        ("return x[x > 0.5]", "return tf.boolean_mask(x, x > 0.5)"),
        ("return x[np.argsort(x)]", "return tf.gather(x, np_argsort(x))"),
        ("return np.where(x > 0.5)[0]", "return tf.unstack(tf.where(x > 0.5), axis=1)[0]"),
        ("return x.sum(keepdims=True)", "return tf.reduce_sum(x, keepdims=True)"),
        (
            "return np.zeros(x.shape, x.dtype) + x",
            "return np.zeros(tuple(np_known_sizes(x)), np.dtype(x.dtype.as_numpy_dtype)) + x",
        ),
        ("return x @ x", "return tf.tensordot(x, x, 1)"),
    ],
)
def test_an_expression_is_written_as_tensorflow_spells_it(
    statement: str, written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = write_source(tmp_path, f"def body(x):\n    {statement}\n", VECTOR)
    assert body_of(made) == written
    run_its_test(made, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    "statements",
    [
        "x = x.copy()\n    x *= np.float32(2)\n    return x",
        "return np.array([x[0], x.max()])",
        "return np.sqrt(x.sum() if x.max() > 0.1 else 0.0)",
        "return (0.0 if np.isnan(x).all() else x.mean()) * 2",
        "out = np.zeros((5, 2))\n    out[np.argmax(x), x[0].astype(np.int32)] = x[1]\n    return out",
        "out = np.zeros((5, 5))\n    out[x[0].astype(np.int32), np.argmin(x) :] = x[1]\n    return out",
        (
            "at = np.argsort(x)\n    at = at[x[at] > 0.5]\n    out = np.zeros(5)\n    out[at] = np.arange(len(at))\n"
            "    return out + x * 0"
        ),
        "some = {1, 2}\n    some.difference_update({2})\n    return x * len(some)",
        "a, b = np.split(x[:4], 2) if False else (x[:2], x[2:4])\n    return a + b",
        "np_replaced = x.copy()\n    np_replaced[0] = 1\n    return np_replaced * x[-1]",  # a name of the port's
    ],
)
def test_statements_that_write_and_decide_are_right(
    statements: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_its_test(write_source(tmp_path, f"def body(x):\n    {statements}\n", VECTOR), tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("def body(x):\n    y = x + 1\n    return np.linalg.eig(y[:3])[1]\n", 6),
        ("def body(x):\n    return x.tolist()\n", 5),
        ("def body(x):\n    return hash(x.tobytes()) * x\n", 5),
        ("def body(x):\n    assert isinstance(x, np.ndarray)\n    return x\n", 5),
        # What they do besides their value would be done once, while a graph is traced.
        ("def body(x):\n    with open('/dev/null', 'a') as file:\n        file.write('x')\n    return x\n", 5),
        ("import time\n\n\ndef body(x):\n    time.sleep(0.001)\n    return x\n", 8),
        ("import logging\n\n\ndef f():\n    logging.info('x')\n\n\ndef body(x):\n    f()\n    return x\n", 8),
        ("import logging\n\nLOG = logging.getLogger()\n\n\ndef body(x):\n    LOG.info('x')\n    return x\n", 10),
    ],
)
def test_what_cannot_be_written_is_refused_with_the_line(source: str, line: int, tmp_path: Path) -> None:
    with pytest.raises(CannotPort) as caught:
        write_source(tmp_path, source, MATRIX)
    assert caught.value.place is not None
    assert caught.value.place[1] == line


def test_its_test_fails_where_the_port_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = write_source(tmp_path, "def body(x):\n    return np.exp(x)\n", VECTOR)
    wrong = made.with_text(made.port.replace("tf.exp(x)", "tf.exp(x) + 1e-3"))
    with pytest.raises(AssertionError):
        run_its_test(wrong, tmp_path, monkeypatch)


def test_a_gradient_beside_kinks_is_checked_in_float64(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of float32 is longer than the least element is below the next one, and its slope that of both."""
    many = "rng.random(400, dtype=np.float32)"
    made = write_source(tmp_path, "def body(x):\n    return np.max(x) - np.min(x) + x[:3]\n", many)
    assert run_its_test(made, tmp_path, monkeypatch) == ["test_values", "test_gradient"]
    wrong = made.with_text(re.sub(r"- (\S*\(x, largest=False\))", r"- tf.stop_gradient(\1)", made.port))
    assert wrong.port != made.port
    with pytest.raises(AssertionError):
        run_its_test(wrong, tmp_path, monkeypatch)


def test_outputs_that_jump_at_the_inputs_have_no_gradient_to_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step away from a label that is exactly 0 takes the other way."""
    labels = "np.where(np.arange(8) % 3, rng.random(8), 0.0)"
    body = "def body(x):\n    return np.where(x == 0, -3.0, np.exp(x))\n"
    made = write_source(tmp_path, body, labels)
    assert "test_gradient" in run_its_test(made, tmp_path, monkeypatch)
    wrong = made.with_text(made.port.replace("tf.exp(x)", "(0.5 * tf.exp(x) + 0.5 * tf.stop_gradient(tf.exp(x)))"))
    assert wrong.port != made.port
    with pytest.raises(AssertionError):
        run_its_test(wrong, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("body", "inputs", "share"),
    [
        *((body, MATRIX, 0.01) for body in GRADED),
        ("(x + 1e6) - 1e6", "rng.normal(size=20)", 0.02),
        ("(x * x).sum() + np.float32(2000)", "rng.random((6, 5), np.float32)", 0.02),
    ],
)
def test_its_test_fails_if_the_gradient_is_wrong(
    body: str, inputs: str, share: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In float32 too: neither the allowance for kinks nor the rounding of large numbers hides it."""
    made = write_source(tmp_path, f"def body(x):\n    return {body}\n", inputs)
    assert "test_gradient" in run_its_test(made, tmp_path, monkeypatch)
    head, _, value = made.port.rstrip().rpartition("return ")
    wrong = f"import tensorflow as tf\n{head}return {1 - share} * ({value}) + {share} * tf.stop_gradient({value})\n"
    with pytest.raises(AssertionError):
        run_its_test(made.with_text(wrong), tmp_path, monkeypatch)


@pytest.mark.parametrize("statement", ["x = x.astype(np.float64)", "x = np.asarray(x)"])
def test_a_name_is_not_assigned_to_itself(statement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = write_source(tmp_path, f"def body(x):\n    {statement}\n    return x * 2\n", VECTOR)
    assert {"    x = tf.identity(x)"} <= lines_of(made.port)
    run_its_test(made, tmp_path, monkeypatch)


def test_what_numba_does_not_compile_is_refused_with_the_line(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    with pytest.raises(CannotPort) as caught:
        write_source(tmp_path, "def body(x):\n    y = x + 1\n    return np.unique(y, axis=1)\n", MATRIX, to="numba_op")
    assert caught.value.place is not None
    assert caught.value.place[1] == 6


@pytest.mark.parametrize(
    "returned", ["len(x)", "x.shape", "(x.sum(), x.shape[0], 0.5)", "[x.size, x]", "(x.shape, x)", "half(len(x)) + 1"]
)
def test_numbers_of_python_that_are_returned_have_64_bits(
    returned: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = f"def half(n):\n    return n // 2\n\n\ndef body(x):\n    y = x[: half(len(x))]\n    return {returned}\n"
    assert "test_values" in run_its_test(write_source(tmp_path, source, MATRIX), tmp_path, monkeypatch)


def test_a_port_to_numba_op_has_the_gradient_that_the_op_brings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    made = write(str(CORPUS / "losses" / "pinball.py"), to="numba_op")
    assert {"@numba.njit", "QUANTILES = (0.1, 0.5, 0.9)"} <= lines_of(made.port)
    assert run_its_test(made, tmp_path, monkeypatch) == ["test_values", "test_gradient"]


NAMES_OF_TESTS = ("old", "examples", "draw", "as_tuple", "assert_same", "TOLERANCE", "np_")


def test_a_test_leaves_your_functions_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "".join(f"def {name}(x):\n    return x * 2\n\n\n" for name in NAMES_OF_TESTS)
    called = [f"    x = {name}(x)" for name in NAMES_OF_TESTS]
    made = write_source(tmp_path, "\n".join([f"{source}def body(x):", *called, "    return x\n"]), VECTOR)
    assert {*called} <= lines_of(made.test)
    run_its_test(made, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("before", "inputs"),
    [
        ("", "inputs=(MATRIX, MATRIX)"),
        ("ONE = (MATRIX, MATRIX)", "inputs=[ONE]"),
        ("def draw(n):\n    return np.ones((n, 3))", "inputs=[(draw(n), draw(n)) for n in (2, 5)]"),
        ("def draw(n):\n    return np.ones((n, 3))", "inputs=[tuple(draw(n) for _ in range(2)) for n in (2,)]"),
        ("def make():\n    return MATRIX, MATRIX", "inputs=make()"),
        ("ALL = [(MATRIX, MATRIX)]", "ALL"),
    ],
)
def test_examples_are_given_as_the_file_has_them_however_they_are_written(
    before: str, inputs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"mine_{abs(hash((before, inputs)))}.py"
    path.write_text(
        "import numpy as np\nfrom pyopbench import OwnOp\nMATRIX = np.ones((4, 3))\n"
        f"def body(x, y):\n    return np.exp(x) * y\n{before}\nOP = OwnOp({inputs}, numpy=body)\n"
    )
    made = write(str(path))
    assert "test_values" in run_its_test(made, tmp_path, monkeypatch)


@pytest.mark.parametrize("name", ["a\nint x;.py", 'a""".py', "a\\x.py", 'a"\\N{.py'])
def test_a_file_may_have_any_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a name holds stays in the docstring that names the file."""
    path = tmp_path / name
    path.write_text("import numpy as np\n\n\ndef body(x):\n    return x * 2\n")
    run_its_test(write(f"{path}:body", VECTOR), tmp_path, monkeypatch)


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np\n\n\ndef body(x):\n    \ufb01t = x * 2\n    return \ufb01t\n",
        "import numpy as np\n\n\ndef bo\uff44y(x):\n    return np.\U0001d41eₓp(x)\n",
        "import numpy as np\n\n\ndef  body (x):\n    return x * 2\n\n\nbody.__name__ = 'an\\nother'\n",
        "import numpy as np\r\n\r\n\r\ndef body(\r\n    x\r\n):\r\n    return x * 2  # twice\r\n",
    ],
    ids=["a ligature", "a ligature in the name", "__name__", "line ends"],
)
def test_what_python_reads_otherwise_than_it_is_written_is_ported(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mine.py"
    path.write_bytes(source.encode())
    made = write(f"{path}:body", VECTOR)
    assert made.function == "body"
    run_its_test(made, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    "text", ["rng.random(5)  # five", "[1.0, 2.0],", "(  # five\n rng.random(5))", "rng.random(5)\n"]
)
def test_an_input_may_be_any_expression(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = write_source(tmp_path, "def body(x):\n    return np.asarray(x) * 2\n", text)
    run_its_test(made, tmp_path, monkeypatch)


def test_an_input_in_a_file_is_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "x.npy", np.arange(5.0))
    monkeypatch.chdir(tmp_path)
    made = write_source(tmp_path, "def body(x):\n    return x * 2\n", "x.npy")
    monkeypatch.chdir("/")
    run_its_test(made, tmp_path, monkeypatch)


@pytest.mark.parametrize("module", ["body", "old", "port", "list"])
def test_a_module_may_have_the_name_of_what_the_test_has_itself(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mine.py"
    path.write_text("def body(x):\n    return x * 2\n")
    made = write(f"{path}:body", VECTOR, module=module)
    assert {f"import {module} as module_of_port"} <= lines_of(made.test)
    assert run_its_test(made, tmp_path, monkeypatch, module) == ["test_values", "test_gradient"]


def test_a_module_that_the_test_imports_is_not_hidden_by_the_port(tmp_path: Path) -> None:
    """Python would take the port for that module, wherever it lies."""
    (tmp_path / "mine.py").write_text(
        "from fractions import Fraction\n\n\ndef body(x):\n    return x * float(Fraction(2))\n"
    )
    with pytest.raises(CannotPort) as caught:
        write(f"{tmp_path / 'mine.py'}:body", VECTOR, to="numpy_whole", module="fractions")
    assert caught.value.place is None


def test_a_name_that_would_be_run_as_a_test_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CannotPort):
        write_source(tmp_path, "def test_mine(x):\n    return x\n\n\ndef body(x):\n    return test_mine(x)\n", VECTOR)


@pytest.mark.parametrize(
    ("line", "notes"), [("int(x[0]) * n", ("64 bits",)), ("(n + int(x[0])) * x", ()), ("x[n] * np.int64(n)", ())]
)
def test_a_product_of_integers_of_python_is_noted(line: str, notes: tuple[str, ...], tmp_path: Path) -> None:
    made = write_source(tmp_path, f"def body(x, k):\n    n = int(k[1])\n    return x * 0 + {line}\n", VECTOR, WHOLE)
    assert made.notes == notes


@pytest.mark.parametrize(
    "expression",
    [
        "np.arange(9.0)[: len(x)]", "np.arange(9.0)[: x.shape[0]]", "np.arange(9.0)[: x.size]",
        "np.arange(9.0)[: np.size(x)]", "x if len(x) else x + 1", "x if x.shape[0] != 5 else x + 1",
        "x if x.shape[:1] != (5,) else x + 1", "x if np.shape(x) != (5,) else x + 1",
    ],
)  # fmt: skip
def test_a_size_that_the_graph_does_not_know_is_never_mistaken_for_another(expression: str, tmp_path: Path) -> None:
    made = write_source(tmp_path, f"def body(x):\n    return {expression}\n", "rng.random(5)")
    port = import_text("sizes", made.port).body
    expected = eval(expression, {"x": np.ones(5), "np": np})
    np.testing.assert_array_equal(tf.function(port)(tf.ones(5, tf.float64)), expected)
    with pytest.raises(NotImplementedError):
        tf.function(port, input_signature=[tf.TensorSpec([None], tf.float64)])(tf.ones(5, tf.float64))


def test_parts_that_are_split_at_values_have_any_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (
        "def body(x, at):\n    y = np.zeros((3, 9))\n    for i, part in enumerate(np.split(x, at)):\n"
        "        if not len(part):\n            continue\n        y[i, : len(part)] = part\n    return y\n"
    )
    made = write_source(tmp_path, source, "rng.random(6)", "np.sort(rng.integers(0, 6, 2))")
    assert run_its_test(made, tmp_path, monkeypatch)


@pytest.mark.parametrize("added", ["[0.1, 0.2, 0.3]", "(1, 2, 0.1)", "[True, False, True]", "[16777217, 1, 2]"])
def test_numbers_of_a_list_keep_all_their_digits(added: str, tmp_path: Path) -> None:
    source = f"def body(x):\n    return x + {added}\n"
    names: dict[str, Any] = {}
    exec(source, names)
    port = import_text("listed", write_source(tmp_path, source, "np.arange(3.0)").port).body
    np.testing.assert_array_equal(port(tf.constant(np.arange(3.0))), names["body"](np.arange(3.0)))


PADDED = """import numpy as np

def body(x, at):
    size = x.shape[0]
    if size < 6:
        x = np.pad(x, ((0, 6 - size), (0, 0)))
        size = x.shape[0]
    top = int(at * (size - 6))
    return x[top : top + 6]
"""


def test_a_branch_that_only_smaller_inputs_take_is_written_and_still_said_to_be_in_no_example(tmp_path: Path) -> None:
    made = write_source(tmp_path, PADDED, "rng.random((16, 2))", "rng.random()")
    lines = {Path(file).read_text().splitlines()[line - 1].strip() for file, line in made.module.not_run}
    assert lines == {"x = np.pad(x, ((0, 6 - size), (0, 0)))", "size = x.shape[0]"}
    names: dict[str, Any] = {}
    exec(PADDED, names)
    port = import_text("padded", made.port).body
    for size in (2, 5, 6, 9, 16):
        x = np.random.default_rng(size).random((size, 2))
        np.testing.assert_array_equal(tf.function(port)(x, tf.constant(0.7, tf.float64)), names["body"](x, 0.7))


def test_a_text_is_formatted_by_no_settings_and_a_broken_one_stays() -> None:
    assert format_text("x = ( 1 )\n") == "x = 1\n"
    assert format_text("x = (") == "x = ("
