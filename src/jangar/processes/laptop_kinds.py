"""The product's kinds in an API server: installed, brought up to date, or left alone when nothing changed."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from jangar.api.kinds import KINDS
from jangar.crdgen.prepared import Prepared
from kubekit.client.api_client import Client
from kubekit.client.resource import Obj, Resource
from kubekit.private_files import write_private

DEFINITIONS: Final = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
SERVED_SECONDS: Final = 30.0
LOOK_SECONDS: Final = 0.01


async def ensure_kinds(client: Client, remembered: Path) -> bool:
    """Every kind is served as this version defines it; whether anything had to be written.

    Which definitions were written last is remembered. What was changed by hand since then stays as it is, what was
    removed comes back.
    """
    prepared = Prepared.read()
    there = {each["metadata"]["name"] for each in await client.list(DEFINITIONS)}
    if _names() <= there and _read(remembered) == prepared.fingerprint:
        return False
    for definition in prepared.definitions():
        # One after another: all at once would have the server decide again on each for every other.
        if definition["metadata"]["name"] in there:
            await client.apply(DEFINITIONS, definition, force=True)
        else:
            await client.create(DEFINITIONS, definition)
    await _served(client)
    _write(remembered, prepared.fingerprint)
    return True


def _read(remembered: Path) -> str:
    return remembered.read_text().strip() if remembered.exists() else ""


def _write(remembered: Path, fingerprint: str) -> None:
    write_private(remembered, f"{fingerprint}\n")


def _names() -> set[str]:
    return {f"{kind.plural}.{kind.group}" for kind in KINDS}


async def _served(client: Client) -> None:
    names = _names()
    async with asyncio.timeout(SERVED_SECONDS):
        while True:
            found = await client.list(DEFINITIONS)
            if names <= {each["metadata"]["name"] for each in found if _is_established(each)}:
                return
            await asyncio.sleep(LOOK_SECONDS)


def _is_established(definition: Obj) -> bool:
    conditions: Iterable[Obj] = (definition.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)
