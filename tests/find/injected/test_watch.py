"""What a program is seen to do from inside: its progress, its losses and weights, and when it is ended."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pyopbench.find.injected.watch import MOST_LOSSES, Watch


class FakeClock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def watch_of(folder: Path, clock: FakeClock, progress: Iterator[int], **asked: Any) -> Watch:
    return Watch(folder, asked, lambda: next(progress), clock)


def saved(watch: Watch, folder: Path) -> dict[str, Any]:
    watch.save(is_last=True)
    (path,) = folder.glob("*.watch")
    return dict(json.loads(path.read_text()))


def test_progress_is_noted_where_there_is_some(tmp_path: Path, clock: FakeClock) -> None:
    watch = watch_of(tmp_path, clock, iter([0, 0, 3, 3, 4]))
    for _ in range(4):
        clock.now += 1
        assert not watch.sample()
    assert saved(watch, tmp_path)["samples"] == [[1, 0], [2, 0], [3, 3], [4, 4]]


@pytest.mark.parametrize(
    ("asked", "ended"), [({"steps": 3}, "steps"), ({"seconds": 2}, "seconds"), ({"steps": 9, "seconds": 99}, "")]
)
def test_a_program_is_ended_after_so_many_steps_or_seconds(
    tmp_path: Path, clock: FakeClock, asked: dict[str, int], ended: str
) -> None:
    watch = watch_of(tmp_path, clock, iter([0, 1, 1, 3, 3]), **asked)
    for _ in range(3):
        clock.now += 1
        assert not watch.sample()
    clock.now += 1
    assert watch.sample() == bool(ended)
    assert saved(watch, tmp_path)["ended"] == ended


def test_a_program_that_takes_no_elements_is_ended_after_its_first_callback_or_a_while(
    tmp_path: Path, clock: FakeClock
) -> None:
    watch, other = (watch_of(tmp_path, clock, iter([0] * 9), seconds=5) for _ in range(2))
    for now, has_called, ended in ((30, False, False), (31, True, False), (36, True, True)):
        clock.now = now
        assert watch.sample(has_called=has_called) == ended
    for now, ended in ((60, False), (64, False), (65, True)):
        clock.now = now
        assert other.sample() == ended


class CallbackList:
    def __init__(self) -> None:
        self.told: list[Any] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.told.append((batch, logs))

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.told.append((epoch, logs))

    def on_test_end(self, logs: Any = None) -> None:
        self.told.append(logs)


def test_the_first_losses_and_those_of_epochs_are_kept_and_passed_on(tmp_path: Path, clock: FakeClock) -> None:
    watch = watch_of(tmp_path, clock, iter([0]))
    watch.watch_losses(SimpleNamespace(CallbackList=CallbackList))
    lists = CallbackList()
    for batch in range(MOST_LOSSES + 5):
        lists.on_train_batch_end(batch, {"loss": np.float32(0.5)})
    lists.on_epoch_end(0, logs={"loss": 0.25, "what": "no number"})
    lists.on_epoch_end(1, {"loss": 0.125})
    losses = saved(watch, tmp_path)["losses"]
    assert losses == [{"train_batch loss": 0.5}] * MOST_LOSSES + [{}, {"epoch loss": 0.125}]
    assert len(lists.told) == MOST_LOSSES + 7


class Variable:
    def __init__(self, values: list[float], trainable: bool = True) -> None:
        self.values, self.trainable = values, trainable
        self.dtype = SimpleNamespace(is_floating=True, size=4)
        self.shape = SimpleNamespace(is_fully_defined=lambda: True, num_elements=lambda: len(values))

    def numpy(self) -> Any:
        return np.array(self.values, np.float32)


def test_weights_are_read_at_the_end(tmp_path: Path, clock: FakeClock) -> None:
    watch = watch_of(tmp_path, clock, iter([0]))
    watch.watch_weights(SimpleNamespace(BaseResourceVariable=Variable))
    one, _ = Variable([3.0, 4.0]), Variable([1.0], trainable=False)
    one.values = [1.0, -1.0]
    assert saved(watch, tmp_path)["weights"] == [[0, 1]]


def test_a_shift_changes_the_seeds_that_the_program_sets(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random, "seed", random.seed)
    monkeypatch.setattr(np.random, "seed", np.random.seed)
    state, of_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002 - the program's own
    found = []
    for shift in (0, 7):
        seeds: list[int] = []
        context = SimpleNamespace(set_global_seed=seeds.append)
        watch_of(tmp_path, clock, iter([0]), seed=0, shift=shift).seed(context)
        random.seed(3)
        np.random.seed(seed=np.int64(3))  # noqa: NPY002
        context.set_global_seed(3)
        found.append((random.random(), np.random.random(), seeds))  # noqa: NPY002
    monkeypatch.undo()
    random.seed(10)
    np.random.seed(10)  # noqa: NPY002
    assert found[1] == (random.random(), np.random.random(), [0, 10])  # noqa: NPY002
    assert found[0][2] == [0, 3]
    assert found[0] != found[1]
    random.setstate(state)
    np.random.set_state(of_numpy)  # noqa: NPY002
