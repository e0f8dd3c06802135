"""The objects that were written last, decoded: who changes one next need not read its bytes. Knows no kind.

Callers and the objects made from it share this data; it is never mutated.
"""

from collections import OrderedDict

from picokube.apiserver.resources import JsonObject
from picokube.apiserver.storage.store import Key, Stored

MAX_BYTES = 2 * 1024 * 1024
"""Of all kept objects as they are stored; decoded they take several times that."""


class LastWritten:
    """Each object at one revision; those that were written or asked for last stay."""

    def __init__(self, most_bytes: int = MAX_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[Key, tuple[Stored, JsonObject]] = OrderedDict()

    def of(self, stored: Stored) -> JsonObject | None:
        """What these very bytes decode to, if it is known."""
        found = self._kept.get(stored.key)
        if found is None or found[0] is not stored:
            return None
        self._kept.move_to_end(stored.key)
        return found[1]

    def keep(self, stored: Stored, obj: JsonObject) -> None:
        self.forget(stored.key)
        self._kept[stored.key] = stored, obj
        self._bytes += len(stored.data)
        while self._bytes > self._most_bytes:
            self.forget(next(iter(self._kept)))

    def forget(self, key: Key) -> None:
        found = self._kept.pop(key, None)
        if found is not None:
            self._bytes -= len(found[0].data)
