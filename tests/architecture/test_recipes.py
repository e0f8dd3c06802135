"""The recipes in docs/architecture/adding.md name files and tables that exist and are complete."""

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from jangar.controllers import rbac
from jangar.controllers.registration import Registration
from jangar.controllers.registry import registrations
from jangar.domain.job_execution.plan import RULES
from jangar.settings.control_plane import ControlPlaneSettings
from jangar.settings.controllers import ControllerSettings
from jangar.settings.laptop import LaptopSettings
from jangar.settings.variables import variables_of

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/architecture/adding.md").read_text()
PATHS = sorted(
    {path for path in re.findall(r"`((?:src|charts|tests|docs)/[\w./-]+)`", PAGE) if "NAME" not in path}
)
VARIABLES = {
    variable.name: variable
    for settings in (ControllerSettings, ControlPlaneSettings, LaptopSettings)
    for variable in variables_of(settings).values()
}


@pytest.mark.parametrize("path", PATHS)
def test_every_file_that_a_recipe_names_exists(path):
    """A recipe that names a file of the past misleads."""
    assert (ROOT / path).exists()


def test_the_recipes_are_there():
    """One for each thing that the code is made to be extended with, in numbered steps."""
    sections = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
    things = (
        "a step kind",
        "a run kind",
        "a controller",
        "a runtime",
        "a setting",
        "an operation",
        "a CLI verb",
        "an HTTP route",
    )
    assert [section.splitlines()[0] for section in sections] == [f"How to add {thing}" for thing in things]
    assert all("\n1. " in section and "\n2. " in section for section in sections)


def test_the_table_of_a_registration_names_its_fields():
    """Every field in the recipe exists; one is left to special cases."""
    documented = {
        name
        for row in re.findall(r"^   \| (`.*?) \|", PAGE, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row)
    }
    assert {field.name for field in fields(Registration)} - documented == {"single_key"}
    assert documented <= {field.name for field in fields(Registration)}


def test_the_generated_rules_are_up_to_date():
    """Step 5 of a controller: the chart grants what the table declares."""
    assert (ROOT / rbac.FILE).read_text() == rbac.rules_text(registrations())


def test_planning_rules_are_named_functions():
    """A runtime relies on them unchanged: no class of rules, and no name twice."""
    names = [rule.__name__ for rule in RULES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", VARIABLES)
def test_every_setting_is_documented_and_rendered(name):
    """Steps 3 and 4 of a setting: the reference has its row, and the chart its value."""
    variable = VARIABLES[name]
    assert f"`{name}`" in (ROOT / "docs/reference/settings.md").read_text()
    if not variable.helm_value or variable.helm_value.startswith("env.vars."):
        return  # computed by the chart, or any name in the open map env.vars
    node = yaml.safe_load((ROOT / "charts/agents/values.yaml").read_text())
    for part in variable.helm_value.split("."):
        assert part in node, f"{variable.helm_value} is not in values.yaml"
        node = node[part]
    is_special = variable.is_secret or variable.helm_value.startswith(("env.", "database."))
    rendered = json.loads((ROOT / "charts/agents/files/environment.json").read_text())
    assert (
        is_special
        or {"name": name, "value": variable.helm_value}.items()
        <= next((row for row in rendered if row["name"] == name), {}).items()
    )
