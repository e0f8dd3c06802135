"""Which run some manifests ask for."""

import pytest

from jangar.cli.api_session import Failure
from jangar.cli.manifests import RunOptions, start_of, with_generated_name
from jangar.cli.parameters import MAX_FILE_BYTES, parse_parameters

GROUP = "orchestration.proompteng.ai/v1alpha1"
TOOL = {"apiVersion": "tools.proompteng.ai/v1alpha1", "kind": "Tool", "metadata": {"name": "t"}, "spec": {}}


def orchestration(name, **spec):
    steps = [{"name": "a", "kind": "Checkpoint"}]
    return {
        "apiVersion": GROUP,
        "kind": "Orchestration",
        "metadata": {"name": name},
        "spec": {"steps": steps} | spec,
    }


def run(name, **spec):
    return {"apiVersion": GROUP, "kind": "OrchestrationRun", "metadata": {"name": name}, "spec": spec}


def start(*objects, **wanted):
    return start_of(objects, RunOptions(**({"parameters": {}} | wanted)), source="f.yaml")


def test_a_run_among_the_manifests_is_the_run():
    """The rest is applied before it."""
    found = start(TOOL, orchestration("o"), run("r", orchestrationRef={"name": "o"}))
    assert [other["kind"] for other in found.others] == ["Tool", "Orchestration"]
    assert (found.run["metadata"], found.run["spec"]) == ({"name": "r"}, {"orchestrationRef": {"name": "o"}})


def test_a_lone_orchestration_gets_a_run():
    """With a new name and the given parameters."""
    made = start(TOOL, orchestration("o"), parameters={"x": "1"}).run
    assert made["metadata"] == {"generateName": "o-"}
    assert made["spec"] == {"orchestrationRef": {"name": "o"}, "parameters": {"x": "1"}}
    assert start(orchestration("o"), name="mine").run["metadata"] == {"name": "mine"}


def test_parameters_of_the_command_line_win_over_those_of_the_file():
    """One by one."""
    given = run("r", orchestrationRef={"name": "o"}, parameters={"x": "1", "y": "2"})
    assert start(given, parameters={"y": "3"}).run["spec"]["parameters"] == {"x": "1", "y": "3"}


@pytest.mark.parametrize(
    ("objects", "wanted", "message"),
    [
        pytest.param(
            [orchestration("o"), orchestration("p")],
            {},
            "contains 2 Orchestrations that can run: o, p; choose one with --orch",
            id="two",
        ),
        pytest.param([run("r"), run("s")], {}, "choose one with --run NAME", id="two-runs"),
        pytest.param([TOOL], {}, "contains no Orchestration or OrchestrationRun to run", id="none"),
        pytest.param([orchestration("one")], {"orchestration": "onee"}, "did you mean one?", id="misspelt"),
        pytest.param(
            [orchestration("o", parameters=[{"name": "x", "required": True}])],
            {},
            'parameter "x" is required',
            id="missing-parameter",
        ),
        pytest.param(
            [orchestration("o", parameters=[{"name": "env"}])],
            {"parameters": {"enw": "1"}},
            'did you mean "env"?',
            id="undeclared-parameter",
        ),
    ],
)
def test_what_is_not_clear_is_refused_with_what_to_do(objects, wanted, message):
    """Before anything is sent."""
    with pytest.raises(Failure, match=message.replace("?", r"\?")):
        start(*objects, **wanted)


def test_an_orchestration_is_chosen_though_there_are_runs():
    """Those are not started."""
    found = start(orchestration("o"), run("r"), run("s"), orchestration="o")
    assert found.run["spec"] == {"orchestrationRef": {"name": "o"}}
    assert [other["kind"] for other in found.others] == ["Orchestration"]


def test_parameters_are_name_and_value():
    """A value may hold anything."""
    assert parse_parameters(["a=b=c", "d="]) == {"a": "b=c", "d": ""}
    for wrong in (["a"], ["=b"], ["a=1", "a=2"]):
        with pytest.raises(Failure):
            parse_parameters(wrong)


def test_a_parameter_can_be_the_content_of_a_file(tmp_path):
    """B11: as it is, line breaks included; a text that begins with @ is written with two."""
    (tmp_path / "notes.md").write_text("# Notes\nsecond\n")
    assert parse_parameters([f"a=@{tmp_path}/notes.md", "b=@@home", "c=x@y"]) == {
        "a": "# Notes\nsecond\n",
        "b": "@home",
        "c": "x@y",
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read .*: No such file"),
        (b"x" * (MAX_FILE_BYTES + 1), "exceeds 262,144 bytes"),
        (b"\xff\xfe", "is not UTF-8 text"),
    ],
)
def test_a_file_that_cannot_be_a_parameter_is_refused(tmp_path, content, message):
    """B11: the message names the parameter, the file and what to do."""
    path = tmp_path / "notes.md"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(Failure, match=rf"^-p notes=@\S+notes.md: .*{message}") as refused:
        parse_parameters([f"notes=@{path}"])
    assert refused.value.code == 2
    with pytest.raises(Failure, match="add a file name after @"):
        parse_parameters(["notes=@"])


def nested(name, *inner):
    steps = [
        {"name": f"s{at}", "kind": "SubOrchestration", "orchestrationRef": {"name": item}}
        for at, item in enumerate(inner)
    ]
    return orchestration(name, steps=steps)


def test_of_several_orchestrations_the_outermost_is_run():
    """B11: Orchestrations that another one in the file runs as a step are no candidates."""
    found = start(orchestration("inner"), nested("outer", "middle"), nested("middle", "inner"))
    assert found.run["spec"]["orchestrationRef"] == {"name": "outer"}
    assert len(found.others) == 3
    assert start(nested("outer", "inner"), orchestration("inner"), orchestration="inner").run["spec"] == {
        "orchestrationRef": {"name": "inner"}
    }


def test_two_outermost_orchestrations_are_named():
    """B11: the candidates only."""
    with pytest.raises(Failure, match="that can run: one, two; choose one with --orchestration NAME"):
        start(nested("one", "inner"), orchestration("inner"), nested("two", "inner"))


def test_running_again_takes_a_new_name():
    """Made from the old one."""
    assert with_generated_name(run("r"))["metadata"] == {"generateName": "r-"}
