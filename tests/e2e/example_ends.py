"""How an example ends, beside what its `expected.toml` says of it: the same on a laptop and on a cluster."""

import tomllib
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
FAN_OUT = EXAMPLES / "07-fan-out"
AGENTS = (EXAMPLES / "08-agent", EXAMPLES / "10-agent-workflow")
"""Need the runner where their work runs."""
SMALL = [
    folder
    for folder in sorted(EXAMPLES.iterdir())
    if (folder / "expected.toml").exists() and folder != FAN_OUT
]
"""Those that say how they end; the agent providers have tests of their own."""
OVER = {"Succeeded", "Failed", "Cancelled"}
MANY = 1000


def expected(folder: Path) -> dict:
    return tomllib.loads((folder / "expected.toml").read_text())


def steps_of(status: dict) -> dict[str, dict]:
    return {step_status["name"]: step_status for step_status in status.get("stepStatuses", [])}


def ended(step: dict, wanted: dict) -> dict:
    """What a step came to, in the words of expected.toml."""
    found = {
        "phase": step["phase"],
        "reason": step["reason"],
        "attempts": step.get("attempt", 0),
        "outputs": step.get("outputs", {}),
        "causes": step.get("causes", []),
    }
    if wanted.get("outputs") == "any":
        found["outputs"] = "any"
    if found["attempts"] >= wanted.get("attempts_at_least", MANY):
        found |= {"attempts": "enough", "attempts_at_least": wanted["attempts_at_least"]}
    return found


def meant(wanted: dict) -> dict:
    """What expected.toml says of a step, with what it leaves out: the reason is the phase, one attempt if it ran."""
    usual = {
        "reason": wanted["phase"],
        "attempts": int(wanted["phase"] != "Skipped"),
        "outputs": {},
        "causes": [],
    }
    if "attempts_at_least" in wanted:
        usual["attempts"] = "enough"
    return usual | wanted


def is_to_be_cancelled(wanted: dict, status: dict) -> bool:
    """Whether an example that is cancelled in the middle has come to it."""
    awaited, steps = wanted.get("cancel_once_running"), steps_of(status)
    return bool(awaited) and all(steps.get(step, {}).get("phase") == "Running" for step in awaited)


def assert_ended_as_expected(wanted: dict, status: dict) -> None:
    """Phase, reason, counts and outputs of the run; phase, reason, attempts, outputs and causes of every step."""
    assert (status["phase"], status["reason"]) == (wanted["phase"], wanted.get("reason", wanted["phase"]))
    assert status.get("outputs", {}) == wanted.get("outputs", {})
    assert wanted.get("counts", {}).items() <= status["counts"].items()
    assert {name: ended(step, wanted["steps"][name]) for name, step in steps_of(status).items()} == {
        name: meant(step) for name, step in wanted["steps"].items()
    }
