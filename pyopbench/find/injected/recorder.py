"""Counts the callbacks of a program from inside of it; needs only its neighbours and the standard library.

TensorFlow's public functions are wrapped when it is imported, and so is every function that they are called with: each
call adds one to the count of its site, and its duration to the site's seconds. Sites are the lines that make callbacks.

How long the program waits for the next element of its `tf.data` iterators is measured too, except under a distribution
strategy, whose iterators are made otherwise, and in graphs of TensorFlow 1.
"""

from __future__ import annotations

import atexit
import functools
import importlib.machinery
import itertools
import json
import math
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from pyopbench.find.injected.keeper import Keeper, describe_call
from pyopbench.find.injected.tallies import (
    GENERATED,
    MARK,
    Event,
    Site,
    Tally,
    add,
    describe_arrays,
    describe_nothing,
    describe_tensors,
    name_of,
)
from pyopbench.find.injected.watch import LISTS, SAMPLE_SECONDS, VARIABLES, Watch

ITERATOR_OPS = "tensorflow.python.data.ops.iterator_ops"
"""Where TensorFlow 2 defines the iterator of eager code and of `tf.function`, `OwnedIterator`."""

DATASET_OPS = os.path.join("data", "ops", "dataset_ops.py")
"""Where TensorFlow 2 defines `Dataset.map`."""

METHODS = ("_next_internal", "get_next_as_optional")
"""By which an element is taken: `next`, `get_next` and Keras call the first, a `for` loop in a graph the second."""

INPUT_GRAPHS = ("Dataset", "tf_data_")
"""How the names of the functions of a pipeline begin (tensorflow/python/data/ops/structured_function.py)."""


class GraphTimer:
    """Times calls in graphs: two ops read TensorFlow's clock, and a variable adds up what lies between.

    Unlike what Python sees, this includes TensorFlow's C++ code and waiting for the GIL.

    Attributes:
        variables: of each key that calls are counted by: how many, and their seconds.
        trouble: why calls are not timed, in the words of Python; empty if they are.
    """

    def __init__(self) -> None:
        self.variables: dict[Any, Any] = {}
        self.totals: dict[Any, list[float]] = {}
        self.trouble = ""
        self.lock = threading.RLock()

    def call(
        self, key: Any, inputs: Any, original: Callable[..., Any], arguments: Any, named: Mapping[str, Any]
    ) -> Any:
        """Call the original between two readings of the clock, once its inputs are ready; without them if they fail."""
        import tensorflow as tf

        def tensors_in(value: Any) -> list[Any]:
            return [one for one in tf.nest.flatten(value, expand_composites=True) if tf.is_tensor(one)]

        try:
            variable = self._variable(key)
            with tf.control_dependencies(tensors_in(inputs)):
                start = tf.timestamp()
        except Exception as error:  # noqa: BLE001 - the program goes on, whatever this stumbles over
            self.trouble = repr(error)
            return original(*arguments, **named)
        with tf.control_dependencies([start]):
            result = original(*arguments, **named)
        with tf.device("CPU:0"), tf.control_dependencies(tensors_in(result)):
            variable.assign_add(tf.stack([tf.ones((), tf.float64), tf.timestamp() - start]))
        return result

    def total(self, key: Any) -> list[float] | None:
        """Return the calls of a key and their seconds, as far as they could be read; None if there are none."""
        if key in self.variables:
            try:
                self.totals[key] = self.variables[key].numpy().tolist()
            except Exception as error:  # noqa: BLE001 - TensorFlow has ended before Python
                self.trouble = self.trouble or repr(error)
        return self.totals.get(key)

    def _variable(self, key: Any) -> Any:
        import tensorflow as tf

        with self.lock, tf.init_scope():
            if not tf.executing_eagerly():
                raise RuntimeError("a graph of TensorFlow 1")
            if key not in self.variables:
                with tf.device("CPU:0"):
                    self.variables[key] = tf.Variable(tf.zeros(2, tf.float64), trainable=False)
            return self.variables[key]


class InputWaits:
    """How many elements this process took from its iterators, and how long it waited for them."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.reset()

    def reset(self) -> None:
        """Begin from zero, as a forked process has to; TensorFlow does not work in one, nor do its variables."""
        self.lock = threading.RLock()
        self.eager = [0, 0.0]
        self.timer = GraphTimer()

    def install(self, iterator_ops: Any) -> None:
        """Wrap the methods of TensorFlow's iterator."""
        iterator = iterator_ops.OwnedIterator
        for name in METHODS:
            setattr(iterator, name, self._wrap(getattr(iterator, name), iterator_ops.context))

    def as_dict(self) -> dict[str, float]:
        """Return the elements that were taken and the seconds that they were waited for, as plain data."""
        with self.lock:
            elements, seconds = self.timer.total(ITERATOR_OPS) or (0, 0.0)
            return {"elements": int(self.eager[0] + elements), "seconds": self.eager[1] + seconds}

    def _wrap(self, original: Callable[..., Any], context: Any) -> Callable[..., Any]:
        clock = self.clock

        @functools.wraps(original)
        def wrapper(iterator: Any, *arguments: Any, **named: Any) -> Any:
            if not context.executing_eagerly():
                return self.timer.call(ITERATOR_OPS, (), original, (iterator, *arguments), named)
            start = clock()
            taken = 0
            try:
                found = original(iterator, *arguments, **named)
                taken = 1
            finally:
                seconds = clock() - start
                with self.lock:
                    self.eager[0] += taken
                    self.eager[1] += seconds
            return found

        return wrapper


LIBRARIES = ("tensorflow", "keras", "tf_keras")
"""Packages whose frames may lie between a program and its callbacks."""


def _package_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__package__") or "")


def _end_of_call(frame: FrameType) -> tuple[int, int] | None:
    """Return the line and the column (in bytes) where the current call of a frame ends; None before Python 3.11."""
    if sys.version_info < (3, 11):
        return None
    _, line, _, column = next(itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
    return None if line is None or column is None else (line, column)


def is_in_input(graph: Any) -> bool:
    """Whether a graph, or one that it is built within, is a function of a `tf.data` pipeline."""
    while graph is not None:
        if str(getattr(graph, "name", "")).startswith(INPUT_GRAPHS):
            return True
        graph = getattr(graph, "outer_graph", None)
    return False


SAVE_SECONDS = 2.0
"""How much of a process that is killed is lost at the most."""
ADD_UP_SECONDS = 0.2
"""How long calls lie unadded at the most: some hundred bytes each, of some ten thousand calls a second."""

HELD = "pyopbench_counted"
"""Attribute of a program's function: its site and the counted one."""


class Recorder:
    """The counts of this process.

    Attributes:
        keeper: keeps real inputs and sources of callbacks; None where that is not asked for.
        watch: watches the program; None likewise.
        counts: are callbacks counted? Otherwise they are as the program has them.
    """

    def __init__(
        self,
        folder: Path,
        clock: Callable[[], float] = time.perf_counter,
        asked: Mapping[str, Any] | None = None,
    ) -> None:
        asked = asked or {}
        self.keeper = Keeper(asked["keep_bytes"], asked["package"]) if asked.get("keep_bytes") else None
        self.watch = Watch(folder, asked, lambda: self.waits.as_dict()["elements"], clock) if asked else None
        self.counts = asked.get("counts", True)
        self.flights = GraphTimer() if asked.get("flights") else None
        self.folder = folder
        self.clock = clock
        self.sites: dict[Any, Site] = {}
        self.known: dict[tuple[int, int, str, bool], tuple[CodeType, Site]] = {}
        self.script_ops: Any = None
        self.inner: tuple[str, ...] = (__file__,)
        self.waits = InputWaits(clock)
        # A call only leaves word here, which takes no lock; a thread adds up what lies here, many at a time.
        self.events: deque[Event] = deque()
        self._renew()

    def _renew(self) -> None:
        self.lock = threading.RLock()  # a signal's handler may save while the same thread counts
        self.called: list[float] | None = None  # when the first call began and the last one ended
        self.trouble, self.flights = "", self.flights and GraphTimer()
        self.saved_calls = 0
        self.name = f"{os.getpid()}-{time.time_ns()}.json"
        self.waits.reset()
        self.events.clear()
        for site in self.sites.values():
            site.reset()

    def install(self, script_ops: Any) -> None:
        """Wrap TensorFlow's callback functions in their module, before anything has taken them from there."""
        self.script_ops = script_ops
        if self.counts:
            self._wrap_all(script_ops)
        atexit.register(self.save_all)
        self._save_before_exit()
        os.register_at_fork(after_in_child=self._after_fork)
        self._start_saving()

    def _wrap_all(self, script_ops: Any) -> None:
        package = Path(script_ops.__file__).parents[2]
        self.inner += tuple(f"{package.parent / name}{os.sep}" for name in {package.name, *LIBRARIES})
        for name, kind in (
            ("eager_py_func", "py_function"),
            ("numpy_function", "numpy_function"),
            ("py_func_common", "py_func"),  # what py_func and numpy_function call; the latter is marked by then
        ):
            setattr(script_ops, name, self._wrap_public(getattr(script_ops, name), kind))
        script_ops._internal_py_func = self._wrap_gradients(script_ops._internal_py_func)

    def refuse(self, trouble: str) -> None:
        """Leave word that this process cannot be recorded, and why."""
        self.trouble = trouble
        self.saved_calls = -1
        self.save()

    def count(self, function: Callable[..., Any], tally: Tally, site: Site | None, kind: str) -> Callable[..., Any]:
        """Return a function that does the same and is counted; with a site also its shapes, after the clock's stop."""
        clock, note = self.clock, self.events.append
        describe = describe_nothing if site is None else describe_tensors if kind == "py_function" else describe_arrays
        keeper = self.keeper if site is not None else None

        def counted(*arguments: Any) -> Any:
            inputs = None if keeper is None or site is None else keeper.inputs_of(site, arguments)
            start = clock()
            try:
                result = function(*arguments)
            except BaseException:
                note((tally, site, describe(arguments), start, clock(), True))
                raise
            end = clock()
            note((tally, site, describe(arguments), start, end, False))
            if keeper is not None and site is not None and inputs is not None:
                keeper.keep(site, inputs, result)
            return result

        setattr(counted, MARK, tally)
        return counted

    def add_up(self) -> None:
        """Add to the tallies what calls have left word of."""
        # Each call is paid for here too, though in another thread: nothing is looked up twice.
        with self.lock:
            take = self.events.popleft
            first, last = self.called or (math.inf, -math.inf)
            for _ in range(len(self.events)):
                event = take()
                add(event)
                if event[3] < first:
                    first = event[3]
                if event[4] > last:
                    last = event[4]
            if last >= first:
                self.called = [first, last]

    def _wrap_public(self, original: Callable[..., Any], kind: str) -> Callable[..., Any]:
        frame_of = sys._getframe

        @functools.wraps(original)
        def wrapper(*arguments: Any, **named: Any) -> Any:
            function = arguments[0] if arguments else named.get("func")
            if not callable(function) or hasattr(function, MARK):
                return original(*arguments, **named)
            try:
                frame = frame_of(1)
                eager = self.script_ops.context.executing_eagerly()
                site = self._site(kind, function, frame, eager=eager)
                held = getattr(function, HELD, None)
                counted = held[1] if held is not None and held[0] is site else self._counted(function, site, kind)
                if self.keeper is not None:
                    call = self._describe_call(arguments, named, frame)
                    if site.in_input:
                        call["stage"] = self._stage(frame)
                    self.keeper.called_with(site, function, call)
            except Exception as error:  # noqa: BLE001 - the program goes on, whatever recording stumbles over
                self.trouble = repr(error)
                return original(*arguments, **named)
            if arguments:
                arguments = (counted, *arguments[1:])
            else:
                named["func"] = counted
            if eager or self.flights is None:
                return original(*arguments, **named)
            inputs = named.get("inp", arguments[1] if len(arguments) > 1 else ())
            return self.flights.call(site.key, inputs, original, arguments, named)

        return wrapper

    def _describe_call(self, arguments: tuple[Any, ...], named: Mapping[str, Any], frame: FrameType) -> dict[str, Any]:
        given = dict(zip(("func", "inp", "Tout"), arguments, strict=False)) | dict(named)
        caller = self._caller(frame)
        while caller.f_back is not None and _package_of(caller).partition(".")[0] in LIBRARIES:
            # AutoGraph's copy of TensorFlow's decorator is in a file of its own, outside of TensorFlow's folder.
            caller = self._caller(caller.f_back)
        package, as_dtype = _package_of(caller), self.script_ops.dtypes.as_dtype
        return describe_call(given.get("inp"), given.get("Tout"), caller.f_code, package, as_dtype)

    def _stage(self, frame: FrameType | None) -> dict[str, Any] | None:
        """Return the call of `Dataset.map` whose function makes a callback; None if the callback is made elsewhere.

        TensorFlow traces the function while `map` is called, so the program's line is above it on the stack.
        """
        while frame is not None:
            given = frame.f_locals if frame.f_code.co_filename.endswith(DATASET_OPS) else {}
            if frame.f_code.co_name == "map" and "map_func" in given:
                caller = self._caller(frame)
                if GENERATED in caller.f_code.co_filename:
                    return None
                calls = given.get("num_parallel_calls")
                return {
                    "file": caller.f_code.co_filename,
                    "line": caller.f_lineno,
                    "parallel": 1 if calls is None else int(calls),
                    "end": _end_of_call(caller),
                }
            frame = frame.f_back
        return None

    def _counted(self, function: Any, site: Site, kind: str) -> Callable[..., Any]:
        """Return a new counted function of a site, which lives as long as the program's own.

        TensorFlow holds callbacks by weak references and binds their lives to the function that it was given
        (script_ops.py, `_internal_py_func`, b/144286616). It also keeps what each eager call of py_function hands it,
        so that a new function for each call would pile up.
        """
        counted = self.count(function, site.forward, site, kind)
        if isinstance(function, FunctionType):
            setattr(function, HELD, (site, counted))
        return counted

    def _wrap_gradients(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Count the gradient of py_function, a callback that TensorFlow makes itself with `_internal_py_func`."""

        @functools.wraps(original)
        def wrapper(*arguments: Any, **named: Any) -> Any:
            site = self._site_of_gradient(named["func"]) if named.get("is_grad_func") else None
            if site is None:
                return original(*arguments, **named)
            named["func"] = self.count(named["func"], site.gradient, None, "py_function")
            if self.flights is None or self.script_ops.context.executing_eagerly():
                return original(*arguments, **named)
            return self.flights.call(site.key, named["inp"], original, arguments, named)

        return wrapper

    def _site_of_gradient(self, function: Any) -> Site | None:
        """Return the site whose gradient a function is, by the token that it holds (`_EagerPyFuncGrad`)."""
        try:
            held = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
            token = held["token"].cell_contents if "token" in held else b""
            forward = self.script_ops._py_funcs.get(token.decode() if isinstance(token, bytes) else token)
        except Exception as error:  # noqa: BLE001 - another TensorFlow may make it otherwise
            self.trouble = repr(error)
            return None
        tally = getattr(getattr(forward, "_func", forward), MARK, None)
        return next((site for site in self.sites.values() if site.forward is tally), None)

    def _site(self, kind: str, function: Any, frame: FrameType, *, eager: bool) -> Site:
        # A line's number takes long to find out, and so does a code's hash.
        quick = (id(frame.f_code), frame.f_lasti, kind, eager)
        known = self.known.get(quick)
        if known is not None and known[0] is frame.f_code:
            return known[1]
        caller = self._caller(frame)
        if caller is not frame:  # TensorFlow or Keras called, each time for another program's line
            return self._site(kind, function, caller, eager=eager)
        key = (*self._place(frame), kind, "eager" if eager else "graph")
        in_input = not eager and is_in_input(self.script_ops.ops.get_default_graph())
        with self.lock:
            site = self.sites.setdefault(key, Site(key, name_of(function), in_input=in_input))
        self.known[quick] = frame.f_code, site
        return site

    def _caller(self, frame: FrameType) -> FrameType:
        """Return the nearest frame that is neither TensorFlow's nor Keras', or the outermost one."""
        while frame.f_back is not None and frame.f_code.co_filename.startswith(self.inner):
            frame = frame.f_back
        return frame

    def _place(self, frame: FrameType) -> tuple[str, int, str]:
        """Return file, line and function of a frame, or of what AutoGraph has made it from."""
        if GENERATED not in frame.f_code.co_filename:
            code = frame.f_code
            return code.co_filename, frame.f_lineno, getattr(code, "co_qualname", code.co_name)  # from Python 3.11 on
        from tensorflow.python.util import tf_stack  # knows which line AutoGraph made each of its lines from

        for entry in reversed(list(tf_stack.extract_stack())):
            if GENERATED not in entry.filename and not entry.filename.startswith(self.inner):
                return entry.filename, entry.lineno, entry.name
        return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name

    def save(self) -> None:
        """Write the counts of this process, whole or not at all; the program does not fail for it."""
        waits = self.waits.as_dict()
        self.add_up()
        with self.lock:
            if self.watch is not None:
                self.watch.save()
            calls = sum(site.forward.calls + site.gradient.calls for site in self.sites.values())
            if calls + waits["elements"] == self.saved_calls and not self.trouble:
                return
            content = self._as_dict() | {"waits": waits}
            path = self.folder / self.name
            try:
                scratch = path.with_suffix(".part")
                scratch.write_text(json.dumps(content), encoding="utf-8")
                scratch.replace(path)
            except OSError:
                return
            self.saved_calls = calls + int(waits["elements"])

    def _as_dict(self) -> dict[str, Any]:
        return {
            "called": self.called,
            "trouble": self.trouble or self.waits.timer.trouble,
            "sites": [site.as_dict(self._name_of_dtype) | self._flight(site) for site in self.sites.values()],
        }

    def _flight(self, site: Site) -> dict[str, Any]:
        if self.flights is None or self.flights.trouble:
            return {}
        total = self.flights.total(site.key)
        return {} if total is None else {"flight_seconds": total[1]}

    def _name_of_dtype(self, dtype: Any) -> str:
        """Return the name of a dtype, which is TensorFlow's number for it in keys of tensors."""
        return str(self.script_ops.dtypes.as_dtype(dtype).name if isinstance(dtype, int) else dtype)

    def save_all(self) -> None:
        """Write the counts, and what was kept."""
        self.save()
        if self.watch is not None:
            with self.lock:  # two threads may come here at the end
                self.watch.save(is_last=True)
        if self.keeper is not None and self.keeper.held:
            try:
                self.keeper.save((self.folder / self.name).with_suffix(".kept"))
            except Exception as error:  # noqa: BLE001 - a disk that is full, a program that has gone
                self.trouble = repr(error)

    def _save_before_exit(self) -> None:
        """Save before `os._exit` too, by which every process of `multiprocessing` ends."""
        end = os._exit

        def save_and_exit(status: int) -> None:
            self.save_all()
            end(status)

        self._leave = save_and_exit

        os._exit = save_and_exit  # type: ignore[assignment]

    def _after_fork(self) -> None:
        self._renew()
        if self.keeper is not None:  # what the parent has kept is the parent's, and so are its variables
            self.keeper.renew()
        if self.watch is not None:
            self.watch.variables.clear()
        self._start_saving()

    def _start_saving(self) -> None:
        threading.Thread(target=self._keep_saving, name="pyopbench-recorder", daemon=True).start()

    def _keep_saving(self) -> None:
        pause = ADD_UP_SECONDS if self.watch is None else SAMPLE_SECONDS
        while True:
            for _ in range(round(SAVE_SECONDS / pause)):
                time.sleep(pause)
                self.add_up()
                if self.watch is not None and self.watch.sample(has_called=self.called is not None):
                    with suppress(OSError, ValueError, AttributeError):
                        sys.stdout.flush()
                        sys.stderr.flush()
                    self._leave(0)
            self.save()


VARIABLE = "PYOPBENCH_RECORD"
"""The environment variable that names the folder which each process writes its counts to."""
PROGRAM = "PYOPBENCH_PROGRAM"
"""That of what else is asked for, JSON: `keep_bytes` and `package`, `steps`, `seconds`, `seed`, `counts`"""

SCRIPT_OPS = "tensorflow.python.ops.script_ops"
"""Where TensorFlow 2 defines its callback functions; `tensorflow` imports them from there by name."""


class _Finder:
    """Finds some modules as others do, and has each wrapped once it has been run."""

    def __init__(self, wrap: Mapping[str, Callable[[ModuleType], None]]) -> None:
        self.wrap = wrap

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of one of the modules with a loader that also wraps; None for every other module."""
        if name not in self.wrap:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next((found for one in others if (found := one.find_spec(name, path, target))), None)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_and_wrap(module: ModuleType) -> None:
                run(module)
                self.wrap[name](module)

            spec.loader.exec_module = run_and_wrap  # type: ignore[method-assign]
        return spec


def wait_for_tensorflow() -> Recorder:
    """Have callbacks counted from when TensorFlow is imported, and written to the folder that `VARIABLE` names."""
    asked = json.loads(os.environ.get(PROGRAM, "{}"))
    recorder = Recorder(Path(os.environ[VARIABLE]), asked=asked)
    watch = recorder.watch

    def count_callbacks(module: ModuleType) -> None:
        try:
            recorder.install(module)
        except Exception as error:  # noqa: BLE001 - TensorFlow 1, or one that is made otherwise
            recorder.refuse(f"{SCRIPT_OPS} is not as expected: {error!r}")

    def measure_waits(module: ModuleType) -> None:
        try:
            recorder.waits.install(module)
            if watch is not None:
                watch.seed(module.context)
        except Exception as error:  # noqa: BLE001 - as above
            recorder.waits.timer.trouble = f"{ITERATOR_OPS} is not as expected: {error!r}"

    wrap: dict[str, Callable[[ModuleType], None]] = {SCRIPT_OPS: count_callbacks, ITERATOR_OPS: measure_waits}
    if watch is not None:
        wrap |= {LISTS: watch.watch_losses, VARIABLES: watch.watch_weights}
    sys.meta_path.insert(0, _Finder(wrap))
    return recorder
