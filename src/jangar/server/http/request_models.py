"""Models of queries and request bodies, from which the OpenAPI document is made."""

from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from jangar.api.phases import Phase

KEY: Final = {"Idempotency-Key": "Requests with the same key and namespace create one run."}
"""The header of requests that create an object once."""
Text = Annotated[str, Field(max_length=1024)]
Name = Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")]


class RequestModel(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=True, frozen=True)


class NoQuery(RequestModel):
    """Nothing."""


class InNamespace(RequestModel):
    namespace: Name | None = Field(None, description="Namespace (default: all that the caller may read).")


class RunsQuery(InNamespace):
    phase: str = Field(
        "",
        description="Comma-separated phases: Pending, Running, Cancelling, Succeeded, Failed, Cancelled.",
        pattern=rf"^(({'|'.join(Phase)})(,({'|'.join(Phase)}))*)?$",
    )
    orchestration: Name | None = Field(None, description="Only runs of this Orchestration.")
    q: str = Field(
        "",
        max_length=200,
        pattern=r"^[^\x00-\x1f\x7f]*$",
        description="Case-insensitive text in the name, namespace, orchestration, reason or message.",
    )
    since_seconds: int | None = Field(
        None, ge=1, le=10**9, description="Only runs created within this many seconds."
    )
    nested: bool = Field(False, description="Include nested runs.")
    limit: int = Field(100, ge=1, le=1000, description="Page size.")
    cursor: str | None = Field(None, max_length=200, description="`next` of the page before.")


class OneRun(RequestModel):
    uid: Annotated[str, Field(pattern=r"^[-0-9A-Za-z]{1,64}$")] | None = Field(
        None, description="Uid of the run; a later run may reuse the name of a deleted one."
    )


class AuditQuery(InNamespace):
    limit: int = Field(100, ge=1, le=1000, description="Page size.")
    before: int | None = Field(None, ge=0, le=2**62, description="`next` of the page before.")


class StepQuery(OneRun):
    step: Text = Field("", description="Only this step.")


class LogsQuery(OneRun):
    step: Annotated[str, Field(min_length=1, max_length=1024)] = Field(
        description="Name of the step; outer/inner for a step of a nested run."
    )
    attempt: int | None = Field(None, ge=1, le=100000, description="Attempt number (default: the latest).")
    tail: int | None = Field(None, ge=1, le=100000, description="Number of last lines.")
    follow: bool = Field(False, description="Stream server-sent events until the attempt ends.")


class SubmitBody(RequestModel):
    """A run to start: of an Orchestration by name, or with a definition of its own."""

    orchestration: Name | None = Field(None, description="Name of the Orchestration.")
    definition: dict[str, Any] | None = Field(None, description="Inline Orchestration spec for this run.")
    parameters: dict[str, str] = Field({}, description="Parameter values.")
    policies: dict[str, Any] | None = Field(
        None, description="Overrides of the orchestration's policies, by field."
    )
    name: Name | None = Field(None, description="Name of the run (default: generated).")
    labels: dict[str, str] = Field({}, description="Labels of the run.")


class RetryBody(RequestModel):
    from_step: Annotated[str, Field(min_length=1, max_length=253)] | None = Field(
        None, description="First step to repeat (default: all steps that did not succeed)."
    )
    name: Name | None = Field(None, description="Name of the new run.")


class AgainBody(RequestModel):
    name: Name | None = Field(None, description="Name of the new run.")
    parameters: dict[str, str] | None = Field(
        None, description="All parameters of the new run (default: those of the old run)."
    )


class SessionBody(RequestModel):
    token: Text = Field(description="The web UI token that jangar up printed.")
