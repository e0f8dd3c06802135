"""What each form reads and what it refuses."""

from datetime import timedelta

import pytest

from jangar.domain.retention.values import NEVER, Keep
from jangar.settings import forms
from jangar.settings.forms import Scope


@pytest.mark.parametrize(
    ("form", "written", "value"),
    [
        (forms.switch(), "true", True),
        (forms.switch(), "YES", True),
        (forms.switch(), "1", True),
        (forms.switch(), "off", False),
        (forms.switch(), "0", False),
        (forms.whole_number(least=0, most=10), "10", 10),
        (forms.seconds(least=1), "90", timedelta(seconds=90)),
        (forms.milliseconds(least=1000), "1500", timedelta(seconds=1.5)),
        (forms.retention("X"), "0", Keep(duration=timedelta(0))),
        (forms.retention("X"), "never", NEVER),
        (forms.retention("X"), "", NEVER),
        (forms.text(), "ghcr.io/a/b:1", "ghcr.io/a/b:1"),
        (forms.path(), "/metrics", "/metrics"),
        (forms.object_name(), "agents-runner.v1", "agents-runner.v1"),
        (forms.namespaces(), "*", Scope(None)),
        (forms.namespaces(), "a, b,a", Scope(("a", "b"))),
        (forms.namespaces(), '["a", "b"]', Scope(("a", "b"))),
        (forms.json_object(), '{"a": "b"}', {"a": "b"}),
        (forms.json_list(), '[{"key": "gpu"}]', ({"key": "gpu"},)),
    ],
)
def test_texts_of_the_form_have_a_value(form, written, value):
    """Every way of writing that is said to be allowed is."""
    assert form.read(written) == value


@pytest.mark.parametrize(
    ("form", "written", "reason"),
    [
        (forms.switch(), "maybe", "neither on nor off"),
        (forms.whole_number(least=0, most=10), "11", "more than 10"),
        (forms.whole_number(least=0, most=10), "-1", "less than 0"),
        (forms.whole_number(least=0, most=10), "1.0", "not a whole number"),
        (forms.whole_number(least=0, most=10), "\uff11", "not a whole number"),
        (forms.whole_number(least=0, most=10), "9" * 5000, "not a whole number"),
        (forms.seconds(least=1), "0", "less than 1"),
        (forms.milliseconds(least=1000), "60", "less than 1000"),
        (forms.milliseconds(least=1000), "2.592e+06", "not a whole number"),
        (forms.retention("X"), "-1", "X='-1' is not a number of seconds"),
        (forms.path(), "metrics", "begin with /"),
        (forms.object_name(), "Runner", "no name"),
        (forms.object_name(), "a..b", "no name"),
        (forms.object_name(), "a" * 64, "no name"),
        (forms.namespaces(), "a,*", "stands alone"),
        (forms.namespaces(), "a,,b", "empty name"),
        (forms.namespaces(), "[]", "empty name"),
        (forms.namespaces(), "[1]", "a text"),
        (forms.namespaces(), "[", "no JSON"),
        (forms.namespaces(), "a_b", "'a_b' is no namespace"),
        (forms.json_object(), "[]", "but a list"),
        (forms.json_object(), "{", "no JSON"),
        (forms.json_list(), "null", "but null"),
        (forms.json_list(), "[" * 100_000, "no JSON"),
    ],
)
def test_other_texts_are_refused_with_the_reason(form, written, reason):
    """Nothing is guessed: text after digits, powers of ten and near misses are mistakes."""
    with pytest.raises(ValueError, match=reason):
        form.read(written)


def test_a_scope_is_written_as_it_is_read():
    """So that it can be handed on as text."""
    assert [str(Scope(None)), str(Scope(("a", "b")))] == ["*", "a,b"]
