"""DAG-2: how messages name things, and which name was meant."""

import time

import pytest

from jangar.domain.orchestration.message_text import Guesses, arrows, quoted, some_of

pytestmark = pytest.mark.rule("DAG-2")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("build", '"build"', id="plain"),
        pytest.param("", '""', id="empty"),
        pytest.param("größe ✓", '"größe ✓"', id="unicode"),
        pytest.param("a\nb\x00\N{ZERO WIDTH SPACE}", r'"a\nb\x00\u200b"', id="unseen-characters-are-shown"),
        pytest.param("x" * 80, '"' + "x" * 80 + '"', id="as-long-as-allowed"),
        pytest.param("x" * 81, '"' + "x" * 80 + '…"', id="longer-is-cut"),
    ],
)
def test_names_are_quoted_on_one_line(text, expected):
    """DAG-2: a message stays readable whatever the user wrote."""
    assert quoted(text) == expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param(["a", "b", "a"], "a -> b -> a", id="short"),
        pytest.param(["x" * 81, "\n"], "x" * 80 + r"… -> \n", id="names-are-shown-as-in-quotes"),
        pytest.param(
            [str(n) for n in range(20)], " -> ".join(str(n) for n in range(20)), id="as-long-as-allowed"
        ),
        pytest.param(
            [str(n) for n in range(22)],
            "0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 6 -> 7 -> 8 -> 9 -> (2 more) -> "
            "12 -> 13 -> 14 -> 15 -> 16 -> 17 -> 18 -> 19 -> 20 -> 21",
            id="the-middle-is-counted",
        ),
    ],
)
def test_paths_have_arrows(names, expected):
    """DAG-2: a cycle reads `a -> b -> a`, and one of thousands of steps still fits."""
    assert arrows(names) == expected


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        pytest.param(1, '"0"', id="one"),
        pytest.param(10, ", ".join(f'"{n}"' for n in range(10)), id="ten"),
        pytest.param(11, ", ".join(f'"{n}"' for n in range(10)) + " and 1 more", id="one-more"),
        pytest.param(12, ", ".join(f'"{n}"' for n in range(10)) + " and 2 more", id="more-are-counted"),
    ],
)
def test_lists_of_values_are_bounded(count, expected):
    """DAG-2: ten values are shown."""
    assert some_of([str(n) for n in range(count)]) == expected


@pytest.mark.parametrize(
    ("known", "wrong", "expected"),
    [
        pytest.param([], "build", None, id="nothing-known"),
        pytest.param(["build", "test"], "biuld", "build", id="swapped-letters"),
        pytest.param(["build", "test"], "tst", "test", id="missing-letter"),
        pytest.param(["deploy", "test"], "xyz", None, id="nothing-alike"),
        pytest.param(["abcd", "build"], "BUILD", "build", id="case"),
        pytest.param(["a-bx", "a-b"], "A_B", "a-b", id="dash-and-underscore"),
        pytest.param(["A-b", "a-b"], "a_B", "A-b", id="first-of-those-that-differ-in-case"),
        pytest.param(["build-1", "build-2"], "build-3", "build-1", id="first-of-equals"),
        pytest.param(["build-x1", "build-1"], "build-11", "build-1", id="the-most-similar"),
        pytest.param(["build-1", "build-x1"], "build-11", "build-1", id="the-most-similar-in-any-order"),
        pytest.param(["abcdef"], "abcxyz1", None, id="just-too-different"),
        pytest.param(["abcde"], "abcxy", "abcde", id="just-similar-enough"),
        pytest.param(["x" * 253], "x" * 252 + "y", "x" * 253, id="as-long-as-a-name-can-be"),
        pytest.param(["x" * 254], "X" * 254, None, id="longer-is-not-guessed"),
    ],
)
def test_the_nearest_name_is_found(known, wrong, expected):
    """DAG-2: an unknown name comes with the existing one it is most similar to."""
    assert Guesses(known).nearest(wrong) == expected


def test_a_guess_is_a_question_and_no_guess_is_advice():
    """DAG-2: the fix names what was probably meant, or says what to do."""
    guesses = Guesses(["build"])
    assert guesses.fix("biuld", otherwise="add it") == 'did you mean "build"?'
    assert guesses.fix("xyz", otherwise="add it") == "add it"


def test_guessing_stops_when_it_has_cost_enough():
    """DAG-2: ten thousand typing errors are reported within a second, the first ones with a suggestion."""
    guesses = Guesses([f"{'a' * 50}{number:05}" for number in range(5000)])
    began = time.process_time()
    found = [guesses.nearest(f"{'a' * 51}{number:05}x") for number in range(0, 10_000, 2)]
    assert time.process_time() - began < 2.0
    assert found[-1] is None
    assert guesses.nearest("A" * 50 + "00007") == "a" * 50 + "00007"


def test_the_first_of_many_unknown_names_still_get_a_guess():
    """DAG-2: the budget covers several looks through ten thousand names."""
    guesses = Guesses([f"step-{number:05}" for number in range(10_000)])
    assert guesses.nearest("stp-00417") == "step-00417"
