"""Who runs an operation, with which credentials, and the stores that operations use."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jangar.operations.idempotency import KeyStore
    from jangar.operations.past_runs import PastRuns
    from jangar.operations.run_reading import RunSource
    from kubekit.client.api_client import Client
    from kubekit.client.transport import Transport


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRef:
    """Names a run. With a uid it is that very run, even if a later run has its name."""

    namespace: str
    name: str
    uid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """One user or program. The Kubernetes API decides what its credentials allow."""

    client: "Client"
    transport: "Transport"
    runs: "RunSource"
    """Reads runs: from the API, or through the caches and the history of a control plane."""
    name: str | None = None
    """Recorded as the creator of what this caller creates."""
    namespace: str = "default"
    """Where objects are that name no namespace."""
    keys: "KeyStore | None" = None
    """Keeps idempotency keys longer than the objects created with them."""
    history: "PastRuns | None" = None
    log_tails: Path | None = None
    """Directory with the stored ends of logs, on a laptop."""
