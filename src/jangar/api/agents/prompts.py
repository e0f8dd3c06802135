"""Reference to a system prompt in a Secret or ConfigMap."""

from typing import Literal

from pydantic import Field

from jangar.api.meta import ApiModel

MAX_SYSTEM_PROMPT = 16_384


class SystemPromptRef(ApiModel):
    """A key of a Secret or ConfigMap that holds a system prompt."""

    kind: Literal["Secret", "ConfigMap"] = Field(description="Kind of the object: Secret or ConfigMap.")
    name: str = Field(description="Name of the object, in the same namespace.")
    key: str = Field(description="Key within the object that holds the prompt.")
