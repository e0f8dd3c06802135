"""Checks the outcome of an example against its `expected.toml`, on a laptop and on a cluster."""

import tomllib
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
FAN_OUT = EXAMPLES / "07-fan-out"
AGENTS = (EXAMPLES / "08-agent", EXAMPLES / "10-agent-workflow")
"""Examples that need the runner in their containers."""
SMALL = [
    folder
    for folder in sorted(EXAMPLES.iterdir())
    if (folder / "expected.toml").exists() and folder != FAN_OUT
]
"""Examples with an `expected.toml`; the agent providers have their own tests."""
OVER = {"Succeeded", "Failed", "Cancelled"}
MANY = 1000


def expected(folder: Path) -> dict:
    return tomllib.loads((folder / "expected.toml").read_text())


def steps_of(status: dict) -> dict[str, dict]:
    return {step_status["name"]: step_status for step_status in status.get("stepStatuses", [])}


def ended(step: dict, wanted: dict) -> dict:
    """The outcome of a step in the terms of expected.toml."""
    outcome = {
        "phase": step["phase"],
        "reason": step["reason"],
        "attempts": step.get("attempt", 0),
        "outputs": step.get("outputs", {}),
        "causes": step.get("causes", []),
    }
    if wanted.get("outputs") == "any":
        outcome["outputs"] = "any"
    if outcome["attempts"] >= wanted.get("attempts_at_least", MANY):
        outcome |= {"attempts": "enough", "attempts_at_least": wanted["attempts_at_least"]}
    return outcome


def meant(wanted: dict) -> dict:
    """The expectation for a step with defaults: the reason is the phase, and one attempt if it ran."""
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
    """Whether an example that is cancelled midway has reached that point."""
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
