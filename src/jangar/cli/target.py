"""Selects the API of a command: the named one, the local control plane if it is up, or that of kubectl."""

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jangar.cli.completions import complete_namespaces

if TYPE_CHECKING:
    from jangar.processes.data_directory import DataDirectory
    from kubekit.client.connection import Connection

KubeconfigOption = Annotated[
    Path | None,
    typer.Option(
        "--kubeconfig",
        metavar="FILE",
        help="Kubeconfig to use (default: that of jangar up, $KUBECONFIG or ~/.kube/config).",
    ),
]
ContextOption = Annotated[
    str, typer.Option("--context", metavar="NAME", help="Kubeconfig context (default: the current context).")
]
NamespaceOption = Annotated[
    str,
    typer.Option(
        "--namespace",
        "-n",
        metavar="NAME",
        help="Namespace (default: that of the context, or default).",
        autocompletion=complete_namespaces,
    ),
]
AllNamespacesOption = Annotated[bool, typer.Option("--all-namespaces", "-A", help="Use all namespaces.")]
SelectorOption = Annotated[
    str, typer.Option("--selector", "-l", metavar="LABELS", help="Label selector: a=b,c!=d.")
]
DataDirOption = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        metavar="DIR",
        help="Data directory of the local control plane (default: $JANGAR_DATA_DIR).",
    ),
]


class Unreachable(Exception):
    """No API was found; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The options that select an API."""

    kubeconfig: Path | None = None
    context: str = ""
    namespace: str = ""
    data_dir: Path | None = None


def _named(
    *,
    namespace: NamespaceOption = "",
    context: ContextOption = "",
    kubeconfig: KubeconfigOption = None,
    data_dir: DataDirOption = None,
) -> Target:
    return Target(kubeconfig=kubeconfig, context=context, namespace=namespace, data_dir=data_dir)


OPTIONS = tuple(inspect.signature(_named).parameters.values())
"""Parameters of commands that call an API."""


def with_api_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the `target` parameter of a command by the options that select an API."""

    @wraps(command)
    def command_with_options(**given: Any) -> None:
        target = _named(**{option.name: given.pop(option.name) for option in OPTIONS})
        command(**given, target=target)

    own = [
        parameter
        for parameter in inspect.signature(command).parameters.values()
        if parameter.name != "target"
    ]
    command_with_options.__annotations__ = {option.name: option.annotation for option in (*own, *OPTIONS)}
    command_with_options.__signature__ = inspect.Signature([*own, *OPTIONS])  # type: ignore[attr-defined] # inspect reads it
    return command_with_options


def connection_of(target: Target, environment: Mapping[str, str] = os.environ) -> "Connection":
    """The connection to the target's API. Raises Unreachable."""
    from kubekit.client.connection import NoConnection, default, from_kubeconfig  # noqa: PLC0415 - heavy

    try:
        if target.kubeconfig is not None or target.context:
            return default(target.kubeconfig, target.context, environ=environment)
        laptop = _laptop(target, environment)
        return from_kubeconfig(laptop) if laptop else default(environ=environment)
    except NoConnection as error:
        raise Unreachable(
            f"{error} (run jangar up to start an API on this machine, or pass --context)"
        ) from error


def options_of(target: Target, namespace: str = "") -> str:
    """Options for a suggested command, so it uses the same API and namespace."""
    named = {
        "--kubeconfig": target.kubeconfig,
        "--context": target.context,
        "--data-dir": target.data_dir,
        "-n": namespace or target.namespace,
    }
    return "".join(f" {option} {value}" for option, value in named.items() if value)


def may_auto_start(target: Target, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether no other API is configured on this machine, so a local one may be started."""
    if target.kubeconfig is not None or target.context:
        return False
    home = Path(environment.get("HOME") or Path.home())
    is_named = environment.get("KUBECONFIG") or environment.get("KUBERNETES_SERVICE_HOST")
    return _is_directory_named(target, environment) or not (is_named or (home / ".kube" / "config").exists())


def local_data_directory(
    target: Target, environment: Mapping[str, str] = os.environ
) -> "DataDirectory | None":
    """The data directory of the target, if it is a local control plane."""
    from jangar.processes.data_directory import DataDirectory, instance_of  # noqa: PLC0415 - not needed for --help

    if target.kubeconfig is not None or target.context:
        return _recorded_data_directory(target, environment)
    directory = DataDirectory.of(target.data_dir, environment)
    if not _is_directory_named(target, environment):
        is_api_named = bool(environment.get("KUBECONFIG"))
        if is_api_named and (recorded := _recorded_data_directory(target, environment)) is not None:
            return recorded
        if instance_of(directory) is None:
            return _recorded_data_directory(target, environment)
    return directory if instance_of(directory) is not None else None


def _is_directory_named(target: Target, environment: Mapping[str, str]) -> bool:
    from jangar.settings.laptop import DATA_DIR  # noqa: PLC0415 - not needed for --help

    return target.data_dir is not None or bool(DATA_DIR.read(environment))


def _recorded_data_directory(target: Target, environment: Mapping[str, str]) -> "DataDirectory | None":
    """The data directory that a kubeconfig of `jangar up` names, while that server is up."""
    from jangar.processes.data_directory import DataDirectory, instance_of  # noqa: PLC0415
    from kubekit.client.connection import NoConnection, default  # noqa: PLC0415
    from picokube import CONTEXT  # noqa: PLC0415 - not needed for --help

    try:
        connection = default(target.kubeconfig, target.context, environ=environment)
    except NoConnection:
        return None
    recorded = connection.extensions.get(CONTEXT)
    path = recorded.get("dataDirectory") if isinstance(recorded, Mapping) else None
    if not isinstance(path, str) or not path.startswith("/"):
        return None
    directory = DataDirectory(Path(path))
    try:
        instance = instance_of(directory)
    except OSError:
        # The directory belongs to another user or machine.
        return None
    return directory if instance is not None and instance.server == connection.server else None


def _laptop(target: Target, environment: Mapping[str, str]) -> Path | None:
    """The kubeconfig of the running local control plane. Raises Unreachable if a named one is not up."""
    from jangar.processes.data_directory import DataDirectory, instance_of  # noqa: PLC0415 - not needed for --help

    is_named = _is_directory_named(target, environment)
    directory = (
        DataDirectory.of(target.data_dir, environment)
        if is_named
        else local_data_directory(target, environment)
    )
    instance = instance_of(directory) if directory is not None else None
    if instance is not None and instance.is_ready:
        return Path(instance.kubeconfig)
    if not is_named or directory is None:
        return None
    state = "is still starting" if instance else "is not up"
    option = f" --data-dir {target.data_dir}" if target.data_dir else ""
    raise Unreachable(f"jangar {state} with {directory.directory}: run jangar up{option}")
