"""A twin is the same code under a second name."""

from __future__ import annotations

from dataclasses import replace

from made_nouns import made_variant
from pyopbench.ops.cost_components import twin_of
from pyopbench.ops.load import load_variant


def test_a_twin_differs_from_its_variant_in_name_summary_and_role_alone() -> None:
    variant = made_variant()
    twin = twin_of(variant)
    assert (twin.name, twin.role, twin.is_part) == (f"{variant.name}_twin", "twin", True)
    assert replace(twin, name=variant.name, summary=variant.summary, role=variant.role) == variant


def test_it_is_found_by_its_name() -> None:
    assert load_variant("numpy_function_twin").build is load_variant("numpy_function").build
