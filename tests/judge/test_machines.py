"""Answers by kind of machine, and hosts that are unlike the others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import frames
import sharded
import stored
from pyopbench.judge.findings import Answer, DiffersByMachine, KindAnswer
from pyopbench.judge.judge import Judgement, judge_run
from pyopbench.judge.machines import MachineAnswers, kinds_in, run_on, summary_text
from pyopbench.model import formatting
from pyopbench.model.case import GPU
from pyopbench.stats.launch_model import MachinesEstimate
from pyopbench.store import merge
from pyopbench.store.line_types import LaunchLine
from pyopbench.store.measured_run import Run
from pyopbench.store.read import read_one

FAST, SLOW = "fast processor", "slow processor"
BASELINE = "py_function_numpy"

CASES = [stored.case("native", size=size) for size in range(1, 13)]

PORT = KindAnswer("fast, 8 cores", 3, "port", "native", 0.5, 0.4, 0.6, 12)
KEEP = KindAnswer("slow, 1 core", 1, "keep", None, -0.2, -0.3, -0.1, 4)


def on_machines(costs: dict[str, tuple[str, float]], launches: int = 4, **changes: Any) -> Run:
    """Return one run of several machines.

    Args:
        costs: name of a machine -> its processor, and what native costs there as a share of the callback's time.
        launches: on each machine.
        changes: of `frames.Bench`.
    """
    runs = []
    for place, share in enumerate(share for _, share in costs.values()):
        curves = {BASELINE: 1e-4, "native": share * 1e-4}
        bench = frames.Bench(curves, launches=launches, first_launch=place * launches, seed=place, **changes)
        runs.append(bench.run())
    environment = {name: {**stored.ENVIRONMENT, "cpu": cpu, "cores": 4} for name, (cpu, _) in costs.items()}
    hosts = {place * launches + launch: name for place, name in enumerate(costs) for launch in range(launches)}
    frame = pd.concat([run.frame for run in runs], ignore_index=True)
    return replace(_as_run(runs[0]), frame=frame, hosts=hosts, machines=environment)


def _as_run(made: Any) -> Run:
    known = {name: getattr(made, name) for name in Run.__dataclass_fields__ if hasattr(made, name)}
    return Run(**{"command": (), "launches": (), **known})


def judged(costs: dict[str, tuple[str, float]], **changes: Any) -> Judgement:
    return judge_run(on_machines(costs, **changes), BASELINE)


def test_machines_that_agree_give_the_answer_of_one() -> None:
    found = judged({f"m{place}": (FAST, 0.5) for place in range(4)})
    [decision], [machines] = found.decisions, found.machines
    assert decision.answer == Answer("port", "native")
    assert (machines.machines, machines.label, machines.differs) == (4, "native", False)
    assert machines.i_squared is not None
    [kind] = machines.kinds
    assert (kind.machine, kind.machines, kind.answer) == (f"{FAST}, 4 cores", 4, decision.answer)
    assert kind.saved == decision.saved


def test_what_machines_differ_by_widens_what_is_said_of_all_of_them() -> None:
    """Saved is 10% on average, on machines of one kind that differ by 15%: that may be nothing on the next one."""
    shares = (0.75, 1.05, 0.9, 0.78, 1.02)
    found = judged({f"m{place}": (FAST, share) for place, share in enumerate(shares)})
    [decision], [machines] = found.decisions, found.machines
    assert decision.action == "undecided"
    assert machines.between == pytest.approx(0.13, abs=0.02)
    assert machines.i_squared is not None
    assert machines.i_squared > 0.95


def test_kinds_of_machine_with_other_answers_are_an_answer_with_both() -> None:
    costs = {f"fast-{place}": (FAST, 0.5) for place in range(3)} | {f"slow-{place}": (SLOW, 1.4) for place in range(3)}
    found = judged(costs)
    [decision], [machines] = found.decisions, found.machines
    assert machines.differs
    assert {kind.machine: kind.answer for kind in machines.kinds} == {
        f"{FAST}, 4 cores": Answer("port", "native"),
        f"{SLOW}, 4 cores": Answer("keep", None),
    }
    assert decision.caveats == (DiffersByMachine(machines.kinds),)


def test_kinds_that_are_not_clear_do_not_differ() -> None:
    """One machine of the second kind, with one launch, says nothing."""
    run = on_machines({"a": (FAST, 0.5), "b": (FAST, 0.5), "c": (SLOW, 1.4)})
    frame = run.frame[run.frame["launch"] <= 8]
    [machines] = judge_run(replace(run, frame=frame), BASELINE).machines
    assert [kind.action for kind in machines.kinds] == ["port", "undecided"]
    assert not machines.differs


def test_estimates_over_machines_have_as_many_degrees_as_machines_less_one() -> None:
    found = judged({f"m{place}": (FAST, 0.5) for place in range(3)})
    assert all(isinstance(one, MachinesEstimate) and one.degrees == 2 for one in found.estimates)


def test_a_run_on_one_machine_says_nothing_of_machines() -> None:
    run = on_machines({"a": (FAST, 0.5)})
    alone = judge_run(replace(run, hosts={}, machines={}), BASELINE)
    assert alone.machines == ()
    assert judge_run(run, BASELINE).decisions == alone.decisions


def test_kinds_are_processors_with_their_cores() -> None:
    run = on_machines({"a": (SLOW, 1.0), "b": (FAST, 1.0), "c": (FAST, 1.0), "d": (FAST, 1.0)})
    machines = {**run.machines, "d": {**run.machines["d"], "cores": 1}, "idle": run.machines["a"]}
    assert kinds_in(replace(run, machines=machines)) == {
        f"{FAST}, 4 cores": ("b", "c"),
        f"{FAST}, 1 core": ("d",),
        f"{SLOW}, 4 cores": ("a",),
    }


def on_gpus(run: Run, gpus: dict[str, list[str]], placement: str = GPU) -> Run:
    """Return the run as one whose launches tell of GPUs, and whose blocks were on a device."""
    reads = {name: {"gpus": [{"name": one} for one in names], "reason": ""} for name, names in gpus.items()}
    lines = (LaunchLine(launch=launch, environment={"gpu": reads.get(host)}) for launch, host in run.hosts.items())
    return replace(run, launches=tuple(lines), frame=run.frame.assign(placement=placement))


def test_kinds_have_other_gpus_where_anything_ran_on_one() -> None:
    run = on_machines(dict.fromkeys("abcd", (FAST, 1.0)))
    gpus = {"a": ["H100", "H100"], "b": ["A100"], "c": ["H100", "H100"]}
    assert kinds_in(on_gpus(run, gpus)) == {
        f"{FAST}, 4 cores, 2 x H100": ("a", "c"),
        f"{FAST}, 4 cores": ("d",),
        f"{FAST}, 4 cores, A100": ("b",),
    }
    assert kinds_in(on_gpus(run, gpus, "cpu")) == {f"{FAST}, 4 cores": ("a", "b", "c", "d")}


@pytest.mark.parametrize("told", [None, "H100", {"gpus": "H100"}, {"gpus": [None, {"name": None}]}])
def test_what_a_launch_says_of_its_gpus_may_be_anything(told: Any) -> None:
    """No schema says what a launch tells of its machine."""
    run = on_gpus(on_machines({"a": (FAST, 1.0), "b": (FAST, 1.0)}), {})
    odd = tuple(LaunchLine(launch=line.launch, environment={"gpu": told}) for line in run.launches)
    [kind] = kinds_in(replace(run, launches=odd))
    assert kind.startswith(f"{FAST}, 4 cores")


def test_the_part_of_some_machines_is_a_run_of_theirs() -> None:
    run = on_machines({"a": (FAST, 0.5), "b": (SLOW, 0.5)})
    part = run_on(run, ["b"])
    assert set(part.frame["launch"]) == {4, 5, 6, 7} == set(part.hosts)
    assert list(part.machines) == ["b"]


def test_shards_on_one_machine_each_decide_as_one_run_of_all(tmp_path: Path) -> None:
    """Each case is on one machine, so that nothing is known of what others would do, as in a run on one."""
    shards = sharded.write_shards(tmp_path, of=4)
    merge.merge(shards, tmp_path / "merged")
    lines = [line for index in (1,) for line in sharded.lines_of(sharded.CASES, index)]
    whole = stored.write(tmp_path / "whole", sharded.plan(), [*lines, sharded.ENDED])
    merged, one = (judge_run(read_one([path]), BASELINE) for path in (tmp_path / "merged", whole))
    assert [decision.answer for decision in merged.decisions] == [decision.answer for decision in one.decisions]
    assert [decision.op for decision in merged.decisions] == [decision.op for decision in one.decisions]
    assert len(merged.verdicts) == len(one.verdicts)


def answers(i_squared: float | None, between: float | None = 0.02, machines: int = 4) -> MachineAnswers:
    return MachineAnswers(
        "sinh", "inference", "node", "float32", "cpu", machines, "native", between, i_squared, False, (PORT,)
    )


@pytest.mark.parametrize(
    ("i_squared", "words"),
    [
        (0.0, "machines agree, as far as launches can show"),
        (0.24, "machines agree, as far as launches can show"),
        (0.25, "machines differ a little"),
        (0.5, "machines differ moderately"),
        (0.75, "machines differ much"),
        (1.0, "machines differ much"),
    ],
)
def test_i_squared_has_words(i_squared: float, words: str) -> None:
    told = answers(i_squared).text()
    assert told.startswith(f"{words}: I² is {round(100 * i_squared)}%")
    assert "2%" in told


def test_one_machine_says_nothing_of_others() -> None:
    assert answers(None, None, 1).text() == "measured on one machine"
    assert answers(None, None, 4).text() == "no candidate on several machines"


def test_other_answers_are_all_told() -> None:
    told = DiffersByMachine((PORT, KEEP)).text()
    assert told == (
        "the answer differs by kind of machine: port to native on fast, 8 cores (3 machines, saves "
        f"{formatting.saved_at_least(0.5, 0.4)}); keep on slow, 1 core (1 machine)"
    )
    assert KEEP.text() in told


def test_a_summary_counts_machines_kinds_and_answers_that_differ() -> None:
    one, none, some, two = (summary_text(4, kinds, many, 3) for kinds, many in ((1, 0), (2, 0), (2, 1), (2, 2)))
    assert none == one.replace("kind", "kinds", 1).replace("1", "2", 1) + " None differs by kind of machine."
    assert some == none[: -len("None differs by kind of machine.")] + "1 of 3 decisions differs by kind of machine."
    assert two == none[: -len("None differs by kind of machine.")] + "2 of 3 decisions differ by kind of machine."
