"""`jangar run` and `jangar watch`: start a run from manifests, and follow a run until it ends."""

from typing import TYPE_CHECKING, Annotated

import typer

from jangar.cli.api_session import Failure, Session, call_api, report_errors
from jangar.cli.completions import complete_runs
from jangar.cli.exit_codes import ExitCode
from jangar.cli.output.form import object_name
from jangar.cli.parameters import parse_parameters
from jangar.cli.target import Target, options_of, with_api_options
from jangar.cli.terminal import write_error, write_lines

if TYPE_CHECKING:
    from jangar.cli.manifests import Start
    from kubekit.client.api_client import Obj

RUN_EPILOG = """\b
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

WATCH_EPILOG = """\b
Examples:
  jangar watch nightly-1
  jangar watch nightly-1 --timeout 600 | tee nightly.log

\b
Exit codes: 0 succeeded, 1 failed, 3 cancelled, 4 not found, 5 the API cannot be reached,
124 timed out, 130 left running."""

MAX_LISTED = 3
"""Applied objects that are listed one by one; more are counted."""

RunArgument = Annotated[
    str, typer.Argument(metavar="RUN", help="Name of the run.", autocompletion=complete_runs)
]
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
    from jangar.cli.laptop.background import start_if_needed  # noqa: PLC0415
    from jangar.cli.manifests import RunOptions, read_objects, start_of  # noqa: PLC0415

    with report_errors("run", target):
        wanted = RunOptions(
            orchestration=orchestration, run=run, name=name, parameters=parse_parameters(parameters or [])
        )
        start = start_of(read_objects([file], checked=True), wanted, source=file)
        started = start_if_needed(target)
    if started is not None:
        option = f" --data-dir {target.data_dir}" if target.data_dir else ""
        write_error(f"no API was running: started jangar {started.version}; jangar down{option} stops it")

    async def work(session: Session) -> "ExitCode":
        return await _run(session, start, target, is_named=bool(name), watch=watch, seconds=timeout)

    raise typer.Exit(call_api("run", target, work))


async def _run(
    session: Session, start: "Start", target: Target, *, is_named: bool, watch: bool, seconds: float | None
) -> "ExitCode":
    from jangar.cli.following.follow import follow_to_end  # noqa: PLC0415
    from jangar.operations.objects import apply_object  # noqa: PLC0415

    applied = [await apply_object(session.caller, obj, force=False) for obj in start.others]
    changed = [f"{object_name(item.obj)} {item.result}" for item in applied if item.is_changed]
    write_lines(changed if len(changed) <= MAX_LISTED else [f"applied {len(changed)} objects"])
    run = await _create(session, start.run, is_named=is_named)
    meta = run["metadata"]
    options = options_of(target, meta["namespace"] if meta["namespace"] != session.namespace else "")
    if not watch:
        write_lines([f"{meta['name']} started: jangar watch {meta['name']}{options}"])
        return ExitCode.OK
    return await follow_to_end(session, run, target, seconds=seconds)


async def _create(session: Session, run: "Obj", *, is_named: bool) -> "Obj":
    """The run. If an ended run has its name, the new one gets a generated name."""
    from jangar.cli.manifests import with_generated_name  # noqa: PLC0415
    from jangar.operations.run_reading import is_over, phase_of  # noqa: PLC0415
    from jangar.operations.submit import NameTaken, submit_manifest  # noqa: PLC0415

    run = run | {"metadata": {"namespace": session.namespace, **run["metadata"]}}
    name = run["metadata"].get("name")
    try:
        return await submit_manifest(session.caller, run)
    except NameTaken as taken:
        phase = phase_of(taken.existing)
        if not is_over(taken.existing) or is_named:
            raise Failure(
                f"run {name} already exists ({phase}): "
                f"jangar watch {name} follows it, --name NAME starts another"
            ) from taken
    created = await submit_manifest(session.caller, with_generated_name(run))
    write_error(f"run {name} already exists ({phase}): created {created['metadata']['name']} instead")
    return created


@with_api_options
def watch_command(
    run: RunArgument,
    timeout: TimeoutOption = None,
    *,
    target: Target,
) -> None:
    """Follow a run until it ends.

    Shows each step with its phase, duration, attempt, reason and last log line.
    """
    from jangar.cli.following.follow import follow_to_end  # noqa: PLC0415
    from jangar.operations.run_reading import RUNS  # noqa: PLC0415

    async def work(session: Session) -> "ExitCode":
        obj = await session.client.get(RUNS, run, session.namespace)
        return await follow_to_end(session, obj, target, seconds=timeout)

    raise typer.Exit(call_api("watch", target, work))
