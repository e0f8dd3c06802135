"""Installs or updates Jangar's CRDs in an API server; does nothing if they are up to date."""

import asyncio
from pathlib import Path
from typing import Final

from jangar.api.kinds import KINDS
from jangar.crdgen.prepared import Prepared
from kubekit.client.api_client import Client
from kubekit.client.resource import Resource
from kubekit.metadata import has_condition
from kubekit.private_files import write_private

DEFINITIONS: Final = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
ESTABLISHED_TIMEOUT_SECONDS: Final = 30.0
POLL_SECONDS: Final = 0.01


async def ensure_kinds(client: Client, fingerprint_file: Path) -> bool:
    """Install the CRDs of this version and wait until they are established; returns whether any was written.

    The file stores the fingerprint of the CRDs that were installed last. Manual changes since then are kept; deleted
    CRDs are installed again.
    """
    prepared = Prepared.read()
    existing = {definition["metadata"]["name"] for definition in await client.list(DEFINITIONS)}
    if _names() <= existing and _read(fingerprint_file) == prepared.fingerprint:
        return False
    for definition in prepared.definitions():
        # Sequentially: the server re-evaluates all pending CRDs whenever one is written.
        if definition["metadata"]["name"] in existing:
            await client.apply(DEFINITIONS, definition, force=True)
        else:
            await client.create(DEFINITIONS, definition)
    await _wait_until_established(client)
    write_private(fingerprint_file, f"{prepared.fingerprint}\n")
    return True


def _read(fingerprint_file: Path) -> str:
    return fingerprint_file.read_text().strip() if fingerprint_file.exists() else ""


def _names() -> set[str]:
    return {f"{kind.plural}.{kind.group}" for kind in KINDS}


async def _wait_until_established(client: Client) -> None:
    names = _names()
    async with asyncio.timeout(ESTABLISHED_TIMEOUT_SECONDS):
        while True:
            definitions = await client.list(DEFINITIONS)
            if names <= {
                item["metadata"]["name"] for item in definitions if has_condition(item, "Established")
            }:
                return
            await asyncio.sleep(POLL_SECONDS)
