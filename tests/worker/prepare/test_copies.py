"""How many copies a graph holds."""

from __future__ import annotations

import pytest

from pyopbench.worker.prepare.node_graph import affordable, buildable, copies_of, enough_copies


@pytest.mark.parametrize(
    ("empty", "one", "copies"),
    [
        (50e-6, 200e-6, 1),  # 150 us are three times the empty graph
        (50e-6, 199e-6, 2),
        (50e-6, 125e-6, 2),
        (50e-6, 124e-6, 4),
        (50e-6, 51e-6, 8),  # 8 us are not enough, and there is no more
        (50e-6, 49e-6, 8),
        (0.0, 1e-6, 1),
    ],
)
def test_enough_copies_take_three_times_the_empty_graph(empty: float, one: float, copies: int) -> None:
    assert enough_copies(empty, one) == copies


@pytest.mark.parametrize(("enough", "callback", "port"), [(8, (1, 2), (8,)), (2, (1, 2), (2,)), (1, (1,), (1,))])
def test_a_callback_has_graphs_of_one_copy_and_of_two(
    enough: int, callback: tuple[int, ...], port: tuple[int, ...]
) -> None:
    assert copies_of(callback=True, enough=enough).numbers == callback
    assert copies_of(callback=False, enough=enough).numbers == port


@pytest.mark.parametrize(
    ("copies", "copy_seconds", "least", "expected"),
    [(8, 2.5e-3, 1, 8), (8, 2.6e-3, 1, 2), (8, 11e-3, 1, 1), (1, 1.0, 1, 1), (4, 1.0, 4, 4), (2, 0.011, 1, 1)],
)
def test_fewer_copies_where_they_take_longer_than_20_ms(
    copies: int, copy_seconds: float, least: int, expected: int
) -> None:
    assert affordable(copies, copy_seconds, least) == expected


@pytest.mark.parametrize(("nodes", "copies"), [(32, 8), (33, 2), (128, 2), (129, 1), (9999, 1)])
def test_graphs_of_several_copies_have_at_most_256_nodes(nodes: int, copies: int) -> None:
    assert buildable(8, nodes) == copies
    assert buildable(4, nodes, least=4) == 4
