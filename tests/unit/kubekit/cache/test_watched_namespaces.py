"""Which texts name a set of namespaces, and what is said about the others."""

import pytest

from kubekit.cache.namespaces import BadNamespaces, Namespaces


@pytest.mark.parametrize(
    ("text", "names"),
    [
        pytest.param("a", ("a",), id="one"),
        pytest.param("a,b", ("a", "b"), id="two"),
        pytest.param(" a , b ", ("a", "b"), id="spaces-are-nothing"),
        pytest.param("b,a,b", ("b", "a"), id="twice-is-once"),
        pytest.param("*", None, id="all"),
        pytest.param(" * ", None, id="all-with-spaces"),
    ],
)
def test_lists_and_the_star_are_read(text, names):
    """A list, or all."""
    assert Namespaces.parse(text) == Namespaces(names)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "no namespace", id="nothing"),
        pytest.param("a,,b", "part 2 is empty", id="empty-part"),
        pytest.param("a,*", "cannot be combined", id="star-in-a-list"),
        pytest.param("a,Team_B", "'Team_B' is not a valid namespace name", id="bad-name"),
        pytest.param("a,-b", "'-b' is not a valid namespace name", id="bad-start"),
        pytest.param("x" * 64, "at most 63", id="too-long"),
    ],
)
def test_the_bad_part_is_named(text, message):
    """The message says what to fix."""
    with pytest.raises(BadNamespaces, match=message):
        Namespaces.parse(text)


def test_membership_follows_the_text():
    """All contains everything; a list what it names."""
    assert "anything" in Namespaces.every()
    assert "a" in Namespaces.of("a", "b")
    assert "c" not in Namespaces.of("a", "b")
    assert str(Namespaces.of("a", "b")) == "a,b"
    assert str(Namespaces.every()) == "*"
