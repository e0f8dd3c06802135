"""Describes a served kind: its names, schema, columns, subresources and strategy; and the registry of all kinds.

Built-in kinds and custom ones look alike from here on. Knows no storage and no request.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from picokube.apiserver.kinds.names import subdomain_problems
from picokube.apiserver.kinds.scaling import ScalePaths
from picokube.apiserver.protocol.messages import JsonObject, User
from picokube.schema import CompiledSchema, FieldError, UnknownField

Find = Callable[[str, str, str], JsonObject | None]
"""A stored object by resource (`serviceaccounts`), namespace and name."""

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


class Strategy(Protocol):
    """What a kind does beyond its schema. Never sees storage.

    `obj` is a private copy that `prepare_*` may change in place; `validate*` must not. Objects are whole: apiVersion,
    kind and metadata included; metadata itself is checked by the handlers. `old` is never changed.
    """

    def decode(
        self, obj: JsonObject, old: Mapping[str, Any] | None = None
    ) -> tuple[JsonObject, list[UnknownField]]:
        """As this kind is typed: a copy without the fields it does not know, which are reported.

        Values identical to those at the same place in the stored `old` were decoded before: they are shared.
        Raises ApiError for a value of a type that a field cannot have.
        """
        ...

    def complete(self, obj: JsonObject, old: Mapping[str, Any] | None = None) -> None:
        """Set defaults. Idempotent.

        In an update `old` is the stored object. Parts that `obj` shares with it are complete and never changed.
        """
        ...

    def prepare_create(self, obj: JsonObject) -> None:
        """Generates fields in an object that was completed, and drops what a creator may not set (status)."""
        ...

    def prepare_update(self, obj: JsonObject, old: Mapping[str, Any], subresource: str) -> None:
        """The same for an update; the part that this subresource may not touch is put back from `old`."""
        ...

    def validate_create(self, obj: Mapping[str, Any]) -> list[FieldError]: ...

    def validate_update(
        self, obj: Mapping[str, Any], old: Mapping[str, Any], subresource: str
    ) -> list[FieldError]: ...

    def warnings(self, obj: Mapping[str, Any], old: Mapping[str, Any] | None) -> list[str]:
        """What the user is warned of; sent as Warning headers."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """A column of a Table. `path` is a JSONPath without braces; None where a kind computes its cells itself."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0
    path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceType:
    """One kind in one version, as it is served."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    strategy: Strategy
    namespaced: bool = True
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: frozenset[str] = frozenset()
    """Such as status, scale, log."""
    has_generation: bool = True
    is_custom: bool = False
    schema: Mapping[str, Any] = field(default_factory=dict)
    """OpenAPI v3, whole: for explain, for pruning, and for how lists and maps merge."""
    compiled: CompiledSchema | None = None
    columns: Sequence[TableColumn] = ()
    selectable_fields: tuple[str, ...] = ()
    """Field selectors beyond metadata.name and metadata.namespace, such as status.phase."""
    stored_as: str = ""
    """`plural.group`: every version of a kind is stored in one place."""
    stored_version: str = ""
    """The version of the kind that is stored; empty if it is this one."""
    schema_since: int = 0
    """Objects of older revisions may have been stored under another schema; they are read by this one."""
    compiled_versions: Mapping[str, CompiledSchema] = field(default_factory=dict)
    """All versions of a custom kind, by apiVersion; like `compiled`."""
    version_schemas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The same, like `schema`."""
    is_ending: bool = False
    """The definition of a custom kind is being deleted: nothing new is created."""
    scale: ScalePaths | None = None
    """Where the scale subresource finds its values."""
    name_problems: Callable[[str], list[str]] = subdomain_problems
    """Which names an object may have."""
    unconditional_update: bool = False
    """A PUT may leave resourceVersion out."""
    create_on_update: bool = False
    """A PUT may create."""
    deprecation: str = ""
    """The warning of a deprecated version of a custom kind, sent with every response."""
    orphans_by_default: bool = False
    """Deleting without a policy leaves dependents behind, with a warning (Job)."""
    review: Callable[[JsonObject, User], JsonObject] | None = None
    """Answers an object that is never stored, such as SelfSubjectAccessReview."""
    guard: Callable[[Mapping[str, Any], Mapping[str, Any] | None, User], None] | None = None
    """Raises if a user may not write this object over the old one, such as a role that gives more than the user has."""
    grace_seconds: int | None = None
    """Deletion waits for a grace period (Pod)."""

    api_version: str = field(init=False)
    qualified: str = field(init=False)

    def __post_init__(self) -> None:
        """Computed once: every request reads these many times."""
        group = self.group
        object.__setattr__(self, "api_version", f"{group}/{self.version}" if group else self.version)
        object.__setattr__(self, "qualified", f"{self.plural}.{group}" if group else self.plural)

    @property
    def stored_group(self) -> str:
        """The group under which the kind is stored, which errors name."""
        return self.stored_as.partition(".")[2] if self.stored_as else self.group


_SUBRESOURCE_VERBS: Final[dict[str, tuple[str, ...]]] = {
    "log": ("get",),
    "finalize": ("update",),
    "token": ("create",),
    "binding": ("create",),
    "eviction": ("create",),
}
_SUBRESOURCE_KINDS: Final = {
    "scale": ("autoscaling", "v1", "Scale"),
    "token": ("authentication.k8s.io", "v1", "TokenRequest"),
    "binding": ("", "", "Binding"),
    "eviction": ("policy", "v1", "Eviction"),
}
_CUSTOM_ORDER: Final = ("status", "scale")
KUBELET_SUBRESOURCES: Final = frozenset(
    {"attach", "ephemeralcontainers", "exec", "portforward", "proxy", "resize"}
)
"""Built-in kinds have them where a kubelet runs containers; here they are refused by name."""


def subresource_verbs(name: str) -> tuple[str, ...]:
    return _SUBRESOURCE_VERBS.get(name, ("get", "patch", "update"))


def subresource_kind(name: str) -> tuple[str, str, str] | None:
    """Group, version and kind, where it is not that of the object."""
    return _SUBRESOURCE_KINDS.get(name)


def ordered_subresources(names: frozenset[str], *, is_custom: bool) -> list[str]:
    """As a real server lists them."""
    return [name for name in _CUSTOM_ORDER if name in names] if is_custom else sorted(names)


class Registry:
    """Resource types by group, version and plural. Changes are seen by the next request."""

    def __init__(self, built_in: Iterable[ResourceType]) -> None:
        self._types: dict[tuple[str, str, str], ResourceType] = {}
        self._custom: dict[str, list[tuple[str, str, str]]] = {}
        self._by_kind: dict[tuple[str, str], ResourceType] | None = None
        """Built on first use, and again after a change."""
        self.generation = 0
        """Rises with every change; what is derived from the table is then rebuilt."""
        self.listeners: set[Callable[[], None]] = set()
        """Called after every change."""
        for item in built_in:
            self._types[item.group, item.version, item.plural] = item
        self._built_in = frozenset(item.qualified for item in self)

    def find(self, group: str, version: str, plural: str) -> ResourceType | None:
        return self._types.get((group, version, plural))

    def get(self, group: str, version: str, plural: str) -> ResourceType:
        """A built-in type, which is always served."""
        return self._types[group, version, plural]

    def by_kind(self, api_version: str, kind: str) -> ResourceType | None:
        """The type of an object, such as an owner, by its apiVersion and kind."""
        if self._by_kind is None:
            found: dict[tuple[str, str], ResourceType] = {}
            for item in self:
                found.setdefault((item.api_version, item.kind), item)
            self._by_kind = found
        return self._by_kind.get((api_version, kind))

    def by_storage(self, stored_as: str) -> ResourceType | None:
        """A type of the objects that are stored under this name: one of its versions, if any is served."""
        return next((item for item in self if (item.stored_as or item.qualified) == stored_as), None)

    def has_group(self, group: str) -> bool:
        return any(key[0] == group for key in self._types)

    def has_version(self, group: str, version: str) -> bool:
        return any(key[:2] == (group, version) for key in self._types)

    def is_custom_group(self, group: str) -> bool:
        """Whether custom resources alone make up the group: some answers differ there."""
        return not any(item.group == group and not item.is_custom for item in self)

    def is_built_in(self, qualified: str) -> bool:
        """Whether the server itself has this resource; a CRD of the same name serves nothing."""
        return qualified in self._built_in

    def takes_new(self, resource: ResourceType) -> bool:
        """Whether objects of a kind may still be created: its CRD may have been deleted during the request."""
        found = self.find(resource.group, resource.version, resource.plural)
        return found is not None and not found.is_ending

    def __iter__(self) -> Iterator[ResourceType]:
        return iter(self._types.values())

    def serve_custom(self, name: str, types: Iterable[ResourceType]) -> None:
        """Serve exactly these versions of the CRD of this name; an empty list stops it."""
        if self.is_built_in(name):
            return
        for key in self._custom.pop(name, []):
            self._types.pop(key, None)
        served = [((item.group, item.version, item.plural), item) for item in types]
        self._types.update(served)
        if served:
            self._custom[name] = [key for key, _ in served]
        self._by_kind = None
        self.generation += 1
        for listener in tuple(self.listeners):
            listener()
