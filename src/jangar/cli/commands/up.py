"""`jangar up`: the laptop's control plane, in this terminal or in the background."""

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jangar.cli.exit_codes import ExitCode
from jangar.cli.terminal import write_error, write_lines

if TYPE_CHECKING:
    from jangar.processes.data_directory import DataDirectory, Instance

EPILOG = """\b
Examples:
  jangar up
  jangar up --detach
  jangar up --data-dir ./trial --port 7500

\b
Exit codes: 0 stopped by a signal (with --detach: it is up), 1 failed, 2 wrong usage or
settings, or the port is in use."""


def up_command(
    data_dir: Annotated[
        Path | None,
        typer.Option(
            "--data-dir",
            metavar="DIR",
            help="Data directory (default: $JANGAR_DATA_DIR or $XDG_DATA_HOME/jangar).",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            metavar="N",
            min=1,
            max=65535,
            help="API port (default: the previous one, or a free port).",
        ),
    ] = None,
    web_port: Annotated[
        int | None,
        typer.Option(
            "--web-port",
            metavar="N",
            min=1,
            max=65535,
            help="Web UI port (default: $JANGAR_WEB_PORT, the previous one, or a free port).",
        ),
    ] = None,
    detach: Annotated[
        bool, typer.Option("--detach", "-d", help="Run in the background; stop it with jangar down.")
    ] = False,
    stop_work: Annotated[
        bool, typer.Option("--stop-work", help="Stop running work on exit (default: work keeps running).")
    ] = False,
    max_pods: Annotated[
        int,
        typer.Option(
            "--max-pods", metavar="N", min=1, help="Maximum number of running pods; others stay Pending."
        ),
    ] = 110,
    map_paths: Annotated[
        bool, typer.Option("--map-paths", help="Rewrite paths in commands instead of using mount namespaces.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print the full log (default: only warnings).")
    ] = False,
) -> None:
    """Run a control plane on this machine: Kubernetes API, node agent and controllers.

    Writes a kubeconfig for kubectl and leaves yours unchanged. Work runs as local processes with your permissions.
    Processes survive a stop or a crash; the next jangar up re-adopts them.
    """
    from jangar.cli.laptop.messages import already_up, ready_lines  # noqa: PLC0415 - not needed for --help
    from jangar.processes.data_directory import DataDirectory, instance_of, page_address  # noqa: PLC0415

    place = DataDirectory.of(data_dir, os.environ)
    option = f" --data-dir {data_dir}" if data_dir else ""
    there = instance_of(place)
    if there is not None:
        _leave(there, port, detach=detach, said=already_up(there, option))
    if not detach:
        _here(place, port, web_port, option, stop_work, max_pods, map_paths, verbose)
        return
    options = [*(["--port", str(port)] if port else []), "--max-pods", str(max_pods)]
    options += ["--web-port", str(web_port)] if web_port else []
    options += [name for name, asked in (("--stop-work", stop_work), ("--map-paths", map_paths)) if asked]
    from jangar.cli.laptop.background import NotStarted, start_detached  # noqa: PLC0415

    try:
        instance = start_detached(place, options)
    except NotStarted as error:
        for line in str(error).splitlines():
            write_error(f"jangar up: {line}")
        raise typer.Exit(error.code) from None
    write_lines(ready_lines(instance, data_option=option, detached=True, page=page_address(place, instance)))


def _leave(there: "Instance", port: int | None, *, detach: bool, said: str) -> None:
    """Up already is what --detach asks for, unless it asks for more than is there."""
    is_wanted = detach and (port is None or there.server.endswith(f":{port}"))
    write_error(f"jangar up: {said}")
    raise typer.Exit(ExitCode.OK if is_wanted else ExitCode.FAILED)


def _here(
    place: "DataDirectory",
    port: int | None,
    web_port: int | None,
    option: str,
    stop_work: bool,
    max_pods: int,
    map_paths: bool,
    verbose: bool,
) -> None:
    import uvloop  # noqa: PLC0415 - heavy, and needed by this command alone

    from jangar.cli.laptop.messages import already_up, end_lines, ready_lines  # noqa: PLC0415
    from jangar.cli.laptop.server_log import log_to  # noqa: PLC0415
    from jangar.cli.process_errors import report_process_errors  # noqa: PLC0415
    from jangar.processes.data_directory import AlreadyUp, hold_directory, page_address  # noqa: PLC0415
    from jangar.processes.laptop import Laptop, serve  # noqa: PLC0415
    from jangar.processes.laptop_http import api_listener, port_in  # noqa: PLC0415
    from kubekit.serving.connection_limits import raise_descriptor_limit  # noqa: PLC0415

    is_detached = bool(os.environ.pop("JANGAR_DETACHED", ""))
    laptop = Laptop(
        place=place,
        max_pods=max_pods,
        mount_namespaces=not map_paths,
        stop_work=stop_work,
        web_port=web_port,
    )
    last = port_in(place.kubeconfig)

    def ready(instance: "Instance") -> None:
        if is_detached:
            return
        if last is not None and not instance.server.endswith(f":{last}"):
            write_error(
                f"port {last} is in use: another one was chosen; run jangar kubeconfig --merge again if you merged it"
            )
        page = page_address(place, instance)
        write_lines(ready_lines(instance, data_option=option, detached=False, page=page))

    try:
        with report_process_errors("up", log=place.log), hold_directory(place) as held:
            raise_descriptor_limit()
            log_to(
                place.log,
                terminal_level=None if is_detached else logging.INFO if verbose else logging.WARNING,
            )
            end = uvloop.run(serve(laptop, api_listener(port, place.kubeconfig), held, ready))
    except AlreadyUp as error:
        write_error(f"jangar up: {already_up(error.instance, option)}")
        raise typer.Exit(ExitCode.FAILED) from None
    write_lines(end_lines(end, option), to=sys.stderr if is_detached else sys.stdout)
