"""`jangar up`, `down`, `status` and `kubeconfig`: the control plane on this machine."""

import logging
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jangar.cli.api_session import Session, call_api
from jangar.cli.exit_codes import ExitCode
from jangar.cli.json_text import json_text
from jangar.cli.target import DataDirOption, Target
from jangar.cli.terminal import TextOrJson, write_error, write_lines

if TYPE_CHECKING:
    from jangar.processes.data_directory import DataDirectory, Instance
    from jangar.processes.laptop_work import Stopped

UP_EPILOG = """\b
Examples:
  jangar up
  jangar up --detach
  jangar up --data-dir ./trial --port 7500

\b
Exit codes: 0 stopped by a signal (with --detach: it is up), 1 failed, 2 wrong usage or
settings, or the port is in use."""
DOWN_EPILOG = """\b
Examples:
  jangar down
  jangar down --stop-work

\b
Exit codes: 0 stopped, 1 the control plane or some work did not stop in time."""
STATUS_EPILOG = """\b
Examples:
  jangar status
  jangar status -o json | jq .runs

\b
Exit codes: 0 up and healthy, 1 up with problems, 5 not up."""
KUBECONFIG_EPILOG = """\b
Examples:
  jangar kubeconfig --merge && kubectl --context jangar get nodes
  export KUBECONFIG=$(jangar kubeconfig)"""

STOP_TIMEOUT = 60.0
POLL_INTERVAL = 0.02


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
    from jangar.processes.data_directory import (  # noqa: PLC0415
        DataDirectory,
        instance_of,
        page_address,
    )

    directory = DataDirectory.of(data_dir, os.environ)
    option = f" --data-dir {data_dir}" if data_dir else ""
    there = instance_of(directory)
    if there is not None:
        _exit_if_up(there, port, detach=detach, message=already_up(there, option))
    if not detach:
        _serve(directory, port, web_port, option, stop_work, max_pods, map_paths, verbose)
        return
    options = [*(["--port", str(port)] if port else []), "--max-pods", str(max_pods)]
    options += ["--web-port", str(web_port)] if web_port else []
    options += [name for name, is_set in (("--stop-work", stop_work), ("--map-paths", map_paths)) if is_set]
    from jangar.cli.laptop.background import NotStarted, start_detached  # noqa: PLC0415

    try:
        instance = start_detached(directory, options)
    except NotStarted as error:
        for line in str(error).splitlines():
            write_error(f"jangar up: {line}")
        raise typer.Exit(error.code) from None
    write_lines(
        ready_lines(instance, data_option=option, detached=True, page=page_address(directory, instance))
    )


def _exit_if_up(there: "Instance", port: int | None, *, detach: bool, message: str) -> None:
    """Exit; successfully if --detach wants nothing else than what is running."""
    is_running = detach and (port is None or there.server.endswith(f":{port}"))
    write_error(f"jangar up: {message}")
    raise typer.Exit(ExitCode.OK if is_running else ExitCode.FAILED)


def _serve(
    directory: "DataDirectory",
    port: int | None,
    web_port: int | None,
    option: str,
    stop_work: bool,
    max_pods: int,
    map_paths: bool,
    verbose: bool,
) -> None:
    import uvloop  # noqa: PLC0415 - heavy, and needed by this command alone

    from jangar.cli.error_messages import report_process_errors  # noqa: PLC0415
    from jangar.cli.laptop.messages import already_up, end_lines, ready_lines  # noqa: PLC0415
    from jangar.cli.laptop.server_log import log_to  # noqa: PLC0415
    from jangar.processes.data_directory import AlreadyUp, hold_directory, page_address  # noqa: PLC0415
    from jangar.processes.laptop import Laptop, serve  # noqa: PLC0415
    from jangar.processes.laptop_http import api_listener, port_in  # noqa: PLC0415
    from kubekit.serving.connection_limits import raise_descriptor_limit  # noqa: PLC0415

    is_detached = bool(os.environ.pop("JANGAR_DETACHED", ""))
    laptop = Laptop(
        place=directory,
        max_pods=max_pods,
        mount_namespaces=not map_paths,
        stop_work=stop_work,
        web_port=web_port,
    )
    last = port_in(directory.kubeconfig)

    def ready(instance: "Instance") -> None:
        if is_detached:
            return
        if last is not None and not instance.server.endswith(f":{last}"):
            write_error(
                f"port {last} is in use: another one was chosen; run jangar kubeconfig --merge again if you merged it"
            )
        page = page_address(directory, instance)
        write_lines(ready_lines(instance, data_option=option, detached=False, page=page))

    try:
        with report_process_errors("up", log=directory.log), hold_directory(directory) as held:
            raise_descriptor_limit()
            log_to(
                directory.log,
                terminal_level=None if is_detached else logging.INFO if verbose else logging.WARNING,
            )
            end = uvloop.run(serve(laptop, api_listener(port, directory.kubeconfig), held, ready))
    except AlreadyUp as error:
        write_error(f"jangar up: {already_up(error.instance, option)}")
        raise typer.Exit(ExitCode.FAILED) from None
    write_lines(end_lines(end, option), to=sys.stderr if is_detached else sys.stdout)


def down_command(
    data_dir: DataDirOption = None,
    stop_work: Annotated[
        bool,
        typer.Option(
            "--stop-work",
            help="First cancel every run and stop all other work (default: work keeps running).",
        ),
    ] = False,
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout", metavar="SECONDS", min=0, help="Maximum time for stopping work, in seconds."
        ),
    ] = 65.0,
) -> None:
    """Stop the local control plane.

    Running work continues, and the next jangar up re-adopts it. --stop-work cancels live runs, which is final
    (jangar retry repeats one), suspends other Jobs and deletes unowned pods.
    """
    from jangar.cli.laptop.messages import going_on, not_up  # noqa: PLC0415 - not needed for --help
    from jangar.processes.data_directory import DataDirectory, instance_of  # noqa: PLC0415

    directory = DataDirectory.of(data_dir, os.environ)
    option = f" --data-dir {data_dir}" if data_dir else ""
    instance = instance_of(directory)
    if instance is None:
        write_lines([not_up(directory.directory) + option])
        return
    left, pods = _stop_work(directory, instance, stop_work, timeout)
    if instance.pid:
        os.kill(instance.pid, signal.SIGTERM)
    if not _wait_until_stopped(directory, instance.pid):
        write_error(
            f"jangar down: process {instance.pid} did not stop in {STOP_TIMEOUT:.0f} s; see {directory.log}"
        )
        raise typer.Exit(ExitCode.FAILED)
    write_lines([going_on(pods, option)])
    if left:
        raise typer.Exit(ExitCode.FAILED)


def _stop_work(
    directory: "DataDirectory", instance: "Instance", stop_work: bool, timeout: float
) -> tuple[bool, int]:
    """Stop work if requested. Returns whether some work did not end, and the number of running pods."""
    from jangar.cli.laptop.messages import stopped_lines  # noqa: PLC0415
    from jangar.processes import laptop_work  # noqa: PLC0415

    if not instance.is_ready:
        return False, 0

    async def work(session: Session) -> "tuple[Stopped | None, int]":
        stopped = await laptop_work.stop_work(session.client, seconds=timeout) if stop_work else None
        return stopped, len(await laptop_work.live_pods(session.client))

    stopped, pods = call_api("down", Target(kubeconfig=directory.kubeconfig), work)
    write_lines(stopped_lines(stopped) if stopped else ())
    return bool(stopped and stopped.left), pods


def _wait_until_stopped(directory: "DataDirectory", pid: int) -> bool:
    from jangar.processes.data_directory import instance_of  # noqa: PLC0415 - not needed for --help

    deadline = time.monotonic() + STOP_TIMEOUT
    while time.monotonic() < deadline:
        instance = instance_of(directory)
        if instance is None or instance.pid != pid:
            return True
        time.sleep(POLL_INTERVAL)
    return False


def status_command(
    data_dir: DataDirOption = None,
    output: Annotated[TextOrJson, typer.Option("--output", "-o", help="Output format.")] = TextOrJson.TEXT,
) -> None:
    """Show whether the local control plane is up, its addresses, and the health of its components."""
    from jangar.cli.laptop.messages import not_up  # noqa: PLC0415
    from jangar.cli.laptop.state import document, lines, read_state  # noqa: PLC0415
    from jangar.processes.data_directory import DataDirectory, instance_of  # noqa: PLC0415

    directory = DataDirectory.of(data_dir, os.environ)
    instance = instance_of(directory)
    is_up = instance is not None and instance.is_ready
    state = call_api("status", Target(kubeconfig=directory.kubeconfig), read_state) if is_up else None
    if output is TextOrJson.JSON:
        write_lines([json_text(document(directory, instance, state))])
    elif instance is None:
        write_lines([not_up(directory.directory) + (f" --data-dir {data_dir}" if data_dir else "")])
    elif state is None:
        write_lines([f"jangar is starting (process {instance.pid}); see {directory.log}"])
    else:
        write_lines(lines(directory, instance, state))
    if state is None:
        raise typer.Exit(ExitCode.UNREACHABLE)
    if not state.is_healthy:
        raise typer.Exit(ExitCode.FAILED)


def kubeconfig_command(
    merge: Annotated[
        bool, typer.Option("--merge", help="Add the context jangar to $KUBECONFIG or ~/.kube/config.")
    ] = False,
    data_dir: DataDirOption = None,
) -> None:
    """Print the path of the local kubeconfig, or merge its context into yours.

    A merge keeps everything else in your file, including your current context.
    """
    from jangar.processes.data_directory import DataDirectory  # noqa: PLC0415 - not needed for --help

    directory = DataDirectory.of(data_dir, os.environ)
    if not directory.kubeconfig.exists():
        option = f" --data-dir {data_dir}" if data_dir else ""
        write_error(
            f"jangar kubeconfig: {directory.kubeconfig} does not exist: run jangar up{option} to create it"
        )
        raise typer.Exit(ExitCode.NOT_FOUND)
    if not merge:
        write_lines([str(directory.kubeconfig)])
        return
    from jangar.cli.laptop import user_kubeconfig  # noqa: PLC0415 - heavy

    own = user_kubeconfig.own_kubeconfig(os.environ)
    if own.exists() and own.samefile(directory.kubeconfig):
        write_error(
            f"jangar kubeconfig: $KUBECONFIG already points to {own}: nothing to merge; unset it to merge into yours"
        )
        raise typer.Exit(ExitCode.USAGE)
    try:
        is_current = user_kubeconfig.merge(directory.kubeconfig, own)
    except user_kubeconfig.CannotMerge as error:
        write_error(f"jangar kubeconfig: {error}; {own} is unchanged")
        raise typer.Exit(ExitCode.FAILED) from None
    usage = (
        "it is the current context"
        if is_current
        else f"use it with kubectl --context {user_kubeconfig.CONTEXT}"
    )
    write_lines([f"wrote context {user_kubeconfig.CONTEXT} to {own}; {usage}"])
