"""What the API reference contains, and what it does not repeat."""

import re

import pytest
from pydantic import ConfigDict, Field

from jangar.api.kind import CATEGORY, PHASE, Kind
from jangar.api.kinds import KINDS
from jangar.api.meta import ApiModel, NameRef, ObjectStatus, list_map, rule, validations
from jangar.crdgen.reference import reference
from unit.crdgen.nodes import nodes, schema_of

PAGE = reference()
LINK = re.compile(r"\]\(#([^)]+)\)")


class Part(ApiModel):
    """A part."""

    name: str = Field(description="Name | of <it>.", min_length=1, max_length=9)
    size: int | None = Field(None, description="Its `a*b` and a*b.", gt=0)


class MachineSpec(ApiModel):
    """A machine."""

    model_config = ConfigDict(json_schema_extra=validations(rule("true", "be true")))

    parts: list[Part] = Field(description="All parts.", json_schema_extra=list_map("name"))
    spare: Part | None = Field(None, description="One more.")


class FactorySpec(ApiModel):
    """A factory."""

    machine: MachineSpec | None = Field(None, description="What it runs.")
    owner: NameRef | None = Field(None, description="Whose it is.")


def kind(name: str, spec: type[ApiModel]) -> Kind:
    return Kind(
        group="test.example",
        name=name,
        plural=f"{name.lower()}s",
        short_names=(name[0].lower(),),
        description=f"A {name}.",
        spec=spec,
        status=ObjectStatus,
        columns=(PHASE,),
        selectable=(".spec.owner.name",),
    )


SMALL = reference((kind("Machine", MachineSpec), kind("Factory", FactorySpec)))


def section(page: str, heading: str) -> str:
    """The text below `heading` up to the next heading of any level."""
    return re.split(r"^#", page.split(f"# {heading}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(
            "| `spec.parts` | list of object | yes | at most 1,000 items; unique `name` | All parts. |",
            id="list-map",
        ),
        pytest.param(
            r"| `spec.parts[].name` | string | yes | 1 to 9 characters | Name \| of \<it>. |",
            id="markdown-is-escaped",
        ),
        pytest.param(
            r"| `spec.parts[].size` | integer |  | > 0 | Its `a*b` and a\*b. |", id="but-not-inside-code"
        ),
        pytest.param(
            "| `spec.spare` | object, as `spec.parts[]` |  |  | One more. |", id="reported-once-per-kind"
        ),
    ],
)
def test_a_field_is_one_row(row):
    assert row in section(SMALL, "Machine spec")


def test_an_object_that_is_the_spec_of_a_kind_is_linked_not_repeated():
    factory = section(SMALL, "Factory spec")
    assert "| `spec.machine` | object, as [Machine spec](#machine-spec) |  |  | What it runs. |" in factory
    assert "spec.machine.parts" not in factory


def test_rules_are_reported_by_their_messages():
    assert "- `spec`: be true" in section(SMALL, "Machine spec")


def test_a_kind_lists_its_names_columns_and_selectors():
    machine = section(SMALL, "Machine")
    assert "- names for kubectl: `machines`, `machine`, `m`" in machine
    assert "- field selectors: `spec.owner.name`" in machine
    assert "| Phase | always | `.status.phase` | Phase of the object. |" in machine


def test_no_kind_has_the_name_of_the_category():
    """Kubectl takes such a word for the category, and `kubectl get agents` listed every kind."""
    for item in KINDS:
        assert CATEGORY not in (item.plural, item.singular, *item.short_names)
        assert f"`{item.plural}`," in section(PAGE, item.name)


def test_every_link_leads_to_a_heading():
    headings = {
        heading.lower().replace(" ", "-") for heading in re.findall(r"^#+ (.+)$", PAGE, flags=re.MULTILINE)
    }
    assert set(LINK.findall(PAGE)) <= headings


def test_the_contents_name_every_kind():
    assert [item.name.lower() for item in KINDS] == LINK.findall(section(PAGE, "Contents"))[:-1]


@pytest.mark.parametrize("each", KINDS, ids=lambda item: item.name)
def test_every_field_is_reported_or_referred_to(each):
    """A path is listed itself, or an object above it says where its fields are listed."""
    text = section(PAGE, f"{each.name} spec") + section(PAGE, f"{each.name} status")
    listed = set(re.findall(r"^\| `([^`]+)` \|", text, flags=re.MULTILINE))
    referred = set(re.findall(r"^\| `([^`]+)` \| [^|]*, as ", text, flags=re.MULTILINE))
    properties = schema_of(each)["properties"]
    for part in ("spec", "status"):
        for path, _ in nodes(properties[part], part):
            known = path in listed or path == part or path.endswith(("[]", ".*"))
            assert known or any(path.startswith((f"{above}.", f"{above}[]")) for above in referred), path


def test_the_page_is_the_same_each_time():
    assert reference() == PAGE


def test_no_line_ends_in_a_space():
    assert [line for line in PAGE.splitlines() if line != line.rstrip()] == []
