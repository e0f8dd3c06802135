"""What `kubectl explain` shows."""

import pytest
from api_models import fields_of

from jangar.api.kinds import KINDS

ALL = [pytest.param(kind, id=kind.name) for kind in KINDS]


@pytest.mark.parametrize("kind", ALL)
def test_every_field_is_described_in_a_sentence(kind):
    bad = [
        path
        for path, _, field in fields_of(kind)
        if not (field.description or "").endswith(".") or "TODO" in (field.description or "")
    ]
    assert bad == []


@pytest.mark.parametrize("kind", ALL)
def test_no_field_is_described_by_its_name_alone(kind):
    """ "Name." under `name` is no help to a reader."""
    bad = [
        path
        for path, _, field in fields_of(kind)
        if (field.description or "").rstrip(".").lower() == (field.alias or "").lower()
        and field.alias not in {"succeeded", "skipped", "cancelled"}
    ]
    assert bad == []


@pytest.mark.parametrize("kind", ALL)
def test_every_kind_and_model_is_described(kind):
    assert kind.description.endswith(".")
    bare = {model.__name__ for _, model, _ in fields_of(kind) if not (model.__doc__ or "").strip()}
    assert bare == set()


@pytest.mark.parametrize("kind", ALL)
def test_every_field_is_camel_case_on_the_wire(kind):
    bad = [path for path, _, field in fields_of(kind) if "_" in (field.alias or "_")]
    assert bad == []


@pytest.mark.parametrize("kind", ALL)
def test_every_list_says_how_it_is_merged(kind):
    bad = [
        path
        for path, _, field in fields_of(kind)
        if "list[" in str(field.annotation)
        and not (
            isinstance(field.json_schema_extra, dict) and "x-kubernetes-list-type" in field.json_schema_extra
        )
    ]
    assert bad == []
