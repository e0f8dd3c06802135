"""`jangar controllers`: run orchestrations on a Kubernetes API; `jangar controllers list`: who does."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jangar.cli.output.form import TABLE, Form, FormOption, Shape
from jangar.cli.terminal import columns, write_error, write_lines

if TYPE_CHECKING:
    from jangar.cli.api_session import Session
    from jangar.cli.target import Target
    from kubekit.client.api_client import Obj

EPILOG = """\b
Examples:
  jangar controllers --kubeconfig ./data/kubeconfig -n default
  jangar controllers --context staging -n team-a,team-b
  JANGAR_ORCHESTRATION_CONTROLLER_NAMESPACES='*' jangar controllers
  jangar controllers list -n agents -o wide"""


class Verb(StrEnum):
    """What else there is to do with controllers than to be one."""

    LIST = "list"


def controllers_command(
    verb: Annotated[
        Verb | None,
        typer.Argument(help="list: show the controller processes and their shards, and exit."),
    ] = None,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            "--kubeconfig", help="Kubeconfig to use (default: $KUBECONFIG, ~/.kube/config or in-cluster)."
        ),
    ] = None,
    context: Annotated[
        str, typer.Option("--context", help="Kubeconfig context (default: the current context).")
    ] = "",
    namespaces: Annotated[
        str,
        typer.Option(
            "-n", "--namespace", help="Comma-separated namespaces, or '*' (default: from the environment)."
        ),
    ] = "",
    data_dir: Annotated[
        Path | None,
        typer.Option("--data-dir", help="Directory for log tails (default: log tails are not stored)."),
    ] = None,
    output: FormOption = TABLE,
) -> None:
    """Run the controllers against a Kubernetes API. Several such processes share the work.

    Settings come from the environment (JANGAR_*). Running work continues when the process stops.
    """
    if verb is Verb.LIST:
        from jangar.cli.target import Target  # noqa: PLC0415

        _list(Target(kubeconfig=kubeconfig, context=context, data_dir=data_dir), namespaces, output)
        return
    import uvloop  # noqa: PLC0415 - heavy, and needed by this command alone

    from jangar.cli.process_errors import report_process_errors  # noqa: PLC0415
    from jangar.processes.controllers import ControllersProcess, run_controllers  # noqa: PLC0415
    from jangar.telemetry.logs import configure_logs  # noqa: PLC0415
    from kubekit.cache.namespaces import Namespaces  # noqa: PLC0415
    from kubekit.serving.connection_limits import raise_descriptor_limit  # noqa: PLC0415

    with report_process_errors("controllers"):
        where = ControllersProcess(
            kubeconfig=kubeconfig,
            context=context,
            namespaces=Namespaces.parse(namespaces) if namespaces else None,
            data_dir=data_dir,
        )
        raise_descriptor_limit()
        configure_logs()
        uvloop.run(run_controllers(where))


def _list(target: "Target", namespaces: str, output: Form) -> None:
    from datetime import UTC, datetime  # noqa: PLC0415 - not needed for --help

    from jangar.cli.api_session import ask  # noqa: PLC0415 - heavy
    from jangar.cli.output.form import object_lines, object_name  # noqa: PLC0415
    from jangar.cli.output.table import table  # noqa: PLC0415
    from jangar.cli.shard_members import HEADS, WIDE_HEADS, document, rows  # noqa: PLC0415
    from jangar.operations.shard_members import SELECTOR, shared_work  # noqa: PLC0415
    from kubekit.client.builtin import LEASES  # noqa: PLC0415

    async def work(session: "Session") -> "tuple[list[Obj], str]":
        if namespaces == "*":
            return await session.client.list(LEASES, labels=SELECTOR), "any namespace"
        asked = namespaces.split(",") if namespaces else [session.namespace]
        found = [
            lease for item in asked for lease in await session.client.list(LEASES, item, labels=SELECTOR)
        ]
        return found, ", ".join(asked)

    leases, place = ask("controllers list", target, work)
    now = datetime.now(UTC)
    sets = shared_work(leases, now)
    if output.shape is Shape.NAME:
        kind = {"apiVersion": LEASES.api_version, "kind": LEASES.kind}
        names = [member.lease for item in sets for member in item.members if member.lease]
        write_lines([object_name({**kind, "metadata": {"name": name}}) for name in names])
    elif not output.is_table:
        write_lines(object_lines(output, [document(item) for item in sets], is_one=len(sets) == 1))
    elif sets:
        is_wide = output.shape is Shape.WIDE
        lines = [line for item in sets for line in rows(item, now, wide=is_wide)]
        width = columns() if sys.stdout.isatty() and not is_wide else None
        write_lines(table(WIDE_HEADS if is_wide else HEADS, lines, width=width))
    else:
        write_error(
            f"no sharded controllers in {place} (-n selects the namespace they run in, '*' all namespaces; "
            "jangar up does not shard)"
        )
