"""`jangar run`: apply what manifests hold, start a run and follow it to its end."""

from typing import TYPE_CHECKING, Annotated

import typer

from jangar.cli.target import Target, options_of, with_api_options
from jangar.cli.terminal import write_error, write_lines

if TYPE_CHECKING:
    from jangar.cli.api_session import Session
    from jangar.cli.exit_codes import ExitCode
    from jangar.cli.starting import Start
    from kubekit.client.api_client import Obj

EPILOG = """\b
Examples:
  jangar run hello.yaml
  jangar run nightly.yaml -p env=prod -p notes=@notes.md --timeout 600
  jangar run pipelines/ --orchestration nightly --no-watch
  helm template my-chart | jangar run -

\b
Ctrl-C asks whether to cancel the run, detach from it, or keep watching; a second Ctrl-C detaches.
Pipes, CI and TERM=dumb get one plain line per transition. NO_COLOR turns off colors only.

\b
Exit codes: 0 succeeded (with --no-watch: started), 1 failed or rejected, 2 wrong usage, 3 cancelled,
5 the API cannot be reached, 124 timed out, 130 left running."""

LISTED = 3
"""Objects that are told one by one; of more, how many."""

ParametersOption = Annotated[
    list[str] | None,
    typer.Option(
        "--parameter",
        "-p",
        metavar="NAME=VALUE",
        help="Parameter of the run; may be repeated. NAME=@FILE reads a file, NAME=@- standard input; "
        "NAME=@@TEXT is the literal @TEXT.",
    ),
]
TimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=0,
        help="Maximum time to follow the run, in seconds; the run continues after that.",
    ),
]


@with_api_options
def run_command(
    file: Annotated[str, typer.Argument(metavar="FILE|DIR|-", help="Manifests.")],
    parameters: ParametersOption = None,
    watch: Annotated[bool, typer.Option("--watch/--no-watch", help="Follow the run until it ends.")] = True,
    timeout: TimeoutOption = None,
    name: Annotated[
        str,
        typer.Option(
            "--name", metavar="NAME", help="Name of the run (default: from the file, or generated)."
        ),
    ] = "",
    orchestration: Annotated[
        str,
        typer.Option("--orchestration", metavar="NAME", help="Orchestration to run, if there are several."),
    ] = "",
    run: Annotated[
        str, typer.Option("--run", metavar="NAME", help="OrchestrationRun to start, if there are several.")
    ] = "",
    *,
    target: Target,
) -> None:
    """Apply manifests, start a run and follow it until it ends.

    Starts the OrchestrationRun in the manifests, or creates one for the top-level Orchestration. All manifests are
    checked first, as jangar lint does: if one has a problem, nothing is sent. If no API is configured on this machine,
    the command first runs jangar up --detach. That control plane stays up; jangar down stops it.
    """
    from jangar.cli.api_session import ask, report_errors  # noqa: PLC0415 - heavy
    from jangar.cli.laptop.auto_start import start_if_needed  # noqa: PLC0415
    from jangar.cli.manifests import read_objects  # noqa: PLC0415
    from jangar.cli.parameters import parse_parameters  # noqa: PLC0415
    from jangar.cli.starting import RunOptions, start_of  # noqa: PLC0415

    with report_errors("run", target):
        wanted = RunOptions(
            orchestration=orchestration, run=run, name=name, parameters=parse_parameters(parameters or [])
        )
        start = start_of(read_objects([file], checked=True), wanted, source=file)
        started = start_if_needed(target)
    if started is not None:
        option = f" --data-dir {target.data_dir}" if target.data_dir else ""
        write_error(f"no API was running: started jangar {started.version}; jangar down{option} stops it")

    async def work(session: "Session") -> "ExitCode":
        return await _run(session, start, target, is_named=bool(name), watch=watch, seconds=timeout)

    raise typer.Exit(ask("run", target, work))


async def _run(
    session: "Session", start: "Start", target: Target, *, is_named: bool, watch: bool, seconds: float | None
) -> "ExitCode":
    from jangar.cli.applying import UNCHANGED, applied  # noqa: PLC0415 - heavy
    from jangar.cli.exit_codes import ExitCode  # noqa: PLC0415
    from jangar.cli.following.show import follow_to_end  # noqa: PLC0415

    said = [await applied(session, dict(obj), force=False) for obj in start.others]
    changed = [item for item in said if not item.endswith(UNCHANGED)]
    write_lines(changed if len(changed) <= LISTED else [f"applied {len(changed)} objects"])
    made = await _created(session, start.run, is_named=is_named)
    meta = made["metadata"]
    options = options_of(target, meta["namespace"] if meta["namespace"] != session.namespace else "")
    if not watch:
        write_lines([f"{meta['name']} started: jangar watch {meta['name']}{options}"])
        return ExitCode.OK
    return await follow_to_end(session, made, target, seconds=seconds)


async def _created(session: "Session", run: "Obj", *, is_named: bool) -> "Obj":
    """The run; under a new name if one of its name has ended already, for that is what running again means."""
    from jangar.cli.api_session import Failure, user  # noqa: PLC0415 - heavy
    from jangar.cli.starting import renamed  # noqa: PLC0415
    from jangar.operations.submit import NameTaken, is_over, make, phase_of  # noqa: PLC0415

    run = run | {"metadata": {"namespace": session.namespace, **run["metadata"]}}
    name = run["metadata"].get("name")
    try:
        return await make(session.client, run, user())
    except NameTaken as taken:
        there = taken.there
    if not is_over(there) or is_named:
        raise Failure(
            f"run {name} already exists ({phase_of(there)}): "
            f"jangar watch {name} follows it, --name NAME starts another"
        )
    made = await make(session.client, renamed(run), user())
    write_error(f"run {name} already exists ({phase_of(there)}): created {made['metadata']['name']} instead")
    return made
