"""`jangar get`, `apply`, `delete`, `crds` and `release-finalizers`: objects of any kind, and the CRDs."""

import sys
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, assert_never

import typer

from jangar.cli.api_session import Session, call_api
from jangar.cli.completions import complete_kinds, complete_names
from jangar.cli.json_text import json_text
from jangar.cli.output.form import TABLE, Form, FormOption, Shape, object_lines, object_name
from jangar.cli.output.table import table
from jangar.cli.target import (
    AllNamespacesOption,
    ContextOption,
    DataDirOption,
    KubeconfigOption,
    NamespaceOption,
    SelectorOption,
    Target,
    with_api_options,
)
from jangar.cli.terminal import columns, has_color, write_error, write_lines

if TYPE_CHECKING:
    from kubekit.client.api_client import Obj
    from kubekit.client.resource import Resource

GET_EPILOG = """\b
Examples:
  jangar get runs
  jangar get orchestrations -A -o wide
  jangar get toolrun build-1 -o yaml
  jangar get run nightly-1 -o jsonpath={.status.phase}

\b
Exit codes: 0 found, 4 no such object or kind, 5 the API cannot be reached."""
APPLY_EPILOG = """\b
Examples:
  jangar apply -f nightly.yaml
  jangar apply -f charts/agents/examples -n trial
  helm template my-chart | jangar apply -f -

\b
Exit codes: 0 applied, 1 rejected, 2 a file cannot be read, 5 the API cannot be reached."""
DELETE_EPILOG = """\b
Examples:
  jangar delete run nightly-1
  jangar delete orchestration nightly weekly
  jangar delete -f nightly.yaml

\b
Exit codes: 0 deleted, 4 not found, 5 the API cannot be reached, 124 timed out."""
CRDS_EPILOG = """\b
Examples:
  jangar crds | kubectl apply --server-side -f -
  jangar crds install --context my-cluster
  jangar crds -o name"""
RELEASE_EPILOG = """\b
Examples:
  jangar release-finalizers -A --dry-run
  jangar release-finalizers -n team-a

\b
Stop the controllers first: they add finalizers to the objects they manage.
Exit codes: 0 done, 1 some finalizers remain, 5 the API cannot be reached."""

SERVED_TIMEOUT = 60.0
"""Seconds to wait until a CRD is served."""

FilesOption = Annotated[
    list[str],
    typer.Option("--filename", "-f", metavar="FILE|DIR|-", help="Manifests; repeatable."),
]


class CrdFormat(StrEnum):
    """Output formats."""

    YAML = "yaml"
    JSON = "json"
    NAME = "name"


class CrdAction(StrEnum):
    """Actions of `jangar crds`."""

    SHOW = "show"
    INSTALL = "install"


@with_api_options
def get_command(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND", help="runs, orchestrations, tools, pods, ...", autocompletion=complete_kinds
        ),
    ],
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME", help="Names of the objects (default: all).", autocompletion=complete_names
        ),
    ] = None,
    output: FormOption = TABLE,
    labels: SelectorOption = "",
    all_namespaces: AllNamespacesOption = False,
    *,
    target: Target,
) -> None:
    """Show objects of a kind."""
    from jangar.operations.objects import get_objects, resource_named  # noqa: PLC0415

    async def work(session: Session) -> "tuple[Resource, list[Obj], str | None]":
        resource = await resource_named(session.caller, kind)
        namespace = None if all_namespaces or not resource.namespaced else session.namespace
        objects = await get_objects(session.caller, resource, namespace, names or (), labels=labels)
        return resource, objects, namespace

    if names and all_namespaces:
        raise typer.BadParameter("names require a single namespace: omit -A", param_hint="-A")
    resource, objects, namespace = call_api("get", target, work)
    if not output.is_table:
        write_lines(object_lines(output, objects, is_one=len(names or ()) == 1))
    elif objects:
        _show(resource, objects, output, spread=all_namespaces)
    else:
        write_error(f"no {resource.plural} in {namespace or 'any namespace'}")


def _show(resource: "Resource", objects: "list[Obj]", output: Form, *, spread: bool) -> None:

    from jangar.cli.table_rows import object_rows  # noqa: PLC0415

    wide = output.shape is Shape.WIDE
    heads, rows = object_rows(resource, objects, datetime.now(UTC), wide=wide, spread=spread)
    width = columns() if sys.stdout.isatty() and not wide else None
    write_lines(table(heads, rows, width=width, color=has_color(sys.stdout), optional=heads[-2:1:-1]))


@with_api_options
def apply_command(
    files: FilesOption,
    no_lint: Annotated[
        bool, typer.Option("--no-lint", help="Skip the lint checks; the API still validates.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force-conflicts", help="Take over fields owned by other managers.")
    ] = False,
    *,
    target: Target,
) -> None:
    """Create or update the objects in manifests.

    All manifests are checked first, as jangar lint does: if one has a problem, nothing is sent. Uses server-side apply,
    like kubectl apply --server-side.
    """
    from jangar.cli.manifests import read_objects  # noqa: PLC0415
    from jangar.operations.objects import apply_object  # noqa: PLC0415

    async def work(session: Session) -> None:
        for obj in read_objects(files, checked=not no_lint):
            applied = await apply_object(session.caller, obj, force=force)
            write_lines([f"{object_name(applied.obj)} {applied.result}"])

    call_api("apply", target, work)


@with_api_options
def delete_command(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND", help="runs, orchestrations, tools, ...", autocompletion=complete_kinds
        ),
    ] = "",
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Names of the objects.", autocompletion=complete_names),
    ] = None,
    files: Annotated[
        list[str] | None,
        typer.Option("--filename", "-f", metavar="FILE|DIR|-", help="Delete the objects in these manifests."),
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait until the objects are deleted.")
    ] = True,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", min=0, help="Maximum time to wait, in seconds.")
    ] = 90.0,
    *,
    target: Target,
) -> None:
    """Delete objects. A live run is cancelled first and deleted once its work has stopped."""
    from jangar.operations.objects import delete_object  # noqa: PLC0415
    from jangar.operations.watching import wait_until  # noqa: PLC0415

    if bool(files) == bool(kind) or bool(kind) != bool(names):
        raise typer.BadParameter("pass either -f FILE, or KIND and NAME", param_hint="KIND NAME")

    async def work(session: Session) -> None:
        found = await _objects_to_delete(session, files or [], kind, names or [])
        for resource, obj in found:
            await delete_object(session.caller, resource, obj)
            if not wait:
                write_lines([f"{object_name(obj)} is being deleted"])
        for resource, obj in found if wait else ():
            await wait_until(
                session.client, resource, obj, lambda _: False, seconds=timeout, waiting_for="its end"
            )
            write_lines([f"{object_name(obj)} deleted"])

    call_api("delete", target, work)


async def _objects_to_delete(
    session: Session, files: list[str], kind: str, names: list[str]
) -> "list[tuple[Resource, Obj]]":
    """The named objects, all of which must exist, or those objects in the manifests that exist."""
    from jangar.cli.manifests import read_objects  # noqa: PLC0415 - heavy
    from jangar.operations.objects import (  # noqa: PLC0415
        find_manifest_objects,
        get_objects,
        resource_named,
    )

    if not files:
        resource = await resource_named(session.caller, kind)
        namespace = session.namespace if resource.namespaced else None
        return [(resource, obj) for obj in await get_objects(session.caller, resource, namespace, names)]
    existing = []
    manifests = read_objects(files, checked=False)
    async for manifest, resource, obj in find_manifest_objects(session.caller, manifests):
        if obj is not None:
            existing.append((resource, obj))
        else:
            write_lines([f"{manifest['kind'].lower()}/{manifest['metadata'].get('name')} not found"])
    return existing


def crds_command(
    action: Annotated[
        CrdAction,
        typer.Argument(help="install creates or updates the CRDs and waits until they are served."),
    ] = CrdAction.SHOW,
    output: Annotated[CrdFormat, typer.Option("--output", "-o", help="Output format.")] = CrdFormat.YAML,
    context: Annotated[str, typer.Option("--context", help="Kubeconfig context to install to.")] = "",
    kubeconfig: Annotated[Path | None, typer.Option("--kubeconfig", help="Kubeconfig to install to.")] = None,
) -> None:
    """Print the CRDs of every kind, or install them."""
    if action is CrdAction.INSTALL:
        _install_crds(Target(kubeconfig=kubeconfig, context=context))
        return
    from jangar.cli.yaml_text import yaml_text  # noqa: PLC0415
    from jangar.crdgen.crd import crds  # noqa: PLC0415

    definitions = crds()
    match output:
        case CrdFormat.YAML:
            write_lines(yaml_text(item) for item in definitions)
        case CrdFormat.JSON:
            write_lines([json_text({"apiVersion": "v1", "kind": "List", "items": definitions})])
        case CrdFormat.NAME:
            write_lines(item["metadata"]["name"] for item in definitions)
        case _:
            assert_never(output)


def _install_crds(target: Target) -> None:
    """Apply each CRD, taking over fields from other managers, including Helm, and wait until each is served."""
    from jangar.crdgen.crd import crds  # noqa: PLC0415
    from jangar.operations.objects import apply_object  # noqa: PLC0415
    from jangar.operations.watching import wait_until  # noqa: PLC0415
    from jangar.processes.laptop_kinds import DEFINITIONS  # noqa: PLC0415

    async def work(session: Session) -> None:
        for definition in crds():
            applied = await apply_object(session.caller, definition, force=True)
            write_lines([f"{object_name(applied.obj)} {applied.result}"])
        for definition in crds():
            current = await session.client.get(DEFINITIONS, definition["metadata"]["name"])
            if not _is_served(current):
                await wait_until(
                    session.client,
                    DEFINITIONS,
                    current,
                    _is_served,
                    seconds=SERVED_TIMEOUT,
                    waiting_for="being served",
                )

    call_api("crds install", target, work)


def _is_served(definition: "Obj") -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(
        condition.get("type") == "Established" and condition.get("status") == "True"
        for condition in conditions
    )


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
    from jangar.operations.objects import release_finalizers  # noqa: PLC0415

    async def work(session: Session) -> tuple[int, int]:
        namespace = None if all_namespaces else session.namespace
        count = failed = 0
        async for item in release_finalizers(session.caller, namespace, dry_run=dry_run):
            meta = item.obj["metadata"]
            name = f"{item.resource.kind.lower()} {meta.get('namespace', '')}/{meta['name']}"
            count += 1
            if item.is_released:
                write_lines([f"{name} {'would be released' if dry_run else 'released'}"])
            else:
                failed += 1
                write_error(
                    f"jangar release-finalizers: {name} keeps changing; its finalizers were not removed"
                )
        return count, failed

    target = Target(kubeconfig=kubeconfig, context=context, namespace=namespace, data_dir=data_dir)
    count, failed = call_api("release-finalizers", target, work)
    if not count:
        write_lines(["no object has a jangar finalizer"])
    if failed:
        raise typer.Exit(1)
