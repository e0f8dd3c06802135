"""Paths of a container put in place of those on the machine, where no mount namespace can be had. Pure text."""

import re
from collections.abc import Mapping, Sequence

_BEFORE = r"(?<![A-Za-z0-9_./~-])"
_AFTER = r"(?![A-Za-z0-9_.-])"


class PathMapping:
    """Replaces whole leading parts of paths: `/data` in `/data/x` and `--out=/data`, not in `/database`."""

    def __init__(self, real: Mapping[str, str]) -> None:
        self._real = {path.rstrip("/") or "/": place for path, place in real.items()}
        # The longest first: a mount may lie within another.
        paths = sorted(self._real, key=len, reverse=True)
        words = "|".join(re.escape(path) for path in paths)
        self._pattern = re.compile(f"{_BEFORE}({words}){_AFTER}") if paths else None

    def text(self, text: str) -> str:
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda found: self._real[found[1]], text)

    def texts(self, texts: Sequence[str]) -> tuple[str, ...]:
        return tuple(self.text(each) for each in texts)

    def values(self, values: Mapping[str, str]) -> dict[str, str]:
        return {name: self.text(value) for name, value in values.items()}
