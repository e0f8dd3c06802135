"""Custom resources: pruned, defaulted and validated by the schema of their CRD; status apart where it says so.

Knows one version of one CRD, compiled; builds the types that are served for a CRD.
"""

from collections.abc import Mapping
from typing import Any

from picokube.apiserver import errors
from picokube.apiserver.names import finalizer_problems
from picokube.apiserver.object_meta import exclusive_finalizer_errors
from picokube.apiserver.scaling import ScalePaths, spec_problems, status_problems
from picokube.apiserver.strategies.go_encoding import written
from picokube.apiserver.strategies.go_types import Struct, type_of
from picokube.apiserver.strategies.scalar_types import BadText
from picokube.apiserver.strategies.typed import Decoding, WrongType
from picokube.schema import (
    CompiledSchema,
    ErrorType,
    FieldError,
    UnknownField,
    admit,
    check,
    check_status,
    fill,
)
from picokube.schema.pruning import deep_copy

JsonObject = dict[str, Any]
Json = Mapping[str, Any]

_UNQUALIFIED = "name is neither a standard finalizer name nor is it fully qualified"


def _object_meta() -> Struct:
    found = type_of("meta/v1.ObjectMeta")
    assert isinstance(found, Struct)  # noqa: S101 - data that this package ships
    return found


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
            _put_back(obj, old, "status")

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

    def warnings(self, obj: Json, old: Json | None) -> list[str]:
        """Of finalizers the handlers warn."""
        del obj, old
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


def finalizer_errors(obj: Json) -> list[FieldError]:
    """Finalizers that are no names at all; one without a domain is."""
    return [
        FieldError(type=ErrorType.INVALID, field="metadata.finalizers", bad_value=finalizer, detail=problem)
        for finalizer in obj["metadata"].get("finalizers") or ()
        for problem in finalizer_problems(finalizer)
        if problem != _UNQUALIFIED
    ] + exclusive_finalizer_errors(obj["metadata"])


def _rewrite_metadata(obj: JsonObject) -> None:
    """In place: as Go would write it."""
    meta = obj["metadata"]
    found = written(meta, _object_meta())
    meta.clear()
    meta.update(found)


def _put_back(obj: JsonObject, old: Json, name: str) -> None:
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
