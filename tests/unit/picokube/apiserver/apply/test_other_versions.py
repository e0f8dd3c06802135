"""Managers that wrote in another version must be able to see a change in it."""

from picokube.apiserver.apply.managed_fields import UPDATE, Identity, Owned, conversion_problem
from picokube.apiserver.strategies.crds.custom import resource_types_of
from unit.picokube.apiserver.small_server import GROUP, a_definition, a_version

TEXT = {"type": "string"}
VERSIONS = [a_version("v1", a=TEXT, size=TEXT), a_version("v2", storage=False, a=TEXT)]
V1 = next(
    resource_type
    for resource_type in resource_types_of(a_definition(versions=VERSIONS))
    if resource_type.version == "v1"
)


def managers(version):
    api_version = f"{GROUP}/{version}"
    return {Identity.of("m", UPDATE, api_version, ""): Owned(fields={}, api_version=api_version)}


def an_object(**spec):
    return {"apiVersion": f"{GROUP}/v1", "kind": "Part", "metadata": {"name": "a"}, "spec": spec}


def test_fields_that_every_version_has_are_seen_in_each():
    assert conversion_problem(V1, managers("v2"), an_object(a="1"), an_object(a="2")) == ""


def test_a_field_that_a_version_lacks_is_a_problem_before_and_after():
    lacks = "object: .spec.size: field not declared in schema"
    assert (
        conversion_problem(V1, managers("v2"), an_object(), an_object(size="2"))
        == f"failed to convert new {lacks}"
    )
    assert (
        conversion_problem(V1, managers("v2"), an_object(size="2"), an_object())
        == f"failed to convert old {lacks}"
    )


def test_managers_of_the_same_version_see_everything():
    assert conversion_problem(V1, managers("v1"), an_object(size="1"), an_object(size="2")) == ""


def test_a_version_that_is_gone_sees_nothing():
    assert conversion_problem(V1, managers("v0"), an_object(), an_object()) == (
        f"failed to convert old object: request to convert CR to an invalid group/version: {GROUP}/v0"
    )
