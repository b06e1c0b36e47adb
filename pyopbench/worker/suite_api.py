"""What the benchmark suites of asv and pytest-benchmark import of pyopbench, and a promise that it stays.

asv runs the suite of the working tree against the packages of other commits, so a suite can use only what all of those
commits have. The suites in `benchmarks/` therefore import this module and nothing else of pyopbench. Its place, its
names and what they mean stay as they are. A name may be added; what uses it is skipped for commits that lack it.
Importing this module imports TensorFlow.

Cases, and what there is to measure:

- `Case`: one thing to measure: op, variant, gradient, direction, mode, dtype, size and device. `case.id` is its text,
  and `Case.from_id` reads that.
- `DIRECTIONS`: the names of the directions.
- `Op`, `Body`: an op with its bodies, and the type of a body. An `Op` has `name`, `sizes` and `quick_sizes`.
- `load_op`, `load_ops`: one op by name, or all by name. `load_variant`, `load_variants`: the same of variants. A
  variant has `body`, `kind` and `build`.
- `make_inputs`: the arrays that an op is called with, for a size and a dtype.
- `Axes`, `make_plan`: which ops, variants, directions and sizes to cover; the plan has `cases`, and `skips` with their
  reasons.
- `require_known`: refuses an unknown name, with the nearest known ones.

Preparing and timing:

- `prepare`: builds, checks and warms a case, and returns it `Prepared`: callable, with its `segments` (callables
  without arguments: forward, or forward and backward) and `timed`, the positions of those whose seconds count.
- `measure_timer`: what reading a clock costs. `calibrate`: how many calls make a block of some seconds (`calls`,
  `call_seconds`). `measure_block`: the seconds of each segment in one block of calls.

- `prepare_in_graph`: the same of a case of mode node: an empty graph, and a graph of `copies` of the op, to be timed in
  turns; what an op costs inside a graph is the difference over `copies`.

Counting what is copied between host and device:

- `copies_on_route`: copies of one call, by where its inputs are and where its result is used. Nothing can be timed any
  more in a process that has counted on the simulated device.

The pieces of a callback, to count what crosses it:

- `constants`: arrays as tensors. `wrap`: a body as a mode has it called. `as_tuple`, `one_or_tuple`: results as a
  tuple, and back. `unaligned`: a copy of an array that begins where NumPy's usually do.

Around it:

- `machine`, `software`, `__version__`: what a run stores of the machine, of the software, and pyopbench's version.
- `Unsupported`: raised by `prepare` for a case that is not supported. `BadInput`: raised for what a user has typed
  wrong. `describe_error`: an error in a line.
- `parse_size`, `split_some`: read a size, and lists that are separated by commas.
"""

from __future__ import annotations

from pyopbench import __version__
from pyopbench.model.case import DIRECTIONS, Axes, Case
from pyopbench.model.discover import require_known
from pyopbench.model.errors import BadInput, Unsupported, describe_error
from pyopbench.model.machine import describe as machine
from pyopbench.model.op import Body, Op
from pyopbench.model.parse import parse_size, split_some
from pyopbench.ops.alignment import unaligned
from pyopbench.ops.load import load_op, load_ops, load_variant, load_variants, make_inputs
from pyopbench.ports.arrays import as_tuple, one_or_tuple
from pyopbench.worker.copies import copies_on_route
from pyopbench.worker.environment import software
from pyopbench.worker.plan import make_plan
from pyopbench.worker.prepare.prepare import Prepared, prepare, prepare_in_graph
from pyopbench.worker.prepare.segments import constants, wrap
from pyopbench.worker.sampling import calibrate, measure_block, measure_timer

__all__ = [
    "DIRECTIONS",
    "Axes",
    "BadInput",
    "Body",
    "Case",
    "Op",
    "Prepared",
    "Unsupported",
    "__version__",
    "as_tuple",
    "calibrate",
    "constants",
    "copies_on_route",
    "describe_error",
    "load_op",
    "load_ops",
    "load_variant",
    "load_variants",
    "machine",
    "make_inputs",
    "make_plan",
    "measure_block",
    "measure_timer",
    "one_or_tuple",
    "parse_size",
    "prepare",
    "prepare_in_graph",
    "require_known",
    "software",
    "split_some",
    "unaligned",
    "wrap",
]
