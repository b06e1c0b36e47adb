"""What would be measured again: one command for all changes at one place, with ops as the user named them."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

import stored
from histories import KEYS, commit, write_commits
from pairs import cases, write_run
from pyopbench.judge.comparison.changes import Rerun, rerun_of, together
from pyopbench.judge.comparison.series import moment_of, series_of
from pyopbench.model.case import Case
from pyopbench.model.side import Environment
from pyopbench.store.read import read_source


def rerun(*cases: str, ops: tuple[str, ...] = ("double",), before: str = commit(1)) -> Rerun:
    return Rerun("commit", before, commit(2), ops, cases)


def test_cases_at_one_place_are_one_command():
    other = "square/xla/none/forward/call/float64/10/cpu"
    (found,) = together([rerun(KEYS[3]), rerun(other, ops=("square",)), rerun(KEYS[3])])
    assert found.ops == ("double", "square")
    assert found.cases == (KEYS[3], other)
    assert found.command == (
        *("pyopbench", "run", "double", "square", "--rev", commit(1), "--rev", commit(2), "--variant", "native,xla"),
        *("--baseline", "native", "--axis", "direction=forward", "--axis", "mode=call", "--axis", "device=cpu"),
        *("--axis", "dtype=float32,float64", "--axis", "size=10"),
    )


def test_the_baseline_is_one_of_the_variants_that_are_measured_again():
    words = dict(itertools.pairwise(rerun(KEYS[3]).command))
    assert words["--baseline"] == Case.from_id(KEYS[3]).variant
    assert words["--baseline"] in words["--variant"].split(",")


def test_places_are_commands_of_their_own():
    found = together([rerun(KEYS[3]), rerun(KEYS[3], before=commit(0))])
    assert [one.before for one in found] == [commit(1), commit(0)]


def test_a_gradient_is_named_where_the_case_has_one():
    case = "double/py_function_numpy/custom_gradient/backward/call/float32/10/cpu"
    command = rerun(case).command
    assert "gradient=custom_gradient" in command
    assert not [word for word in rerun(KEYS[3]).command if word.startswith("gradient")]


@pytest.mark.parametrize(
    ("command", "ops"),
    [
        (["pyopbench", "run", "ops/my_op.py", "--quick", "--out", "results/new"], ("ops/my_op.py",)),
        (
            ["pyopbench", "run", "--input", "rng.random((3, 4))[:2]", "my_module:work"],
            ("my_module:work", "--input", "rng.random((3, 4))[:2]"),
        ),
        (["pyopbench", "run"], ("mine",)),
    ],
)
def test_an_op_of_the_users_is_named_as_the_user_did(tmp_path, command, ops):
    keys = cases(ops=("mine",))
    environment = {**stored.ENVIRONMENT, "commit": commit(1)}
    (run,) = read_source(write_run(tmp_path / "run", keys, command=command, environment=environment))
    _, (series, *_) = series_of([(run,)], "commit")
    first = moment_of("commit", run)
    found = rerun_of("commit", replace(first, value=commit(0)), first, series, [run])
    assert found is not None
    assert found.ops == ops


def test_what_is_no_commit_cannot_be_measured_again(tmp_path):
    (run,) = read_source(write_commits(tmp_path, [{}])[0])
    _, (series, *_) = series_of([(run,)], "commit")
    here = moment_of("commit", run)
    assert rerun_of("commit", replace(here, value="unknown"), here, series, [run]) is None
    assert rerun_of("commit", here, here, series, [run]) is None


def test_the_environment_is_in_the_command():
    where = Environment("2.16.2", ("numpy==1.26.4", "scipy==1.13.1"), "3.12")
    words = dict(itertools.pairwise(replace(rerun(KEYS[3]), environment=where).command))
    assert (words["--tf"], words["--with"], words["--python"]) == ("2.16.2", "numpy==1.26.4,scipy==1.13.1", "3.12")
