"""Which kinds are served now: the built-in ones, and the custom ones as their CRDs come and go. Knows no request."""

from collections.abc import Callable, Iterable, Iterator

from picokube.apiserver.kinds.resources import ResourceType


class Registry:
    """Resource types by group, version and plural. Changes are seen by the next request."""

    def __init__(self, built_in: Iterable[ResourceType]) -> None:
        self._types: dict[tuple[str, str, str], ResourceType] = {}
        self._custom: dict[str, list[tuple[str, str, str]]] = {}
        self._by_kind: dict[tuple[str, str], ResourceType] | None = None
        """Made when it is first asked for, and again after a change."""
        self.generation = 0
        """Rises with every change; what is derived from the table is made anew when it does."""
        self.listeners: set[Callable[[], None]] = set()
        """Told of every change."""
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
        """Whether objects of a kind may still be created: its CRD may have gone while a request was under way."""
        found = self.find(resource.group, resource.version, resource.plural)
        return found is not None and not found.is_ending

    def __iter__(self) -> Iterator[ResourceType]:
        return iter(self._types.values())

    def serve_custom(self, name: str, types: Iterable[ResourceType]) -> None:
        """Serve exactly these versions of the CRD of this name; none stops serving it."""
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
