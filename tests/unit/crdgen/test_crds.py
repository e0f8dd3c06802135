"""What holds in every generated CustomResourceDefinition, whatever kinds there are."""

import json
import re
from copy import deepcopy

import pytest

from jangar.api.kind import Kind
from jangar.api.kinds import KINDS
from jangar.api.lifecycle import Steerable
from jangar.api.tools import TOOL_RUN
from jangar.crdgen.crd import crd_of, crds
from jangar.crdgen.structural import RULES
from picokube.schema import structural_problems
from unit.crdgen.nodes import nodes, schema_of

# What `kubectl apply` can keep in its annotation; beyond it, clients must use server-side apply.
LIMIT = 256 * 1024
KEYWORDS = {
    "additionalProperties",
    "anyOf",
    "default",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "properties",
    "required",
    "type",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
}
TYPES = {"array", "boolean", "integer", "number", "object", "string"}

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
steerable = pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if issubclass(kind.spec, Steerable)], ids=lambda kind: kind.name
)


@every_kind
def test_the_definition_is_named_as_kubernetes_demands(kind: Kind):
    crd = crd_of(kind)
    names = crd["spec"]["names"]
    assert crd["metadata"]["name"] == f"{names['plural']}.{crd['spec']['group']}"
    assert names["listKind"] == f"{names['kind']}List"
    assert names["singular"] == names["kind"].lower()


@every_kind
def test_one_version_is_served_and_stored_with_a_status_subresource(kind: Kind):
    (version,) = crd_of(kind)["spec"]["versions"]
    assert (version["name"], version["served"], version["storage"]) == ("v1alpha1", True, True)
    assert version["subresources"] == {"status": {}}


@every_kind
def test_argo_cd_applies_definitions_before_objects(kind: Kind):
    assert crd_of(kind)["metadata"]["annotations"] == {"argocd.argoproj.io/sync-wave": "-10"}


def test_definitions_come_in_the_order_of_the_kinds():
    assert [crd["spec"]["names"]["kind"] for crd in crds()] == [kind.name for kind in KINDS]


def test_no_name_means_two_kinds():
    names = [name for kind in KINDS for name in (kind.plural, kind.singular, *kind.short_names)]
    assert sorted(names) == sorted(set(names))


@every_kind
def test_the_schema_is_structural_and_its_rules_compile(kind: Kind):
    assert structural_problems(schema_of(kind)) == []


@pytest.mark.parametrize("rule", ["self.toolRef.nane == ''", "self.cancel + 1", "self.toolRef =="])
def test_a_rule_that_does_not_compile_would_be_found(rule):
    """Holds the test above to its name."""
    schema = deepcopy(schema_of(TOOL_RUN))
    schema["properties"]["spec"][RULES].append({"rule": rule, "message": "m"})
    assert len(structural_problems(schema)) == 1


@every_kind
def test_every_place_has_exactly_one_kind_of_value(kind: Kind):
    for path, node in nodes(schema_of(kind)):
        assert set(node) <= KEYWORDS, path
        if "type" not in node:
            assert node.get("x-kubernetes-int-or-string") or node.get(
                "x-kubernetes-preserve-unknown-fields"
            ), path
            continue
        assert node["type"] in TYPES, path
        assert "anyOf" not in node, path
        assert (node["type"] == "array") == ("items" in node), path
        assert not ("properties" in node and "additionalProperties" in node), path
        assert set(node.get("required", ())) <= set(node.get("properties", ())), path


@every_kind
def test_an_object_without_fields_is_open_or_a_map(kind: Kind):
    """Otherwise the API server would silently drop all that users write there."""
    empty = [
        path
        for path, node in nodes(schema_of(kind))
        if node.get("type") == "object"
        and not node.keys() & {"properties", "additionalProperties", "x-kubernetes-preserve-unknown-fields"}
    ]
    assert empty == [".metadata"]


@every_kind
def test_metadata_is_left_to_kubernetes(kind: Kind):
    assert schema_of(kind)["properties"]["metadata"] == {"type": "object"}


@every_kind
def test_every_field_and_object_is_described(kind: Kind):
    silent = [
        path
        for path, node in nodes(schema_of(kind))
        if not node.get("description", "").strip()
        and (node.get("type") == "object" or not path.endswith(("[]", ".*")))
        and not (path.endswith(("[]", ".*")) and "x-kubernetes-preserve-unknown-fields" in node)
    ]
    assert silent == [".metadata"]


@every_kind
def test_every_list_says_how_it_is_merged(kind: Kind):
    untold = [
        path
        for path, node in nodes(schema_of(kind))
        if node.get("type") == "array" and "x-kubernetes-list-type" not in node
    ]
    assert untold == []


@every_kind
def test_every_list_map_key_is_required_in_the_items(kind: Kind):
    for path, node in nodes(schema_of(kind)):
        for key in node.get("x-kubernetes-list-map-keys", ()):
            assert key in node["items"]["required"], path


@every_kind
def test_nothing_in_a_status_has_a_default(kind: Kind):
    status = schema_of(kind)["properties"]["status"]
    assert [path for path, node in nodes(status) if "default" in node] == []


@every_kind
def test_the_definition_fits_into_an_annotation(kind: Kind):
    assert len(json.dumps(crd_of(kind)).encode()) <= LIMIT


def test_a_run_with_the_definition_inside_leaves_room_to_grow():
    """OrchestrationRun holds the schema of Orchestration; at half the limit it should be split."""
    sizes = {crd["spec"]["names"]["kind"]: len(json.dumps(crd).encode()) for crd in crds()}
    assert sizes["OrchestrationRun"] <= LIMIT / 2


@every_kind
def test_no_rule_stands_below_the_steps_of_an_orchestration(kind: Kind):
    """The API server multiplies a rule's cost by the 10,000 steps allowed and refuses the definition."""
    below = [path for path, node in nodes(schema_of(kind)) if "steps[]" in path and RULES in node]
    assert below == []


@every_kind
def test_every_rule_has_a_message(kind: Kind):
    for path, node in nodes(schema_of(kind)):
        for rule in node.get(RULES, ()):
            assert rule["message"].strip(), path
            assert "\n" not in rule["message"], path


@every_kind
def test_every_column_shows_a_field_of_its_type(kind: Kind):
    """A string column can show anything but an object, times to come included: a date shows as an age."""
    for column in kind.columns:
        if column.path.startswith(".metadata."):
            continue
        node = resolved(schema_of(kind), column.path)
        match column.type:
            case "string":
                assert node.get("type") != "object", column.name
            case "date":
                assert node["format"] == "date-time", column.name
            case other:
                assert node["type"] == other, column.name


@every_kind
def test_every_selectable_field_is_a_scalar(kind: Kind):
    for path in kind.selectable:
        assert resolved(schema_of(kind), path)["type"] in {"string", "integer", "boolean"}
        assert "[" not in path


@steerable
def test_a_run_cannot_shed_its_spec(kind: Kind):
    """Rules about the old spec do not run when there is none: dropping it, then adding another, would do."""
    assert schema_of(kind)["required"] == ["spec"]


@steerable
def test_all_of_a_runs_spec_is_immutable_but_what_steers_it(kind: Kind):
    spec = schema_of(kind)["properties"]["spec"]
    frozen = {
        found.group(1)
        for rule in spec[RULES]
        if (found := re.fullmatch(r"(\w+) is immutable: create a new run instead", rule["message"]))
    }
    assert set(spec["properties"]) - frozen == {
        "cancel",
        "desiredState",
        "suspend",
        "ttlSecondsAfterFinished",
    }


def resolved(schema, path):
    """The schema at a JSON path such as `.status.conditions[?(@.type=="Ready")].status`."""
    for name, filtered in re.findall(r"\.(\w+)(\[\?\(@\.\w+==\"\w+\"\)\])?(?=\.|$)", path):
        schema = schema["properties"][name]
        if filtered:
            schema = schema["items"]
    return schema
