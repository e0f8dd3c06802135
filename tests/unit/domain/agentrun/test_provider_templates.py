"""The templates of a provider: what they read, and what they cannot do."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jangar.domain.agentrun.templates import MAX_RENDERED, TemplateError, Templates, template_problem

VALUES = {
    "parameters": {"who": "you", "my-key": "dashed", "sly": "{{ parameters.who }}"},
    "implementation": {"text": "do it", "labels": ["a", "b"]},
    "nothing": None,
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("plain {x}", "plain {x}", id="no-template"),
        pytest.param("hi {{ parameters.who }}\n", "hi you\n", id="a-value-and-the-end-of-the-line"),
        pytest.param('{{ parameters["my-key"] }}', "dashed", id="a-name-that-is-no-word"),
        pytest.param('{{ parameters.none | default("x") }}', "x", id="a-default"),
        pytest.param("{{ implementation.labels }}", '["a", "b"]', id="a-list-is-json"),
        pytest.param("{{ nothing }}", "", id="null-is-empty"),
        pytest.param("{% if parameters.who == 'you' %}y{% else %}n{% endif %}", "y", id="a-choice"),
        pytest.param("{{ parameters.sly }}", "{{ parameters.who }}", id="a-value-is-no-template"),
    ],
)
def test_a_template_reads_values(text, expected):
    """Templates inside a value are not expanded."""
    assert Templates(VALUES).fill(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "{{ [1] * 100000000 }}",
        '{{ "x" * 9 }}',
        '{{ "a" ~ "b" }}',
        "{% for each in implementation.labels %}{% endfor %}",
        "{% set a = 1 %}",
        "{% raw %}{% endraw %}{{ [1] * 3 }}",
        '{{ "{% raw %}" }}{{ [1] * 3 }}{{ "{% endraw %}" }}',
        "{# {% raw %} #}{{ [1] * 3 }}{# {% endraw %} #}",
        "{{ parameters.clear() }}",
        "{{ (parameters.clear)() }}",
        "{{ parameters['clear']() }}",
        "{{ debug() }}",
        "{{ parameters.who | center(1000000000) }}",
        "{% include 'x' %}",
        "{{",
        "{{ 1 " + "}}{{ 1 " * 200 + "}}",
    ],
)
def test_a_template_computes_nothing(text):
    """Whatever could take more than it is given is refused, before it is tried."""
    assert template_problem(text) is not None
    with pytest.raises(TemplateError):
        Templates(VALUES).fill(text)


@pytest.mark.parametrize(
    "text", ["{{ parameters.none }}", "{{ parameters.items }}", "{{ parameters.__class__ }}"]
)
def test_what_has_no_value_is_refused(text):
    """Never an empty text, nor the inside of the program."""
    with pytest.raises(TemplateError):
        Templates(VALUES).fill(text)


def test_all_templates_together_are_bounded():
    """They travel in one object."""
    templates = Templates(VALUES)
    templates.fill("x" * MAX_RENDERED)
    with pytest.raises(TemplateError, match="more than"):
        templates.fill("x")


@given(st.text(alphabet="{}%#|()[]'\"ab.*~+ \n", max_size=30))
def test_hostile_text_is_filled_in_or_refused(text):
    """No other end, and nothing of the values changes."""
    before = repr(VALUES)
    with contextlib.suppress(TemplateError):
        Templates(VALUES).fill(text)
    assert repr(VALUES) == before
