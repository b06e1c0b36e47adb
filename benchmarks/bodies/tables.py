"""Tables of what `corpus.py` found: how many, one row for each body, what stopped each form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markdown_table import cell, table
from stored_document import environment_text

LEAST_GAIN = 1.1
"""How many times as fast a form has to be to be called faster: what quick timing can tell."""


def made(document: Mapping[str, Any]) -> str:
    """Return when, where, with what and how the tables were made, as Markdown."""
    settings = document["settings"]
    times = f"gains of {settings['blocks']} blocks" if settings["timed"] else "no times"
    how = f"{settings['seeds']} inputs of each size, {times}"
    return f"Made on {document['created'][:10]} ({environment_text(document['environment'])}): {how}.\n"


def totals(document: Mapping[str, Any]) -> str:
    """Return how many bodies have a right form, and how many each form is right for, as Markdown."""
    bodies, timed = document["bodies"], document["settings"]["timed"]
    found = {"all": len(bodies), **counts(bodies, timed=timed)}
    shares = [(what, str(number), f"{number / max(len(bodies), 1):.0%}") for what, number in found.items()]
    forms = dict.fromkeys(form["form"] for body in bodies for form in body["forms"])
    head = ("form", "right", *(("faster at some size",) if timed else ()), "not right, by family")
    by_form = table(head, [_of_form(name, bodies, timed=timed) for name in forms])
    return f"{table(('of the bodies', 'number', 'share'), shares)}\n{by_form}{files_text(bodies)}"


def families(document: Mapping[str, Any]) -> str:
    """Return a heading and a row for each body of each family, as Markdown."""
    names = dict.fromkeys(body["family"] for body in document["bodies"])
    return "\n".join(_family(name, document) for name in names)


def reasons(document: Mapping[str, Any]) -> str:
    """Return what stopped each form, and for how many bodies, as Markdown."""
    return table(("form", "bodies", "what stopped it"), _reasons(document["bodies"]))


def counts(bodies: Sequence[Mapping[str, Any]], *, timed: bool) -> dict[str, int]:
    """Return how many bodies have a right form, a port among them, and, as far as that was tried, faster ones."""
    found = {
        "a verified port that is no callback": sum(any(map(_is_port, _right(body))) for body in bodies),
        "a verified form of any kind": sum(bool(_right(body)) for body in bodies),
        "a form that is wrong, found before it is timed": sum(any(map(_is_wrong, body["forms"])) for body in bodies),
    }
    if timed:
        faster = [[form for form in _right(body) if _is_faster(form)] for body in bodies]
        found["a verified port that is faster at some size"] = sum(any(map(_is_port, forms)) for forms in faster)
        found["a verified form of any kind that is faster at some size"] = sum(map(bool, faster))
    return found


def files(bodies: Iterable[Mapping[str, Any]]) -> tuple[int, list[str]]:
    """Return the number of right ports whose file was looked at, and those whose file is not right, with the reason."""
    looked_at = [
        (f"`{form['form']}` of `{body['body']}`", form["file"])
        for body in bodies
        for form in body["forms"]
        if "file" in form
    ]
    return len(looked_at), [f"{name}: {one['reason']}" for name, one in looked_at if one["became"] != "right"]


def files_text(bodies: Iterable[Mapping[str, Any]]) -> str:
    """Return the same as Markdown; empty if no file was looked at."""
    looked_at, others = files(bodies)
    if not looked_at:
        return ""
    said = (
        f"\nOf {looked_at} right ports, {looked_at - len(others)} were written to a file with the bytes that were "
        "measured, and the file's own test passed where pyopbench cannot be imported.\n"
    )
    return said + "".join(f"\n- {cell(one)}" for one in others) + ("\n" if others else "")


def _of_form(name: str, bodies: Iterable[Mapping[str, Any]], *, timed: bool) -> tuple[str, ...]:
    """Return the row of a form: for how many bodies it is right, for how many faster, and where it is not right."""
    tried = [(body["family"], form) for body in bodies for form in body["forms"] if form["form"] == name]
    right = [form for _, form in tried if _is_right(form)]
    left = Counter(family for family, form in tried if not _is_right(form))
    faster = (str(sum(map(_is_faster, right))),) if timed else ()
    where = ", ".join(f"{family} {number}" for family, number in left.most_common())
    return f"`{name}`", f"{len(right)} of {len(tried)}", *faster, where


def _is_right(form: Mapping[str, Any]) -> bool:
    return bool(form["became"] == "right")


def _is_wrong(form: Mapping[str, Any]) -> bool:
    return bool(form["became"] == "wrong")


def _right(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [form for form in body["forms"] if _is_right(form)]


def _is_port(form: Mapping[str, Any]) -> bool:
    return bool(form["kind"] == "port")


def _is_faster(form: Mapping[str, Any]) -> bool:
    return max(form.get("gains", [0])) >= LEAST_GAIN


def _family(family: str, document: Mapping[str, Any]) -> str:
    settings = document["settings"]
    timed = settings["timed"]
    rows = [
        (
            f"`{body['body']}`: {body.get('summary', '')}",
            _shown(_right(body), timed=timed),
            _stopped(body),
            body.get("found_in", ""),
        )
        for body in document["bodies"]
        if body["family"] == family
    ]
    right = "right, and its gain" if timed else "right"
    head = ("body", right, "not right", "where its kind is found")
    return f"### {family.capitalize()}\n\n{table(head, rows)}"


def _shown(forms: Iterable[Mapping[str, Any]], *, timed: bool) -> str:
    return "<br>".join(f"`{form['form']}` {_gains(form)}" if timed else f"`{form['form']}`" for form in forms) or "none"


def _gains(form: Mapping[str, Any]) -> str:
    return ", ".join(f"{gain:.2g}" if gain < 10 else f"{gain:.0f}" for gain in form.get("gains", []))


def _stopped(body: Mapping[str, Any]) -> str:
    """Return the forms that are not right, those with the same reason together."""
    if "failed" in body:
        return cell(body["failed"])
    by_reason: dict[str, list[str]] = {}
    for form in body["forms"]:
        if not _is_right(form):
            by_reason.setdefault(_told(form), []).append(f"`{form['form']}`")
    return "<br>".join(f"{', '.join(forms)}: {reason}" for reason, forms in by_reason.items())


def _told(form: Mapping[str, Any]) -> str:
    at = f" ({form['at']})" if _is_wrong(form) else ""
    return cell(f"{'wrong: ' if _is_wrong(form) else ''}{form['reason']}{at}")


def _reasons(bodies: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    forms = dict.fromkeys(form["form"] for body in bodies for form in body["forms"])
    rows = []
    for name in forms:
        not_right = [form for body in bodies for form in body["forms"] if form["form"] == name and not _is_right(form)]
        for what, number in Counter(map(_class, not_right)).most_common():
            rows.append((f"`{name}`", str(number), what))
    return rows


def _class(form: Mapping[str, Any]) -> str:
    if _is_wrong(form):
        return "values or gradients that are wrong"
    return cell(form.get("cause") or form["error"] or form["reason"])
