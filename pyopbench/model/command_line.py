"""The options of the commands, each in one place: its name, type, default, help, panel, and how it is read.

The command line makes its parameters of them, `pyopbench.run` and the other functions for Python their docstrings. What
a handler is called with has the names and the units that Python has: `--budget 5m` is `budget_seconds=300.0`.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pyopbench.model import formatting
from pyopbench.model.arrangement import AUTOTUNE, STEP_ELEMENTS
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.model.errors import BadInput
from pyopbench.model.parse import parse_axes, parse_duration, parse_share, split_some

Function = TypeVar("Function", bound=Callable[..., Any])
MARK, WIDTH = "{options}", 112

OWN, WHAT, LENGTH, JUDGING = "Your own op", "What to measure", "How long to measure", "How to judge it"
"""Panels of options in --help, behind the one that has --help itself."""
USUAL_EFFECT = formatting.percent(MINIMUM_EFFECT)
REQUIREMENTS = ("savedmodel", "xla", "second_order", "distributed", "tflite", "gpu")
"""What a port may have to be able to do; `worker/require.py` tries all but `gpu`."""


@dataclass(frozen=True)
class Option:
    """An option of some commands, or an argument that is given by its place.

    Attributes:
        name: as handlers and Python have it.
        help: a line of --help.
        metavar: what stands for its value in --help.
        panel: of --help.
        type: what the command line gives: `str`, `int`, `float` or `bool`.
        default: as on the command line, which shows it.
        flags: on the command line; none for `--name`.
        is_repeated: may it be given several times? Then its value is a tuple.
        is_argument: is it given by its place? `is_required` says whether it has to be, as options too.
        is_required: has it to be given?
        least: of a number.
        completes: `ops` or `variants`, whose names a shell completes.
        read: what makes of it the value that Python has; None if it is that already.
        python: what the docstring of a function says of it.
    """

    name: str
    help: str
    metavar: str | None = None
    panel: str | None = None
    type: Any = str
    default: Any = None
    flags: tuple[str, ...] = ()
    is_repeated: bool = False
    is_argument: bool = False
    is_required: bool = False
    least: int | None = None
    completes: str = ""
    read: Callable[[Any], Any] | None = None
    python: str = ""

    def value_of(self, given: Any) -> Any:
        """Return what a handler is called with for what the command line gives.

        Raises:
            BadInput: it cannot be read; the value received begins with the option.
        """
        if given is None or (self.is_repeated and not given):
            return () if self.is_repeated else None
        try:
            value = given if self.read is None else self.read(given)
        except BadInput as error:
            if self.is_argument:
                raise
            raise error.with_received(f"{self.all_flags[0]} {error.received}") from error
        return tuple(value) if isinstance(value, list) else value

    @property
    def all_flags(self) -> tuple[str, ...]:
        """What the option is called on the command line."""
        return self.flags or (f"--{self.name.replace('_', '-')}",)


def _names(what: str) -> Callable[[Sequence[str]], tuple[str, ...]]:
    return partial(split_some, what)


def read_new_path(text: str) -> Path:
    """Return the path that is given for something to write; nothing is none, though Python takes it for this folder.

    Raises:
        BadInput: it is empty.
    """
    if not text:
        raise BadInput("the path is empty", received="''", hint="name a file or folder; . is the current folder")
    return Path(text)


def _paths(texts: Sequence[str]) -> list[Path]:
    return [Path(text) for text in texts]


def _seconds(milliseconds: float) -> float:
    return milliseconds / 1000


def _one_of(*legal: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in legal:
            raise BadInput("no such value", received=repr(text), legal=", ".join(legal), hint="choose one")
        return text

    return read


def read_numbers(option: str, text: str) -> tuple[int, ...]:
    """Return the whole numbers of a list, AUTOTUNE among them for `--parallel`; none for an empty text.

    Raises:
        BadInput: something else.
    """
    words = split_some(option, [text]) if text else ()
    if not all(word.isdecimal() or (word.upper() == "AUTOTUNE" and option == "--parallel") for word in words):
        raise BadInput(
            "not a list of numbers",
            received=repr(text),
            legal=f"whole numbers from 1{' and AUTOTUNE' if option == '--parallel' else ''}, separated by commas",
            hint="for example --parallel 1,4,AUTOTUNE --batch 1,32",
        )
    return tuple(dict.fromkeys(int(word) if word.isdecimal() else AUTOTUNE for word in words))


def out_option(metavar: str, help_text: str, **changes: Any) -> Option:
    """Return the option that names what is written."""
    return Option("out_path", help_text, metavar, flags=("--out",), read=read_new_path, **changes)


# What to measure.

OPS = Option(
    "ops",
    "Built-in names, my_op.py, my_module.py:function or package.module:function. Default: all.",
    "OP",
    is_argument=True,
    is_repeated=True,
    completes="ops",
)
ONE_OP = Option(
    "op",
    "A built-in name, my_op.py, my_module.py:function or package.module:function.",
    "OP",
    is_argument=True,
    is_required=True,
)
INPUTS = Option(
    "inputs",
    "An example of an argument of your function: Python with np and rng, or a .npy file. Repeat.",
    "EXPR",
    OWN,
    flags=("--input",),
    is_repeated=True,
)
SEED_WITH = Option(
    "seed_with",
    "Python to run before each call of a function that draws random numbers; may use {seed}.",
    "CODE",
    OWN,
    default="",
    python="a statement that runs before each call of a body that draws random numbers, such as "
    '`"np.random.seed({seed})"`.',
)
QUICK = Option(
    "quick",
    "Few sizes and launches: an answer in minutes.",
    panel=WHAT,
    type=bool,
    default=False,
    python="few sizes and launches: an answer in a minute for one op.",
)
VARIANTS = Option(
    "variants",
    "Only these variants (comma-separated or repeated).",
    "NAME",
    WHAT,
    flags=("--variant",),
    is_repeated=True,
    completes="variants",
    read=_names("variants"),
    python="names; all if empty.",
)
AXIS = Option(
    "axis",
    "size, dtype, device, mode, direction, gradient, threads: size=1e3,1e6, mode=call, device=cpu,gpu.",
    "NAME=A,B",
    WHAT,
    is_repeated=True,
    read=parse_axes,
)
TF = Option(
    "tf",
    "TensorFlow version, installed into its own environment. Repeat to compare versions.",
    "VERSION",
    WHAT,
    is_repeated=True,
    python='versions of TensorFlow to compare, such as `["2.16.2", "2.21.0"]`; each is installed into an '
    "environment of its own if it is missing. The one installed for this Python if empty.",
)
ONE_TF = replace(TF, help="TensorFlow version to use, installed into its own environment.", is_repeated=False)
WITH = Option(
    "packages",
    "Version of a package, such as numpy==1.26.4; several joined by commas. Repeat to compare.",
    "PACKAGE==VERSION",
    WHAT,
    flags=("--with",),
    is_repeated=True,
    python='versions of other packages to compare, such as `["numpy==1.26.4", "numpy==2.2.6"]`; several on one '
    "side are joined by a comma. Each is installed into an environment with the TensorFlow of `tf`.",
)
PYTHON = Option(
    "python",
    "Interpreter or version of Python for an environment of its own. Repeat to compare.",
    "PYTHON",
    WHAT,
    is_repeated=True,
    python='interpreters, or versions of Python, to compare, such as `["3.12", "/opt/python3.13t/bin/python"]`. One '
    "that has a TensorFlow is used as it is.",
)
REV = Option(
    "rev",
    "A commit, a range A..B or WORKTREE of your op's repository. Repeat to compare.",
    "REV",
    WHAT,
    is_repeated=True,
    python='revisions of the git repository that the op is in: commits, a range `"A..B"` or `"WORKTREE"`.',
)
SHARD = Option("shard", "Measure only shard I of N of the plan; `fleet merge` combines the shards.", "I/N", WHAT)

# How long to measure.

LAUNCHES = Option(
    "launches",
    "Maximum number of launches (worker processes). With --rev or --tf, a budget is the usual limit.",
    "N",
    LENGTH,
    int,
    least=2,
    python="maximum number of launches (worker processes), at least 2; None for the usual.",
)
BUDGET = Option(
    "budget_seconds",
    "Stop measuring after this time, e.g. 5m; at least two launches are run.",
    "TIME",
    LENGTH,
    flags=("--budget",),
    read=parse_duration,
    python="stop measuring after so many seconds; None for the usual.",
)
# How to judge it.

BASELINE = Option(
    "baseline",
    "Your callback today. Default: as in the op file, else numpy_function; built-in: py_function_numpy.",
    "NAME",
    JUDGING,
    python="the variant that is the current callback; None for the one that the op's file names, else "
    "`numpy_function`, and `py_function_numpy` for built-in ops.",
)
BASELINE_OF_RUN = replace(
    BASELINE,
    help="The callback to compare with. Default: that of the run.",
    python="the variant that is the current callback; None for that of the run.",
)
MIX = Option(
    "mix",
    "How often each size is called: a CSV with size and weight (or shape, dtype, weight).",
    "CSV",
    JUDGING,
    read=Path,
    python="how often each size is called: size -> weight, or the path of a CSV file; None for an even mix.",
)
MINIMUM_EFFECT_OPTION = Option(
    "minimum_effect",
    "Smallest difference that matters, e.g. 3% or 0.03.",
    "SHARE",
    JUDGING,
    default=USUAL_EFFECT,
    flags=("--min-effect",),
    read=parse_share,
    python="the smallest difference that matters, as a share: 0.03 is 3%.",
)
MINIMUM_EFFECT_OR_USUAL = replace(
    MINIMUM_EFFECT_OPTION,
    help=f"Smallest difference that matters. Default: {USUAL_EFFECT}, or a third of what --fail-on names if less.",
    default=None,
    python="the smallest difference that matters, as a share; None for 0.03, which is 3%, or for a third of "
    "what `fail_on` names.",
)
REQUIRES = Option(
    "requires",
    f"Only recommend what supports these: {', '.join(REQUIREMENTS)}.",
    "NAME",
    JUDGING,
    flags=("--require",),
    is_repeated=True,
    read=_names("requirement"),
    python="what a port has to be able to do: `savedmodel`, `xla`, `second_order`, ...",
)
FAIL_ON = Option(
    "fail_on",
    "Of several sides, which slowdown gives exit code 1: slower, slower:5% (by 5% or more) or never.",
    "WHEN",
    JUDGING,
    python="with several sides, what fails: `slower`, `slower:5%` or `never`; None for `slower` of revisions.",
)
RUN_SPREAD = Option(
    "run_spread",
    "Least difference assumed between separate runs of the same code.",
    "SHARE",
    default="3%",
    read=parse_share,
)

# Which results, and what is written.

RESULTS = Option(
    "results",
    "Folders of runs to pool, or one file of asv or pytest-benchmark.",
    "RESULTS",
    is_argument=True,
    is_repeated=True,
    is_required=True,
    read=_paths,
)
FOLDER = Option("folder", "The folder of an interrupted run.", "DIR", is_argument=True, is_required=True, read=Path)
AS_JSON = Option("as_json", "Print JSON instead of text.", type=bool, default=False, flags=("--json",))

# What the command line itself does; handlers are not called with these.

DEBUG = Option("debug", "Show the traceback of errors: pyopbench --debug COMMAND ...", type=bool, default=False)
VERSION = Option("version", "Print the version of pyopbench.", type=bool, default=False)
QUIET = Option("quiet", "Print results and errors only.", type=bool, default=False, flags=("--quiet", "-q"))
OF_THE_COMMAND_LINE = (QUIET,)

RUN = (
    OPS,
    INPUTS,
    SEED_WITH,
    QUICK,
    VARIANTS,
    AXIS,
    BASELINE,
    MINIMUM_EFFECT_OR_USUAL,
    LAUNCHES,
    BUDGET,
    REQUIRES,
    TF,
    WITH,
    PYTHON,
    REV,
    FAIL_ON,
    SHARD,
    Option(
        "listing",
        "List ops, variants and cases, and why a case is not supported.",
        panel=WHAT,
        type=bool,
        default=False,
        flags=("--list",),
    ),
    out_option("DIR", "New folder for the results. Default: results/DATE."),
    AS_JSON,
    QUIET,
)
PROGRAM = Option(
    "program",
    "Measure in your program's dataset. FUNCTION returns it, and exactly one map in it calls the op.",
    "FILE:FUNCTION",
    WHAT,
    default="",
    python="the function that makes the dataset in which the op is measured, as `FILE.py:FUNCTION`.",
)
RESUME = (
    FOLDER,
    Option("ops", "Your own ops of that run, named as before.", "OP_FILE", is_argument=True, is_repeated=True),
    INPUTS,
    SEED_WITH,
    PROGRAM,
    MIX,
    MINIMUM_EFFECT_OR_USUAL,
    REQUIRES,
    Option(
        "yes",
        "Install TensorFlow or check out the revisions of the run without asking.",
        type=bool,
        default=False,
        flags=("--yes", "-y"),
    ),
    FAIL_ON,
    AS_JSON,
    QUIET,
)
EXPORT = Option(
    "export",
    "Print latencies with intervals for a dashboard, as Bencher Metric Format: bmf.",
    "FORMAT",
    read=_one_of("bmf"),
)
REPORT = (
    RESULTS,
    BASELINE_OF_RUN,
    MIX,
    MINIMUM_EFFECT_OR_USUAL,
    REQUIRES,
    out_option("DIR", "Folder for the report. Default: the first folder, or results/report-NAME for a file."),
    FAIL_ON,
    EXPORT,
    AS_JSON,
    QUIET,
)
VERIFY = (
    OPS,
    INPUTS,
    SEED_WITH,
    VARIANTS,
    AXIS,
    Option("batch", "Check forms that take N examples at once against a loop over examples.", "N", type=int, least=1),
    replace(REQUIRES, help=f"Try also whether variants support these: {', '.join(REQUIREMENTS[:-1])}.", panel=None),
    ONE_TF,
    AS_JSON,
)
PIPELINE = (
    ONE_OP,
    INPUTS,
    SEED_WITH,
    PROGRAM,
    Option(
        "size",
        "Size of one element. Default: a middle size of the op.",
        "N",
        WHAT,
        int,
        python="of one element of a built-in op; None for a middle one.",
    ),
    Option(
        "dtype",
        "float32 or float64. Default: the first of the op.",
        "NAME",
        WHAT,
        python="`float32` or `float64`; None for the first of the op.",
    ),
    Option(
        "parallel",
        "Values of num_parallel_calls to try. Default: 1, the cores, AUTOTUNE.",
        "N,N",
        WHAT,
        default="",
        read=partial(read_numbers, "--parallel"),
        python="values of `num_parallel_calls` to try, -1 for `tf.data.AUTOTUNE`; 1, the cores and AUTOTUNE if empty.",
    ),
    Option(
        "batch",
        "Batch sizes to try where the callback gets a batch.",
        "N,N",
        WHAT,
        default="1,32,256",
        read=partial(read_numbers, "--batch"),
        python="batch sizes to try where the callback gets a batch.",
    ),
    replace(BASELINE, python="the variant that is the current callback; None as for `run`."),
    Option(
        "step_seconds",
        "How long a training step takes if its input is ready.",
        "MS",
        JUDGING,
        float,
        flags=("--step-ms",),
        read=_seconds,
        python="how long a training step takes if its input is ready, so without waits for it, in seconds.",
    ),
    Option(
        "step_elements",
        "Elements per training step.",
        "N",
        JUDGING,
        int,
        STEP_ELEMENTS,
        least=1,
        python="elements of a training step.",
    ),
    MINIMUM_EFFECT_OPTION,
    replace(
        LAUNCHES,
        help="Maximum number of launches (worker processes). Default: up to 8, as time allows.",
        least=1,
        python="maximum number of launches (worker processes); None for up to 8, as time allows.",
    ),
    replace(
        BUDGET,
        help="Stop measuring after this time, e.g. 3m.",
        python="stop measuring after so many seconds; None for 75.",
    ),
    out_option("DIR", "New folder for the results. Default: results/DATE."),
    AS_JSON,
    QUIET,
)
PORT = (
    replace(ONE_OP, help="my_op.py, my_module.py:function or package.module:function."),
    Option("to", "Variant to write: traced or numba_op; docs/port.md lists all.", "VARIANT", is_required=True),
    out_option("FILE", "The new file, e.g. ported.py; its test goes to test_ported.py.", is_required=True),
    INPUTS,
    SEED_WITH,
    Option(
        "test_timeout_seconds",
        "Time limit of the written test.",
        "TIME",
        default="10m",
        flags=("--test-timeout",),
        read=parse_duration,
    ),
    QUIET,
)
COMPARE = (
    Option(
        "words",
        "Two results, or one result and two labels of --axis.",
        "A B",
        is_argument=True,
        is_repeated=True,
        is_required=True,
    ),
    Option("axis", "What A and B differ in: run, side, commit, tf or variant.", "NAME", default="run"),
    replace(
        FAIL_ON,
        help="Which slowdown gives exit code 1: slower, slower:5% (by 5% or more) or never.",
        panel=None,
        default="slower",
    ),
    replace(MINIMUM_EFFECT_OPTION, help="Smallest difference that matters.", panel=None),
    RUN_SPREAD,
    AS_JSON,
    Option("markdown", "Also write Markdown; - prints it.", "FILE"),
)
HISTORY = (
    replace(RESULTS, help="Folders of runs or of asv results, and files of pytest-benchmark."),
    Option(
        "by",
        "commit, tf or date. Default: what the results differ in.",
        "NAME",
        read=_one_of("commit", "tf", "date"),
    ),
    replace(MINIMUM_EFFECT_OPTION, help="Smallest change to list, e.g. 3% or 0.03.", panel=None),
    out_option("DIR", "Folder for history.html, .md and .json.", default="results/history"),
    AS_JSON,
    QUIET,
)
SCAN = (
    Option(
        "paths",
        "Python files, notebooks or folders.",
        "PATH",
        is_argument=True,
        is_repeated=True,
        read=_paths,
    ),
    Option("sarif", "Also write the callbacks as SARIF 2.1.0, for code scanning.", "FILE", read=Path),
    Option("baseline", "SARIF file of an earlier scan to compare with.", "FILE", read=Path),
    replace(
        FAIL_ON,
        help="new: exit code 1 if a callback is not in --baseline. Default: never.",
        read=_one_of("new", "never"),
    ),
    AS_JSON,
)
COMMAND = Option(
    "command", "The program to run, e.g. -- python train.py.", "-- COMMAND...", is_argument=True, is_repeated=True
)
RECORD = (
    COMMAND,
    out_option("FILE", "The recording. Default: recording-DATE.json."),
)
ADVISE = (
    COMMAND,
    out_option("DIR", "Folder for all results; recordings in it are used again. Default: advice-DATE."),
    Option("steps", "End each run of the program after N elements (batches) of its input.", "N", type=int, least=1),
    Option("seconds", "End each run of the program after this time, e.g. 40s.", "TIME", read=parse_duration),
    replace(BUDGET, help="Stop after about this time, e.g. 5m. Default: 8m.", panel=None),
    replace(MINIMUM_EFFECT_OPTION, help="Smallest share of a step that is worth a change.", panel=None),
    Option(
        "check",
        "Only record; fail if a callback is not in that report.json, or had been ported.",
        "FILE",
        read=Path,
    ),
    Option("apply", "Apply the change to your files, after asking.", type=bool, default=False, flags=("--apply",)),
)
PLACEMENT = (
    OPS,
    INPUTS,
    SEED_WITH,
    Option("device", "simulated, or gpu if TensorFlow sees one.", "NAME", default="simulated"),
    VARIANTS,
    Option("times", "Also time copies between host and GPU, by size.", type=bool, default=False, flags=("--time",)),
    ONE_TF,
    AS_JSON,
    out_option("FILE", "Save as JSON."),
)
CERTIFY = (
    Option(
        "quick",
        "Fewer pairs: 4 minutes instead of 50.",
        type=bool,
        default=False,
    ),
    out_option("DIR", "New folder for the results."),
    AS_JSON,
)
DOCTOR = (AS_JSON, QUIET)
# A fleet.

FLEET_RUN = (
    Option("scheduler", "The Dask scheduler, e.g. tls://host:8786.", "ADDRESS", is_required=True),
    Option("shards", "Number of shards of the plan. Default: one per worker.", "N", type=int, least=1),
    out_option("DIR", "New folder for the shards and the merged run."),
    QUIET,
)
FLEET_MERGE = (
    Option(
        "shards",
        "Folders of pyopbench run --shard I/N, all of one plan.",
        "SHARD",
        is_argument=True,
        is_repeated=True,
        is_required=True,
        read=_paths,
    ),
    out_option("DIR", "New folder for the whole run.", is_required=True),
    QUIET,
)


def describe_arguments(options: Sequence[Option]) -> Callable[[Function], Function]:
    """Put what the options say into the docstring of a function for Python, in place of the line `{options}`.

    Args:
        options: of the command; an argument that the docstring describes itself, or that the function lacks, is left
            out.
    """

    def describe(function: Function) -> Function:
        before, mark, after = (function.__doc__ or "").partition(MARK)
        known = inspect.signature(function).parameters
        lines = []
        for one in options:
            if one.python and one.name in known and f"        {one.name}: " not in before + after:
                first, *rest = f"{one.name}: {one.python}".splitlines()
                lines += textwrap.wrap(
                    " ".join([first, *rest]), WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 12
                )
        if mark:
            function.__doc__ = before + "\n".join(lines).lstrip() + after
        return function

    return describe
