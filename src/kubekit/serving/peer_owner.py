"""Finds the user that owns the other end of a connection on this machine."""

import ipaddress
import sys
from pathlib import Path
from typing import Final

TABLES: Final = {4: Path("/proc/net/tcp"), 6: Path("/proc/net/tcp6")}
PEER_UID: Final = "jangar.peer-uid"
"""ASGI extension: reads the user id that owns the other end of a connection on this machine."""
_LOCAL, _REMOTE, _UID = 1, 2, 7
_WORD: Final = 4

Address = tuple[str, int]


def peer_uid(client: Address | None, server: Address | None) -> int | None:
    """The user id of the client's socket. None if the kernel doesn't report it, or for another machine."""
    if client is None or server is None:
        return None
    try:
        host = ipaddress.ip_address(client[0])
        wanted = _table_format(*client), _table_format(*server)
        lines = TABLES[host.version].read_text().splitlines()[1:]
    except (OSError, ValueError):
        return None
    for line in lines:
        fields = line.split()
        if (fields[_LOCAL], fields[_REMOTE]) == wanted:
            return int(fields[_UID])
    return None


def _table_format(host: str, port: int) -> str:
    """In the format of the kernel's table: words of four bytes in native byte order, in hexadecimal."""
    packed = ipaddress.ip_address(host).packed
    words = [packed[at : at + _WORD] for at in range(0, len(packed), _WORD)]
    numbers = [int.from_bytes(word, sys.byteorder) for word in words]
    return "".join(f"{number:08X}" for number in numbers) + f":{port:04X}"
