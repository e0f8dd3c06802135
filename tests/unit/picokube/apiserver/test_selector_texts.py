"""Label and field selectors read as Kubernetes reads them."""

import pytest

from picokube.apiserver.objects.selectors import (
    FieldTerm,
    matches_fields,
    matches_labels,
    parse_fields,
    parse_labels,
)
from picokube.apiserver.protocol.errors import ApiError

LABELS = {"app": "web", "tier": "", "size": "5"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", True, id="empty-matches-all"),
        pytest.param("app", True, id="exists"),
        pytest.param("!app", False, id="does-not-exist"),
        pytest.param("!other", True, id="other-does-not-exist"),
        pytest.param("app=web", True, id="equal"),
        pytest.param("app==web", True, id="equal-twice"),
        pytest.param("app!=web", False, id="unequal"),
        pytest.param("other!=web", True, id="absent-is-unequal"),
        pytest.param("app in (web, db)", True, id="in"),
        pytest.param("app in (db)", False, id="not-in-the-set"),
        pytest.param("app notin (db)", True, id="notin"),
        pytest.param("other notin (db)", True, id="absent-is-notin"),
        pytest.param("tier in ()", True, id="empty-set-means-the-empty-value"),
        pytest.param("tier=", True, id="empty-value"),
        pytest.param("size>4", True, id="greater"),
        pytest.param("size<5", False, id="less"),
        pytest.param("app>4", False, id="text-is-never-greater"),
        pytest.param("app=web,size>4,!other", True, id="all-must-match"),
        pytest.param("app=web,size>5", False, id="one-does-not"),
    ],
)
def test_label_selectors_match(text, expected):
    """Every operator."""
    assert matches_labels(parse_labels(text), LABELS) is expected


@pytest.mark.parametrize(
    "text",
    ["a in", "a in (b", "a in (b b)", "=b", "a=b c", "a=b,", "a=?", "a > x", "a b c", "(", "!", "a==b=="],
)
def test_what_is_no_label_selector_is_a_bad_request(text):
    """400, never a guess."""
    with pytest.raises(ApiError) as refused:
        parse_labels(text)
    assert refused.value.code == 400
    assert "expected: " in refused.value.message or "Invalid value: " in refused.value.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(None, (), id="none"),
        pytest.param("a=b", (FieldTerm(field="a", value="b"),), id="equal"),
        pytest.param("a==b", (FieldTerm(field="a", value="b"),), id="equal-twice"),
        pytest.param("a!=b", (FieldTerm(field="a", value="b", negated=True),), id="unequal"),
        pytest.param("a=b,a=", (FieldTerm(field="a", value="b"), FieldTerm(field="a", value="")), id="two"),
        pytest.param(r"a=b\,c\=d", (FieldTerm(field="a", value="b,c=d"),), id="escaped"),
    ],
)
def test_field_selectors_are_read(text, expected):
    """Terms, escapes and empty values."""
    assert parse_fields(text, is_known={"a"}.__contains__) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a", "invalid selector: 'a'; can't understand 'a'", id="no-operator"),
        pytest.param("x=1", "field label not supported: x", id="unknown-field"),
    ],
)
def test_field_selectors_that_cannot_be_answered_are_refused(text, message):
    """In the server's words."""
    with pytest.raises(ApiError, match=message):
        parse_fields(text, is_known={"a"}.__contains__)


def test_a_field_selector_matches_all_its_terms():
    """Negated ones, too."""
    terms = parse_fields("a=1,b!=2", is_known=str.isalpha)
    assert matches_fields(terms, {"a": "1", "b": "3"}.__getitem__)
    assert not matches_fields(terms, {"a": "1", "b": "2"}.__getitem__)
    assert not matches_fields(terms, {"a": "2", "b": "3"}.__getitem__)
