"""A worker process for tests that measures nothing: it speaks the protocol, and cases behave as their variant says.

    well, and any other name  gives one sample for each round
    raising, wrong, impossible  fail with `FAILURES`
    hanging  never answers            silent  never even says that it has come to the case
    crashing  ends by a signal        exiting  ends with exit code 7
    killed  is ended from outside     noisy  answers what is no answer
    lasting  takes a while, as real cases do, and then as `well`
    eating  wants too much memory, but where no other group is prepared
    late_NAME  is prepared as `well`, and is as NAME when it is sampled
    forking  leaves a process, then ends as `exiting`
    torn  ends in the middle of its answer    talking  writes to the log, then as `well`

Every request is appended to the file that `FAKE_WORKER_LOG` names, where that is set, and when it was begun and
answered to the file that `FAKE_WORKER_TIMES` names. The answer to a request for a plan stands in the file that
`FAKE_WORKER_PLAN` names. Asked for a device it has it, or
else crashes or gives the reason why not, as `FAKE_WORKER_DEVICE` says. What is required works. Examined, it lacks what
`FAKE_WORKER_LACKS` says.

A worker that has prepared cases of one placement fails those of another, which a real one could not measure, and those
of a GPU that is hidden from it.
`FAKE_WORKER_SECONDS` has for each VARIANT/PLACEMENT what a call takes there.

Of an op in a pipeline, arrangements behave as `FAKE_WORKER_ARRANGEMENTS` says of their keys, and elements take so many
seconds as `FAKE_WORKER_ELEMENTS` says; a worker prepares as many warm-ups of `ELEMENTS` elements.

Of a revision the files in its current folder count: an op computes what is in `value`, a round takes what is in
`seconds`, and where `unloadable` is, nothing can be planned.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time

TYPE_CHECKING = False  # as in typing, which takes as long to import as all that this needs: hundreds are started
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

ENVIRONMENT = {"pid": os.getpid(), "load": None, "executable": "python"}
VERSIONS = {"tensorflow": "2.21.0", "numpy": "2.4.6", "cpu": "a processor", "cores": 2, "python": "3.11.7"}
SECONDS = float(open("seconds", encoding="utf-8").read()) if os.path.exists("seconds") else 0.5
NOISE = {
    "wall_seconds": 1.0,
    "steal_seconds": None,
    "load": 0.5,
}
FAILURES = {
    "raising": ("raised", "ValueError: no"),
    "wrong": ("wrong", "output 0 differs at index [3]: expected 1.5, got 2.5"),
    "impossible": ("unsupported", "it cannot be built"),
}
EXIT_CODE = 7
LASTING_SECONDS = 0.01
LATE = "late_"


def emit(event: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def hang() -> None:
    """Do nothing until the parent is gone, so that no process is left behind."""
    sys.stdin.read()
    sys.exit()


def leave_a_process(path: str) -> None:
    """Fork a process that stays, and write its id to a file; as in a real worker it does not keep the pipe."""
    process = os.fork()
    if process == 0:
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        signal.pause()
    with open(path, "w", encoding="utf-8") as file:
        file.write(str(process))


def behave(case: str, variant: str) -> None:
    """Name the case and do what its variant says, unless that is to answer."""
    if variant == "silent":
        hang()
    sys.stderr.write(f"{case}\n")
    sys.stderr.flush()
    emit({"event": "at", "case": case})
    if variant == "hanging":
        hang()
    if variant == "crashing":
        os.kill(os.getpid(), signal.SIGSEGV)
    if variant == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if variant == "noisy":
        sys.stdout.write("printed by a library\n")
        sys.stdout.flush()
    if variant == "forking":
        leave_a_process(os.environ["FAKE_WORKER_LEFT"])
    if variant in ("exiting", "forking"):
        sys.stderr.write("first words\nE0000 00:00:1795201820.852615   29463 some.cc:1] last words\n")
        sys.stderr.write("I0000 00:00:1795201820.852615   29463 port.cc:153] oneDNN custom operations are on.\n\n")
        sys.stderr.flush()
        os._exit(EXIT_CODE)
    if variant == "eating" and PREPARED:
        emit({"event": "full", "case": case, "reason": "MemoryError"})
        hang()
    if variant == "lasting":
        time.sleep(LASTING_SECONDS)
    if variant == "talking":
        sys.stderr.write("words of a case that is well\n")
    if variant == "torn":
        sys.stdout.write('{"event": "done", "samp')
        sys.stdout.flush()
        os._exit(0)


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    if request["do"] == "values":
        return compare_values(request)
    if request["do"] == "pipeline" and os.environ.get("FAKE_WORKER_BODY") == "hanging":
        hang()
    if request["do"] == "pipeline" and "FAKE_WORKER_BODY" in os.environ:
        return {"failure": os.environ["FAKE_WORKER_BODY"]}
    if request["do"] == "plan" and os.path.exists("unloadable"):
        return {"error": {"message": "no", "received": "it", "legal": None, "hint": "", "traceback": ""}}
    if request["do"] in ("plan", "pipeline"):
        with open(os.environ["FAKE_WORKER_PLAN"], encoding="utf-8") as file:
            return dict(json.load(file))
    if request["do"] == "examine":
        return answer_examine(json.loads(os.environ.get("FAKE_WORKER_LACKS", "{}")))
    if request["do"] == "device":
        return answer_device(os.environ.get("FAKE_WORKER_DEVICE", ""))
    if request["do"] == "count_copies":
        return count_copies(request["case"])
    if request["do"] == "require":
        return answer_requirement(request)
    if request["do"] == "prepare":
        return answer_prepare(request)
    if request["do"] == "sample":
        return answer_sample(request)
    failures, _ = tried([request["case"]], None)
    if failures:
        return {"failure": failures[0]}
    return {"checked": {"values": 0.0, "gradient": None, "finite_difference": None}}


def compare_values(request: Mapping[str, Any]) -> dict[str, Any]:
    """Keep what the file `value` holds, if there is one, or compare it with what is kept."""
    here = ""
    if os.path.exists("value"):
        with open("value", encoding="utf-8") as file:
            here = file.read().strip()
    if "save" in request:
        with open(request["save"], "w", encoding="utf-8") as file:
            file.write(here)
        return {"kind": "", "reason": ""}
    with open(request["against"], encoding="utf-8") as file:
        there = file.read()
    same = here == there
    return {"kind": "" if same else "outputs", "reason": "" if same else f"expected {there}, got {here}"}


def answer_requirement(request: Mapping[str, Any]) -> dict[str, Any]:
    behave(f"{request['requirement']}/{request['variant']}", request["variant"])
    return {"status": "works", "reason": ""}


def answer_examine(lacks: Mapping[str, Any]) -> dict[str, Any]:
    why_not = {"kernels": None, "cuda": None, "numba": None, **lacks.get("why_not", {})}
    return {"why_not": why_not, "versions": dict.fromkeys(why_not, "1.2.3")}


def answer_device(behaviour: str) -> dict[str, Any]:
    if behaviour == "crashing":
        os.kill(os.getpid(), signal.SIGKILL)
    return {"devices": ["CPU:0"], "reason": behaviour}


def count_copies(case: str) -> dict[str, Any]:
    """Nothing is copied, wherever anything is."""
    variant = case.split("/")[1]
    behave(case, variant)
    if variant in FAILURES:
        status, reason = FAILURES[variant]
        return {"failure": {"case": case, "status": status, "reason": reason, "launch": None}}
    told = {"to_device": [0, 0], "to_host": [0, 0]}
    routes = [(inputs, result) for inputs in ("host", "device") for result in ("host", "device")]
    return {"rows": [{"inputs": inputs, "result": result, **told} for inputs, result in routes]}


ELEMENTS = 64


def arrangement_of(case: str) -> str:
    """Return the key of an arrangement in a pipeline; empty for any other case."""
    kind, _, key = case.split("/")[4].partition(":") if case.count("/") == 7 else ("", "", "")
    return key if kind == "pipeline" else ""


def behaviour_of(case: str) -> str:
    """Return how a case behaves: as its variant is called, or as its arrangement is told to."""
    key = arrangement_of(case)
    if key:
        return str(json.loads(os.environ.get("FAKE_WORKER_ARRANGEMENTS", "{}")).get(key, "well"))
    return case.split("/")[1]


def seconds_of(case: str) -> float:
    """Return what a call, or an element, of a case takes."""
    if arrangement_of(case):
        return float(json.loads(os.environ.get("FAKE_WORKER_ELEMENTS", "{}")).get(arrangement_of(case), SECONDS))
    parts = case.split("/")
    place = f"{parts[1]}/{parts[-1]}"
    return float(json.loads(os.environ.get("FAKE_WORKER_SECONDS", "{}")).get(place, SECONDS))


def tried(cases: Sequence[str], launch: int | None, *, late: bool = False) -> tuple[list[dict[str, Any]], list[str]]:
    """Have cases behave; return the failures, and the cases that are well."""
    failures, well = [], []
    for case in cases:
        variant = behaviour_of(case)
        if late or variant.startswith(LATE):
            variant = variant.removeprefix(LATE) if late and variant.startswith(LATE) else "well"
        behave(case, variant)
        if variant in FAILURES:
            status, reason = FAILURES[variant]
            failures.append({"case": case, "status": status, "reason": reason, "launch": launch})
        else:
            well.append(case)
    return failures, well


PREPARED: set[str] = set()
"""What this process has prepared."""


def answer_prepare(request: Mapping[str, Any]) -> dict[str, Any]:
    places = {case.split("/")[-1] for case in (*PREPARED, *request["cases"])}
    if len(places) > 1 or (places == {"gpu"} and os.environ.get("CUDA_VISIBLE_DEVICES") == "-1"):
        elsewhere = {"status": "raised", "reason": f"of {sorted(places)}", "launch": request["launch"]}
        return {"failures": [{"case": case, **elsewhere} for case in request["cases"]]}
    failures, well = tried(request["cases"], request["launch"])
    checked = {"checked": {case: {"values": 0.0} for case in well}} if request["finite_differences"] else {}
    PREPARED.update(well)
    ports = [port_of(case) for case in well if behaviour_of(case) == "porting"]
    return {"failures": failures, "ports": ports, **checked}


def port_of(case: str) -> dict[str, str]:
    """Return a port that is another in each process."""
    op, variant, *_, dtype, _, _ = case.split("/")
    return {"op": op, "variant": variant, "dtype": dtype, "text": f"# {os.getpid()}\n", "function": "f"}


def answer_sample(request: Mapping[str, Any]) -> dict[str, Any]:
    """Give what is prepared a sample for each round, of about a second."""
    failures, well = tried([case for case in request["cases"] if case in PREPARED], request["launch"], late=True)
    first, rounds = request["first_round"], request["rounds"]
    taken = {case: (place, seconds_of(case)) for place, case in enumerate(well)}
    samples = {
        case: [[first + one, place, 1, seconds] for one in range(rounds)] for case, (place, seconds) in taken.items()
    }
    timer = {"timer_seconds": 0.0, "timer_error_seconds": 0.0}
    return {"samples": samples, "failures": failures, **timer, "noise": NOISE}


def main() -> None:
    versions = {**VERSIONS, **json.loads(os.environ.get("FAKE_WORKER_VERSIONS", "{}"))}
    emit({"event": "ready", "environment": {**ENVIRONMENT, **versions}})
    for line in sys.stdin:
        if "FAKE_WORKER_LOG" in os.environ:
            with open(os.environ["FAKE_WORKER_LOG"], "a", encoding="utf-8") as log:
                log.write(line)
        began, request = time.monotonic(), json.loads(line)
        answered = answer(request)
        if "FAKE_WORKER_TIMES" in os.environ:
            with open(os.environ["FAKE_WORKER_TIMES"], "a", encoding="utf-8") as log:
                log.write(json.dumps([os.getpid(), request["do"], began, time.monotonic()]) + "\n")
        emit({"event": "done", **answered})


if __name__ == "__main__":
    main()
