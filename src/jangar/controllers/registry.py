"""The table of controllers. A new controller is one folder with a registration, and one row here."""

from typing import Final

from jangar.controllers.admission.controller import ADMISSION_CONTROLLER
from jangar.controllers.agentrun.controller import AGENT_RUN_CONTROLLER
from jangar.controllers.definition.controllers import (
    AGENT_DEFINITION_CONTROLLERS,
    NOT_BUILT_CONTROLLERS,
    ORCHESTRATION_CONTROLLER,
    TOOL_CONTROLLER,
)
from jangar.controllers.orchestrationrun.controller import RUN_CONTROLLER
from jangar.controllers.registration import Registration
from jangar.controllers.toolrun.controller import TOOL_RUN_CONTROLLER

REGISTRATIONS: Final[tuple[Registration, ...]] = (
    ORCHESTRATION_CONTROLLER,
    TOOL_CONTROLLER,
    RUN_CONTROLLER,
    TOOL_RUN_CONTROLLER,
    AGENT_RUN_CONTROLLER,
    *AGENT_DEFINITION_CONTROLLERS,
    *NOT_BUILT_CONTROLLERS,
    ADMISSION_CONTROLLER,
)
