"""Elements of an op by Grain's `DataLoader`, whose worker processes call the body: imported only where `grain` is.

Source: https://google-grain.readthedocs.io/en/latest/data_loader/data_loader.html
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from multiprocessing import resource_tracker, util
from typing import Any

import grain.python as pygrain
import numpy as np

from pyopbench.model.modules import module_of
from pyopbench.model.op import Body
from pyopbench.model.own_op import OwnOp
from pyopbench.model.own_target import Target
from pyopbench.ports.arrays import as_array

Row = tuple[Any, ...]


@dataclass(frozen=True)
class ElementSource:
    """Elements by their numbers: each its number and its inputs. It goes to the workers, and so holds no more."""

    inputs: tuple[Row, ...]

    def __len__(self) -> int:
        """Return how many elements there are."""
        return len(self.inputs)

    def __getitem__(self, number: Any) -> Row:
        """Return an element."""
        return *self.inputs[number], np.int64(number)

    def __repr__(self) -> str:
        """Return what Grain knows the source by: not its arrays."""
        return f"ElementSource({len(self.inputs)})"


@dataclass(frozen=True)
class InOrder:
    """Deals out elements so that batches which workers make in turn come in the order of the elements, without end.

    Grain hands worker `w` of `n` the places `w`, `w + n`, `w + 2 n` ..., of which it makes batches.
    """

    elements: int
    batch: int
    workers: int

    def __getitem__(self, place: int) -> Any:
        """Return which element is at a place."""
        turn, worker = divmod(place, self.workers)
        batches, within = divmod(turn, self.batch)
        number = ((batches * self.workers + worker) * self.batch + within) % self.elements
        return pygrain.RecordMetadata(index=place, record_key=number)


@dataclass(frozen=True)
class CallBody(pygrain.MapTransform):  # type: ignore[misc]
    """Calls the body of an op on an element.

    Attributes:
        op: its name.
        target: the own op of that name; None for a built-in one.
        dtypes: of its outputs.
    """

    op: str
    target: Target | None
    dtypes: tuple[str, ...]

    def map(self, element: Row) -> Row:
        """Return the outputs of an element and its number."""
        *inputs, number = element
        returned = _body_of(self.op, self.target)(*inputs)
        outputs: Sequence[Any] = returned if isinstance(returned, (list, tuple)) else (returned,)
        return *(as_array(one, dtype) for one, dtype in zip(outputs, self.dtypes, strict=True)), number


def load(name: str, target: Target | None) -> Body:
    """Return the NumPy body of an op; if the user's file has it unchanged, only what that file imports is imported.

    TensorFlow takes seconds to import, and a process needs it only if the body does.

    Args:
        name: of the op.
        target: the own op of that name; None for a built-in one.
    """
    if target is None:
        from pyopbench.ops.load import load_op

        return load_op(name).numpy
    if not target.function and not target.seed_with:
        found = getattr(module_of(target), "OP", None)
        if isinstance(found, OwnOp) and found.numpy is not None and _is_plain(found):
            return found.numpy
    from pyopbench.ops.own.load import load_own

    return load_own(target).numpy


def _is_plain(own: OwnOp) -> bool:
    return not (own.keywords or own.as_python or own.seed_with)


@cache
def _body_of(op: str, target: Target | None) -> Body:
    return load(op, target)


def load_elements(inputs: tuple[Row, ...], body: CallBody, batch: int, workers: int) -> Iterator[Row]:
    """Return outputs and numbers without end, batch after batch in the order of the elements.

    Args:
        inputs: of each element.
        body: what is called on each.
        batch: elements that come at a time; 0 for one without a batch axis.
        workers: processes.

    Raises:
        Exception: whatever Grain makes of what the body raises.
    """
    _keep_tracker_apart()
    operations = [body, *([pygrain.Batch(batch_size=batch, drop_remainder=True)] if batch else [])]
    loader = pygrain.DataLoader(
        data_source=ElementSource(inputs),
        sampler=InOrder(len(inputs), max(batch, 1), workers),
        operations=operations,
        worker_count=workers,
        shard_options=pygrain.NoSharding(),
    )
    return iter(loader)


def _keep_tracker_apart() -> None:
    """Start what frees the named memory of the standard library, which Grain uses, out of this process' group.

    With the group it would be killed before it has freed anything. It ends when the last of the others has.
    """
    spawn = util.spawnv_passfds

    def in_session_of_its_own(path: Any, args: Sequence[Any], passfds: Sequence[int]) -> int:
        for one in passfds:
            os.set_inheritable(one, True)
        try:
            return os.posix_spawn(path, list(args), os.environ, setsid=True)
        finally:
            for one in passfds:
                os.set_inheritable(one, False)

    util.spawnv_passfds = in_session_of_its_own
    try:
        resource_tracker.ensure_running()
    finally:
        util.spawnv_passfds = spawn
