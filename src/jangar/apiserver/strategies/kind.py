"""What every built-in kind does alike: typed decoding, status set apart, empty fields as Go writes them.

A kind of its own overrides `default`, `reset`, `problems`, `update_problems`, `cells`; each is given decoded objects.
"""

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from jangar.apiserver import errors
from jangar.apiserver.strategies.as_written import written
from jangar.apiserver.strategies.go_types import Struct, type_of
from jangar.apiserver.strategies.own_forms import BadText
from jangar.apiserver.strategies.printing import created
from jangar.apiserver.strategies.typed import Decoding, WrongType
from jangar.schema import FieldError, UnknownField
from jangar.schema.pruning import copied

JsonObject = dict[str, Any]
Json = Mapping[str, Any]


class Kind:
    """A built-in kind with nothing of its own: decoded, stored, and its status kept apart."""

    status_keeps: ClassVar[tuple[str, ...]] = ()
    """Metadata that a write to the status subresource may not change."""
    dropped_on_create: ClassVar[tuple[str, ...]] = ("status",)
    settles: ClassVar[bool] = False
    """That what is stored stays as it is when it is completed and reset again, so that it need not be."""

    def __init__(self, struct: str, *, version: str = "v1") -> None:
        found = type_of(struct)
        assert isinstance(found, Struct), struct  # noqa: S101 - the table of kinds names structs
        self._struct = found
        self._version = version

    # -- the frame's side -------------------------------------------------------------------------------------------

    def decode(self, obj: JsonObject) -> tuple[JsonObject, list[UnknownField]]:
        decoding = Decoding()
        try:
            found = decoding.struct(obj, self._struct)
        except (WrongType, BadText) as error:
            kind = self._struct.short
            message = f'{kind} in version "{self._version}" cannot be handled as a {kind}: {error}'
            raise errors.bad_request(message) from error
        return found, decoding.unknown

    def complete(self, obj: JsonObject, old: Json | None = None) -> None:
        """Defaults, as a decoder applies them: before anything is generated or taken away."""
        settled = self._settled(obj, old)
        if "spec" in settled:
            self._rewrite(obj, stored=False, settled=settled)
            if "status" not in settled:
                self.default_status(obj)
            return
        self._default(obj)
        self._rewrite(obj, stored=False)

    def prepare_create(self, obj: JsonObject) -> None:
        for name in self.dropped_on_create:
            obj.pop(name, None)
        self._default(obj)
        self.reset(obj)
        # What was generated may be the default of something else: a Job takes its labels from its template.
        self._default(obj)
        self._rewrite(obj, stored=True)

    def prepare_update(self, obj: JsonObject, old: Json, subresource: str) -> None:
        settled = self._settled(obj, old)
        if "spec" in settled:
            self._prepare_rest(obj, old, subresource, settled)
            return
        self._default(obj)
        if subresource == "status":
            self._keep_all_but_status(obj, old)
        else:
            self._put_back(obj, old, "status")
        self.reset_update(obj, old, subresource)
        self._default(obj)
        self._rewrite(obj, stored=True)

    def _prepare_rest(self, obj: JsonObject, old: Json, subresource: str, settled: Collection[str]) -> None:
        """The same where the wanted state is as it was stored; `complete` has filled in the rest."""
        if subresource == "status":
            self._put_back(obj["metadata"], old["metadata"], *self.status_keeps)
            if "status" not in settled:
                self.reset_update(obj, old, subresource)
        elif "status" in old:
            obj["status"] = old["status"]
        else:
            obj.pop("status", None)
        self._rewrite(obj, stored=True, settled=self._settled(obj, old))

    def validate_create(self, obj: Json) -> list[FieldError]:
        return self.problems(obj)

    def validate_update(self, obj: Json, old: Json, subresource: str) -> list[FieldError]:
        if subresource == "status":
            return self.status_problems(obj, old)
        return self.update_problems(obj, old)

    def table_cells(self, obj: JsonObject) -> list[Any]:
        """What `kubectl get` shows after the name."""
        return [created(obj)]

    def warnings(self, obj: Json, old: Json | None) -> list[str]:
        del obj, old
        return []

    # -- a kind's own side ------------------------------------------------------------------------------------------

    def default(self, obj: JsonObject) -> None:
        """Fields that get a value when they have none; before anything else, on every write."""

    def default_status(self, obj: JsonObject) -> None:
        """The part of `default` that is about the status; only of kinds that settle."""

    def reset(self, obj: JsonObject) -> None:
        """What a creator may not choose, and what the server generates."""

    def reset_update(self, obj: JsonObject, old: Json, subresource: str) -> None:
        """The same for an update."""

    def problems(self, obj: Json) -> list[FieldError]:
        del obj
        return []

    def update_problems(self, obj: Json, old: Json) -> list[FieldError]:
        """What is wrong with a changed object; by default what would be wrong with a new one."""
        del old
        return self.problems(obj)

    def status_problems(self, obj: Json, old: Json) -> list[FieldError]:
        del obj, old
        return []

    # -- shared steps -----------------------------------------------------------------------------------------------

    def _default(self, obj: JsonObject) -> None:
        """`default` finds every struct that Go would write, so it need not ask for it."""
        self._rewrite(obj, stored=False)
        self.default(obj)

    def _settled(self, obj: Json, old: Json | None) -> Collection[str]:
        """Fields that are those of the stored object."""
        if old is None or not self.settles:
            return ()
        return [
            name
            for name, value in obj.items()
            if name in ("spec", "status") and value is not None and value is old.get(name)
        ]

    def _rewrite(self, obj: JsonObject, *, stored: bool, settled: Collection[str] = ()) -> None:
        """In place, metadata too: as Go would write it."""
        meta: JsonObject = obj.setdefault("metadata", {})
        found = written(obj, self._struct, stored=stored, settled=settled)
        new_meta = found["metadata"]
        meta.clear()
        meta.update(new_meta)
        obj.clear()
        obj.update(found | {"metadata": meta})

    def _as_written(self, obj: Json) -> JsonObject:
        """An object of another version with this one's fields, as Go would write it."""
        return written(obj, self._struct)

    def _put_back(self, obj: JsonObject, old: Json, *names: str) -> None:
        for name in names:
            if name in old:
                obj[name] = copied(old[name])
            else:
                obj.pop(name, None)

    def _keep_all_but_status(self, obj: JsonObject, old: Json) -> None:
        names = [
            name for name in self._struct.fields if name not in ("apiVersion", "kind", "metadata", "status")
        ]
        self._put_back(obj, old, *names)
        meta: JsonObject = obj["metadata"]
        self._put_back(meta, old["metadata"], *self.status_keeps)
