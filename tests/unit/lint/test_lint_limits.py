"""What is too much is refused before it costs anything."""

import tracemalloc
from time import process_time

import pytest
from lint_cases import flaws

from jangar.lint.documents import read_documents

LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(9)
)


@pytest.mark.parametrize(
    ("data", "reason", "message"),
    [
        pytest.param(LAUGHS.encode(), "TooManyAliases", "aliases repeat too much", id="billion-laughs"),
        pytest.param(
            b"a: &a\n" + b"".join(b" - &b%d {<<: [*a]}\n" % n for n in range(9)),
            "TooManyAliases",
            "contains itself",
            id="merge-in-itself",
        ),
        pytest.param(b"[" * 100_000, "TooDeep", "more than 64 levels", id="brackets"),
        pytest.param(b"{a: " * 100_000, "TooDeep", "more than 64 levels", id="braces"),
        pytest.param(b"- " * 100_000, "TooDeep", "more than 64 levels", id="dashes"),
        pytest.param(b'{"a":' * 100_000, "TooDeep", "more than 64 levels", id="json"),
        pytest.param(b"a: " + b"x" * 10_000_000, "TooLarge", "line 1 is longer than 1 MiB", id="10-MB-line"),
        pytest.param(
            b"a: 1\nb: [" + b"1," * 5_000_000 + b"]",
            "TooLarge",
            "line 2 is longer than 1 MiB",
            id="10-MB-list-in-a-line",
        ),
        pytest.param(b"x\n" * 6_000_000, "TooLarge", "the file is larger than 10 MiB", id="12-MB"),
        pytest.param(b"--- 1\n" * 200_000, "TooLarge", "more than 2,000 documents", id="documents"),
        pytest.param(b"{} " * 200_000, "TooLarge", "more than 2,000 documents", id="json-documents"),
    ],
)
def test_hostile_text_is_refused_quickly_and_in_little_memory(data, reason, message):
    """Well under the 100 ms and 100 MB that users are promised."""
    read_documents(b"warm: up")
    took = float("inf")
    for _ in range(3):  # a collection of everything that the tests hold may come in between
        began = process_time()
        found = flaws(data)
        took = min(took, process_time() - began)
    tracemalloc.start()
    flaws(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found) == 1
    assert reason in found[0]
    assert message in found[0]
    assert took < 0.1
    assert peak < 50_000_000


def test_a_deep_value_behind_an_alias_counts_as_deep():
    deep = "a: &a " + "[" * 40 + "]" * 40 + "\nb: " + "[" * 40 + "*a" + "]" * 40 + "\n"
    assert "TooDeep" in flaws(deep)[0]


def test_a_file_may_hold_half_a_million_values_and_no_more():
    assert flaws("- a\n" * 100) == []
    (found,) = flaws("- a\n" * 500_001)
    assert "TooLarge: more than 500,000 values in one file" in found


def test_a_value_that_is_used_often_is_no_bomb():
    text = "x: &x {a: 1, b: 2, c: {d: e}}\nsteps:\n" + "- {name: a, with: *x}\n" * 2_000
    assert flaws(text) == []


def test_lines_just_below_the_limit_are_read():
    assert flaws(b"a: " + b"x" * (1024 * 1024 - 4) + b"\nb: 1\n") == []
