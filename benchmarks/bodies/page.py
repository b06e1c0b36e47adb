"""The page of docs/ about the corpus, from what became of its bodies: counts, one row for each body, reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

LEAST_GAIN = 1.1
"""How many times as fast a form has to be to be called faster: what quick timing can tell."""

COMMAND = "python benchmarks/corpus.py --time --json docs/corpus.json --page docs/corpus.md"

HEAD = f"""# What becomes of bodies as they are written

`examples/corpus/` holds {{bodies}} bodies of callbacks of the kinds found in repositories. They were written for
this table, in the style of such code, and not for what pyopbench can port. Each has inputs of three sizes, edge cases
(empty, one element, NaN, ties, as far as the body accepts them) and a note on where its kind is found. Each is an op of
its own: `pyopbench run examples/corpus/losses/dice.py --quick`.

This command makes the page:

```sh
{COMMAND}
```

It tries every automatic form of each body on {{seeds}} inputs of each size and on every edge case, and compares the
values with NumPy. If a body has a gradient of its own, a port has to give that gradient on all of these. If it only has
a derivative, finite differences check it on the inputs of the smallest size. A form that is off anywhere is `wrong`,
however fast it is.

Forms that take a batch of examples are tried with {{batch}} examples of the smallest size, and compared with a loop
over them: the body on the whole batch, the loop in Numba, and the traced port on the whole batch or under
`tf.vectorized_map`.
"""

TIMING = """A gain says how many times as fast a call of the form is as one of `numpy_function` around the unchanged
body, at the smallest, the middle and the largest size. It is the ratio of medians of {blocks} short blocks in one
process. That can show a factor of two; use `pyopbench run` to decide on a port.
"""

BATCHES = """The gain of a form of a batch is over a loop in one callback.
"""

FAILED = """How many bodies each reason stopped, by form, and for how many a change of the line is known that gets past
it. A form stops at the first obstacle, so there may be others after it.
"""


def page(document: Mapping[str, Any]) -> str:
    """Return the page as Markdown."""
    bodies = document["bodies"]
    timed = any("gains" in form for body in bodies for form in body["forms"])
    numba = f"Numba {document['numba']}" if document["numba"] else "no Numba"
    parts = [
        HEAD.format(bodies=len(bodies), seeds=document["seeds"], batch=_batch(bodies)).replace(
            " --time", " --time" if timed else ""
        ),
        f"Made with TensorFlow {document['tensorflow']}, NumPy {document['numpy']} and {numba}.\n",
        *([TIMING.format(blocks=document["blocks"]) + BATCHES] if timed else []),
        "## How many\n",
        _table(("of the bodies", "number", "share"), _counts(bodies, timed=timed)),
        "## Each body\n",
        *(_family(family, bodies, timed=timed) for family in dict.fromkeys(body["family"] for body in bodies)),
        "## Why forms failed\n",
        FAILED,
        _table(("form", "bodies", "what stopped it", "with a change that is known"), _reasons(bodies)),
    ]
    return "\n".join(parts)


def counts(bodies: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return how many bodies have a right form, a port among them, and faster ones."""
    return {
        "a verified port that is no callback": sum(any(_is_port(form) for form in _right(body)) for body in bodies),
        "a verified form of any kind": sum(bool(_right(body)) for body in bodies),
        "a verified port that is faster at some size": sum(
            any(_is_port(form) and _is_faster(form) for form in _right(body)) for body in bodies
        ),
        "a verified form of any kind that is faster at some size": sum(
            any(map(_is_faster, _right(body))) for body in bodies
        ),
        "a form that is wrong, found before it is timed": sum(
            any(form["became"] == "wrong" for form in _single(body)) for body in bodies
        ),
        "a verified form that takes a batch": sum(any(map(_is_right, _batched(body))) for body in bodies),
    }


def _counts(bodies: Sequence[Mapping[str, Any]], *, timed: bool) -> list[tuple[str, ...]]:
    rows = [("all", len(bodies)), *counts(bodies).items()]
    shown = rows if timed else [*rows[:3], rows[-1]]
    return [(what, str(number), f"{number / max(len(bodies), 1):.0%}") for what, number in shown]


def _batch(bodies: Iterable[Mapping[str, Any]]) -> int:
    return max((form["batch"] for body in bodies for form in _batched(body)), default=0)


def _single(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [form for form in body["forms"] if "batch" not in form]


def _batched(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [form for form in body["forms"] if "batch" in form]


def _is_right(form: Mapping[str, Any]) -> bool:
    return bool(form["became"] == "right")


def _right(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [form for form in _single(body) if _is_right(form)]


def _is_port(form: Mapping[str, Any]) -> bool:
    return bool(form["kind"] == "port")


def _is_faster(form: Mapping[str, Any]) -> bool:
    return max(form.get("gains", [0])) >= LEAST_GAIN


def _family(family: str, bodies: Iterable[Mapping[str, Any]], *, timed: bool) -> str:
    rows = [
        (
            f"`{body['body']}`: {body.get('summary', '')}",
            _shown(_right(body), timed=timed),
            _shown([form for form in _batched(body) if _is_right(form)], timed=timed),
            _stopped(body),
            body.get("found_in", ""),
        )
        for body in bodies
        if body["family"] == family
    ]
    right = "right, and its gain" if timed else "right"
    head = ("body", right, f"in batches {right}", "not right", "where its kind is found")
    return f"### {family.capitalize()}\n\n{_table(head, rows)}"


def _shown(forms: Iterable[Mapping[str, Any]], *, timed: bool) -> str:
    return "<br>".join(f"`{form['form']}` {_gains(form)}" if timed else f"`{form['form']}`" for form in forms) or "none"


def _gains(form: Mapping[str, Any]) -> str:
    return ", ".join(f"{gain:.2g}" if gain < 10 else f"{gain:.0f}" for gain in form.get("gains", []))


def _stopped(body: Mapping[str, Any]) -> str:
    """Return the forms that are not right, those with the same reason together."""
    if "failed" in body:
        return _cell(body["failed"])
    by_reason: dict[str, list[str]] = {}
    for form in _single(body):
        if not _is_right(form):
            by_reason.setdefault(_told(form), []).append(f"`{form['form']}`")
    return "<br>".join(f"{', '.join(forms)}: {reason}" for reason, forms in by_reason.items())


def _told(form: Mapping[str, Any]) -> str:
    at = f" ({form['at']})" if form["became"] == "wrong" else ""
    change = form.get("change")
    known = "" if change is None else f". Line {change['line']}: replace `{change['now']}` by `{change['then']}`"
    return _cell(f"{'wrong: ' if form['became'] == 'wrong' else ''}{form['reason']}{at}{known}")


def _reasons(bodies: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    forms = dict.fromkeys(form["form"] for body in bodies for form in _single(body))
    rows = []
    for name in forms:
        not_right = [form for body in bodies for form in _single(body) if form["form"] == name and not _is_right(form)]
        changed = Counter(_class(form) for form in not_right if "change" in form)
        for what, number in Counter(map(_class, not_right)).most_common():
            rows.append((f"`{name}`", str(number), what, str(changed[what] or "")))
    return rows


def _class(form: Mapping[str, Any]) -> str:
    if form["became"] == "wrong":
        return "values or gradients that are wrong"
    return _cell(form.get("cause") or form["error"] or form["reason"])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
