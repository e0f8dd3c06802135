"""Guards against using a data directory with a different API server, which would kill and delete every pod."""

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
OWNER_FILE = "node-agent-of"
"""Contains the uid of the API server's kube-system namespace, and is locked by the running agent."""


class DirectoryInUse(Exception):
    """Another agent is using the data directory."""


class ForeignDirectory(Exception):
    """The data directory belongs to a different API server."""


@asynccontextmanager
async def claim_directory(client: Client, directory: Path) -> AsyncIterator[None]:
    """Lock the directory for this agent and bind it to this API server.

    Raises DirectoryInUse and ForeignDirectory.
    """
    with _locked_owner_file(directory) as file:
        _verify_owner(directory, file, await _server_uid(client))
        yield


@contextmanager
def _locked_owner_file(directory: Path) -> Iterator[int]:
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = os.open(directory / OWNER_FILE, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise DirectoryInUse(f"data directory {directory} is in use by another node agent") from None
    else:
        yield file
    finally:
        os.close(file)


def _verify_owner(directory: Path, file: int, uid: str) -> None:
    owner = os.pread(file, 200, 0).decode().strip()
    if not owner:
        os.pwrite(file, f"{uid}\n".encode(), 0)
    elif owner != uid:
        raise ForeignDirectory(
            f"data directory {directory} belongs to a different Kubernetes API server. Use the data directory of this "
            f"server. If the other server no longer exists, remove {directory / OWNER_FILE}"
        )


async def _server_uid(client: Client) -> str:
    while True:
        try:
            namespace = await client.get(NAMESPACES, "kube-system")
        except ApiError as error:
            if not is_transient(error):
                raise
            await asyncio.sleep(RETRY_SECONDS)
        else:
            return str(namespace["metadata"]["uid"])
