"""`jangar apiserver`: serve the Kubernetes API from a directory."""

from pathlib import Path
from typing import Annotated

import typer

EPILOG = """\b
Examples:
  jangar apiserver --data-dir ./data
  jangar apiserver --data-dir ./data --port 6443 --kubeconfig ./kubeconfig
  KUBECONFIG=./data/kubeconfig kubectl get namespaces

\b
Exit codes: 0 stopped by a signal, 1 failed, 2 wrong usage."""


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
    import uvloop  # noqa: PLC0415 - heavy, and needed by this command alone

    from jangar.cli.process_errors import report_process_errors  # noqa: PLC0415
    from jangar.processes.embedded_kubernetes import serve_api_server  # noqa: PLC0415
    from jangar.processes.lifecycle import configure_logs  # noqa: PLC0415
    from kubekit.serving.connection_limits import raise_descriptor_limit  # noqa: PLC0415
    from picokube import ApiServerSettings  # noqa: PLC0415

    settings = ApiServerSettings(
        data_dir=data_dir, host=host, port=port, kubeconfig=kubeconfig, plain_http=plain_http, bare=bare
    )
    with report_process_errors("apiserver"):
        raise_descriptor_limit()
        configure_logs()
        uvloop.run(serve_api_server(settings))
