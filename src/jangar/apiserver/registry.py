"""Which kinds are served now: the built-in ones, and the custom ones as their CRDs come and go. Knows no request."""

from collections.abc import Iterable, Iterator

from jangar.apiserver.resources import ResourceType


class Registry:
    """Resource types by group, version and plural. Changes are seen by the next request."""

    def __init__(self, built_in: Iterable[ResourceType]) -> None:
        self._types: dict[tuple[str, str, str], ResourceType] = {}
        self._custom: dict[str, list[tuple[str, str, str]]] = {}
        self.generation = 0
        """Rises with every change; what is derived from the table is made anew when it does."""
        for each in built_in:
            self._types[each.group, each.version, each.plural] = each

    def find(self, group: str, version: str, plural: str) -> ResourceType | None:
        return self._types.get((group, version, plural))

    def by_kind(self, api_version: str, kind: str) -> ResourceType | None:
        """The type of an object, such as an owner, by its apiVersion and kind."""
        return next((each for each in self if each.api_version == api_version and each.kind == kind), None)

    def has_group(self, group: str) -> bool:
        return any(key[0] == group for key in self._types)

    def has_version(self, group: str, version: str) -> bool:
        return any(key[:2] == (group, version) for key in self._types)

    def is_custom_group(self, group: str) -> bool:
        """Whether custom resources alone make up the group: some answers differ there."""
        return not any(each.group == group and not each.is_custom for each in self)

    def __iter__(self) -> Iterator[ResourceType]:
        return iter(self._types.values())

    def serve_custom(self, name: str, types: Iterable[ResourceType]) -> None:
        """Serve exactly these versions of the CRD of this name; none stops serving it."""
        for key in self._custom.pop(name, []):
            self._types.pop(key, None)
        served = [((each.group, each.version, each.plural), each) for each in types]
        self._types.update(served)
        if served:
            self._custom[name] = [key for key, _ in served]
        self.generation += 1
