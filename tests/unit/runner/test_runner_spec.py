"""What `agent-runner.json` says, and what of it is refused."""

import pytest

from jangar.runner.preparation import clean_environment, looks_secret
from jangar.runner.process import parse_command_line
from jangar.runner.spec import RunnerProblem, runner_spec


def spec(command=("agent",), run=None, **runner):
    return runner_spec(runner, run or {}, command)


def test_the_adapter_says_what_is_run():
    """Settings stand under adapter.exec, in the adapter, in providerSpec or at the top; the nearest wins."""
    found = runner_spec(
        {
            "provider": "codex",
            "adapter": {"type": "exec", "exec": {"binary": "codex", "args": ["exec", ""]}},
            "providerSpec": {"binary": "other", "envTemplate": {"A": "1"}},
        },
        {},
    )
    assert (found.argv, found.env, found.provider) == (("codex", "exec", ""), {"A": "1"}, "codex")


@pytest.mark.parametrize(
    "text", ["{{ env.TOKEN }}", "{% for x in y %}", "$(TOKEN)", "${TOKEN}", "{{ run.prompt }}"]
)
def test_templates_in_a_prompt_stay_text(text):
    """The controller replaced what is to be replaced; what a parameter brought along is data."""
    found = runner_spec(
        {"adapter": {"exec": {"binary": "sh", "argsTemplate": [text], "env": {"A": text}}}}, {}
    )
    assert (found.argv[1], found.env["A"]) == (text, text)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        pytest.param({}, "there is no command", id="nothing"),
        pytest.param({"schemaVersion": "agents.proompteng.ai/runner/v2"}, "is not known", id="version"),
        pytest.param({"adapter": {"type": "codex-app-server"}}, "use exec", id="app-server"),
        pytest.param({"adapter": []}, "must be an object", id="adapter"),
        pytest.param({"binary": "a", "args": "b"}, "must be a list", id="args"),
        pytest.param({"binary": "a", "args": ["\0"]}, "without NUL", id="nul"),
        pytest.param({"binary": "a", "args": [1]}, "must be a text", id="number"),
        pytest.param({"binary": "a", "env": {"A=B": ""}}, "no variable can have", id="name"),
        pytest.param({"binary": "a", "inputFiles": [{"path": ""}]}, "inputFiles.path", id="path"),
        pytest.param({"binary": "a", "outputArtifacts": [{}]}, "outputArtifacts.name", id="artifact"),
        pytest.param({"binary": "a", "usage": "any"}, "is not known", id="usage"),
        pytest.param({"binary": "a", "graceSeconds": -1}, "graceSeconds", id="grace"),
    ],
)
def test_a_spec_that_makes_no_sense_is_refused_in_words(document, words):
    with pytest.raises(RunnerProblem, match=words):
        runner_spec(document, {})


def test_a_command_gets_what_it_needs_and_what_is_named_and_nothing_else():
    """The cluster's addresses, the runner's own settings and other people's variables stay out."""
    container = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "OPENAI_API_KEY": "sk-1",
        "VCS_REPOSITORY": "a/b",
        "JANGAR_CONTAINER_ID": "c1",
        "JANGAR_RESULT_PATH": "/dev/termination-log",
        "KUBERNETES_SERVICE_HOST": "10.0.0.1",
        "PYTHONPATH": "/opt",
        "NAMED": "n",
        "TEAM_A": "a",
        "OTHER": "o",
    }
    found = clean_environment(
        spec(environment={"pass": ["NAMED", "TEAM_*"]}, env={"OWN": "1", "PATH": "/own"}), container
    )
    assert found.given == {
        "PATH": "/own",
        "LC_ALL": "C",
        "OPENAI_API_KEY": "sk-1",
        "VCS_REPOSITORY": "a/b",
        "JANGAR_CONTAINER_ID": "c1",
        "NAMED": "n",
        "TEAM_A": "a",
        "OWN": "1",
    }
    assert found.withheld == ("OTHER",)


def test_values_of_secrets_are_known_by_name_by_look_and_by_coming_as_a_whole():
    """`*` passes a Secret with unknown keys: all values from it count as secret."""
    found = clean_environment(
        spec(environment={"pass": ["*"], "secret": ["PLAIN"]}, secretEnv=[{"name": "OTHER", "key": "k"}]),
        {"PLAIN": "1111", "OTHER": "2222", "MY_TOKEN": "t-33", "FROM_SECRET": "s-44", "HOME": "/root"},
    )
    assert set(found.secrets) == {"1111", "2222", "t-33", "s-44"}
    assert not found.withheld


def test_a_guess_does_not_take_words_out_of_every_text():
    """`CI=true` next to a Secret that is passed as a whole; what the spec names is masked whatever its value is."""
    found = clean_environment(
        spec(environment={"pass": ["*"], "secret": ["NAMED"]}),
        {"CI": "true", "USE_API_KEY": "Yes", "PORT": "8080", "NAMED": "true", "OTHER": "wh-4711"},
    )
    assert sorted(found.secrets) == ["true", "wh-4711"]


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("ANTHROPIC_API_KEY", True),
        ("GH_TOKEN", True),
        ("db_password", True),
        ("MAX_OUTPUT_TOKENS", False),
        ("VCS_SSH_KEY_PATH", False),
        ("KEYBOARD", False),
        ("PATH", False),
    ],
)
def test_a_name_decides_whether_a_value_is_secret(name, secret):
    assert looks_secret(name) is secret


@pytest.mark.parametrize(
    ("line", "spec", "root", "grace", "command"),
    [
        ("", None, None, None, ()),
        ("s.json", "s.json", None, None, ()),
        ("--root /w s.json --grace=2.5", "s.json", "/w", 2.5, ()),
        ("-- sh -c --help", None, None, None, ("sh", "-c", "--help")),
        ("s.json -- a -- b", "s.json", None, None, ("a", "--", "b")),
    ],
)
def test_the_words_of_a_command_line(line, spec, root, grace, command):
    found = parse_command_line(line.split())
    reported = [str(item) if item else None for item in (found.spec, found.root)]
    assert (*reported, found.grace, found.command) == (spec, root, grace, command)


@pytest.mark.parametrize(
    "line", ["--help", "-h", "--grace", "--grace x", "--grace -1", "--grace nan", "a b", "--other"]
)
def test_help_and_nonsense_are_left_to_who_explains_them(line):
    assert parse_command_line(line.split()) is None
