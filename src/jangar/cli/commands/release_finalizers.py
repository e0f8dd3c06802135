"""`jangar release-finalizers`: nothing of ours holds an object any more, for uninstalling (GC-7)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jangar.cli.target import (
    AllNamespacesOption,
    ContextOption,
    DataDirOption,
    KubeconfigOption,
    NamespaceOption,
    Target,
)
from jangar.cli.terminal import write_error, write_lines

if TYPE_CHECKING:
    from jangar.cli.api_session import Session
    from kubekit.client.api_client import Client
    from kubekit.client.resource import Resource

EPILOG = """\b
Examples:
  jangar release-finalizers -A --dry-run
  jangar release-finalizers -n team-a

\b
Stop the controllers first: they add finalizers to the objects they manage.
Exit codes: 0 done, 1 some finalizers remain, 5 the API cannot be reached."""

MAX_TRIES = 5


def release_finalizers_command(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be released.")] = False,
    all_namespaces: AllNamespacesOption = False,
    namespace: NamespaceOption = "",
    context: ContextOption = "",
    kubeconfig: KubeconfigOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Remove jangar's finalizers from runs and their work.

    Covers runs, their children, Jobs and pods, including namespaces that no controller watches. Other finalizers
    are kept.
    """
    from jangar.cli.api_session import ask  # noqa: PLC0415 - heavy

    async def work(session: "Session") -> tuple[int, int]:
        place = None if all_namespaces else session.namespace
        released = held = 0
        for resource in _resources():
            for obj in await _objects(session.client, resource, place):
                if not _ours(obj):
                    continue
                meta = obj["metadata"]
                name = f"{resource.kind.lower()} {meta.get('namespace', '')}/{meta['name']}"
                if dry_run:
                    write_lines([f"{name} would be released"])
                elif await _released(session.client, resource, obj):
                    write_lines([f"{name} released"])
                else:
                    held += 1
                    write_error(
                        f"jangar release-finalizers: {name} keeps changing; its finalizers were not removed"
                    )
                released += 1
        return released, held

    target = Target(kubeconfig=kubeconfig, context=context, namespace=namespace, data_dir=data_dir)
    released, held = ask("release-finalizers", target, work)
    if not released:
        write_lines(["no object has a jangar finalizer"])
    if held:
        raise typer.Exit(1)


def _resources() -> "list[Resource]":
    """What we put a finalizer on; first what decides, so that nothing is held anew for its sake."""
    from jangar.controllers.resources import resource_of  # noqa: PLC0415 - heavy
    from jangar.kinds.registry import RUN_KINDS  # noqa: PLC0415
    from kubekit.client.builtin import JOBS, PODS  # noqa: PLC0415

    return [*(resource_of(run.kind) for run in RUN_KINDS.values()), JOBS, PODS]


async def _objects(client: "Client", resource: "Resource", place: str | None) -> list[Any]:
    """All of them; none of a kind that is not installed any more."""
    from kubekit.client.errors import NotFound  # noqa: PLC0415 - heavy

    try:
        return list(await client.list(resource, place))
    except NotFound:
        return []


def _ours(obj: Mapping[str, Any]) -> "tuple[dict[str, Any], ...]":
    from jangar.domain.job_execution.finalizers import (  # noqa: PLC0415 - heavy
        CLEANUP_FINALIZER,
        OUTCOME_FINALIZER,
        our_finalizer_patch,
    )

    ours = frozenset({CLEANUP_FINALIZER, OUTCOME_FINALIZER})
    return our_finalizer_patch(obj["metadata"].get("finalizers") or (), ours)


async def _released(client: "Client", resource: "Resource", obj: Mapping[str, Any]) -> bool:
    """Gone is released. What changed meanwhile is read again."""
    from kubekit.client.api_client import PatchKind  # noqa: PLC0415 - heavy
    from kubekit.client.errors import Conflict, Invalid, NotFound  # noqa: PLC0415

    uid, name, namespace = (obj["metadata"].get(item) for item in ("uid", "name", "namespace"))
    for _ in range(MAX_TRIES):
        patch = _ours(obj)
        if not patch or obj["metadata"]["uid"] != uid:
            return True
        body = [{"op": "test", "path": "/metadata/uid", "value": uid}, *patch]
        try:
            await client.patch(resource, name, namespace, body, kind=PatchKind.JSON)
        except NotFound:
            return True
        except (Conflict, Invalid):
            try:
                obj = await client.get(resource, name, namespace)
            except NotFound:
                return True
        else:
            return True
    return False
