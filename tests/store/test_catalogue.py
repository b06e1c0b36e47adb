"""The facts of built-in ops and variants that are kept in a file are those that the ops and variants have."""

from __future__ import annotations

import msgspec

from pyopbench.ops.load import describe, load_ops, load_variants
from pyopbench.store.types import Catalogue, builtin_catalogue


def test_the_stored_facts_are_those_of_the_ops_and_variants() -> None:
    facts = msgspec.convert(describe(load_ops(), load_variants()), Catalogue)
    stored = builtin_catalogue()
    for kept, found in ((stored.ops, facts.ops), (stored.variants, facts.variants)):
        new = {name: fact for name, fact in found.items() if kept.get(name) != fact}
        assert not new, f"put into pyopbench/store/catalogue.json: {msgspec.json.encode(new).decode()}"
        assert set(kept) == set(found)
