"""Custom resources: pruned, defaulted and validated by the schema of their CRD; status apart where it says so.

Knows one version of one CRD, compiled; builds the types that are served for a CRD.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from jangar.apiserver import errors
from jangar.apiserver.names import finalizer_problems
from jangar.apiserver.scaling import ScalePaths, spec_problems, status_problems
from jangar.apiserver.strategies.as_written import written
from jangar.apiserver.strategies.go_types import Struct, type_of
from jangar.apiserver.strategies.own_forms import BadText
from jangar.apiserver.strategies.typed import Decoding, WrongType
from jangar.schema import CompiledSchema, ErrorType, FieldError, UnknownField, admit, check

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
        stored: CompiledSchema | None = None,
    ) -> None:
        """`stored` is the schema of the version that objects are stored in, where that is another one."""
        self._kind, self._version = kind, version
        self._schema, self._stored = schema, stored
        self._has_status = has_status
        self._scale = scale

    def decode(self, obj: JsonObject) -> tuple[JsonObject, list[UnknownField]]:
        meta, unknown = self._metadata(obj)
        admitted, pruned = admit(self._schema, obj)
        if "metadata" in obj:
            admitted["metadata"] = meta
        unknown = sorted([*unknown, *pruned], key=lambda each: each.field)
        return admitted, unknown

    def complete(self, obj: JsonObject) -> None:
        """Defaults are part of decoding here; a merged or patched object was decoded, an applied one was not."""
        admitted, _ = admit(self._schema, obj)
        admitted["metadata"] = obj.setdefault("metadata", {})
        obj.clear()
        obj.update(admitted)

    def prepare_create(self, obj: JsonObject) -> None:
        self.complete(obj)
        self._convert(obj)
        _rewrite_metadata(obj)
        if self._has_status:
            obj.pop("status", None)

    def prepare_update(self, obj: JsonObject, old: Json, subresource: str) -> None:
        self.complete(obj)
        self._convert(obj)
        _rewrite_metadata(obj)
        if subresource == "status":
            _keep_all_but_status(obj, old)
        elif self._has_status:
            _put_back(obj, old, "status")

    def validate_create(self, obj: Json) -> list[FieldError]:
        return [*_finalizer_errors(obj), *check(self._schema, obj), *self._scale_problems(obj)]

    def validate_update(self, obj: Json, old: Json, subresource: str) -> list[FieldError]:
        scaled = self._scale_problems(obj, of_spec=subresource != "status")
        return [*_finalizer_errors(obj), *check(self._schema, obj, old=old), *scaled]

    def _scale_problems(self, obj: Json, *, of_spec: bool = True) -> list[FieldError]:
        if self._scale is None:
            return []
        return [*(spec_problems(self._scale, obj) if of_spec else ()), *status_problems(self._scale, obj)]

    def warnings(self, obj: Json, old: Json | None) -> list[str]:
        """Of finalizers the handlers warn."""
        del obj, old
        return []

    def _convert(self, obj: JsonObject) -> None:
        """What the stored version does not know is not kept."""
        if self._stored is None:
            return
        admitted, _ = admit(self._stored, obj)
        admitted["metadata"] = obj["metadata"]
        obj.clear()
        obj.update(admitted)

    def _metadata(self, obj: Json) -> tuple[JsonObject, list[UnknownField]]:
        decoding = Decoding()
        meta = obj.get("metadata")
        try:
            found = decoding.whole({} if meta is None else meta, _object_meta())
        except (WrongType, BadText) as error:
            message = (
                f'{self._kind} in version "{self._version}" cannot be handled as a {self._kind}: {error}'
            )
            raise errors.bad_request(message) from error
        return found, [UnknownField(path=("metadata", *each.path)) for each in decoding.unknown]


def _finalizer_errors(obj: Json) -> list[FieldError]:
    return [
        FieldError(type=ErrorType.INVALID, field="metadata.finalizers", bad_value=each, detail=problem)
        for each in obj["metadata"].get("finalizers") or ()
        for problem in finalizer_problems(each)
        if problem != _UNQUALIFIED
    ]


def _rewrite_metadata(obj: JsonObject) -> None:
    """In place: as Go would write it."""
    meta = obj["metadata"]
    found = written(meta, _object_meta())
    meta.clear()
    meta.update(found)


def _put_back(obj: JsonObject, old: Json, name: str) -> None:
    if name in old:
        obj[name] = deepcopy(old[name])
    else:
        obj.pop(name, None)


def _keep_all_but_status(obj: JsonObject, old: Json) -> None:
    """Only status and who manages what are taken from a status write."""
    kept = {
        name: deepcopy(value) for name, value in old.items() if name not in ("status", "apiVersion", "kind")
    }
    meta = obj["metadata"]
    managed = meta.get("managedFields")
    taken = {name: obj[name] for name in ("apiVersion", "kind", "status") if name in obj}
    obj.clear()
    obj.update(taken | kept | {"metadata": meta})
    meta.clear()
    meta.update(kept["metadata"])
    meta.pop("managedFields", None)
    if managed is not None:
        meta["managedFields"] = managed
