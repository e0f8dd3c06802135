"""Bringing the definitions of every kind to an API, or up to date there, until each of them is served."""

from pathlib import Path
from typing import Final

from jangar.cli.api_session import Session, ask
from jangar.cli.applying import applied
from jangar.cli.runs.waiting import until
from jangar.cli.target import Target
from jangar.cli.terminal import write_lines
from kubekit.client.api_client import Obj
from kubekit.client.resource import Resource

DEFINITIONS: Final = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
SERVED_SECONDS: Final = 60.0


def install_crds(*, kubeconfig: Path | None, context: str) -> None:
    """Server-side apply each CRD, taking over fields from other managers, including Helm."""
    from jangar.crdgen.crd import crds  # noqa: PLC0415 - heavy

    async def work(session: Session) -> None:
        for definition in crds():
            write_lines([await applied(session, dict(definition), force=True)])
        for definition in crds():
            there = await session.client.get(DEFINITIONS, definition["metadata"]["name"])
            if not is_served(there):
                await until(
                    session.client,
                    DEFINITIONS,
                    there,
                    is_served,
                    seconds=SERVED_SECONDS,
                    waiting_for="being served",
                )

    ask("crds install", Target(kubeconfig=kubeconfig, context=context), work)


def is_served(definition: Obj) -> bool:
    """Whether the API server has taken the definition in."""
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(
        condition.get("type") == "Established" and condition.get("status") == "True"
        for condition in conditions
    )
