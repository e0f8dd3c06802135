"""The table of controllers. A new controller is one folder with a registration, and one row here."""

from jangar.controllers.admission.controller import ADMISSION_CONTROLLER
from jangar.controllers.agentrun.controller import AGENT_RUN_CONTROLLER
from jangar.controllers.definition.controllers import (
    AGENT_DEFINITION_CONTROLLERS,
    NOT_BUILT_CONTROLLERS,
    ORCHESTRATION_CONTROLLER,
    TOOL_CONTROLLER,
)
from jangar.controllers.orchestrationrun.controller import run_controller
from jangar.controllers.registration import Registration
from jangar.controllers.toolrun.controller import TOOL_RUN_CONTROLLER


def registrations() -> tuple[Registration, ...]:
    """All controllers. That of runs watches the children of every registered step kind."""
    return (
        ORCHESTRATION_CONTROLLER,
        TOOL_CONTROLLER,
        run_controller(),
        TOOL_RUN_CONTROLLER,
        AGENT_RUN_CONTROLLER,
        *AGENT_DEFINITION_CONTROLLERS,
        *NOT_BUILT_CONTROLLERS,
        ADMISSION_CONTROLLER,
    )
