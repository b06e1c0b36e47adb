"""The facts of built-in ops and variants that are kept in a file are those that the ops and variants have."""

from __future__ import annotations

import msgspec

from pyopbench.ops.load import describe, load_ops, load_variants
from pyopbench.store.types import Catalogue, builtin_catalogue


def test_the_stored_facts_are_those_of_the_ops_and_variants() -> None:
    facts = msgspec.convert(describe(load_ops(), load_variants()), Catalogue)
    stored = builtin_catalogue()
    assert (stored.ops, stored.variants) == (facts.ops, facts.variants), "change pyopbench/store/catalogue.json as well"
