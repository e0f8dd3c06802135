"""Which API a data directory belongs to: with another one, what is not lost would be ended and swept away."""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from kubekit.client.api_client import Client
from kubekit.client.builtin import NAMESPACES
from kubekit.client.errors import ApiError, is_transient

RETRY_SECONDS = 0.5
MARK = "node-agent-of"


class DirectoryInUse(Exception):
    """Another agent runs with the directory."""


class ForeignDirectory(Exception):
    """The directory was used with another API."""


@asynccontextmanager
async def claimed(client: Client, directory: Path) -> AsyncIterator[None]:
    """The directory is this agent's alone, and this API's, known by the uid of its first namespace.

    Raises DirectoryInUse and ForeignDirectory.
    """
    with _held(directory) as mark:
        _mark(directory, mark, await _identity(client))
        yield


@contextmanager
def _held(directory: Path) -> Iterator[int]:
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    mark = os.open(directory / MARK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise DirectoryInUse(f"{directory} is in use by another node agent") from None
    else:
        yield mark
    finally:
        os.close(mark)


def _mark(directory: Path, mark: int, uid: str) -> None:
    known = os.pread(mark, 200, 0).decode().strip()
    if not known:
        os.pwrite(mark, f"{uid}\n".encode(), 0)
    elif known != uid:
        raise ForeignDirectory(
            f"{directory} holds the processes and logs of another Kubernetes API: use the directory that this API was "
            f"given, or remove {directory / MARK} if that API is no more"
        )


async def _identity(client: Client) -> str:
    while True:
        try:
            found = await client.get(NAMESPACES, "kube-system")
        except ApiError as error:
            if not is_transient(error):
                raise
            await asyncio.sleep(RETRY_SECONDS)
        else:
            return str(found["metadata"]["uid"])
