"""What a command writes for the condition of its loop, and how it is reported."""

import json
from datetime import UTC, datetime

import pytest

from jangar.runner.output import Mask
from jangar.runner.report import MAX_LENGTH as MESSAGE
from jangar.runner.report import MAX_MESSAGE_LENGTH, Ending, Outputs, termination_message
from jangar.runner.result_files import MAX_CONTROL_LENGTH, LoopControl, read_control
from jangar.runner.rooted_files import Root
from jangar.runner.spec import runner_spec

NOON = datetime(2026, 2, 7, 12, tzinfo=UTC)
PATH = "/workspace/.agentrun/loop-control.json"


def written(tmp_path, content, mask=None):
    file = tmp_path / ".agentrun" / "loop-control.json"
    file.parent.mkdir()
    if content is not None:
        file.write_bytes(content)
    return read_control(Root(tmp_path), PATH, mask or Mask())


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(None, "missing", id="none"),
        pytest.param(b"{", "is not JSON", id="no-json"),
        pytest.param(b"\xff{}", "is not JSON", id="no-text"),
        pytest.param(b"[1]", "is not a JSON object", id="a-list"),
        pytest.param(
            b'"' + b"x" * MAX_CONTROL_LENGTH + b'"',
            f"has more than {MAX_CONTROL_LENGTH} bytes",
            id="too-long",
        ),
    ],
)
def test_what_cannot_be_reported_is_reported_as_a_problem(tmp_path, content, problem):
    """The condition is not asked about it."""
    assert written(tmp_path, content) == LoopControl(problem=problem)


def test_members_are_read_with_secrets_masked(tmp_path):
    """As everything that is reported."""
    found = written(tmp_path, b'{"more": true, "why": "canary-1234"}', Mask(["canary-1234"]))
    assert found == LoopControl(members={"more": True, "why": "***"})


def test_a_link_out_of_the_workspace_is_not_followed(tmp_path):
    """Its target must not leak."""
    root = tmp_path / "workspace"
    (root / ".agentrun").mkdir(parents=True)
    (tmp_path / "secret.json").write_text('{"more": true}')
    (root / ".agentrun" / "loop-control.json").symlink_to(tmp_path / "secret.json")
    found = read_control(Root(root), PATH, Mask())
    assert found.members is None
    assert "symbolic link" in found.problem


def reported(outputs, control):
    end = Ending(provider="p", argv=["sh"], code=0, started_at=NOON, finished_at=NOON, control=control)
    text = json.dumps(outputs)
    return termination_message(Outputs(text=text, names=frozenset(outputs)), end, Mask())


def test_control_is_reported_also_where_room_is_short():
    """A condition that cannot be asked would end the loop: outputs that leave no room are too large."""
    short = json.loads(reported({"a": "b"}, LoopControl(members={"more": True})))
    assert short["runner"]["control"] == {"more": True}
    tight = reported({"a": "x" * (MAX_MESSAGE_LENGTH - 120)}, LoopControl(members={"more": True}))
    assert json.loads(tight)["runner"]["control"] == {"more": True}
    full = reported({"a": "x" * (MAX_MESSAGE_LENGTH - 20)}, LoopControl(members={"more": True}))
    assert len(full) == MESSAGE
    assert json.loads(full)["runner"]["reason"] == "OutputsTooLarge"
    assert json.loads(reported({}, LoopControl(problem="missing")))["runner"]["controlProblem"] == "missing"


def test_the_spec_names_the_file():
    """None if the loop has no condition."""
    command = {"adapter": {"exec": {"binary": "sh"}}}
    assert runner_spec(command, {}).control_path is None
    assert runner_spec(command | {"loop": {"controlPath": PATH}}, {}).control_path == PATH
