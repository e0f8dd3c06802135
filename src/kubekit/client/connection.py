"""Where a server is and how it is entered: told by a kubeconfig, or by the pod this runs in."""

import base64
import binascii
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
PLUGINS: Final = ("exec", "auth-provider")


class NoConnection(Exception):
    """There is nothing to connect to, or what is there cannot be used; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """One server as one user. Certificates and keys are PEM."""

    server: str
    authority: bytes | None = None
    insecure: bool = False
    server_name: str | None = None
    proxy: str | None = None
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    """Read again every minute: tokens of service accounts are replaced while a pod runs."""
    certificate: bytes | None = None
    key: bytes | None = field(default=None, repr=False)
    user_name: str = ""
    password: str = field(default="", repr=False)
    fresh_token: Callable[[], str] | None = field(default=None, repr=False)
    """Asked for a bearer token every minute, in a thread: a plugin may run a program."""
    impersonate: "Impersonated | None" = None
    namespace: str = "default"
    extensions: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What the kubeconfig says about the cluster beyond how to reach it, by name."""


@dataclass(frozen=True, slots=True)
class Impersonated:
    """Somebody in whose name requests are sent; whoever sends them needs the right to."""

    user: str
    groups: tuple[str, ...] = ()

    def headers(self) -> list[tuple[str, str]]:
        return [("Impersonate-User", self.user), *(("Impersonate-Group", each) for each in self.groups)]


def default(
    path: Path | None = None, context: str = "", *, environ: Mapping[str, str] | None = None
) -> Connection:
    """The file given, else those in $KUBECONFIG, else ~/.kube/config, else the service account of this pod."""
    environ = os.environ if environ is None else environ
    if path is not None:
        return from_kubeconfig(path, context)
    listed = [Path(part) for part in environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    if listed:
        return from_kubeconfig([each for each in listed if each.exists()] or listed, context)
    home = Path(environ.get("HOME") or Path.home()) / ".kube" / "config"
    if home.exists():
        return from_kubeconfig(home, context)
    if context:
        raise NoConnection(f"context {context!r}: there is no kubeconfig; name one with --kubeconfig")
    if "KUBERNETES_SERVICE_HOST" in environ:
        return in_cluster(environ=environ)
    raise NoConnection(
        "no Kubernetes API: name a kubeconfig with --kubeconfig or $KUBECONFIG, or put one at ~/.kube/config"
    )


def in_cluster(*, environ: Mapping[str, str] | None = None, directory: Path = SERVICE_ACCOUNT) -> Connection:
    """As the service account of the pod in which this runs."""
    environ = os.environ if environ is None else environ
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise NoConnection("not in a cluster: $KUBERNETES_SERVICE_HOST is not set")
    token_file, namespace = directory / "token", directory / "namespace"
    if not token_file.exists():
        raise NoConnection(f"no service account: {token_file} is missing (automountServiceAccountToken?)")
    return Connection(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        authority=_file(directory / "ca.crt"),
        token_file=token_file,
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
    )


def from_kubeconfig(paths: Path | Sequence[Path], context: str = "") -> Connection:
    """A context of a kubeconfig, the current one if none is named. Of several files the first to name a thing wins."""
    files = [paths] if isinstance(paths, Path) else list(paths)
    config = _Config(files)
    chosen = context or config.current
    if not chosen:
        raise NoConnection(f"{config.told}: no current context; name one of {config.names('contexts')}")
    about = config.find("contexts", "context", chosen)
    cluster = config.find("clusters", "cluster", about.get("cluster", ""))
    user = config.find("users", "user", about["user"]) if about.get("user") else {}
    if not cluster.get("server"):
        raise NoConnection(f"{config.told}: cluster {about.get('cluster')!r} has no server")
    if any(user.get(each) for each in PLUGINS):
        from kubekit.client.plugin_users import plugin_connection  # noqa: PLC0415 - knows this module

        return plugin_connection(files, chosen, namespace=about.get("namespace") or "default")
    certificate, key = _pem(user, "client-certificate"), _pem(user, "client-key")
    if (certificate is None) != (key is None):
        raise NoConnection(
            f"{config.told}: user {about['user']!r} has a certificate without key, or a key without"
        )
    return Connection(
        server=cluster["server"],
        authority=_pem(cluster, "certificate-authority"),
        insecure=bool(cluster.get("insecure-skip-tls-verify")),
        server_name=cluster.get("tls-server-name"),
        proxy=cluster.get("proxy-url"),
        token=user.get("token") or "",
        token_file=_path(user, "tokenFile") if not user.get("token") else None,
        certificate=certificate,
        key=key,
        user_name=user.get("username") or "",
        password=user.get("password") or "",
        namespace=about.get("namespace") or "default",
        extensions={
            each["name"]: each.get("extension")
            for each in cluster.get("extensions") or ()
            if isinstance(each, dict) and "name" in each
        },
    )


_FOLDER: Final = " folder"
"""Marks in a read entry the folder of its file: paths within are relative to that."""


class _Config:
    """Kubeconfig files as one."""

    def __init__(self, files: Sequence[Path]) -> None:
        self.told = ", ".join(map(str, files))
        self._documents = [(file, _document(file)) for file in files]

    @property
    def current(self) -> str:
        found = (document.get("current-context") for _, document in self._documents)
        return next((each for each in found if each), "")

    def names(self, section: str) -> list[str]:
        return [
            entry.get("name", "") for _, document in self._documents for entry in document.get(section) or ()
        ]

    def find(self, section: str, key: str, name: str) -> dict[str, Any]:
        for file, document in self._documents:
            for entry in document.get(section) or ():
                if entry.get("name") == name:
                    return {**(entry.get(key) or {}), _FOLDER: file.parent}
        raise NoConnection(f"{self.told}: no {key} {name!r}; there are {self.names(section)}")


def _document(file: Path) -> dict[str, Any]:
    try:
        document = yaml.safe_load(file.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise NoConnection(f"{file} cannot be read: {error}") from error
    if not isinstance(document, dict):
        raise NoConnection(f"{file} is no kubeconfig")
    return document


def _pem(entry: Mapping[str, Any], key: str) -> bytes | None:
    """Given in place, or as a file."""
    if data := entry.get(f"{key}-data"):
        try:
            return base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError) as error:
            raise NoConnection(f"{key}-data is not base64: {error}") from error
    path = _path(entry, key)
    return _file(path) if path is not None else None


def _path(entry: Mapping[str, Any], key: str) -> Path | None:
    given = entry.get(key)
    return Path(entry[_FOLDER]) / given if given else None


def _file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise NoConnection(f"{path} cannot be read: {error}") from error
