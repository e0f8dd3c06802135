"""The layered drawing: what users see for the usual shapes, and that no drawing lies about an edge."""

import pytest
from drawn_dags import dag, edges_of
from hypothesis import given, settings
from hypothesis import strategies as st

from jangar.cli.drawing.boxes import boxes

DIAMOND = """\
     ┌─────────┐
     │ prepare │
     └────┬────┘
    ┌─────┴────┐
┌───▼───┐  ┌───▼───┐
│ build │  │ test  │
└───┬───┘  └───┬───┘
    └─────┬────┘
     ┌────▼────┐
     │ deploy  │
     └─────────┘"""

CHAIN = """\
┌───┐
│ a │
└─┬─┘
  │
┌─▼─┐
│ b │
└─┬─┘
  │
┌─▼─┐
│ c │
└───┘"""

FAN_OUT = """\
        ┌───────┐
        │ prep  │
        └───┬───┘
  ┌──────┬──┴───┬──────┐
┌─▼─┐  ┌─▼─┐  ┌─▼─┐  ┌─▼─┐
│ a │  │ b │  │ c │  │ d │
└───┘  └───┘  └───┘  └───┘"""

CROSSING = """\
┌───┐  ┌───┐  ┌───┐
│ a │  │ b │  │ c │
└┬─┬┘  └┬─┬┘  └┬─┬┘
 └┬│────┘ └────│┬┘
  │└─────┬─────┘│
┌─▼─┐  ┌─▼─┐  ┌─▼─┐
│ d │  │ f │  │ e │
└───┘  └───┘  └───┘"""

PASSING = """\
  ┌───┐  ┌───┐
  │ a │  │ b │
  └┬─┬┘  └─┬─┘
┌──┘ ├─────┴┐
│  ┌─▼─┐  ┌─▼─┐
│  │ c │  │ d │
│  └─┬─┘  └─┬─┘
└────┴┬─────┘
    ┌─▼─┐
    │ e │
    └───┘"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("prepare; build < prepare; test < prepare; deploy < build test", DIAMOND, id="diamond"),
        pytest.param("a; b < a; c < b", CHAIN, id="chain"),
        pytest.param("prep; a < prep; b < prep; c < prep; d < prep", FAN_OUT, id="fan-out"),
        pytest.param("a; b; c; d < a b; e < b c; f < a c", CROSSING, id="lines-cross-without-joining"),
        pytest.param("a; b; c < a b; d < a b; e < c d a", PASSING, id="an-edge-passes-a-level"),
        pytest.param("only", "┌───────┐\n│ only  │\n└───────┘", id="one-step"),
    ],
)
def test_a_graph_is_drawn_from_top_to_bottom(text, expected):
    assert boxes(dag(text), width=80) == expected.splitlines()


@pytest.mark.parametrize(
    ("text", "width"),
    [
        pytest.param(
            "prep; " + "; ".join(f"step-{n} < prep" for n in range(12)), 80, id="wider-than-the-terminal"
        ),
        pytest.param("; ".join(f"s{n}" for n in range(61)), 10_000, id="too-many-steps"),
        pytest.param("s0; " + "; ".join(f"s{n} < s{n - 1}" for n in range(1, 40)), 80, id="too-many-levels"),
    ],
)
def test_what_cannot_be_read_as_boxes_is_not_drawn(text, width):
    assert boxes(dag(text), width=width) is None


@st.composite
def graphs(draw):
    """Acyclic graphs of up to 14 steps."""
    count = draw(st.integers(1, 14))
    parts = []
    for number in range(count):
        needs = draw(st.sets(st.integers(0, number - 1), max_size=4)) if number else set()
        parts.append(f"s{number} < {' '.join(f's{need}' for need in sorted(needs))}")
    return "; ".join(parts)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(graphs())
def test_following_the_lines_gives_exactly_the_edges(text):
    """A reader who follows every line finds every edge of the graph and no other."""
    drawn = dag(text)
    drawing = boxes(drawn, width=10_000)
    names, needs = drawn.graph.names, drawn.graph.needs
    if drawing is not None:
        assert edges_of(drawing) == {(names[n], names[i]) for i, item in enumerate(needs) for n in item}


def test_nearly_every_small_graph_can_be_drawn():
    """The listing is for wide graphs, not for knotty ones."""
    assert boxes(dag("a; b; c; d < a; e < a b; f < b c; g < d f; h < e c; i < g h a"), width=100) is not None
