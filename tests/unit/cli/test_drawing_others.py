"""The listing and the exports: everything a drawing says, in words and for other tools."""

import pytest
from drawn_dags import dag

from jangar.api.phases import ExecutionMode
from jangar.cli.drawing import exports
from jangar.cli.drawing.boxes import ASCII, listing

DIAMOND = dag("prepare; build < prepare; test < prepare; deploy < build test")


def test_a_listing_names_levels_and_what_each_step_comes_after():
    assert listing(DIAMOND, width=80) == [
        "1  prepare",
        "2  build    after prepare",
        "   test     after prepare",
        "3  deploy   after build, test",
    ]


def test_long_lists_are_wrapped_between_names():
    wide = dag(
        "; ".join(f"step-number-{n}" for n in range(9))
        + "; end < "
        + " ".join(f"step-number-{n}" for n in range(9))
    )
    lines = listing(wide, width=50)
    assert max(map(len, lines)) <= 50
    assert lines[-5:] == [
        "2  end            after step-number-0,",
        "                  step-number-1, step-number-2,",
        "                  step-number-3, step-number-4,",
        "                  step-number-5, step-number-6,",
        "                  step-number-7, step-number-8",
    ]


def test_names_of_any_length_stay_whole():
    long = "x" * 63
    assert listing(dag(f"{long}; b < {long}"), width=40) == [
        f"1  {long}",
        "2  b                                 after",
        f"{' ' * 37}{long}",
    ]


@pytest.mark.parametrize(
    ("text", "mode", "expected"),
    [
        pytest.param("a", ExecutionMode.GRAPH, "Orchestration/nightly: 1 step in 1 level", id="one"),
        pytest.param(
            "a; b < a",
            ExecutionMode.SEQUENTIAL,
            "Orchestration/nightly: 2 steps one after another",
            id="list",
        ),
    ],
)
def test_the_title_says_how_steps_run(text, mode, expected):
    assert dag(text, mode=mode).title == expected


def test_mermaid_has_one_node_a_step_and_one_arrow_an_edge():
    assert exports.mermaid([DIAMOND]) == [
        "flowchart TD",
        '  s0["prepare"]',
        '  s1["build"]',
        '  s2["test"]',
        '  s3["deploy"]',
        "  s0 --> s1",
        "  s0 --> s2",
        "  s1 --> s3",
        "  s2 --> s3",
    ]


def test_several_orchestrations_are_subgraphs_of_one_chart():
    assert exports.mermaid([dag("a"), dag("a", name="other")]) == [
        "flowchart TD",
        '  subgraph o0["Orchestration/nightly"]',
        '    o0_s0["a"]',
        "  end",
        '  subgraph o1["Orchestration/other"]',
        '    o1_s0["a"]',
        "  end",
    ]


def test_dot_has_one_digraph_an_orchestration():
    assert exports.dot([dag("a; b < a")]) == [
        'digraph "Orchestration/nightly" {',
        "  rankdir=TB;",
        "  node [shape=box];",
        '  s0 [label="a"];',
        '  s1 [label="b"];',
        "  s0 -> s1;",
        "}",
    ]


def test_names_cannot_break_out_of_an_export():
    hostile = dag('a"]-->y', name='n"}\n"')
    assert exports.mermaid([hostile])[1] == '  s0["a#34;#93;--#62;y"]'
    assert exports.dot([hostile])[0] == 'digraph "Orchestration/n\\"}\\n\\"" {'
    assert exports.dot([hostile])[3] == '  s0 [label="a\\"]-->y"];'


def test_json_says_everything_a_drawing_shows():
    assert exports.as_json([dag("a; b < a")]) == {
        "graphs": [
            {
                "kind": "Orchestration",
                "name": "nightly",
                "executionMode": "Graph",
                "steps": [
                    {"name": "a", "kind": "Checkpoint", "level": 1, "needs": []},
                    {"name": "b", "kind": "Checkpoint", "level": 2, "needs": ["a"]},
                ],
                "levels": [["a"], ["b"]],
            }
        ]
    }


def test_a_terminal_without_box_characters_gets_plain_ones():
    assert "┌─▼─┐│├┼┤└┬┴┘".translate(ASCII) == "+-v-+|+++++++"
