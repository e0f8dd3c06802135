"""Models of response bodies, from which the OpenAPI document is made."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

Count = Annotated[int, Field(ge=0)]


class ResponseModel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class Problem(BaseModel):
    """RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    fix: str = Field(description="What to do.")
    problems: list[str] | None = None
    fields: dict[str, str] | None = Field(None, description="Error message by field path of the request.")
    ok: Literal[False]
    error: str


class Run(ResponseModel):
    """A run in a list."""

    namespace: str
    name: str
    uid: str
    orchestration: str | None
    phase: str
    reason: str
    message: str
    steps_ended: Count
    steps_total: Count
    counts: dict[str, int]
    created_at: datetime
    created_by: str | None = Field(description="Who created the run, if known.")
    started_at: datetime | None
    finished_at: datetime | None
    suspended: bool
    cancel_requested: bool
    parent: str | None = Field(description="Parent run of a nested run.")
    retry_of: str | None
    expires_at: datetime | None = Field(description="When the run will be deleted.")
    live: bool = Field(description="true if the object exists; false if it is only in the history.")


class RunPage(ResponseModel):
    items: list[Run]
    next: str | None = Field(description="Cursor of the next page.")
    position: str = Field(description="Last-Event-ID for /v1/watch that continues after this list.")
    history: Literal["off", "well", "unreachable"] = Field(
        description="Whether the list includes past runs: off without a database, unreachable if it does not respond."
    )


class Attempt(ResponseModel):
    attempt: int
    phase: str
    reason: str
    message: str
    started_at: datetime | None
    finished_at: datetime | None
    exit_code: int | None


class Step(ResponseModel):
    name: str
    kind: str
    phase: str
    reason: str
    sentence: str = Field(description="Explanation of the state.")
    attempt: int
    attempts: list[Attempt]
    child: str | None
    depends_on: list[str]
    causes: list[str]
    outputs: dict[str, str]
    exit_code: int | None
    started_at: datetime | None
    finished_at: datetime | None
    duration_seconds: float | None
    failure_ignored: bool


class Condition(ResponseModel):
    type: str
    status: str
    reason: str
    message: str
    last_transition_time: datetime | None


class LeftBehind(ResponseModel):
    kind: str
    name: str
    ended_at: datetime | None


class RunDetail(Run):
    """Everything about a run."""

    duration_seconds: float | None
    parameters: dict[str, str]
    labels: dict[str, str]
    outputs: dict[str, str]
    retention: dict[str, Any] | None
    retried_by: list[str] = Field(description="Live runs that retry this one, oldest first.")
    deletion_requested: bool
    resource_version: str
    mode: str | None
    conditions: list[Condition]
    steps: list[Step]
    left_behind: list[LeftBehind]
    cancel_requested_at: datetime | None


class Node(ResponseModel):
    name: str
    kind: str
    phase: str
    layer: Count


class Edge(ResponseModel):
    source: str
    target: str


class Graph(ResponseModel):
    nodes: list[Node]
    edges: list[Edge]


class Bar(ResponseModel):
    step: str
    attempt: int
    phase: str
    reason: str
    started_at: datetime
    finished_at: datetime | None


class Timeline(ResponseModel):
    started_at: datetime | None
    finished_at: datetime | None
    bars: list[Bar]


class Explanation(ResponseModel):
    name: str
    phase: str
    reason: str
    sentence: str
    waits_for: list[str]
    until: datetime | None


class Explained(ResponseModel):
    run: str
    namespace: str
    phase: str
    reason: str
    message: str
    steps: list[Explanation]


class KubeEvent(ResponseModel):
    type: str
    reason: str
    message: str
    count: int
    first_at: str
    last_at: str
    source: str


class Events(ResponseModel):
    items: list[KubeEvent]


class Log(ResponseModel):
    step: str
    attempt: int
    lines: list[str]
    missing: str = Field(description="Why there are no lines.")
    note: str


class Steered(ResponseModel):
    run: Run
    changed: bool = Field(description="false if the run was already in this state.")
    message: str


class Submitted(ResponseModel):
    run: Run
    repeated: bool = Field(description="true if an earlier request with this key created the run.")


class Deleted(ResponseModel):
    message: str


class Orchestration(ResponseModel):
    namespace: str
    name: str
    description: str
    phase: str
    message: str
    steps: Count
    parameters: list[dict[str, Any]]


class Orchestrations(ResponseModel):
    items: list[Orchestration]


class OrchestrationDetail(Orchestration):
    graph: Graph | None


class Summary(ResponseModel):
    runs: dict[str, int] = Field(description="Runs by phase.")
    total: Count
    namespaces: list[str]


class Expiring(ResponseModel):
    namespace: str
    name: str
    phase: str
    retention: dict[str, Any]


class Retention(ResponseModel):
    items: list[Expiring]


class Audited(ResponseModel):
    number: int
    at: datetime
    actor: str
    action: str
    namespace: str
    kind: str
    name: str
    uid: str | None
    status: int = Field(description="HTTP status of the response.")
    detail: str | None


class AuditPage(ResponseModel):
    items: list[Audited]
    next: int | None = Field(description="`before` of the next page.")


class Part(ResponseModel):
    name: str
    well: bool
    problems: list[str]


class Controller(ResponseModel):
    name: str
    version: str
    alive: bool
    shards: Count
    renewed_at: str


class Crd(ResponseModel):
    kind: str
    group: str
    served: bool


class Runtime(ResponseModel):
    name: str
    available: bool
    message: str


class ControlPlane(ResponseModel):
    version: str
    namespaces: list[str] | None = Field(description="null for all.")
    parts: list[Part]
    history: str = Field(description="State of the history: off, well or unreachable.")
    watchers: Count = Field(description="Clients that watch runs.")
    controllers: list[Controller] = Field(description="Controller processes and the shards that each holds.")
    crds: list[Crd] = Field(description="Jangar's CRDs and whether the API serves them.")
    runtimes: list[Runtime] = Field(description="Runtimes for agents.")
    audit_waiting: Count = Field(description="Audit rows waiting to be stored.")


class HistoryKept(ResponseModel):
    """How long history keeps what it stores, from the end of a run; null means forever."""

    record_seconds: int | None
    log_seconds: int | None


class Me(ResponseModel):
    name: str
    namespace: str = Field(description="Default namespace for new runs.")
    laptop: bool
    command_prefix: str = Field(description="Command prefix that targets this instance.")
    history: HistoryKept | None = Field(description="null if unknown.")


class Envelope(BaseModel):
    """An answer in the form of the older system."""

    model_config = ConfigDict(extra="allow")
    ok: Literal[True]


class Health(BaseModel):
    model_config = ConfigDict(extra="allow")
    status: Literal["ok", "degraded"]
    service: str
