"""`jangar delete`: objects by name, or what some files hold."""

from typing import TYPE_CHECKING, Annotated

import typer

from jangar.cli.completions import complete_kinds, complete_names
from jangar.cli.target import Target, with_api_options
from jangar.cli.terminal import write_lines

if TYPE_CHECKING:
    from jangar.cli.api_session import Session
    from kubekit.client.api_client import Obj
    from kubekit.client.resource import Resource

EPILOG = """\b
Examples:
  jangar delete run nightly-1
  jangar delete orchestration nightly weekly
  jangar delete -f nightly.yaml

\b
Exit codes: 0 deleted, 4 not found, 5 the API cannot be reached, 124 timed out."""


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
    from jangar.cli.api_session import ask  # noqa: PLC0415 - heavy
    from jangar.cli.output.form import object_name  # noqa: PLC0415
    from jangar.cli.runs.waiting import until  # noqa: PLC0415

    if bool(files) == bool(kind) or bool(kind) != bool(names):
        raise typer.BadParameter("pass either -f FILE, or KIND and NAME", param_hint="KIND NAME")

    async def work(session: "Session") -> None:
        found = await _objects_to_delete(session, files or [], kind, names or [])
        for resource, obj in found:
            meta = obj["metadata"]
            await session.client.delete(resource, meta["name"], meta.get("namespace"), uid=meta["uid"])
            if not wait:
                write_lines([f"{object_name(obj)} is being deleted"])
        for resource, obj in found if wait else ():
            await until(
                session.client, resource, obj, lambda _: False, seconds=timeout, waiting_for="its end"
            )
            write_lines([f"{object_name(obj)} deleted"])

    ask("delete", target, work)


async def _objects_to_delete(
    session: "Session", files: list[str], kind: str, names: list[str]
) -> "list[tuple[Resource, Obj]]":
    """All of them are there, or nothing is deleted; what a file holds and is gone already is passed over."""
    from jangar.cli.commands.get import WORDS  # noqa: PLC0415 - heavy
    from jangar.cli.manifests import read_objects  # noqa: PLC0415
    from jangar.cli.served_kinds import resource_named, resource_of_object  # noqa: PLC0415
    from kubekit.client.errors import NotFound  # noqa: PLC0415

    if not files:
        resource = await resource_named(session, WORDS.get(kind, kind))
        place = session.namespace if resource.namespaced else None
        return [(resource, await session.client.get(resource, name, place)) for name in names]
    found = []
    for manifest in reversed(read_objects(files, checked=False)):
        resource = await resource_of_object(session, manifest)
        meta = manifest["metadata"]
        place = meta.get("namespace") or session.namespace if resource.namespaced else None
        try:
            found.append((resource, await session.client.get(resource, meta.get("name") or "-", place)))
        except NotFound:
            write_lines([f"{manifest['kind'].lower()}/{meta.get('name')} not found"])
    return found
