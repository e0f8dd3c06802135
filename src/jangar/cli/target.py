"""Which API a command talks to: what was named, else the laptop's own if it is up, else what kubectl would use."""

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from jangar.kube.connection import Connection
    from jangar.processes.laptop_place import Place

KubeconfigOption = Annotated[
    Path | None,
    typer.Option(
        "--kubeconfig",
        metavar="FILE",
        help="Which API; else the one of jangar up, $KUBECONFIG or ~/.kube/config.",
    ),
]
ContextOption = Annotated[
    str, typer.Option("--context", metavar="NAME", help="Context of the kubeconfig; else the current one.")
]
NamespaceOption = Annotated[
    str,
    typer.Option(
        "--namespace", "-n", metavar="NAME", help="Namespace; else that of the context, or default."
    ),
]
AllNamespacesOption = Annotated[bool, typer.Option("--all-namespaces", "-A", help="In every namespace.")]
SelectorOption = Annotated[
    str, typer.Option("--selector", "-l", metavar="LABELS", help="Only with these labels: a=b,c!=d.")
]
DataDirOption = Annotated[
    Path | None,
    typer.Option("--data-dir", metavar="DIR", help="The laptop's control plane with this directory."),
]


class Unreachable(Exception):
    """There is no API to talk to; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What the command line says."""

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
"""The options that name an API, as every command that asks one has them."""


def asks_an_api(command: Callable[..., None]) -> Callable[..., None]:
    """A command of a `target`, with the options that name one in its place."""

    @wraps(command)
    def asking(**given: Any) -> None:
        target = _named(**{each.name: given.pop(each.name) for each in OPTIONS})
        command(**given, target=target)

    own = [each for each in inspect.signature(command).parameters.values() if each.name != "target"]
    asking.__annotations__ = {each.name: each.annotation for each in (*own, *OPTIONS)}
    asking.__signature__ = inspect.Signature([*own, *OPTIONS])  # type: ignore[attr-defined] # inspect reads it
    return asking


def connection_of(target: Target, environment: Mapping[str, str] = os.environ) -> "Connection":
    """The API that is meant; raises Unreachable if none is."""
    from jangar.kube.connection import NoConnection, default, from_kubeconfig  # noqa: PLC0415 - heavy

    try:
        if target.kubeconfig is not None or target.context:
            return default(target.kubeconfig, target.context, environ=environment)
        laptop = _laptop(target, environment)
        return from_kubeconfig(laptop) if laptop else default(environ=environment)
    except NoConnection as error:
        raise Unreachable(
            f"{error} (jangar up starts an API on this machine; --context names one of your kubeconfig)"
        ) from error


def options_of(target: Target, namespace: str = "") -> str:
    """What a further command needs to find the same things, to be written after it."""
    named = {
        "--kubeconfig": target.kubeconfig,
        "--context": target.context,
        "--data-dir": target.data_dir,
        "-n": namespace or target.namespace,
    }
    return "".join(f" {option} {value}" for option, value in named.items() if value)


def is_left_to_us(target: Target, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether nothing on this machine names an API but ours: then one may be started for the user."""
    if target.kubeconfig is not None or target.context:
        return False
    home = Path(environment.get("HOME") or Path.home())
    is_named = environment.get("KUBECONFIG") or environment.get("KUBERNETES_SERVICE_HOST")
    return target.data_dir is not None or not (is_named or (home / ".kube" / "config").exists())


def laptop_place(target: Target, environment: Mapping[str, str] = os.environ) -> "Place | None":
    """The data directory behind the API that is meant; None for any other API."""
    from jangar.processes.laptop_instance import instance_of  # noqa: PLC0415 - not needed for --help
    from jangar.processes.laptop_place import Place  # noqa: PLC0415

    place = Place.of(target.data_dir, environment)
    if target.context or (target.kubeconfig is not None and target.kubeconfig.absolute() != place.kubeconfig):
        return None
    return place if instance_of(place) is not None else None


def _laptop(target: Target, environment: Mapping[str, str]) -> Path | None:
    """The kubeconfig of the control plane that is up. One that was named must be."""
    from jangar.processes.laptop_instance import instance_of  # noqa: PLC0415 - not needed for --help
    from jangar.processes.laptop_place import Place  # noqa: PLC0415

    place = Place.of(target.data_dir, environment)
    instance = instance_of(place)
    if instance is not None and instance.is_ready:
        return Path(instance.kubeconfig)
    if target.data_dir is None:
        return None
    state = "is still starting" if instance else "is not up"
    raise Unreachable(f"jangar {state} with {place.directory}: jangar up --data-dir {target.data_dir}")
