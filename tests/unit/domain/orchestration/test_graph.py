"""DAG-1, DAG-2, DAG-8: which step needs which, in what order, and where steps need each other."""

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jangar.domain.orchestration.graph import (
    Graph,
    ancestor_bits,
    connected_components,
    cycles,
    graph_of,
    sequential_needs,
    shortest_path,
)

DIAMOND = ((), (0,), (0,), (1, 2))
BIG = 10_000


@st.composite
def edges(draw, *, most=8):
    count = draw(st.integers(0, most))
    node = st.integers(0, max(count - 1, 0))
    return draw(st.lists(st.lists(node, max_size=4), min_size=count, max_size=count))


def naive_reach(needs, start):
    """Everything reachable from `start` by at least one edge, found the slow way."""
    reached = set(needs[start])
    while more := {need for item in reached for need in needs[item]} - reached:
        reached |= more
    return reached


@pytest.mark.rule("DAG-1")
@pytest.mark.parametrize(
    ("count", "expected"),
    [
        pytest.param(0, (), id="no-steps"),
        pytest.param(1, ((),), id="one-step-is-a-root"),
        pytest.param(4, ((), (0,), (1,), (2,)), id="each-needs-the-one-before"),
    ],
)
def test_a_list_is_a_chain(count, expected):
    """DAG-1: without dependsOn, each step needs the one before it."""
    assert sequential_needs(count) == expected


@pytest.mark.rule("DAG-2")
def test_a_graph_knows_its_edges_in_both_directions():
    """DAG-2: edges are resolved to indexes, and a dependency named twice counts once."""
    assert graph_of(["a", "b", "c", "d"], ((), (0, 0), (0,), (1, 2, 1))) == Graph(
        names=("a", "b", "c", "d"),
        needs=DIAMOND,
        dependents=((1, 2), (3,), (3,), ()),
        order=(0, 1, 2, 3),
        position=(0, 1, 2, 3),
    )


@pytest.mark.rule("DAG-8")
@pytest.mark.parametrize(
    ("needs", "order"),
    [
        pytest.param(((), (), ()), (0, 1, 2), id="roots-in-list-order"),
        pytest.param(((1,), (2,), ()), (2, 1, 0), id="needed-first"),
        pytest.param(((3,), (), (), ()), (1, 2, 3, 0), id="waiting-step-comes-when-it-can"),
        pytest.param(((2,), (), (), (1,)), (1, 2, 0, 3), id="smallest-ready-index-first"),
    ],
)
def test_order_is_topological_and_list_order_breaks_ties(needs, order):
    """DAG-8: the same graph always gives the same order, the smallest index first among equals."""
    graph = graph_of([f"s{index}" for index in range(len(needs))], needs)
    assert graph is not None
    assert graph.order == order
    assert [graph.position[index] for index in order] == list(range(len(order)))


@pytest.mark.rule("DAG-2")
@pytest.mark.parametrize(
    "needs",
    [
        pytest.param(((0,),), id="itself"),
        pytest.param(((1,), (0,)), id="two"),
        pytest.param(((), (0, 2), (1,)), id="behind-a-root"),
    ],
)
def test_a_cycle_is_no_graph(needs):
    """DAG-2: steps that need each other have no order."""
    assert graph_of(["x"] * len(needs), needs) is None


@pytest.mark.rule("DAG-5")
@pytest.mark.parametrize(
    ("index", "ancestors", "descendants"),
    [
        pytest.param(0, set(), {1, 2, 3}, id="root"),
        pytest.param(1, {0}, {3}, id="middle"),
        pytest.param(3, {0, 1, 2}, set(), id="end"),
    ],
)
def test_ancestors_and_descendants_are_transitive(index, ancestors, descendants):
    """DAG-5: a failure affects all dependents and no other step."""
    graph = graph_of("abcd", DIAMOND)
    assert graph is not None
    assert graph.ancestors(index) == ancestors
    assert graph.descendants(index) == descendants


@pytest.mark.rule("DAG-2")
@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        pytest.param((), [], id="nothing"),
        pytest.param(DIAMOND, [], id="no-cycle"),
        pytest.param(((0,),), [[0, 0]], id="itself"),
        pytest.param(((1,), (0,)), [[0, 1, 0]], id="two"),
        pytest.param(((2,), (0,), (1,)), [[0, 2, 1, 0]], id="follows-the-edges"),
        pytest.param(((), (2,), (3,), (1,)), [[1, 2, 3, 1]], id="begins-with-the-smallest"),
        pytest.param(((1, 2), (2,), (0,)), [[0, 2, 0]], id="the-shortest-through-the-smallest"),
        pytest.param(((3,), (2,), (1,), (0,)), [[0, 3, 0], [1, 2, 1]], id="each-knot-by-its-smallest"),
        pytest.param(((1,), (2, 0), (3,), (2,)), [[0, 1, 0], [2, 3, 2]], id="one-knot-behind-another"),
        pytest.param(((1, 2), (0,), (0,)), [[0, 1, 0]], id="one-cycle-for-each-knot"),
        pytest.param(((1,), (0, 2), (1,)), [[0, 1, 0]], id="not-the-rest-of-the-knot"),
        pytest.param(((3, 1), (2,), (4,), (4,), (0,)), [[0, 3, 4, 0]], id="a-shorter-branch-wins"),
    ],
)
def test_cycles_are_shown_once_for_each_knot(needs, expected):
    """DAG-2: a cycle is reported as the path that leads back to its first step."""
    assert cycles(needs) == expected


@pytest.mark.rule("DAG-2")
@settings(deadline=None)
@given(edges())
def test_cycles_are_found_where_a_graph_is_refused(needs):
    """DAG-2: cycles are found if and only if there is no order, and each is a real way back."""
    found = cycles(needs)
    circular = [index for index in range(len(needs)) if index in naive_reach(needs, index)]
    assert (graph_of(["x"] * len(needs), needs) is None) == bool(found) == bool(circular)
    for cycle in found:
        assert cycle[0] == cycle[-1] == min(cycle)
        assert len(set(cycle)) == len(cycle) - 1
        assert all(after in needs[before] for before, after in pairwise(cycle))
    assert {cycle[0] for cycle in found} == {
        min(
            other
            for other in circular
            if other in naive_reach(needs, index) and index in naive_reach(needs, other)
        )
        for index in circular
    }


@pytest.mark.rule("DAG-2")
@settings(deadline=None)
@given(edges())
def test_knots_come_after_what_they_need(needs):
    """DAG-2: every step is in one knot, and what it needs is in that one or an earlier one."""
    found = connected_components(needs)
    place = {index: number for number, component in enumerate(found) for index in component}
    assert sorted(index for component in found for index in component) == list(range(len(needs)))
    assert all(component == sorted(component) for component in found)
    for index, item in enumerate(needs):
        for need in item:
            assert place[need] <= place[index]
            assert (place[need] == place[index]) == (need == index or index in naive_reach(needs, need))


@pytest.mark.rule("DAG-2")
@settings(deadline=None)
@given(edges())
def test_ancestors_as_bits_are_what_can_be_reached(needs):
    """DAG-2: bit i is set for each ancestor i, in graphs with and without cycles."""
    for index, bits in enumerate(ancestor_bits(needs)):
        assert {other for other in range(len(needs)) if bits >> other & 1} == naive_reach(needs, index)


@pytest.mark.rule("DAG-2")
def test_no_way_is_an_error():
    """A shortest path is asked for only where there is one."""
    with pytest.raises(AssertionError, match=r"^2 cannot be reached from 0$"):
        shortest_path(0, 2, ((1,), (2,), ()), within=frozenset({0, 2}))


@pytest.mark.rule("DAG-14")
@pytest.mark.parametrize(
    ("needs", "cycle_lengths"),
    [
        pytest.param(sequential_needs(BIG), [], id="chain"),
        pytest.param(sequential_needs(BIG)[::-1], [3], id="chain-folded"),
        pytest.param([[(index + 1) % BIG] for index in range(BIG)], [BIG + 1], id="ring"),
        pytest.param(
            [[min(index + 1, BIG - 1), 0, 1, 2, 3] for index in range(BIG)], [2], id="every-step-leads-back"
        ),
    ],
)
def test_ten_thousand_steps_are_walked_at_once_and_without_recursion(needs, cycle_lengths):
    """DAG-14: deep and tangled graphs of 10,000 steps cost milliseconds and no stack."""
    began = time.process_time()
    found = cycles(needs)
    ancestor_bits(needs)
    assert [len(cycle) for cycle in found][: len(cycle_lengths)] == cycle_lengths
    assert time.process_time() - began < 1.0
