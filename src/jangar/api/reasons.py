"""Every reason of statuses, conditions and events.

These values are part of the API contract. Code elsewhere uses `Reason`, not string literals.
"""

from enum import StrEnum


class Reason(StrEnum):
    """A machine-readable, stable reason."""

    # Definitions
    VALID_SPEC = "ValidSpec"
    INVALID_SPEC = "InvalidSpec"
    MISSING_STEPS = "MissingSteps"
    STEP_MISSING_NAME = "StepMissingName"
    STEP_MISSING_KIND = "StepMissingKind"
    INVALID_STEP_NAME = "InvalidStepName"
    DUPLICATE_STEP = "DuplicateStep"
    UNSUPPORTED_STEP = "UnsupportedStep"
    NOT_BUILT = "NotBuilt"
    MISSING_REFERENCE = "MissingReference"
    ENTRYPOINT_MISSING = "EntrypointMissing"
    INVALID_DEPENDENCY = "InvalidDependency"
    MISSING_DEPENDENCY = "MissingDependency"
    DEPENDENCY_CYCLE = "DependencyCycle"
    INVALID_PARAMETER = "InvalidParameter"
    UNDECLARED_PARAMETER = "UndeclaredParameter"
    MISSING_PARAMETER = "MissingParameter"
    INVALID_TEMPLATE = "InvalidTemplate"
    INVALID_CONDITION = "InvalidCondition"
    INVALID_VALUE = "InvalidValue"
    NOT_AN_ANCESTOR = "NotAnAncestor"
    RECURSIVE_ORCHESTRATION = "RecursiveOrchestration"
    TOO_LARGE = "TooLarge"
    REFERENCE_NOT_FOUND = "ReferenceNotFound"

    # Progress
    STARTING = "Starting"
    RUNNING = "Running"
    PENDING = "Pending"
    SUSPENDED = "Suspended"
    RESUMED = "Resumed"
    WAITING_FOR_DEPENDENCIES = "WaitingForDependencies"
    WAITING_FOR_PLACE = "WaitingForPlace"
    RETRY_BACKOFF = "RetryBackoff"
    BLOCKED = "Blocked"
    STOPPING = "Stopping"

    # Results of steps, children and runs
    SUCCEEDED = "Succeeded"
    REUSED = "Reused"
    STEP_FAILED = "StepFailed"
    CHILD_FAILED = "ChildFailed"
    STEP_TIMED_OUT = "StepTimedOut"
    RUN_TIMED_OUT = "RunTimedOut"
    CONDITION_FALSE = "ConditionFalse"
    CONDITION_ERROR = "ConditionError"
    DEPENDENCY_FAILED = "DependencyFailed"
    DEPENDENCY_SKIPPED = "DependencySkipped"
    FAIL_FAST = "FailFast"
    MISSING_INPUT = "MissingInput"
    OUTPUTS_TOO_LARGE = "OutputsTooLarge"
    NESTING_TOO_DEEP = "NestingTooDeep"
    CHILD_DELETED = "ChildDeleted"
    CHILD_CANCELLED = "ChildCancelled"
    START_REFUSED = "StartRefused"
    CHILD_NAME_CONFLICT = "ChildNameConflict"
    SNAPSHOT_CONFLICT = "SnapshotConflict"
    OWNER_NOT_CONFIRMED = "OwnerNotConfirmed"
    POLICY_DENIED = "PolicyDenied"

    # Admission of AgentRuns and ToolRuns
    WITHIN_LIMITS = "WithinLimits"
    ALREADY_STARTED = "AlreadyStarted"
    CONCURRENCY_LIMIT = "ConcurrencyLimit"
    QUEUE_LIMIT = "QueueLimit"
    RATE_LIMIT = "RateLimit"
    MISSING_REQUIRED_LABELS = "MissingRequiredLabels"
    LABEL_BLOCKED = "LabelBlocked"
    LABEL_NOT_ALLOWED = "LabelNotAllowed"
    IMAGE_BLOCKED = "ImageBlocked"
    IMAGE_NOT_ALLOWED = "ImageNotAllowed"
    SECRET_BLOCKED = "SecretBlocked"  # noqa: S105 - a reason, not a password
    SECRET_NOT_ALLOWED = "SecretNotAllowed"  # noqa: S105 - a reason, not a password
    SECRET_NOT_BOUND = "SecretNotBound"  # noqa: S105 - a reason, not a password
    SERVICE_ACCOUNT_NOT_ALLOWED = "ServiceAccountNotAllowed"
    IMPLEMENTATION_SOURCE_PROVIDER_NOT_ALLOWED = "ImplementationSourceProviderNotAllowed"
    REPOSITORY_NOT_ALLOWED = "RepositoryNotAllowed"
    PRIORITY_CLASS_NOT_ALLOWED = "PriorityClassNotAllowed"
    TOLERATION_NOT_ALLOWED = "TolerationNotAllowed"
    NODE_SELECTOR_NOT_ALLOWED = "NodeSelectorNotAllowed"
    RUNTIME_CLASS_NOT_ALLOWED = "RuntimeClassNotAllowed"
    TOKEN_AUDIENCE_NOT_ALLOWED = "TokenAudienceNotAllowed"  # noqa: S105 - a reason, not a password
    HOST_NOT_ALLOWED = "HostNotAllowed"

    # Jobs and pods
    JOB_FAILED = "JobFailed"
    JOB_DELETED = "JobDeleted"
    POD_DELETED = "PodDeleted"
    EVICTED = "Evicted"
    OOM_KILLED = "OOMKilled"
    NON_ZERO_EXIT = "NonZeroExit"
    INIT_FAILED = "InitContainerFailed"
    NODE_REBOOTED = "NodeRebooted"
    SUPERVISOR_LOST = "SupervisorLost"
    START_ERROR = "StartError"
    IMAGE_PULL_BACK_OFF = "ImagePullBackOff"
    CONTAINER_CONFIG_ERROR = "CreateContainerConfigError"
    UNSCHEDULABLE = "Unschedulable"
    FAILED_CREATE = "FailedCreate"
    DUPLICATE_EXECUTION = "DuplicateExecution"
    WORKFLOW_JOB_MISSING = "WorkflowJobMissing"
    HISTORY_NOT_STORED = "HistoryNotStored"
    RECONCILE_ABORTED = "ReconcileAborted"

    # Cancel
    CANCELLING = "Cancelling"
    CANCELLED = "Cancelled"
    CANCEL_TIMED_OUT = "CancelTimedOut"
    RUN_CANCELLED = "RunCancelled"
    CANCEL_DISABLED = "CancelDisabled"
    ALREADY_SUCCEEDED = "AlreadySucceeded"
    ALREADY_FAILED = "AlreadyFailed"
    ALREADY_CANCELLED = "AlreadyCancelled"
    NOT_REQUESTED = "NotRequested"

    # Conditions that are false
    NOT_FINISHED = "NotFinished"
    NOT_FAILED = "NotFailed"
    NOT_CANCELLED = "NotCancelled"
    NOT_DEGRADED = "NotDegraded"
    NOT_SUSPENDED = "NotSuspended"
    JOB_FOUND = "JobFound"
    FINISHED = "Finished"


POD_CAUSES = frozenset(
    {
        Reason.IMAGE_PULL_BACK_OFF,
        Reason.CONTAINER_CONFIG_ERROR,
        Reason.UNSCHEDULABLE,
        Reason.FAILED_CREATE,
    }
)
"""Reasons why a pod does not start. Each is reported as a Warning event."""

WAITING_CAUSES = POD_CAUSES | {Reason.REFERENCE_NOT_FOUND}
"""Reasons to wait for something outside of the run. A timeout during the wait keeps the reason."""

DENIALS = frozenset(
    {
        Reason.MISSING_REQUIRED_LABELS,
        Reason.LABEL_BLOCKED,
        Reason.LABEL_NOT_ALLOWED,
        Reason.IMAGE_BLOCKED,
        Reason.IMAGE_NOT_ALLOWED,
        Reason.SECRET_BLOCKED,
        Reason.SECRET_NOT_ALLOWED,
        Reason.SECRET_NOT_BOUND,
        Reason.SERVICE_ACCOUNT_NOT_ALLOWED,
        Reason.IMPLEMENTATION_SOURCE_PROVIDER_NOT_ALLOWED,
        Reason.REPOSITORY_NOT_ALLOWED,
        Reason.PRIORITY_CLASS_NOT_ALLOWED,
        Reason.TOLERATION_NOT_ALLOWED,
        Reason.NODE_SELECTOR_NOT_ALLOWED,
        Reason.RUNTIME_CLASS_NOT_ALLOWED,
        Reason.TOKEN_AUDIENCE_NOT_ALLOWED,
        Reason.HOST_NOT_ALLOWED,
    }
)
"""Reasons why a policy permanently denies an AgentRun or a ToolRun."""

NEVER_RETRIED = DENIALS | frozenset(
    {
        Reason.INVALID_SPEC,
        Reason.MISSING_INPUT,
        Reason.POLICY_DENIED,
        Reason.RECURSIVE_ORCHESTRATION,
        Reason.NESTING_TOO_DEEP,
        Reason.UNSUPPORTED_STEP,
        Reason.CONDITION_ERROR,
        Reason.TOO_LARGE,
        Reason.CHILD_DELETED,
        Reason.START_REFUSED,
        Reason.OWNER_NOT_CONFIRMED,
    }
)
"""Failures that a retry would repeat or that a person requested (DAG-9)."""
