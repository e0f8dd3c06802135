"""`jangar control-plane`: the HTTP API and the web page for the runs of a cluster."""

from pathlib import Path
from typing import Annotated

import typer

EPILOG = """\b
Examples:
  jangar control-plane --host 0.0.0.0 -n '*'
  jangar control-plane --context staging -n team-a,team-b --port 9000

\b
Exit codes: 0 stopped by a signal, 2 wrong usage, 5 there is no API to connect to."""


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
    import uvloop  # noqa: PLC0415 - heavy, and needed by this command alone

    from jangar.cli.process_errors import report_process_errors  # noqa: PLC0415
    from jangar.processes.control_plane import ControlPlane, run_control_plane  # noqa: PLC0415
    from jangar.processes.lifecycle import configure_logs  # noqa: PLC0415
    from kubekit.cache.namespaces import Namespaces  # noqa: PLC0415
    from kubekit.serving.connection_limits import raise_descriptor_limit  # noqa: PLC0415

    with report_process_errors("control-plane"):
        settings = ControlPlane(
            host=host,
            port=port,
            kubeconfig=kubeconfig,
            context=context,
            namespaces=Namespaces.parse(namespaces) if namespaces else None,
            origins=None
            if origins is None
            else frozenset(part.strip() for part in origins.split(",") if part.strip()),
        )
        raise_descriptor_limit()
        configure_logs()
        uvloop.run(run_control_plane(settings))
