"""How much of a manifest is read before it is refused. Real ones stay far below."""

from typing import Final

MAX_BYTES: Final = 10 * 1024 * 1024
"""Bytes of one file or of standard input."""

MAX_LINE: Final = 1024 * 1024
"""Bytes of one line: an object of that size could not be stored anyway."""

MAX_DOCUMENTS: Final = 2_000
"""Documents of one file."""

MAX_DEPTH: Final = 64
"""Mappings and lists inside each other."""

MAX_NODES: Final = 500_000
"""Mappings, lists and values of one file; an orchestration of 10,000 steps has about 200,000."""

ALIAS_NODES: Final = 10_000
ALIAS_FACTOR: Final = 10
"""Aliases may add this many nodes, and this many times the nodes that are written out."""
