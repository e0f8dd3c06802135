"""The definitions of all kinds as `make generate` wrote them into the package; read, not made. Knows one file."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jangar.api.meta import JsonObject

FILE: Final = Path(__file__).with_name("definitions.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What the file holds."""

    text: bytes

    @staticmethod
    def read() -> "Prepared":
        """The file of this package."""
        return Prepared(text=FILE.read_bytes())

    @property
    def fingerprint(self) -> str:
        """Other definitions have another one."""
        return hashlib.sha256(self.text).hexdigest()

    def definitions(self) -> list[JsonObject]:
        """In the order of the table of kinds."""
        found: list[JsonObject] = json.loads(self.text)
        return found
