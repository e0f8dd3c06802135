"""Kubeconfig users with an exec or auth-provider plugin, through the official Kubernetes client."""

import os
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from kubekit.client.connection import Connection, NoConnection


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
        authority=_read(configuration.ssl_ca_cert),
        insecure=not configuration.verify_ssl,
        server_name=getattr(configuration, "tls_server_name", None),
        proxy=configuration.proxy,
        certificate=_read(configuration.cert_file),
        key=_read(configuration.key_file),
        fresh_token=partial(_token, configuration) if _token(configuration) else None,
        namespace=namespace,
    )


def _token(configuration: Any) -> str:
    """The bearer token, which the configuration renews; its key differs between client versions."""
    tokens = (configuration.get_api_key_with_prefix(name) for name in ("BearerToken", "authorization"))
    return (next(filter(None, tokens), "") or "").removeprefix("Bearer ").strip()


def _read(path: str | None) -> bytes | None:
    return Path(path).read_bytes() if path else None
