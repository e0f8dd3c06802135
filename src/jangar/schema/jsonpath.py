"""JSONPath as kubectl speaks it."""

from typing import Self


class JsonPath:
    @classmethod
    def of(cls, source: str) -> Self:
        raise NotImplementedError
