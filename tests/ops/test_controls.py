"""Controls exist for every name that certifying asks for, differ as their names say, and stay out of ordinary runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pyopbench.engine.certify import BASES, INJECTED, controls
from pyopbench.model.case import BASELINE, Axes
from pyopbench.model.discover import CONTROLS, PATH_VARIABLE, find
from pyopbench.ops.load import load_ops, load_variant, load_variants
from pyopbench.worker.plan import make_plan

NAMES = {**{f"{base}_twin": 0 for base in BASES}, **{f"{BASELINE}_slowed_{n}": n for n in INJECTED}}


@pytest.fixture(autouse=True)
def _found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PATH_VARIABLE, str(CONTROLS))


def test_every_base_has_its_twin_and_its_slowdowns() -> None:
    assert {name for name, path in find("variants").items() if CONTROLS in path.parents} == set(NAMES)
    assert set(controls((0, *INJECTED))) == set(NAMES)


@pytest.mark.parametrize(("name", "percent"), NAMES.items())
def test_a_control_is_its_base_but_for_its_name_and_its_stretch(name: str, percent: int) -> None:
    control = load_variant(name)
    base = load_variant(next(base for base in sorted(BASES, reverse=True) if name.startswith(f"{base}_")))
    named = {"name": base.name, "summary": base.summary, "role": base.role}
    assert control.stretch == percent / 100
    assert replace(control, stretch=0.0, **named) == base


def test_controls_are_in_no_run_that_does_not_name_them() -> None:
    plan = make_plan(Axes(ops=("double",), sizes=(1,)), load_ops(), load_variants())
    assert not {case.variant for case in plan.cases} & set(NAMES)


def test_no_shipped_variant_is_stretched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PATH_VARIABLE)
    assert {variant.stretch for variant in load_variants().values()} == {0.0}
    assert not set(find("variants")) & set(NAMES)
