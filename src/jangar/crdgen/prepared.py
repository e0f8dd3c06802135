"""Reads the CRDs that `make generate` wrote into the package, which is faster than generating them."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jangar.api.meta import JsonObject

FILE: Final = Path(__file__).with_name("definitions.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The file with the CRDs of all kinds."""

    text: bytes

    @staticmethod
    def read() -> "Prepared":
        """Read the file of this package."""
        return Prepared(text=FILE.read_bytes())

    @property
    def fingerprint(self) -> str:
        """Changes whenever a CRD changes."""
        return hashlib.sha256(self.text).hexdigest()

    def definitions(self) -> list[JsonObject]:
        """The CRDs in the order of the table of kinds."""
        definitions: list[JsonObject] = json.loads(self.text)
        return definitions
