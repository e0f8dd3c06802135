"""The store and the kinds of an API server without requests: for tests of the parts that follow writes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from picokube.apiserver.builtin_kinds import built_in_types
from picokube.apiserver.kinds.resources import Registry
from picokube.apiserver.objects.context import ServerContext
from picokube.apiserver.objects.object_store import create
from picokube.apiserver.protocol.messages import WriteOptions
from picokube.apiserver.storage.sqlite_store import SqliteStore

NOW = datetime(2026, 2, 7, tzinfo=UTC)
OPTIONS = WriteOptions(manager="test")


@asynccontextmanager
async def server_parts(directory: Path) -> AsyncIterator[ServerContext]:
    """With one namespace, `n`."""
    uids = count(1)
    store = SqliteStore.open(directory / "objects.db")
    serving = ServerContext(
        store=store,
        registry=Registry(built_in_types()),
        clock=lambda: NOW,
        new_uid=lambda: f"00000000-0000-4000-8000-{next(uids):012}",
        new_suffix=lambda: "xxxxx",
    )
    try:
        await make(serving, "namespaces", {"kind": "Namespace"}, name="n", namespace=None)
        yield serving
    finally:
        await store.close()


async def make(
    serving: ServerContext,
    plural: str,
    obj: dict[str, Any],
    *,
    name: str = "a",
    namespace: str | None = "n",
    group: str = "",
) -> None:
    resource = serving.registry.find(group, "v1", plural)
    assert resource is not None
    made = {"apiVersion": resource.api_version, **obj, "metadata": {"name": name}}
    await create(serving, resource, namespace, made, OPTIONS)
