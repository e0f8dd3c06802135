"""`jangar apiserver`, `controllers`, `control-plane`, `node-agent` and `runner`: run one process."""

import os
import sys
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jangar.cli.api_session import Session, call_api
from jangar.cli.output.form import TABLE, Form, FormOption, Shape, object_lines, object_name
from jangar.cli.output.table import table
from jangar.cli.target import Target
from jangar.cli.terminal import columns, write_error, write_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from kubekit.client.api_client import Obj

APISERVER_EPILOG = """\b
Examples:
  jangar apiserver --data-dir ./data
  jangar apiserver --data-dir ./data --port 6443 --kubeconfig ./kubeconfig
  KUBECONFIG=./data/kubeconfig kubectl get namespaces

\b
Exit codes: 0 stopped by a signal, 1 failed, 2 wrong usage."""
CONTROLLERS_EPILOG = """\b
Examples:
  jangar controllers --kubeconfig ./data/kubeconfig -n default
  jangar controllers --context staging -n team-a,team-b
  JANGAR_ORCHESTRATION_CONTROLLER_NAMESPACES='*' jangar controllers
  jangar controllers list -n agents -o wide"""
CONTROL_PLANE_EPILOG = """\b
Examples:
  jangar control-plane --host 0.0.0.0 -n '*'
  jangar control-plane --context staging -n team-a,team-b --port 9000

\b
Exit codes: 0 stopped by a signal, 2 wrong usage, 5 there is no API to connect to."""
NODE_AGENT_EPILOG = """\b
Examples:
  jangar apiserver --data-dir ./data
  jangar node-agent --kubeconfig ./data/kubeconfig
  KUBECONFIG=./data/kubeconfig kubectl create job hello --image=any -- echo hello"""
RUNNER_EPILOG = """\b
Examples:
  jangar runner
  jangar runner /workspace/agent-runner.json
  jangar runner --root . -- echo hello

\b
Exit codes:
  the command's own; 128 plus the signal number if a signal ended it
  1    there is no command, or a file could not be written
  126  the command cannot be executed
  127  the command was not found"""


def _run_process(command: str, start: "Callable[[], Coroutine[Any, Any, None]]") -> None:
    """Run the coroutine that `start` returns until it ends. Errors end the process with a message."""
    import uvloop  # noqa: PLC0415 - heavy

    from jangar.cli.error_messages import report_process_errors  # noqa: PLC0415
    from jangar.processes.lifecycle import configure_logs  # noqa: PLC0415
    from kubekit.serving.connection_limits import raise_descriptor_limit  # noqa: PLC0415

    with report_process_errors(command):
        main = start()
        raise_descriptor_limit()
        configure_logs()
        uvloop.run(main)


def apiserver_command(
    data_dir: Annotated[
        Path,
        typer.Option("--data-dir", metavar="DIR", help="Directory for objects, certificates and tokens."),
    ],
    port: Annotated[
        int,
        typer.Option("--port", metavar="N", min=0, max=65535, help="Port to listen on; 0 picks a free port."),
    ] = 0,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            "--kubeconfig",
            metavar="FILE",
            help="Where to write the kubeconfig (default: the data directory).",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on.")
    ] = "127.0.0.1",
    plain_http: Annotated[
        bool,
        typer.Option("--plain-http", help="Disable TLS and authentication: every client is admin."),
    ] = False,
    bare: Annotated[
        bool,
        typer.Option("--bare", help="Create no kube-root-ca.crt ConfigMaps, and leave deleted PVCs pending."),
    ] = False,
) -> None:
    """Serve the Kubernetes API from a data directory.

    Stores objects in SQLite; they survive a crash. Writes a kubeconfig for kubectl and leaves yours unchanged.
    """
    from jangar.processes.embedded_kubernetes import serve_api_server  # noqa: PLC0415
    from picokube import ApiServerSettings  # noqa: PLC0415

    settings = ApiServerSettings(
        data_dir=data_dir, host=host, port=port, kubeconfig=kubeconfig, plain_http=plain_http, bare=bare
    )
    _run_process("apiserver", lambda: serve_api_server(settings))


class Verb(StrEnum):
    """Actions of `jangar controllers` other than running them."""

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
        _list_controllers(
            Target(kubeconfig=kubeconfig, context=context, data_dir=data_dir), namespaces, output
        )
        return
    from jangar.processes.controllers import ControllersProcess, run_controllers  # noqa: PLC0415
    from kubekit.cache.namespaces import Namespaces  # noqa: PLC0415

    def start() -> "Coroutine[Any, Any, None]":
        settings = ControllersProcess(
            kubeconfig=kubeconfig,
            context=context,
            namespaces=Namespaces.parse(namespaces) if namespaces else None,
            data_dir=data_dir,
        )
        return run_controllers(settings)

    _run_process("controllers", start)


def _list_controllers(target: Target, namespaces: str, output: Form) -> None:

    from jangar.cli.table_rows import (  # noqa: PLC0415
        MEMBER_HEADS,
        WIDE_MEMBER_HEADS,
        member_rows,
        shard_set_document,
    )
    from jangar.operations.cluster_status import list_controllers, shard_sets  # noqa: PLC0415
    from kubekit.client.builtin import LEASES  # noqa: PLC0415

    async def work(session: Session) -> "tuple[list[Obj], str]":
        if namespaces == "*":
            return await list_controllers(session.client, None), "any namespace"
        names = namespaces.split(",") if namespaces else [session.namespace]
        leases = [lease for name in names for lease in await list_controllers(session.client, name)]
        return leases, ", ".join(names)

    leases, searched = call_api("controllers list", target, work)
    now, wide = datetime.now(UTC), output.shape is Shape.WIDE
    sets = shard_sets(leases, now)
    if output.shape is Shape.NAME:
        kind = {"apiVersion": LEASES.api_version, "kind": LEASES.kind}
        names = [member.lease for shard_set in sets for member in shard_set.members if member.lease]
        write_lines([object_name({**kind, "metadata": {"name": name}}) for name in names])
    elif not output.is_table:
        documents = [shard_set_document(shard_set) for shard_set in sets]
        write_lines(object_lines(output, documents, is_one=len(sets) == 1))
    elif sets:
        rows = [row for shard_set in sets for row in member_rows(shard_set, now, wide=wide)]
        width = columns() if sys.stdout.isatty() and not wide else None
        write_lines(table(WIDE_MEMBER_HEADS if wide else MEMBER_HEADS, rows, width=width))
    else:
        write_error(
            f"no sharded controllers in {searched} (-n selects the namespace they run in, '*' all namespaces; "
            "jangar up does not shard)"
        )


def control_plane_command(
    host: Annotated[
        str | None, typer.Option("--host", help="Address to listen on (default: the setting, or 127.0.0.1).")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", min=0, max=65535, help="Port to listen on (default: the setting, or 8080)."),
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
            "-n",
            "--namespace",
            help="Comma-separated namespaces, or '*' (default: the setting, or the pod's namespace).",
        ),
    ] = "",
    origins: Annotated[
        str | None,
        typer.Option("--allowed-origins", help="Comma-separated CORS origins (default: the setting)."),
    ] = None,
) -> None:
    """Serve the HTTP API and the web UI for the runs of a cluster.

    Callers send their own bearer token, and the Kubernetes API decides what they may see and do. The process itself
    only lists and watches runs and reads related objects. With DATABASE_URL it also serves past runs and stores an
    audit log.
    """
    from jangar.processes.control_plane import ControlPlane, run_control_plane  # noqa: PLC0415
    from kubekit.cache.namespaces import Namespaces  # noqa: PLC0415

    def start() -> "Coroutine[Any, Any, None]":
        allowed = None if origins is None else (part.strip() for part in origins.split(","))
        settings = ControlPlane(
            host=host,
            port=port,
            kubeconfig=kubeconfig,
            context=context,
            namespaces=Namespaces.parse(namespaces) if namespaces else None,
            origins=None if allowed is None else frozenset(filter(None, allowed)),
        )
        return run_control_plane(settings)

    _run_process("control-plane", start)


def node_agent_command(
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            "--kubeconfig", metavar="FILE", help="Kubeconfig to use (default: $KUBECONFIG or ~/.kube/config)."
        ),
    ] = None,
    data_dir: Annotated[
        Path | None,
        typer.Option(
            "--data-dir",
            metavar="DIR",
            help="Data directory of the API server (default: that of the kubeconfig).",
        ),
    ] = None,
    context: Annotated[str, typer.Option("--context", metavar="NAME", help="Kubeconfig context.")] = "",
    node_name: Annotated[
        str, typer.Option("--node-name", metavar="NAME", help="Name of the Node (default: the hostname).")
    ] = "",
    max_pods: Annotated[
        int,
        typer.Option(
            "--max-pods", metavar="N", min=1, help="Maximum number of running pods; others stay Pending."
        ),
    ] = 110,
    keep_logs_seconds: Annotated[
        float,
        typer.Option(
            "--keep-logs-seconds",
            metavar="SECONDS",
            min=0,
            help="How long to keep logs after their pod is deleted.",
        ),
    ] = 60.0,
    map_paths: Annotated[
        bool,
        typer.Option(
            "--map-paths", help="Rewrite mount paths in commands instead of using mount namespaces."
        ),
    ] = False,
) -> None:
    """Run Jobs, CronJobs and Pods as local processes.

    Images are ignored: a container runs its command on this machine, as the user who started the agent.
    Containers keep running when the agent stops; the next agent re-adopts them.
    """
    from jangar.processes.embedded_kubernetes import NodeAgentProcess, run_node_agent  # noqa: PLC0415

    if data_dir is None:
        config_dir = kubeconfig.parent if kubeconfig is not None else None
        if config_dir is None or not (config_dir / "objects.db").exists():
            raise typer.BadParameter("pass the data directory of `jangar apiserver`", param_hint="--data-dir")
        data_dir = config_dir
    settings = NodeAgentProcess(
        data_dir=data_dir,
        kubeconfig=kubeconfig,
        context=context,
        node_name=node_name,
        max_pods=max_pods,
        keep_logs_seconds=keep_logs_seconds,
        mount_namespaces=not map_paths,
    )
    _run_process("node-agent", lambda: run_node_agent(settings))


def runner_command(
    spec: Annotated[
        Path | None,
        typer.Argument(
            help="Runner spec (default: $AGENT_RUNNER_SPEC_PATH or /workspace/agent-runner.json)."
        ),
    ] = None,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND...]", help="Command to run instead of the one in the spec."),
    ] = None,
    root: Annotated[
        Path | None,
        typer.Option(
            "--root", help="Workspace (default: $AGENT_WORKSPACE, /workspace or the current directory)."
        ),
    ] = None,
    grace: Annotated[
        float | None,
        typer.Option("--grace", min=0, help="Grace period before SIGKILL, in seconds (default: 25)."),
    ] = None,
) -> None:
    """Run an agent's command in its container and report the result.

    Writes the input files, runs the command in a clean environment, forwards its output line by line, stops its process
    group on SIGTERM, and reports outputs, usage and artifacts in the pod's termination message.
    """
    from jangar.runner.process import RunnerOptions, run  # noqa: PLC0415 - not needed for --help

    options = RunnerOptions(spec=spec, root=root, grace=grace, command=tuple(command or ()))
    raise typer.Exit(run(options, os.environ))
