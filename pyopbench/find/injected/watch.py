"""Watches a program from inside: its progress, its losses and weights; and ends it after so many steps or seconds.

Standard library only, like `recorder.py`.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Mapping
from numbers import Integral
from pathlib import Path
from typing import Any

SAMPLE_SECONDS = 0.1
MOST_SAMPLES = 20_000
MOST_LOSSES = 50
"""Number of batches whose losses are kept: reading a loss waits for the step, so it is not done for all."""

START_SECONDS = 60.0
"""If a program has no element or callback by then, its time counts from then on: it may never have any."""

WEIGHTS_BYTES = 256 * 1024**2
"""Most bytes of the variables that are kept alive until the end, so that their values can be read."""

LISTS = "keras.src.callbacks.callback_list"
VARIABLES = "tensorflow.python.ops.resource_variable_ops"


class Watch:
    """What this process has done so far.

    Args:
        folder: where it is written.
        asked: `steps`, and `seconds` from the first element or callback on, after which the program is ended, or None;
            `seed` for the generators at the start; and `shift`, which is added to the seeds that the program sets.
        progress: returns how many elements were taken from iterators.
        clock: in seconds.
    """

    def __init__(
        self,
        folder: Path,
        asked: Mapping[str, Any],
        progress: Callable[[], float],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.folder, self.asked, self.progress, self.clock = folder, asked, progress, clock
        self.begun = clock()
        self.started: float | None = None
        self.samples: list[tuple[float, float]] = []
        self.seen = 0.0  # when the progress was last asked for
        self.losses: list[dict[str, float]] = []
        self.variables: list[Any] = []
        self.variable_bytes = 0
        self.ended = ""

    def seed(self, context: Any) -> None:
        """Seed Python, NumPy and TensorFlow; the program may seed them again later."""
        import numpy as np

        random.seed(self.asked["seed"])
        np.random.seed(self.asked["seed"])  # noqa: NPY002 - the program's own
        context.set_global_seed(self.asked["seed"])
        if self.asked.get("shift"):
            random.seed = self._shifted(random.seed)
            np.random.seed = self._shifted(np.random.seed)
            context.set_global_seed = self._shifted(context.set_global_seed)  # tf.random.set_seed looks it up there

    def _shifted(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that seeds as the original one, with `shift` added to whole numbers and texts."""

        def other(value: Any) -> Any:
            if isinstance(value, str):
                return f"{value} {self.asked['shift']}"
            return (int(value) + self.asked["shift"]) % 2**32 if isinstance(value, Integral) else value

        def seed(*arguments: Any, **named: Any) -> Any:
            return original(*map(other, arguments), **{name: other(value) for name, value in named.items()})

        return seed

    def watch_losses(self, module: Any) -> None:
        """Record what Keras reports after its first batches and after each epoch."""
        lists = module.CallbackList
        for name in ("on_train_batch_end", "on_epoch_end", "on_test_end"):
            setattr(lists, name, self._noting(name, getattr(lists, name)))

    def watch_weights(self, module: Any) -> None:
        """Keep the variables that are trained."""
        variable = module.BaseResourceVariable
        original = variable.__init__

        def init(this: Any, *arguments: Any, **named: Any) -> None:
            original(this, *arguments, **named)
            try:
                if this.trainable and this.dtype.is_floating and this.shape.is_fully_defined():
                    size = this.shape.num_elements() * this.dtype.size
                    if self.variable_bytes + size <= WEIGHTS_BYTES:
                        self.variable_bytes += size
                        self.variables.append(this)
            except Exception:  # noqa: BLE001 - a variable of another kind is not watched
                return

        variable.__init__ = init

    def _noting(self, name: str, original: Any) -> Any:
        def noting(this: Any, *arguments: Any, **named: Any) -> Any:
            logs = named.get("logs", arguments[-1] if arguments else None)
            if isinstance(logs, Mapping) and (name != "on_train_batch_end" or len(self.losses) < MOST_LOSSES):
                try:
                    found = {f"{name[3:-4]} {key}": float(value) for key, value in logs.items()}
                except Exception:  # noqa: BLE001 - something that is no number
                    found = {}
                self.losses.append(found)
            return original(this, *arguments, **named)

        return noting

    def sample(self, *, has_called: bool = False) -> bool:
        """Record the progress, and return whether to end the program; `has_called`: was any callback called?"""
        now, done = self.clock() - self.begun, self.progress()
        if len(self.samples) < MOST_SAMPLES and (not self.samples or done != self.samples[-1][1]):
            if len(self.samples) == 1 and self.seen > self.samples[0][0]:  # none was taken until then
                self.samples.append((self.seen, self.samples[0][1]))
            self.samples.append((now, done))
        self.seen = now
        if self.started is None and (done or has_called or now >= START_SECONDS):
            self.started = now  # importing and tracing do not count
        steps, seconds = self.asked.get("steps"), self.asked.get("seconds")
        if steps is not None and done >= steps:
            self.ended = "steps"
        elif seconds is not None and self.started is not None and now - self.started >= seconds:
            self.ended = "seconds"
        return bool(self.ended)

    def save(self, *, is_last: bool = False) -> None:
        """Write what was recorded, atomically; the values of variables, which take long to read, at the end alone."""
        path = self.folder / f"{os.getpid()}.watch"
        self.sample()
        content = {
            "samples": self.samples,
            "losses": self.losses,
            "weights": self._weights() if is_last else [],
            "ended": self.ended,
        }
        try:
            scratch = path.with_suffix(".scratch")
            scratch.write_text(json.dumps(content), encoding="utf-8")
            scratch.replace(path)
        except (OSError, ValueError):
            return

    def _weights(self) -> list[list[float]]:
        """Return the mean and root mean square of each variable, in the order of their creation."""
        import numpy as np

        found = []
        for one in self.variables:
            try:
                values = np.asarray(one.numpy(), np.float64)
            except Exception:  # noqa: BLE001 - it is gone, or was never initialised
                continue
            if values.size:
                found.append([float(values.mean()), float(np.sqrt(np.mean(values**2)))])
        return found
