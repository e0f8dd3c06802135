"""From a CustomResourceDefinition to the types that are served for it: one a served version. Pure."""

from collections.abc import Mapping
from typing import Any

from picokube.apiserver.builtin_data import definition
from picokube.apiserver.names import version_order
from picokube.apiserver.resources import ResourceType, TableColumn
from picokube.apiserver.scaling import ScalePaths
from picokube.apiserver.strategies.custom import CustomStrategy
from picokube.schema import CompiledSchema

JsonObject = dict[str, Any]
Json = Mapping[str, Any]

_OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def resource_types_of(crd: Json) -> list[ResourceType]:
    """One type a served version. What is stored was validated before: schemas are compiled at first use."""
    versions = crd["spec"]["versions"]
    group = crd["spec"]["group"]
    compiled = {f"{group}/{version['name']}": CompiledSchema.later(_schema(version)) for version in versions}
    schemas = {f"{group}/{version['name']}": _described(_schema(version)) for version in versions}
    return [_type(crd, version, compiled, schemas) for version in versions if version.get("served")]


def _schema(version: Json) -> Json:
    found: Json = (version.get("schema") or {}).get("openAPIV3Schema") or _OPEN
    return found


def _type(
    crd: Json, version: Json, compiled: dict[str, CompiledSchema], schemas: dict[str, JsonObject]
) -> ResourceType:
    spec, names = crd["spec"], crd["spec"]["names"]
    api_version = f"{spec['group']}/{version['name']}"
    subresources = version.get("subresources") or {}
    scale = _scale(subresources)
    return ResourceType(
        group=spec["group"],
        version=version["name"],
        kind=names["kind"],
        plural=names["plural"],
        singular=names.get("singular") or names["kind"].lower(),
        list_kind=names.get("listKind") or f"{names['kind']}List",
        namespaced=spec["scope"] == "Namespaced",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=frozenset(name for name in ("status", "scale") if subresources.get(name) is not None),
        is_custom=True,
        schema=schemas[api_version],
        version_schemas=schemas,
        compiled=compiled[api_version],
        compiled_versions=compiled,
        columns=tuple(_column(column) for column in version.get("additionalPrinterColumns") or ()),
        selectable_fields=tuple(
            selectable_field["jsonPath"] for selectable_field in version.get("selectableFields") or ()
        ),
        stored_as=crd["metadata"]["name"],
        deprecation=_deprecation(spec, version),
        stored_version=next(item["name"] for item in spec["versions"] if item.get("storage")),
        scale=scale,
        strategy=CustomStrategy(
            kind=names["kind"],
            version=version["name"],
            schema=compiled[api_version],
            has_status=subresources.get("status") is not None,
            scale=scale,
        ),
    )


def _deprecation(spec: Json, version: Json) -> str:
    """The warning of a deprecated version; its default names the newest version that replaces it."""
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning"):
        return str(version["deprecationWarning"])
    group, kind, name = spec["group"], spec["names"]["kind"], version["name"]
    newer = [
        item["name"]
        for item in spec["versions"]
        if item.get("served")
        and not item.get("deprecated")
        and version_order(item["name"]) < version_order(name)
    ]
    use = f"; use {group}/{min(newer, key=version_order)} {kind}" if newer else ""
    return f"{group}/{name} {kind} is deprecated{use}"


def _column(row: Json) -> TableColumn:
    return TableColumn(
        name=row["name"],
        type=row["type"],
        format=row.get("format", ""),
        description=row.get("description") or _default_description(row),
        priority=row.get("priority", 0),
        path=row["jsonPath"],
    )


def _scale(subresources: Json) -> ScalePaths | None:
    found = subresources.get("scale")
    if found is None:
        return None
    return ScalePaths(
        spec=found["specReplicasPath"],
        status=found["statusReplicasPath"],
        selector=found.get("labelSelectorPath") or "",
    )


def _default_description(row: Json) -> str:
    return f"Custom resource definition column (in JSONPath format): {row['jsonPath']}"


def _described(schema: Json) -> JsonObject:
    """With what every object has: its type and its metadata."""
    any_kind = definition("io.k8s.api.core.v1.ConfigMap")["properties"]
    common = {name: any_kind[name] for name in ("apiVersion", "kind", "metadata")}
    return {**schema, "properties": {**(schema.get("properties") or {}), **common}}
