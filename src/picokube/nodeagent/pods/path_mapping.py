"""Rewrites container paths to host paths if mount namespaces are not available. Pure."""

import re
from collections.abc import Mapping, Sequence

_BEFORE = r"(?<![A-Za-z0-9_./~-])"
_AFTER = r"(?![A-Za-z0-9_.-])"


class PathMapping:
    """Replaces complete path prefixes: `/data` in `/data/x` and `--out=/data`, but not in `/database`."""

    def __init__(self, host_paths: Mapping[str, str]) -> None:
        self._host_paths = {path.rstrip("/") or "/": host_path for path, host_path in host_paths.items()}
        # Longest first, because mounts can be nested.
        paths = sorted(self._host_paths, key=len, reverse=True)
        alternatives = "|".join(re.escape(path) for path in paths)
        self._pattern = re.compile(f"{_BEFORE}({alternatives}){_AFTER}") if paths else None

    def text(self, text: str) -> str:
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: self._host_paths[match[1]], text)

    def texts(self, texts: Sequence[str]) -> tuple[str, ...]:
        return tuple(self.text(text) for text in texts)

    def values(self, values: Mapping[str, str]) -> dict[str, str]:
        return {name: self.text(value) for name, value in values.items()}
