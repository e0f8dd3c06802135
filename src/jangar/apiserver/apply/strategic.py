"""Strategic merge patch. (first version)"""

from collections.abc import Mapping
from typing import Any

from jangar.apiserver.apply.merge_patch import merge_patch


class StrategicPatchError(Exception):
    """The patch makes no sense for this kind."""


def strategic_merge(target: Any, patch: Any, schema: Mapping[str, Any]) -> Any:
    del schema
    return merge_patch(target, patch)
