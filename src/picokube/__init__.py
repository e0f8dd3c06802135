"""An embedded Kubernetes: API server on SQLite, schema engine, and a node agent that runs pods as local processes.

This module and `picokube.schema` are the public surface. Names are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from picokube.apiserver.auth.kubeconfig import CONTEXT
    from picokube.apiserver.storage.store import CannotOpen, InUse
    from picokube.nodeagent.agent import NodeAgent, NodeAgentSettings
    from picokube.nodeagent.data_directory import DirectoryInUse, ForeignDirectory
    from picokube.nodeagent.pods.process_mode import HostProgram
    from picokube.server import ApiServerSettings, Front, Running, running

__all__ = [
    "CONTEXT",
    "ApiServerSettings",
    "CannotOpen",
    "DirectoryInUse",
    "ForeignDirectory",
    "Front",
    "HostProgram",
    "InUse",
    "NodeAgent",
    "NodeAgentSettings",
    "Running",
    "running",
]

_MODULES = {
    "CONTEXT": "picokube.apiserver.auth.kubeconfig",
    "ApiServerSettings": "picokube.server",
    "CannotOpen": "picokube.apiserver.storage.store",
    "DirectoryInUse": "picokube.nodeagent.data_directory",
    "ForeignDirectory": "picokube.nodeagent.data_directory",
    "Front": "picokube.server",
    "InUse": "picokube.apiserver.storage.store",
    "NodeAgent": "picokube.nodeagent.agent",
    "NodeAgentSettings": "picokube.nodeagent.agent",
    "HostProgram": "picokube.nodeagent.pods.process_mode",
    "Running": "picokube.server",
    "running": "picokube.server",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
