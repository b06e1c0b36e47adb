"""Does an exception in the body reach the caller, and as what?"""

from __future__ import annotations

from typing import Any

from pyopbench.model.case import NO_GRADIENT
from pyopbench.worker.subject import Differs, Fails, Probe, Seen, Subject

RAISED = (ValueError, TypeError, KeyError, StopIteration, MemoryError, NotImplementedError, ZeroDivisionError)
WORDS = "words of the body"


def run(subject: Subject) -> Seen:
    """Raise each of some exceptions in the body, and catch what arrives at the call of the `tf.function`."""
    subject.require_python()
    return Seen(", ".join(f"{kind.__name__} → {_arrives_as(subject, kind)}" for kind in RAISED))


def _arrives_as(subject: Subject, kind: type[Exception]) -> str:
    def body(x: Any) -> Any:
        raise kind(WORDS)

    try:
        subject.function(body, NO_GRADIENT)(subject.x)
    except Exception as error:
        if WORDS not in str(error):
            raise Fails(f"{kind.__name__} arrives as {type(error).__name__}, without its words: {error}") from error
        return type(error).__name__
    raise Differs(f"{kind.__name__} in the body never reaches the caller")


PROBE = Probe("exceptions", "exceptions of the body at the caller", run)
