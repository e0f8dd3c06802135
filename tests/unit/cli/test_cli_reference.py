"""The page of commands that is written from the code."""

from pathlib import Path

import pytest

from jangar.cli.app import app
from jangar.cli.reference import PAGE, main, page

ROOT = Path(__file__).parents[3]
COMMANDS = [registered_command.name for registered_command in app.registered_commands]


def test_the_page_in_the_repository_is_up_to_date():
    """`make generate` was run after the last change of a command."""
    assert main(["--check", "--root", str(ROOT)]) == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_section_with_examples(command):
    """And is in the list at the top, with a link that works."""
    _, _, after = page().partition(f"\n## jangar {command}\n")
    section = after.partition("\n## ")[0]
    assert f"jangar {command}" in section
    assert "Examples:\n\n```\n" in section
    assert f"- [{command}](#jangar-{command}): " in page()


def test_the_options_that_name_an_api_are_reported_once():
    """A command with all common options links to them; one with its own --data-dir documents that."""
    text = page()
    assert text.count("| `--context NAME` | Kubeconfig context (default: the current context). |") == 1
    _, _, down = text.partition("\n## jangar down\n")
    assert "| `--data-dir DIR` |" in down.partition("\n## ")[0]


def test_a_bar_in_a_value_does_not_end_the_cell():
    """Markdown takes it for a column."""
    assert "| `FILE\\|DIR\\|-` |" in page()


def test_an_outdated_page_is_reported_and_regenerated(tmp_path, capsys):
    """--check writes nothing; without it the page is written; a second time there is nothing to do."""
    (tmp_path / PAGE).parent.mkdir(parents=True)
    assert main(["--check", "--root", str(tmp_path)]) == 1
    assert not (tmp_path / PAGE).exists()
    assert main(["--root", str(tmp_path)]) == 0
    assert main(["--check", "--root", str(tmp_path)]) == 0
    assert "out of date" in capsys.readouterr().err
