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
Exit codes: 0 it was stopped as asked, 1 it could not run, 2 wrong usage."""


def apiserver_command(
    data_dir: Annotated[
        Path,
        typer.Option("--data-dir", metavar="DIR", help="Where objects, certificates and tokens are kept."),
    ],
    port: Annotated[
        int,
        typer.Option("--port", metavar="N", min=0, max=65535, help="Port to listen on; 0 takes a free one."),
    ] = 0,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            "--kubeconfig", metavar="FILE", help="Where to write the kubeconfig; else in the data directory."
        ),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on.")
    ] = "127.0.0.1",
    plain_http: Annotated[
        bool,
        typer.Option("--plain-http", help="No TLS and no authentication; anybody who can connect is admin."),
    ] = False,
    bare: Annotated[
        bool,
        typer.Option(
            "--bare", help="Put no ConfigMap kube-root-ca.crt into namespaces, and let deleted claims wait."
        ),
    ] = False,
) -> None:
    """Serve the Kubernetes API from a directory.

    Objects are stored in SQLite and survive a crash. A kubeconfig is written for kubectl; your own is not touched.
    """
    import uvloop  # noqa: PLC0415 - heavy, and needed by this command alone

    from jangar.cli.process_errors import errors_as_sentences  # noqa: PLC0415
    from jangar.processes.apiserver import serve  # noqa: PLC0415
    from jangar.telemetry.logs import configure_logs  # noqa: PLC0415
    from kubekit.serving.connection_limits import raise_descriptor_limit  # noqa: PLC0415
    from picokube import ApiServerSettings  # noqa: PLC0415

    settings = ApiServerSettings(
        data_dir=data_dir, host=host, port=port, kubeconfig=kubeconfig, plain_http=plain_http, bare=bare
    )
    with errors_as_sentences("apiserver"):
        raise_descriptor_limit()
        configure_logs()
        uvloop.run(serve(settings))
