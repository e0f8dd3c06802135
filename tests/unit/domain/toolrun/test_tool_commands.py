"""Whether a Tool can be run, and what a run of it starts."""

import pytest

from jangar.api.reasons import Reason
from jangar.api.tools import ToolSpec
from jangar.domain.job_execution.command import Command
from jangar.domain.toolrun import NoCommand, command_of, tool_problems
from picokube.nodeagent.pods.environment import expand_variables


def a_tool(**fields):
    return ToolSpec.model_validate({"image": "alpine", "command": ["true"]} | fields)


def test_parameters_are_filled_into_command_args_and_env():
    """Everywhere that the tool's description names."""
    tool = a_tool(
        command=["run", "{{ parameters.what }}"],
        args=["--at={{ parameters.where }}"],
        env=[{"name": "WHO", "value": '{{ parameters.who ?? "nobody" }}'}],
        workingDir="/src",
        serviceAccount="builder",
    )
    assert command_of(tool, {"what": "a b", "where": ""}) == Command(
        image="alpine",
        command=("run", "a b"),
        args=("--at=",),
        env={"WHO": "nobody"},
        working_dir="/src",
        service_account="builder",
        is_first_process=False,
    )


@pytest.mark.rule("DAG-11")
def test_a_parameter_without_a_value_is_never_an_empty_text():
    """MissingInput, with its name."""
    found = command_of(a_tool(args=["{{ parameters.what }}"]), {})
    assert found == NoCommand(
        reason=Reason.MISSING_INPUT, message="parameters.what has no value and no default"
    )


@pytest.mark.rule("DAG-11")
def test_a_value_is_not_a_template():
    """What a parameter holds is not filled in again."""
    found = command_of(a_tool(args=["{{ parameters.a }}"]), {"a": "{{ parameters.b }}", "b": "secret"})
    assert isinstance(found, Command)
    assert found.args == ("{{ parameters.b }}",)


@pytest.mark.parametrize(
    ("fields", "paths"),
    [
        pytest.param({"image": None}, [("spec", "image")], id="no-image"),
        pytest.param({"image": " "}, [("spec", "image")], id="a-blank-image"),
        pytest.param({"command": None}, [("spec", "command")], id="nothing-to-run"),
        pytest.param({"command": [], "args": []}, [("spec", "command")], id="empty-lists"),
        pytest.param({"command": None, "args": ["x"]}, [], id="args-alone"),
        pytest.param(
            {"args": ["{{ steps.a.outputs.b }}", "{{ oops"]},
            [("spec", "args", 0), ("spec", "args", 1)],
            id="templates",
        ),
        pytest.param(
            {"image": None, "env": [{"name": "A", "value": "{{ steps.a.outputs.b }}"}]},
            [("spec", "image"), ("spec", "env", 0, "value")],
            id="all-at-once",
        ),
    ],
)
def test_every_mistake_is_reported_with_its_place(fields, paths):
    """All of them at once; such a tool gives no command."""
    tool = a_tool(**fields)
    assert [tool_problem.path for tool_problem in tool_problems(tool)] == paths
    if paths:
        found = command_of(tool, {})
        assert isinstance(found, NoCommand)
        assert found.reason is Reason.INVALID_SPEC


@pytest.mark.rule("DAG-11")
def test_a_value_that_is_filled_in_stays_data_for_kubernetes_too():
    """A kubelet replaces `$(HOME)` and `$$`; what a parameter holds reaches the program as it is."""
    spec = ToolSpec(image="i", command=["echo", "{{ parameters.x }}", "$(AUTHOR)"])
    made = command_of(spec, {"x": "$(HOME) costs $5, $$"})
    assert isinstance(made, Command)
    assert made.command == ("echo", "$$(HOME) costs $$5, $$$$", "$(AUTHOR)")
    assert expand_variables(made.command[1], {"HOME": "/root"}) == "$(HOME) costs $5, $$"
