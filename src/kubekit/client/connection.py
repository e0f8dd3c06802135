"""Address and credentials of an API server, from a kubeconfig or the pod's service account."""

import base64
import binascii
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import yaml

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
PLUGINS: Final = ("exec", "auth-provider")


class NoConnection(Exception):
    """No usable connection is configured; the message says what to do."""


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
    """Reread every minute: Kubernetes rotates service account tokens while a pod runs."""
    certificate: bytes | None = None
    key: bytes | None = field(default=None, repr=False)
    user_name: str = ""
    password: str = field(default="", repr=False)
    fresh_token: Callable[[], str] | None = field(default=None, repr=False)
    """Called for a bearer token every minute, in a thread because a plugin may run a program."""
    impersonate: "Impersonated | None" = None
    namespace: str = "default"
    extensions: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """Extensions of the cluster entry in the kubeconfig, by name."""


@dataclass(frozen=True, slots=True)
class Impersonated:
    """A user to impersonate; the connection's own user needs the permission to do so."""

    user: str
    groups: tuple[str, ...] = ()

    def headers(self) -> list[tuple[str, str]]:
        return [("Impersonate-User", self.user), *(("Impersonate-Group", group) for group in self.groups)]


def default(
    path: Path | None = None, context: str = "", *, environ: Mapping[str, str] | None = None
) -> Connection:
    """The given file, or those in $KUBECONFIG, or ~/.kube/config, or the service account of this pod."""
    environ = os.environ if environ is None else environ
    if path is not None:
        return from_kubeconfig(path, context)
    listed = [Path(part) for part in environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    if listed:
        return from_kubeconfig([item for item in listed if item.exists()] or listed, context)
    home = Path(environ.get("HOME") or Path.home()) / ".kube" / "config"
    if home.exists():
        return from_kubeconfig(home, context)
    if context:
        raise NoConnection(f"context {context!r}: no kubeconfig found; pass one with --kubeconfig")
    if "KUBERNETES_SERVICE_HOST" in environ:
        return in_cluster(environ=environ)
    raise NoConnection(
        "no Kubernetes API configured: pass a kubeconfig with --kubeconfig or $KUBECONFIG, or create ~/.kube/config"
    )


def in_cluster(*, environ: Mapping[str, str] | None = None, directory: Path = SERVICE_ACCOUNT) -> Connection:
    """The service account of the pod that this process runs in."""
    environ = os.environ if environ is None else environ
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise NoConnection("not running in a cluster: $KUBERNETES_SERVICE_HOST is not set")
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
    """A context of a kubeconfig, by default the current one. In several files, the first entry of a name applies."""
    files = [paths] if isinstance(paths, Path) else list(paths)
    config = _Config(files)
    chosen = context or config.current
    if not chosen:
        raise NoConnection(
            f"{config.file_names}: no current context; choose one of {config.names('contexts')}"
        )
    entry = config.find("contexts", "context", chosen)
    cluster = config.find("clusters", "cluster", entry.get("cluster", ""))
    user = config.find("users", "user", entry["user"]) if entry.get("user") else {}
    if not cluster.get("server"):
        raise NoConnection(f"{config.file_names}: cluster {entry.get('cluster')!r} has no server")
    if any(user.get(plugin) for plugin in PLUGINS):
        return plugin_connection(files, chosen, namespace=entry.get("namespace") or "default")
    certificate, key = _pem(user, "client-certificate"), _pem(user, "client-key")
    if (certificate is None) != (key is None):
        raise NoConnection(
            f"{config.file_names}: user {entry['user']!r} must have both a client certificate and a key"
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
        namespace=entry.get("namespace") or "default",
        extensions={
            extension["name"]: extension.get("extension")
            for extension in cluster.get("extensions") or ()
            if isinstance(extension, dict) and "name" in extension
        },
    )


_FOLDER: Final = " folder"
"""Key under which an entry stores the folder of its file: its paths are relative to it."""


class _Config:
    """Several kubeconfig files, merged."""

    def __init__(self, files: Sequence[Path]) -> None:
        self.file_names = ", ".join(map(str, files))
        self._documents = [(file, _document(file)) for file in files]

    @property
    def current(self) -> str:
        contexts = (document.get("current-context") for _, document in self._documents)
        return next((context for context in contexts if context), "")

    def names(self, section: str) -> list[str]:
        return [
            entry.get("name", "") for _, document in self._documents for entry in document.get(section) or ()
        ]

    def find(self, section: str, key: str, name: str) -> dict[str, Any]:
        for file, document in self._documents:
            for entry in document.get(section) or ():
                if entry.get("name") == name:
                    return {**(entry.get(key) or {}), _FOLDER: file.parent}
        raise NoConnection(f"{self.file_names}: no {key} {name!r}; choose one of {self.names(section)}")


def _document(file: Path) -> dict[str, Any]:
    try:
        document = yaml.safe_load(file.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise NoConnection(f"cannot read {file}: {error}") from error
    if not isinstance(document, dict):
        raise NoConnection(f"{file} is not a kubeconfig")
    return document


def _pem(entry: Mapping[str, Any], key: str) -> bytes | None:
    """PEM data from the entry itself or from the file it names."""
    if data := entry.get(f"{key}-data"):
        try:
            return base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError) as error:
            raise NoConnection(f"{key}-data is not base64: {error}") from error
    path = _path(entry, key)
    return _file(path) if path is not None else None


def _path(entry: Mapping[str, Any], key: str) -> Path | None:
    path = entry.get(key)
    return Path(entry[_FOLDER]) / path if path else None


def _file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise NoConnection(f"cannot read {path}: {error}") from error


def plugin_connection(files: Sequence[Path], context: str, *, namespace: str) -> Connection:
    paths = os.pathsep.join(map(str, files))
    try:
        config: Any = import_module("kubernetes.config")
    except ImportError as error:
        raise NoConnection(
            f"{paths}: the user of context {context!r} authenticates with a plugin; "
            "install the official client for it: pip install jangar[cluster]"
        ) from error
    try:
        configuration = config.new_client_from_config(
            config_file=paths, context=context, persist_config=False
        ).configuration
    except Exception as error:
        raise NoConnection(f"{paths}: cannot use context {context!r}: {error}") from error
    return Connection(
        server=configuration.host,
        authority=_read_optional(configuration.ssl_ca_cert),
        insecure=not configuration.verify_ssl,
        server_name=getattr(configuration, "tls_server_name", None),
        proxy=configuration.proxy,
        certificate=_read_optional(configuration.cert_file),
        key=_read_optional(configuration.key_file),
        fresh_token=partial(_plugin_token, configuration) if _plugin_token(configuration) else None,
        namespace=namespace,
    )


def _plugin_token(configuration: Any) -> str:
    """The bearer token, which the configuration renews; its key differs between client versions."""
    tokens = (configuration.get_api_key_with_prefix(name) for name in ("BearerToken", "authorization"))
    return (next(filter(None, tokens), "") or "").removeprefix("Bearer ").strip()


def _read_optional(path: str | None) -> bytes | None:
    return Path(path).read_bytes() if path else None
