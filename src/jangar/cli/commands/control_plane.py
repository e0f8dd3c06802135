"""`jangar control-plane`: the HTTP API and the web page for the runs of a cluster."""

from pathlib import Path
from typing import Annotated

import typer

EPILOG = """\b
Examples:
  jangar control-plane --host 0.0.0.0 -n '*'
  jangar control-plane --context staging -n team-a,team-b --port 9000

\b
Exit codes: 0 it was stopped as asked, 2 wrong usage, 5 there is no API to connect to."""


def control_plane_command(
    host: Annotated[
        str | None, typer.Option("--host", help="Address to listen on; else the setting, or 127.0.0.1.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", min=0, max=65535, help="Port to listen on; else the setting, or 8080."),
    ] = None,
    kubeconfig: Annotated[
        Path | None,
        typer.Option("--kubeconfig", help="Which API; else $KUBECONFIG, ~/.kube/config, or the pod's own."),
    ] = None,
    context: Annotated[
        str, typer.Option("--context", help="Context of the kubeconfig; else the current one.")
    ] = "",
    namespaces: Annotated[
        str,
        typer.Option(
            "-n",
            "--namespace",
            help="Namespaces by comma, or '*'; else the setting, or its own.",
        ),
    ] = "",
    origins: Annotated[
        str | None,
        typer.Option(
            "--allowed-origins", help="Other origins by comma whose pages may ask; else the setting."
        ),
    ] = None,
) -> None:
    """Serve the HTTP API and the web page for the runs of a cluster.

    Callers send their own bearer token: what they may see and do is what the Kubernetes API allows them. This process
    itself only lists and watches runs and reads what belongs to them. With DATABASE_URL past runs are shown too, and
    who changed what is kept.
    """
    import uvloop  # noqa: PLC0415 - heavy, and needed by this command alone

    from jangar.cli.process_errors import errors_as_sentences  # noqa: PLC0415
    from jangar.processes.control_plane import ControlPlane, run_control_plane  # noqa: PLC0415
    from jangar.telemetry.logs import configure_logs  # noqa: PLC0415
    from kubekit.cache.namespaces import Namespaces  # noqa: PLC0415
    from kubekit.serving.connection_limits import raise_descriptor_limit  # noqa: PLC0415

    with errors_as_sentences("control-plane"):
        settings = ControlPlane(
            host=host,
            port=port,
            kubeconfig=kubeconfig,
            context=context,
            namespaces=Namespaces.parse(namespaces) if namespaces else None,
            origins=None
            if origins is None
            else frozenset(each.strip() for each in origins.split(",") if each.strip()),
        )
        raise_descriptor_limit()
        configure_logs()
        uvloop.run(run_control_plane(settings))
