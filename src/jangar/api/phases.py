"""The phases of runs, children, steps and definitions, and other enums of the API."""

from enum import StrEnum


class Phase(StrEnum):
    """Phase of a run (OrchestrationRun) or a child (AgentRun, ToolRun, nested run)."""

    PENDING = "Pending"
    RUNNING = "Running"
    CANCELLING = "Cancelling"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELLED = "Cancelled"


class AgentRunPhase(StrEnum):
    """Phase of an AgentRun: the phases of every child, and Template for one that only serves as a template."""

    PENDING = "Pending"
    RUNNING = "Running"
    CANCELLING = "Cancelling"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELLED = "Cancelled"
    TEMPLATE = "Template"


class StepPhase(StrEnum):
    """Phase of one step of a run."""

    PENDING = "Pending"
    RUNNING = "Running"
    RETRYING = "Retrying"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    SKIPPED = "Skipped"
    CANCELLED = "Cancelled"


class LoopStop(StrEnum):
    """Why the loop of a workflow's step ended."""

    CONDITION_FALSE = "LoopConditionFalse"
    MAX_ITERATIONS_REACHED = "LoopMaxIterationsReached"
    ITERATION_FAILED = "LoopIterationFailed"
    CONDITION_ERROR = "LoopConditionError"


class DefinitionPhase(StrEnum):
    """Phase of an object that only declares something (Orchestration, Tool, Agent, ...)."""

    READY = "Ready"
    INVALID = "Invalid"


class SchedulePhase(StrEnum):
    """Phase of a Schedule."""

    ACTIVE = "Active"
    SUSPENDED = "Suspended"
    INVALID = "Invalid"


class SignalDeliveryPhase(StrEnum):
    """Phase of a SignalDelivery."""

    PENDING = "Pending"
    DELIVERED = "Delivered"
    INVALID = "Invalid"


class WorkspacePhase(StrEnum):
    """Phase of a Workspace, derived from its volume."""

    PENDING = "Pending"
    READY = "Ready"
    FAILED = "Failed"
    EXPIRED = "Expired"
    INVALID = "Invalid"


class ExecutionMode(StrEnum):
    """How a run orders its steps; determined once, when it starts."""

    SEQUENTIAL = "Sequential"
    GRAPH = "Graph"


class DesiredState(StrEnum):
    """Desired state of a run or child."""

    RUNNING = "Running"
    CANCELLED = "Cancelled"


class OnJobMissing(StrEnum):
    """What to do when an observed Job disappears without a recorded outcome."""

    FAIL = "Fail"
    RETRY = "Retry"


class AdmissionPhase(StrEnum):
    """Decision of the operator's policy about a run."""

    ADMITTED = "Admitted"
    HELD = "Held"
    DENIED = "Denied"


class StepKind(StrEnum):
    """Kind of a step, by name. What each of them does is in `jangar.kinds`."""

    AGENT_RUN = "AgentRun"
    TOOL_RUN = "ToolRun"
    SUB_ORCHESTRATION = "SubOrchestration"
    APPROVAL_GATE = "ApprovalGate"
    SIGNAL_WAIT = "SignalWait"
    CHECKPOINT = "Checkpoint"
    MEMORY_OP = "MemoryOp"


TERMINAL = frozenset({Phase.SUCCEEDED, Phase.FAILED, Phase.CANCELLED})
STEP_TERMINAL = frozenset({StepPhase.SUCCEEDED, StepPhase.FAILED, StepPhase.SKIPPED, StepPhase.CANCELLED})
