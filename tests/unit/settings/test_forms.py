"""Which texts each value type accepts and rejects."""

from datetime import timedelta

import pytest

from jangar.domain.retention import NEVER, Keep
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
        (forms.integer(minimum=0, maximum=10), "10", 10),
        (forms.seconds(minimum=1), "90", timedelta(seconds=90)),
        (forms.milliseconds(minimum=1000), "1500", timedelta(seconds=1.5)),
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
def test_valid_texts_are_parsed(form, written, value):
    """Every documented spelling is accepted."""
    assert form.read(written) == value


@pytest.mark.parametrize(
    ("form", "written", "reason"),
    [
        (forms.switch(), "maybe", "not a boolean"),
        (forms.integer(minimum=0, maximum=10), "11", "more than 10"),
        (forms.integer(minimum=0, maximum=10), "-1", "less than 0"),
        (forms.integer(minimum=0, maximum=10), "1.0", "not an integer"),
        (forms.integer(minimum=0, maximum=10), "\uff11", "not an integer"),
        (forms.integer(minimum=0, maximum=10), "9" * 5000, "not an integer"),
        (forms.seconds(minimum=1), "0", "less than 1"),
        (forms.milliseconds(minimum=1000), "60", "less than 1000"),
        (forms.milliseconds(minimum=1000), "2.592e+06", "not an integer"),
        (forms.retention("X"), "-1", "X='-1' is not a number of seconds"),
        (forms.path(), "metrics", "start with /"),
        (forms.object_name(), "Runner", "not a valid object name"),
        (forms.object_name(), "a..b", "not a valid object name"),
        (forms.object_name(), "a" * 64, "not a valid object name"),
        (forms.namespaces(), "a,*", "cannot be combined"),
        (forms.namespaces(), "a,,b", "empty item"),
        (forms.namespaces(), "[]", "empty item"),
        (forms.namespaces(), "[1]", "a string"),
        (forms.namespaces(), "[", "not valid JSON"),
        (forms.namespaces(), "a_b", "'a_b' is not a valid namespace name"),
        (forms.json_object(), "[]", "is an array"),
        (forms.json_object(), "{", "not valid JSON"),
        (forms.json_list(), "null", "is null"),
        (forms.json_list(), "[" * 100_000, "not valid JSON"),
    ],
)
def test_invalid_texts_are_rejected_with_the_reason(form, written, reason):
    """No guessing: text after digits, exponents and near misses are errors."""
    with pytest.raises(ValueError, match=reason):
        form.read(written)


def test_a_scope_formats_to_the_text_it_is_parsed_from():
    """It can be passed on as text."""
    assert [str(Scope(None)), str(Scope(("a", "b")))] == ["*", "a,b"]
