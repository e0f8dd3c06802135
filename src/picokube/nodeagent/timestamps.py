"""Formats and parses timestamps as Kubernetes does: UTC with a resolution of one second."""

from datetime import UTC, datetime

FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def format_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime(FORMAT)


def parse_time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def from_epoch(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
