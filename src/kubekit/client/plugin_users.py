"""Users whose kubeconfig names a program or a provider to ask for a token: the official client knows how."""

import os
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from kubekit.client.connection import Connection, NoConnection


def plugin_connection(files: Sequence[Path], context: str, *, namespace: str) -> Connection:
    told = os.pathsep.join(map(str, files))
    try:
        config: Any = import_module("kubernetes.config")
    except ImportError as error:
        raise NoConnection(
            f"{told}: the user of context {context!r} authenticates by a plugin; "
            "for these the official client is needed: pip install jangar[cluster]"
        ) from error
    try:
        made = config.new_client_from_config(
            config_file=told, context=context, persist_config=False
        ).configuration
    except Exception as error:
        raise NoConnection(f"{told}: context {context!r} cannot be used: {error}") from error
    return Connection(
        server=made.host,
        authority=_read(made.ssl_ca_cert),
        insecure=not made.verify_ssl,
        server_name=getattr(made, "tls_server_name", None),
        proxy=made.proxy,
        certificate=_read(made.cert_file),
        key=_read(made.key_file),
        fresh_token=partial(_token, made) if _token(made) else None,
        namespace=namespace,
    )


def _token(configuration: Any) -> str:
    """The configuration renews it when it is asked; older and newer versions call it differently."""
    said = (configuration.get_api_key_with_prefix(name) for name in ("BearerToken", "authorization"))
    return (next(filter(None, said), "") or "").removeprefix("Bearer ").strip()


def _read(path: str | None) -> bytes | None:
    return Path(path).read_bytes() if path else None
