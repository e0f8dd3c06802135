"""The custom kinds that most cases use, installed once per server. Cases about CRDs install their own."""

import json
from typing import Any

from contract.kubernetes_api.session import await_kind
from support.api_servers import ApiServer

GROUP = "conformance.example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TEXT: dict[str, Any] = {"type": "string"}
WHOLE: dict[str, Any] = {"type": "integer"}
ENOUGH_REVISIONS = 100


def a_crd(
    plural: str,
    kind: str,
    schema: dict[str, Any],
    *,
    group: str = GROUP,
    scope: str = "Namespaced",
    version: dict[str, Any] | None = None,
    names: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A CRD with one version, v1, whose `spec` (and `status`) have this schema."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {
                "plural": plural,
                "singular": kind.lower(),
                "kind": kind,
                "listKind": f"{kind}List",
                **(names or {}),
            },
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": schema}},
                    **(version or {}),
                }
            ],
        },
    }


def an_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def a_list(items: dict[str, Any], **extra: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **extra}


def a_map(values: dict[str, Any], **extra: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values, **extra}


PORT = {
    **an_object(
        name=TEXT,
        number=WHOLE,
        protocol={**TEXT, "default": "TCP"},
        hosts=a_list(TEXT, **{"x-kubernetes-list-type": "set"}),
    ),
    "required": ["name"],
}
CONDITION = {**an_object(type=TEXT, status=TEXT, reason=TEXT, message=TEXT), "required": ["type", "status"]}

WIDGET = a_crd(
    "widgets",
    "Widget",
    {
        "spec": an_object(
            color={**TEXT, "enum": ["red", "green", "blue"]},
            size={**WHOLE, "default": 1, "minimum": 0, "maximum": 100},
            title=TEXT,
            replicas=WHOLE,
            selector=TEXT,
            price={"type": "number"},
            enabled={"type": "boolean"},
            maybe={**TEXT, "nullable": True},
            tags=a_list(TEXT, **{"x-kubernetes-list-type": "set"}),
            ports=a_list(PORT, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}),
            notes=a_list(TEXT),
            labels=a_map(TEXT),
            limits=a_map(TEXT, **{"x-kubernetes-map-type": "atomic"}),
            nested=an_object(one=TEXT, two=TEXT, deep=an_object(three=TEXT, items=a_list(TEXT))),
            frozen={**an_object(one=TEXT, two=TEXT), "x-kubernetes-map-type": "atomic"},
            anything={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            amount={"x-kubernetes-int-or-string": True},
            embedded={
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
            },
        ),
        "status": an_object(
            phase=TEXT,
            replicas=WHOLE,
            selector=TEXT,
            conditions=a_list(
                CONDITION, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
            ),
        ),
    },
    names={"shortNames": ["wd", "wdg"], "categories": ["gear"]},
    version={
        "subresources": {
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": ".status.selector",
            },
        },
        "selectableFields": [{"jsonPath": ".spec.color"}, {"jsonPath": ".spec.size"}],
        "additionalPrinterColumns": [
            {"name": "Color", "type": "string", "jsonPath": ".spec.color"},
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "description": "How big it is"},
            {"name": "Price", "type": "number", "jsonPath": ".spec.price", "priority": 1},
            {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
            {"name": "Enabled", "type": "boolean", "jsonPath": ".spec.enabled"},
            {"name": "First", "type": "string", "jsonPath": ".spec.ports[0].name"},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
    },
)

GAUGE = a_crd(
    "gauges",
    "Gauge",
    {
        "spec": {
            **an_object(
                whole={**WHOLE, "minimum": 2, "maximum": 10},
                above={**WHOLE, "minimum": 2, "exclusiveMinimum": True},
                below={"type": "number", "maximum": 10.5, "exclusiveMaximum": True},
                multiple={**WHOLE, "multipleOf": 5},
                small={**WHOLE, "format": "int32"},
                large={**WHOLE, "format": "int64"},
                ratio={"type": "number"},
                flag={"type": "boolean"},
                text={**TEXT, "minLength": 2, "maxLength": 5},
                pattern={**TEXT, "pattern": "^[a-z]+$"},
                choice={**TEXT, "enum": ["a", "b"]},
                number={**WHOLE, "enum": [1, 2]},
                when={**TEXT, "format": "date-time"},
                day={**TEXT, "format": "date"},
                mail={**TEXT, "format": "email"},
                link={**TEXT, "format": "uri"},
                uuid={**TEXT, "format": "uuid"},
                address={**TEXT, "format": "ipv4"},
                bytes={**TEXT, "format": "byte"},
                span={**TEXT, "format": "duration"},
                few=a_list(TEXT, minItems=1, maxItems=3),
                unique=a_list(TEXT, **{"x-kubernetes-list-type": "set"}),
                keyed=a_list(
                    {
                        **an_object(name=TEXT, kind={**TEXT, "default": "plain"}, value=TEXT),
                        "required": ["name"],
                    },
                    **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "kind"]},
                ),
                sized={
                    "type": "object",
                    "additionalProperties": TEXT,
                    "minProperties": 1,
                    "maxProperties": 2,
                },
                any={
                    "type": "object",
                    "properties": {"one": TEXT, "two": TEXT},
                    "anyOf": [{"required": ["one"]}, {"required": ["two"]}],
                },
                one={
                    "type": "object",
                    "properties": {"one": TEXT, "two": TEXT},
                    "oneOf": [{"required": ["one"]}, {"required": ["two"]}],
                },
                all={**WHOLE, "allOf": [{"minimum": 3}, {"maximum": 5}]},
                never={**TEXT, "not": {"enum": ["forbidden"]}},
                amount={"x-kubernetes-int-or-string": True},
                maybe={**TEXT, "nullable": True},
                must={**an_object(have=TEXT, also=TEXT), "required": ["have", "also"]},
            ),
            "required": ["whole"],
        }
    },
)

RULE = a_crd(
    "rules",
    "Rule",
    {
        "spec": {
            **an_object(
                low=WHOLE,
                high=WHOLE,
                fixed={
                    **TEXT,
                    "x-kubernetes-validations": [
                        {"rule": "self == oldSelf", "message": "fixed does not change"}
                    ],
                },
                growing={**WHOLE, "x-kubernetes-validations": [{"rule": "self >= oldSelf"}]},
                once={
                    **TEXT,
                    "x-kubernetes-validations": [
                        {
                            "rule": "!oldSelf.hasValue() || oldSelf.value() == self",
                            "optionalOldSelf": True,
                            "message": "set once",
                        }
                    ],
                },
                named={
                    **TEXT,
                    "maxLength": 20,
                    "x-kubernetes-validations": [
                        {
                            "rule": "self.startsWith('n-')",
                            "messageExpression": "'name ' + self + ' must start with n-'",
                        },
                        {
                            "rule": "!self.contains('!')",
                            "message": "no shouting",
                            "reason": "FieldValueForbidden",
                        },
                    ],
                },
                steps=a_list(
                    {
                        **an_object(
                            name={**TEXT, "maxLength": 10},
                            after=a_list({**TEXT, "maxLength": 10}, maxItems=4),
                        ),
                        "required": ["name"],
                    },
                    maxItems=5,
                    **{
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["name"],
                        "x-kubernetes-validations": [
                            {
                                "rule": "self.all(s, !has(s.after) || s.after.all(d, self.exists(o, o.name == d)))",
                                "message": "after names a step",
                            },
                        ],
                    },
                ),
                limit={**WHOLE, "maximum": 10},
            ),
            "x-kubernetes-validations": [
                {
                    "rule": "!has(self.low) || !has(self.high) || self.low <= self.high",
                    "message": "low is at most high",
                    "fieldPath": ".low",
                },
                {"rule": "!has(self.limit) || self.limit != 3", "reason": "FieldValueInvalid"},
            ],
            "required": ["limit"],
        },
        "status": an_object(phase=TEXT),
    },
    version={"subresources": {"status": {}}},
)

GADGET = a_crd("gadgets", "Gadget", {"spec": an_object(color=TEXT, size=WHOLE)})
GADGET["spec"]["versions"] += [
    {
        "name": "v1beta1",
        "served": True,
        "storage": False,
        "deprecated": True,
        "deprecationWarning": "gadgets v1beta1 are old; use v1",
        "schema": {
            "openAPIV3Schema": an_object(spec=an_object(color=TEXT, shade={**TEXT, "default": "dark"}))
        },
    },
    {
        "name": "v1alpha1",
        "served": False,
        "storage": False,
        "schema": {"openAPIV3Schema": an_object(spec=an_object(color=TEXT))},
    },
]

ZONE = a_crd("zones", "Zone", {"spec": an_object(region=TEXT)}, scope="Cluster")

STANDARD = (WIDGET, GAUGE, RULE, GADGET, ZONE)


def prepare(server: ApiServer) -> None:
    """Prepare a fresh server for the cases."""
    client = server.client()
    for crd in STANDARD:
        made = client.request("POST", CRDS, json.dumps(crd).encode(), {"Content-Type": "application/json"})
        assert made.status == 201, made.content
    for crd in STANDARD:
        for version in crd["spec"]["versions"]:
            if version["served"]:
                await_kind(client, crd, version["name"])
    _leave_small_revisions_behind(server)
    server.forget_history()
    server.start_controllers()
    client.close()


def _leave_small_revisions_behind(server: ApiServer) -> None:
    """Advance past small resourceVersions: cases use literals such as 5, which no object may have."""
    client, kind = server.client(), {"Content-Type": "application/merge-patch+json"}
    for n in range(ENOUGH_REVISIONS):
        now = client.request("GET", "/api/v1/namespaces/default?resourceVersion=0")
        if now.is_success and int(now.body["metadata"]["resourceVersion"]) > ENOUGH_REVISIONS:
            break
        patch = json.dumps({"metadata": {"annotations": {"count": str(n)}}}).encode()
        client.request("PATCH", "/api/v1/namespaces/default", patch, kind)
    client.close()
