"""What a run tells a child together with the request to stop. Pure."""

import json
from collections.abc import Mapping
from datetime import datetime

from jangar.domain.times import parse_rfc3339, rfc3339
from jangar.kinds.run_objects import STOP


def stop_order(annotations: Mapping[str, str] | None) -> datetime | None:
    """The deadline that the owner gave; None if it gave no order, or none that can be read."""
    try:
        deadline = json.loads((annotations or {})[STOP])["deadline"]
        return parse_rfc3339(deadline) if isinstance(deadline, str) else None
    except (KeyError, TypeError, ValueError, RecursionError):
        return None


def written_order(*, reason: str, deadline: datetime) -> dict[str, str]:
    """The annotation that gives it."""
    return {STOP: json.dumps({"reason": reason, "deadline": rfc3339(deadline)})}
