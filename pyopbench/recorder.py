"""Counts the callbacks of a program, inside of it. Standard library only: it runs beside whatever the program has.

TensorFlow's public functions are wrapped when it is imported, and so is every function that they are handed: each call
adds one to the count of its site, and its duration to the site's seconds. Sites are the lines that make callbacks.
"""

from __future__ import annotations

import atexit
import functools
import importlib.machinery
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, cast

VARIABLE = "PYOPBENCH_RECORD"
"""The environment variable that names the folder which each process writes its counts to."""

MODULE = "tensorflow.python.ops.script_ops"
"""Where TensorFlow 2 defines its callback functions; `tensorflow` imports them from there by name."""

SAVE_SECONDS = 2.0
"""How much of a process that is killed is lost at the most."""

MOST_SHAPES = 1000
"""Different shapes that are told apart at a site, so that a program of ragged batches cannot fill the memory."""

GENERATED = "__autograph_generated_file"
"""Begins the names of the files that AutoGraph writes (tensorflow/python/autograph/pyct/loader.py)."""

CONVERTED = "outer_factory.<locals>.inner_factory.<locals>."
"""Begins the names of the functions in them (tensorflow/python/autograph/pyct/transpiler.py)."""

MARK = "pyopbench_tally"
HELD = "pyopbench_counted"
"""Attributes of functions: the tally that a counted one adds to; a program's function's site and counted one."""


class Tally:
    """Calls of one body in one direction.

    Attributes:
        calls, raised: how many, and how many of them ended by an exception.
        seconds: inside the body.
        outside_calls, outside_seconds: how many calls were also timed from outside of the body, and for how long.
        by_kernel: are they timed where TensorFlow's kernel calls Python, rather than where the program does?
    """

    __slots__ = ("by_kernel", "calls", "outside_calls", "outside_seconds", "raised", "seconds")

    def __init__(self, *, by_kernel: bool) -> None:
        self.by_kernel = by_kernel
        self.reset()

    def reset(self) -> None:
        """Begin from zero, as a forked process has to."""
        self.calls = self.raised = self.outside_calls = 0
        self.seconds = self.outside_seconds = 0.0

    def as_dict(self) -> dict[str, float]:
        """Return the counts as plain data."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "by_kernel"}


class Site:
    """A line that makes callbacks, in one kind and mode, and what was counted there.

    Attributes:
        key: file, line, function, kind and mode (`eager` or `graph`).
        body: name of the first function that was called back.
        forward, gradient: counts; the gradient is that of py_function's own tape.
        shapes: shape and dtype of each input -> calls and seconds.
    """

    __slots__ = ("body", "forward", "gradient", "key", "shapes")

    def __init__(self, key: tuple[str, int, str, str, str], body: str) -> None:
        self.key = key
        self.body = body
        self.forward = Tally(by_kernel=key[-1] == "graph")
        self.gradient = Tally(by_kernel=True)
        self.shapes: dict[Any, list[float]] = {}

    def reset(self) -> None:
        """Begin from zero."""
        self.forward.reset()
        self.gradient.reset()
        self.shapes.clear()


class Recorder:
    """The counts of this process."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.perf_counter) -> None:
        self.folder = folder
        self.clock = clock
        self.sites: dict[Any, Site] = {}
        self.known: dict[tuple[int, int, str, bool], tuple[CodeType, Site]] = {}
        self.script_ops: Any = None
        self.inner: tuple[str, ...] = (__file__,)
        self.trouble = ""
        self._renew()

    def _renew(self) -> None:
        self.lock = threading.RLock()  # a signal's handler may save while the same thread counts
        self.begun = self.clock()
        self.saved_calls = 0
        self.name = f"{os.getpid()}-{time.time_ns()}.json"
        for site in self.sites.values():
            site.reset()

    def install(self, script_ops: Any) -> None:
        """Wrap TensorFlow's callback functions in their module, before anything has taken them from there."""
        self.script_ops = script_ops
        package = Path(script_ops.__file__).parents[2]
        self.inner += tuple(f"{package.parent / name}{os.sep}" for name in (package.name, "keras", "tf_keras"))
        for name, kind in (
            ("eager_py_func", "py_function"),
            ("numpy_function", "numpy_function"),
            ("py_func_common", "py_func"),  # what py_func and numpy_function call; the latter is marked by then
        ):
            setattr(script_ops, name, self._wrap_public(getattr(script_ops, name), kind))
        script_ops._internal_py_func = self._wrap_gradient(script_ops._internal_py_func)
        script_ops.EagerFunc = self._make_timed(script_ops.EagerFunc)
        atexit.register(self.save)
        self._save_before_exit()
        os.register_at_fork(after_in_child=self._after_fork)
        self._start_saving()

    def refuse(self, trouble: str) -> None:
        """Leave word that this process cannot be recorded, and why."""
        self.trouble = trouble
        self.saved_calls = -1
        self.save()

    def count(self, function: Callable[..., Any], tally: Tally, site: Site | None, kind: str) -> Callable[..., Any]:
        """Return a function that does the same and is counted; with a site also its shapes, after the clock's stop."""
        clock, describe = self.clock, _describe_tensors if kind == "py_function" else _describe_arrays

        def counted(*arguments: Any) -> Any:
            start = clock()
            fine = False
            try:
                result = function(*arguments)
                fine = True
            finally:
                seconds = clock() - start
                key = describe(arguments) if site is not None else None
                with self.lock:
                    tally.calls += 1
                    tally.seconds += seconds
                    tally.raised += not fine
                    if site is not None:
                        row = site.shapes.get(key)
                        if row is None:
                            row = _new_row(site, key)
                        row[0] += 1
                        row[1] += seconds
            return result

        setattr(counted, MARK, tally)
        return counted

    def _wrap_public(self, original: Callable[..., Any], kind: str) -> Callable[..., Any]:
        @functools.wraps(original)
        def wrapper(*arguments: Any, **named: Any) -> Any:
            function = arguments[0] if arguments else named.get("func")
            if not callable(function) or hasattr(function, MARK):
                return original(*arguments, **named)
            try:
                site = self._site(kind, function, sys._getframe(1))
                counted = self._counted(function, site, kind)
            except Exception as error:  # noqa: BLE001 - the program goes on, whatever recording stumbles over
                self.trouble = repr(error)
                return original(*arguments, **named)
            if arguments:
                arguments = (counted, *arguments[1:])
            else:
                named["func"] = counted
            if site.forward.by_kernel:
                return original(*arguments, **named)
            start = self.clock()
            try:
                return original(*arguments, **named)
            finally:
                self._add_outside(site.forward, self.clock() - start)

        return wrapper

    def _counted(self, function: Any, site: Site, kind: str) -> Callable[..., Any]:
        """Return the counted function of a site, which lives as long as the program's own.

        TensorFlow holds callbacks by weak references and binds their lives to the function that it was given
        (script_ops.py, `_internal_py_func`, b/144286616). It also keeps what each eager call of py_function hands it,
        so that a new function for each call would pile up.
        """
        held = getattr(function, HELD, None)
        if held is not None and held[0] is site:
            return cast("Callable[..., Any]", held[1])
        counted = self.count(function, site.forward, site, kind)
        if isinstance(function, FunctionType):
            setattr(function, HELD, (site, counted))
        return counted

    def _add_outside(self, tally: Tally, seconds: float) -> None:
        with self.lock:
            tally.outside_calls += 1
            tally.outside_seconds += seconds

    def _make_timed(self, eager_func: Any) -> Any:
        """Return a class like TensorFlow's `EagerFunc`, which its kernel calls, that is timed too.

        That is the body with what TensorFlow does in Python around it: tape, conversions, copies to a device.
        """
        clock, add = self.clock, self._add_outside

        class Timed(eager_func):  # type: ignore[misc]
            def __init__(self, func: Any, *arguments: Any, **named: Any) -> None:
                super().__init__(func, *arguments, **named)
                tally = getattr(func, MARK, None)
                self.tally = tally if tally is not None and tally.by_kernel else None

            def __call__(self, *arguments: Any) -> Any:
                if self.tally is None:
                    return super().__call__(*arguments)
                start = clock()
                try:
                    return super().__call__(*arguments)
                finally:
                    add(self.tally, clock() - start)

        return Timed

    def _wrap_gradient(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Count the gradient of py_function, which is a callback that TensorFlow makes itself."""

        @functools.wraps(original)
        def wrapper(*arguments: Any, **named: Any) -> Any:
            if named.get("is_grad_func"):
                site = self._find_site_of_gradient(named["func"])
                if site is not None:
                    named["func"] = self.count(named["func"], site.gradient, None, "py_function")
            return original(*arguments, **named)

        return wrapper

    def _find_site_of_gradient(self, function: Any) -> Site | None:
        try:
            return self._site_of_gradient(function)
        except Exception as error:  # noqa: BLE001 - another TensorFlow may make it otherwise
            self.trouble = repr(error)
            return None

    def _site_of_gradient(self, function: Any) -> Site | None:
        """Return the site whose gradient a function is, by the token that it holds (`_EagerPyFuncGrad`)."""
        held = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        token = held["token"].cell_contents if "token" in held else b""
        forward = self.script_ops._py_funcs.get(token.decode() if isinstance(token, bytes) else token)
        tally = getattr(getattr(forward, "_func", forward), MARK, None)
        return next((site for site in self.sites.values() if site.forward is tally), None)

    def _site(self, kind: str, function: Any, frame: FrameType | None) -> Site:
        while frame is not None and frame.f_back is not None and frame.f_code.co_filename.startswith(self.inner):
            frame = frame.f_back
        if frame is None:
            raise LookupError("a call without a caller")
        eager = self.script_ops.context.executing_eagerly()
        # In eager code this is part of each call. A line's number takes long to find out, and so does a code's hash.
        quick = (id(frame.f_code), frame.f_lasti, kind, eager)
        known = self.known.get(quick)
        if known is not None and known[0] is frame.f_code:
            return known[1]
        key = (*self._place(frame), kind, "eager" if eager else "graph")
        with self.lock:
            site = self.sites.setdefault(key, Site(key, _name_of(function)))
        self.known[quick] = frame.f_code, site
        return site

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
        with self.lock:
            calls = sum(site.forward.calls + site.gradient.calls for site in self.sites.values())
            if calls == self.saved_calls:
                return
            content = self._as_dict()
            path = self.folder / self.name
            try:
                scratch = path.with_suffix(".part")
                scratch.write_text(json.dumps(content), encoding="utf-8")
                scratch.replace(path)
            except OSError:
                return
            self.saved_calls = calls

    def _as_dict(self) -> dict[str, Any]:
        return {
            "pid": os.getpid(),
            "seconds": self.clock() - self.begun,
            "trouble": self.trouble,
            "sites": [
                {
                    **dict(zip(("file", "line", "function", "kind", "mode"), site.key, strict=True)),
                    "body": site.body,
                    "forward": site.forward.as_dict(),
                    "gradient": site.gradient.as_dict(),
                    "shapes": [
                        {"inputs": self._name_inputs(key), "calls": row[0], "seconds": row[1]}
                        for key, row in site.shapes.items()
                    ],
                }
                for site in self.sites.values()
            ],
        }

    def _name_inputs(self, key: Sequence[tuple[Any, Any]] | None) -> list[dict[str, Any]] | None:
        if key is None:
            return None
        named = []
        for shape, dtype in key:
            name = self.script_ops.dtypes.as_dtype(dtype).name if isinstance(dtype, int) else str(dtype)
            named.append({"shape": None if shape is None else list(shape), "dtype": name})
        return named

    def _save_before_exit(self) -> None:
        """Save before `os._exit` too, by which every process of `multiprocessing` ends."""
        end = os._exit

        def save_and_exit(status: int) -> None:
            self.save()
            end(status)

        os._exit = save_and_exit  # type: ignore[assignment]

    def _after_fork(self) -> None:
        self._renew()
        self._start_saving()

    def _start_saving(self) -> None:
        threading.Thread(target=self._keep_saving, name="pyopbench-recorder", daemon=True).start()

    def _keep_saving(self) -> None:
        while True:
            time.sleep(SAVE_SECONDS)
            self.save()


def _name_of(function: Any) -> str:
    named = getattr(function, "func", function)  # of a functools.partial
    name: str = getattr(named, "__qualname__", type(named).__name__)
    return name.replace(CONVERTED, "").removeprefix("tf__")


def _new_row(site: Site, key: Any) -> list[float]:
    if len(site.shapes) >= MOST_SHAPES:
        key = None
    return site.shapes.setdefault(key, [0, 0.0])


def _describe_arrays(arguments: Sequence[Any]) -> Any:
    return tuple([(getattr(one, "shape", None), getattr(one, "dtype", None)) for one in arguments])


def _describe_tensors(arguments: Sequence[Any]) -> Any:
    try:  # a tenth of what `shape` and `dtype` of an eager tensor take
        return tuple([(one._shape_tuple(), one._datatype_enum()) for one in arguments])
    except AttributeError:  # a ragged or sparse tensor, a variable
        return tuple([(_plain_shape(one), str(getattr(one, "dtype", None))) for one in arguments])


def _plain_shape(value: Any) -> tuple[int, ...] | None:
    try:
        return tuple(int(length) for length in value.shape)
    except (AttributeError, TypeError, ValueError):
        return None


class _Finder:
    """Finds the module of the callback functions as others do, and has it wrapped once it has been run."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of `MODULE` with a loader that also wraps; None for every other module."""
        if name != MODULE:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next((found for one in others if (found := one.find_spec(name, path, target))), None)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_and_wrap(module: ModuleType) -> None:
                run(module)
                try:
                    self.recorder.install(module)
                except Exception as error:  # noqa: BLE001 - TensorFlow 1, or one that is made otherwise
                    self.recorder.refuse(f"{MODULE} is not as expected: {error!r}")

            spec.loader.exec_module = run_and_wrap  # type: ignore[method-assign]
        return spec


def wait_for_tensorflow() -> Recorder:
    """Have callbacks counted from when TensorFlow is imported, and written to the folder that `VARIABLE` names."""
    recorder = Recorder(Path(os.environ[VARIABLE]))
    sys.meta_path.insert(0, _Finder(recorder))
    return recorder
