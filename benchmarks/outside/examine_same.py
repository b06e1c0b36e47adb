"""Run `pyopbench advise` on the program of a folder, with each callback replaced by itself; print the outcome.

    python examine_same.py OUT BUDGET python train.py      # in the folder of the program; a line of JSON

First, a callback is measured against the other function of TensorFlow that makes the same op, `py_func` and
`numpy_function`, as if that were its port. Whatever the answer, the callback is then replaced by a file that makes the
same callback again, and the program runs with and without it. No answer may promise anything, and no file may stay.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

from pyopbench.advise import answers, candidates
from pyopbench.advise.advise import advise
from pyopbench.advise.answers import OUTPUTS, Answer
from pyopbench.advise.attempt import Options, Tools
from pyopbench.advise.callbacks import Callback, Step, write_op_file
from pyopbench.advise.program import Program
from pyopbench.advise.turns import Share
from pyopbench.api.listeners import listener_here
from pyopbench.engine.port import write_port
from pyopbench.model.own_target import read_target
from pyopbench.model.parse import parse_duration

SAME = {"numpy_function": "py_func", "py_func": "numpy_function"}
"""In a graph both are the op `PyFunc`."""


def main(out: str, budget: str, *command: str) -> None:
    """Run the program of this folder."""
    promised: list[str] = []

    def decide(callback: Callback, step: Step, folder: Path, seconds: float, minimum_effect: float) -> Answer:
        folder.mkdir(parents=True, exist_ok=True)
        op_file = write_op_file(callback, folder)
        if callback.kind in SAME:
            candidates.PORTS = (SAME[callback.kind],)
            # In a pipeline only one of the two is measured, so it is measured in a graph.
            answer = answers.decide(replace(callback, in_input=False), step, folder, seconds, minimum_effect)
            ends = [one.promised.low for one in answer.candidates if one.promised is not None]
            promised.extend(f"{callback.name}: at least {low:.2%}" for low in ends if low > 0)
        place = folder / "port"
        place.mkdir()
        files = write_port(read_target(str(op_file), (), ()), "map", place / f"{callback.name}_port.py")
        names = (files.port.name, files.test.name, OUTPUTS)
        return Answer("arrange", "the callback itself", (), "itself", *names, promised=Share(0.0, 0.0, 0.0))

    folder = Path.cwd()
    program = Program.here(command, folder, [Path(out)])
    options = Options(budget_seconds=parse_duration(budget))
    advice = advise(program, Path(out), options, listener_here(progress=False), Tools(decide=decide))
    realised = advice.realised
    shares = None if realised is None else [realised.saved, realised.low, realised.high]
    print(json.dumps({"promised": promised, "realised": advice.patch is not None, "shares": shares}))


if __name__ == "__main__":
    main(*sys.argv[1:])
