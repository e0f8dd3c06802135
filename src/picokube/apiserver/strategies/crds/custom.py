"""Custom resources: pruned, defaulted and validated by the schema of their CRD; builds the types that a CRD serves."""

from collections.abc import Iterator

from picokube.apiserver.gotypes.decoding import Decoding, WrongType
from picokube.apiserver.gotypes.encoding import written
from picokube.apiserver.gotypes.go_types import Struct, struct_of
from picokube.apiserver.gotypes.scalar_types import BadText
from picokube.apiserver.kinds.builtin_data import definition
from picokube.apiserver.kinds.names import finalizer_problems, version_order
from picokube.apiserver.kinds.object_meta import exclusive_finalizer_errors
from picokube.apiserver.kinds.resources import ResourceType, TableColumn
from picokube.apiserver.kinds.scaling import ScalePaths, spec_problems, status_problems
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.schema import (
    CompiledSchema,
    FieldError,
    UnknownField,
    admit,
    check,
    check_status,
    fill,
)
from picokube.schema.errors import invalid
from picokube.schema.pruning import deep_copy

_UNQUALIFIED = "name is neither a standard finalizer name nor is it fully qualified"


def _object_meta() -> Struct:
    return struct_of("meta/v1.ObjectMeta")


class CustomStrategy:
    """What a custom resource does beyond its metadata."""

    def __init__(
        self,
        *,
        kind: str,
        version: str,
        schema: CompiledSchema,
        has_status: bool,
        scale: ScalePaths | None = None,
    ) -> None:
        self._kind, self._version = kind, version
        self._schema = schema
        self._has_status = has_status
        self._scale = scale

    def decode(self, obj: JsonObject, old: Json | None = None) -> tuple[JsonObject, list[UnknownField]]:
        meta, unknown = self._metadata(obj, old)
        if "metadata" in obj:
            obj = obj | {"metadata": {}}
        admitted, pruned = admit(self._schema, obj, old)
        if "metadata" in obj:
            admitted["metadata"] = meta
        return admitted, sorted([*unknown, *pruned], key=lambda item: item.field)

    def complete(self, obj: JsonObject, old: Json | None = None) -> None:
        """Defaults are part of decoding here, but an applied object was not decoded: its nulls stay, to be refused."""
        obj.setdefault("metadata", {})
        fill(self._schema, obj, old)

    def prepare_create(self, obj: JsonObject) -> None:
        self.complete(obj)
        _rewrite_metadata(obj)
        if self._has_status:
            obj.pop("status", None)

    def prepare_update(self, obj: JsonObject, old: Json, subresource: str) -> None:
        """Who changed anything has completed it before."""
        _rewrite_metadata(obj)
        if subresource == "status":
            _keep_all_but_status(obj, old)
        elif self._has_status:
            _restore_field(obj, old, "status")

    def validate_create(self, obj: Json) -> list[FieldError]:
        return [*finalizer_errors(obj), *check(self._schema, obj), *self._scale_problems(obj)]

    def validate_update(self, obj: Json, old: Json, subresource: str) -> list[FieldError]:
        check_update = check_status if subresource == "status" else check
        scaled = self._scale_problems(obj, of_spec=subresource != "status")
        return [*finalizer_errors(obj), *check_update(self._schema, obj, old=old), *scaled]

    def _scale_problems(self, obj: Json, *, of_spec: bool = True) -> list[FieldError]:
        if self._scale is None:
            return []
        return [*(spec_problems(self._scale, obj) if of_spec else ()), *status_problems(self._scale, obj)]

    def warnings(self, _obj: Json, _old: Json | None) -> list[str]:
        """None: warnings about finalizers come from `kinds.object_meta`."""
        return []

    def _metadata(self, obj: Json, old: Json | None) -> tuple[JsonObject, list[UnknownField]]:
        decoding = Decoding()
        meta = obj.get("metadata")
        known = None if old is None else old.get("metadata")
        try:
            found = decoding.whole({} if meta is None else meta, _object_meta(), known)
        except (WrongType, BadText) as error:
            message = (
                f'{self._kind} in version "{self._version}" cannot be handled as a {self._kind}: {error}'
            )
            raise errors.bad_request(message) from error
        return found, [UnknownField(path=("metadata", *item.path)) for item in decoding.unknown]


def finalizer_errors(obj: Json) -> Iterator[FieldError]:
    """Finalizers that are not names; one without a domain is accepted."""
    for finalizer in obj["metadata"].get("finalizers") or ():
        for problem in finalizer_problems(finalizer):
            if problem != _UNQUALIFIED:
                yield invalid("metadata.finalizers", finalizer, problem)
    yield from exclusive_finalizer_errors(obj["metadata"])


def _rewrite_metadata(obj: JsonObject) -> None:
    """In place: as Go would write it."""
    meta = obj["metadata"]
    found = written(meta, _object_meta())
    meta.clear()
    meta.update(found)


def _restore_field(obj: JsonObject, old: Json, name: str) -> None:
    if name in old:
        obj[name] = old[name]
    else:
        obj.pop(name, None)


def _keep_all_but_status(obj: JsonObject, old: Json) -> None:
    """Only status and who manages what are taken from a status write."""
    taken = {name: obj[name] for name in ("apiVersion", "kind", "metadata", "status") if name in obj}
    kept = {name: value for name, value in old.items() if name != "status" and name not in taken}
    obj.clear()
    obj.update(taken | kept | {"kind": old["kind"]})
    meta = obj["metadata"]
    managed = meta.get("managedFields")
    meta.clear()
    meta.update(
        {name: deep_copy(value) for name, value in old["metadata"].items() if name != "managedFields"}
    )
    if managed is not None:
        meta["managedFields"] = managed


_OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def resource_types_of(crd: Json) -> list[ResourceType]:
    """One type per served version. Stored definitions are valid: schemas are compiled on first use."""
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
        description=row.get("description")
        or f"Custom resource definition column (in JSONPath format): {row['jsonPath']}",
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


def _described(schema: Json) -> JsonObject:
    """With what every object has: its type and its metadata."""
    any_kind = definition("io.k8s.api.core.v1.ConfigMap")["properties"]
    common = {name: any_kind[name] for name in ("apiVersion", "kind", "metadata")}
    return {**schema, "properties": {**(schema.get("properties") or {}), **common}}
