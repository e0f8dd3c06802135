"""What every built-in kind does alike: typed decoding, status set apart, empty fields as Go writes them.

A kind of its own overrides `default`, `reset`, `problems`, `update_problems`, `cells`; each is given decoded objects.
"""

from collections.abc import Collection, Iterable
from typing import Any, ClassVar

from picokube.apiserver.gotypes.decoding import Decoding, WrongType
from picokube.apiserver.gotypes.encoding import restore, written
from picokube.apiserver.gotypes.go_types import struct_of
from picokube.apiserver.gotypes.scalar_types import BadText
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.apiserver.strategies.checks import Rules, check
from picokube.apiserver.strategies.printing import created
from picokube.schema import FieldError, UnknownField
from picokube.schema.pruning import deep_copy


class Kind:
    """A built-in kind with nothing of its own: decoded, stored, and its status kept apart."""

    rules: ClassVar[Rules] = ()
    """Members of an object and their rules, in the order of kube-apiserver."""
    status_keeps: ClassVar[tuple[str, ...]] = ()
    """Metadata that a write to the status subresource may not change."""
    dropped_on_create: ClassVar[tuple[str, ...]] = ("status",)
    settles: ClassVar[bool] = False
    """Whether defaulting and resetting a stored object changes nothing, so that unchanged parts are skipped."""

    def __init__(self, struct: str, *, version: str = "v1") -> None:
        self._struct = struct_of(struct)
        self._version = version
        self._has_defaults = type(self).default is not Kind.default
        self._resets = type(self).reset is not Kind.reset

    # -- the frame's side -------------------------------------------------------------------------------------------

    def decode(self, obj: JsonObject, old: Json | None = None) -> tuple[JsonObject, list[UnknownField]]:
        decoding = Decoding()
        try:
            found = decoding.struct(obj, self._struct, old)
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
            self.default_rest(obj, settled)
            return
        known = old if self.settles else None
        self._rewrite(obj, stored=False, known=known)
        if self._has_defaults:
            self.default(obj)
            self._rewrite(obj, stored=False, known=known)

    def prepare_create(self, obj: JsonObject) -> None:
        for name in self.dropped_on_create:
            obj.pop(name, None)
        if self._has_defaults or self._resets:
            restore(obj, self._struct, self.dropped_on_create)
            self.default(obj)
            self.reset(obj)
            # A generated value may be the default of another field: a Job takes its labels from its template.
            self._default(obj)
        self._rewrite(obj, stored=True)

    def prepare_update(self, obj: JsonObject, old: Json, subresource: str) -> None:
        settled = self._settled(obj, old)
        if "spec" in settled:
            self._prepare_rest(obj, old, subresource, settled)
            return
        known = old if self.settles else None
        self._default(obj, known)
        if subresource == "status":
            self._keep_all_but_status(obj, old)
        else:
            self._put_back(obj, old, "status")
        self.reset_update(obj, old, subresource)
        self._default(obj, known)
        self._rewrite(obj, stored=True, known=known)

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
        return list(self.problems(obj))

    def validate_update(self, obj: Json, old: Json, subresource: str) -> list[FieldError]:
        found = self.status_problems if subresource == "status" else self.update_problems
        return list(found(obj, old))

    def table_cells(self, obj: JsonObject) -> list[Any]:
        """What `kubectl get` shows after the name."""
        return [created(obj)]

    def warnings(self, _obj: Json, _old: Json | None) -> list[str]:
        return []

    # -- a kind's own side ------------------------------------------------------------------------------------------

    def default(self, obj: JsonObject) -> None:
        """Fields that get a value when they have none; before anything else, on every write."""

    def default_rest(self, obj: JsonObject, settled: Collection[str]) -> None:
        """What `default` does beyond the spec, and beyond a status that is settled; only of kinds that settle."""

    def reset(self, obj: JsonObject) -> None:
        """What a creator may not choose, and what the server generates."""

    def reset_update(self, obj: JsonObject, old: Json, subresource: str) -> None:
        """The same for an update."""

    def problems(self, obj: Json) -> Iterable[FieldError]:
        """What is wrong with a new object; by default what the rules of the kind find."""
        return check("", obj, *self.rules)

    def update_problems(self, obj: Json, _old: Json) -> Iterable[FieldError]:
        """What is wrong with a changed object; by default what would be wrong with a new one."""
        return self.problems(obj)

    def status_problems(self, _obj: Json, _old: Json) -> Iterable[FieldError]:
        return ()

    # -- shared steps -----------------------------------------------------------------------------------------------

    def _default(self, obj: JsonObject, known: Json | None = None) -> None:
        """`default` finds every struct that Go would write, so it need not ask for it."""
        self._rewrite(obj, stored=False, known=known)
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

    def _rewrite(
        self, obj: JsonObject, *, stored: bool, settled: Collection[str] = (), known: Json | None = None
    ) -> None:
        """Encode the object in place as Go would. Parts shared with `known`, and settled ones, are encoded already."""
        meta: JsonObject = obj.setdefault("metadata", {})
        found = written(obj, self._struct, stored=stored, settled=settled, known=known)
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
                obj[name] = deep_copy(old[name])
            else:
                obj.pop(name, None)

    def _keep_all_but_status(self, obj: JsonObject, old: Json) -> None:
        names = [
            name for name in self._struct.fields if name not in ("apiVersion", "kind", "metadata", "status")
        ]
        self._put_back(obj, old, *names)
        meta: JsonObject = obj["metadata"]
        self._put_back(meta, old["metadata"], *self.status_keeps)


class StoredOnly(Kind):
    """A kind that nothing acts on. Creating an object returns a warning that says so."""

    plural: ClassVar = ""
    reason: ClassVar = "nothing acts on {} on this server; they are only stored"

    def warnings(self, _obj: Json, old: Json | None) -> list[str]:
        return [self.reason.format(self.plural)] if old is None and self.plural else []
