"""What would be measured again: one command for all changes at one place, with ops as the user named them."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

import stored
from histories import KEYS, commit, write_commits
from pairs import cases, write_run, write_versions
from pyopbench.judge.comparison.changes import Rerun, read_confirmation, rerun_of, together
from pyopbench.judge.comparison.series import moment_of, series_of
from pyopbench.model.case import Case
from pyopbench.model.side import Environment
from pyopbench.store import run_sides
from pyopbench.store.read import read_source


def rerun(*cases: str, ops: tuple[str, ...] = ("double",), before: str = commit(1)) -> Rerun:
    return Rerun("pyopbench", "commit", before, commit(2), ops, cases)


def test_cases_at_one_place_are_one_command():
    other = "square/xla/none/forward/call/float64/10/cpu"
    (found,) = together([rerun(KEYS[3]), rerun(other, ops=("square",)), rerun(KEYS[3])])
    assert found.ops == ("double", "square")
    assert found.cases == (KEYS[3], other)
    assert found.command == (
        *("pyopbench", "run", "double", "square", "--rev", commit(1), "--rev", commit(2), "--variant", "native,xla"),
        *("--direction", "forward", "--mode", "call", "--device", "cpu", "--baseline", "native"),
        *("--axis", "dtype=float32,float64", "--axis", "size=10"),
    )


def test_the_baseline_is_one_of_the_variants_that_are_measured_again():
    words = dict(itertools.pairwise(rerun(KEYS[3]).command))
    assert words["--baseline"] == Case.from_id(KEYS[3]).variant
    assert words["--baseline"] in words["--variant"].split(",")


def test_to_go_on_only_ops_of_the_users_are_named_again():
    assert rerun(KEYS[3]).own_words == ()
    assert rerun(KEYS[3], ops=("double", "my_op.py:OP", "--input", "x.npy")).own_words == (
        *("my_op.py:OP", "--input", "x.npy"),
    )


def test_places_are_commands_of_their_own():
    found = together([rerun(KEYS[3]), rerun(KEYS[3], before=commit(0))])
    assert [one.before for one in found] == [commit(1), commit(0)]
    assert found[0].folder == f"{commit(1)[:10]}-{commit(2)[:10]}"


def test_a_gradient_is_named_where_the_case_has_one():
    case = "double/py_function_numpy/custom_gradient/backward/call/float32/10/cpu"
    command = rerun(case).command
    assert command[command.index("--gradient") + 1] == "custom_gradient"
    assert "--gradient" not in rerun(KEYS[3]).command


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
    _, (series, *_) = series_of([(run,)], "commit", 0.03)
    first = moment_of("commit", run)
    found = rerun_of("commit", replace(first, value=commit(0)), first, series, [run])
    assert found is not None
    assert found.ops == ops


def test_what_is_no_commit_cannot_be_measured_again(tmp_path):
    (run,) = read_source(write_commits(tmp_path, [{}])[0])
    _, (series, *_) = series_of([(run,)], "commit", 0.03)
    here = moment_of("commit", run)
    assert rerun_of("commit", replace(here, value="unknown"), here, series, [run]) is None
    assert rerun_of("commit", here, here, series, [run]) is None


def test_a_confirmation_has_the_verdict_of_every_case(tmp_path):
    folder = write_versions(tmp_path / "run", "2.16.2", "2.21.0", **{"2.21.0": {"factors": {KEYS[3]: 1.2}}})
    found = read_confirmation(folder, 0.03)
    assert found is not None
    assert (found.axis, found.before, found.after) == ("tf", "2.16.2", "2.21.0")
    assert found.outcomes[KEYS[3]].outcome == "slower"
    assert found.outcomes[KEYS[3]].ratio == pytest.approx(1.2, rel=0.01)
    assert {one.outcome for key, one in found.outcomes.items() if key != KEYS[3]} == {"equivalent"}


def test_a_confirmation_is_of_its_environment(tmp_path):
    folder = write_versions(tmp_path / "run", "2.16.2", "2.21.0")
    found = read_confirmation(folder, 0.03)
    assert found is not None
    asked = Rerun("pyopbench", "tf", "2.16.2", "2.21.0", ("double",), (KEYS[3],))
    assert found.answers(asked)
    assert not found.answers(replace(asked, environment=Environment(packages=("numpy==1.26.4",))))
    elsewhere = replace(found, environment=Environment(python="3.12"))
    assert not elsewhere.answers(asked)


def test_the_environment_is_in_the_command():
    where = Environment("2.16.2", ("numpy==1.26.4", "scipy==1.13.1"), "3.12")
    words = dict(itertools.pairwise(replace(rerun(KEYS[3]), environment=where).command))
    assert (words["--tf"], words["--with"], words["--python"]) == ("2.16.2", "numpy==1.26.4,scipy==1.13.1", "3.12")
    assert rerun(KEYS[3]).folder != replace(rerun(KEYS[3]), environment=where).folder


def test_a_folder_of_something_else_is_no_confirmation(tmp_path):
    assert read_confirmation(write_commits(tmp_path, [{}])[0], 0.03) is None
    three = write_versions(tmp_path / "three", "2.15.1", "2.16.2", "2.21.0")
    assert read_confirmation(three, 0.03) is None


def test_two_versions_without_a_case_in_common_confirm_nothing(tmp_path):
    folder = write_versions(tmp_path / "run", "2.16.2", "2.21.0")
    other = run_sides.read(folder)[1].folder
    for path in sorted(other.iterdir()):
        path.unlink()
    write_run(other, cases(ops=("cube",)), environment={**stored.ENVIRONMENT, "tensorflow": "2.21.0"})
    found = read_confirmation(folder, 0.03)
    assert found is not None
    assert not found.outcomes


def test_asv_measures_its_benchmarks_by_their_names():
    found = Rerun("asv", "commit", commit(1), commit(2), (), ("suite.Slow.time_it(3)", "suite.Slow.time_it(4)"))
    assert found.command[3:5] == ("--bench", r"^suite\.Slow\.time_it")
    assert len(found.command) == 7
