"""The kubeconfig that the server writes for its clients: one cluster, one user, one context."""

import base64
import os
from pathlib import Path
from typing import Any

import yaml

CONTEXT = "jangar"


def write_kubeconfig(path: Path, *, server: str, token: str, authority: Path | None, directory: Path) -> None:
    """Readable by its owner alone; replaced as a whole, never half written. Names the data directory of the server, by
    which commands find what the server keeps next to its objects.
    """
    cluster: dict[str, Any] = {"server": server}
    if authority is not None:
        cluster["certificate-authority-data"] = base64.b64encode(authority.read_bytes()).decode()
    about = {"dataDirectory": str(directory.absolute())}
    cluster["extensions"] = [{"name": CONTEXT, "extension": about}]
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": CONTEXT, "cluster": cluster}],
        "users": [{"name": CONTEXT, "user": {"token": token}}],
        "contexts": [
            {"name": CONTEXT, "context": {"cluster": CONTEXT, "user": CONTEXT, "namespace": "default"}}
        ],
        "current-context": CONTEXT,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.touch(mode=0o600)
        draft.write_text(yaml.safe_dump(document, sort_keys=False))
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
