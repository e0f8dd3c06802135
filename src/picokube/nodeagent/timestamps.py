"""Times as Kubernetes writes them: UTC, whole seconds."""

from datetime import UTC, datetime

FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def written(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime(FORMAT)


def read(text: str) -> datetime:
    return datetime.fromisoformat(text)


def from_epoch(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
