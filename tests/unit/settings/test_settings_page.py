"""The generated settings reference."""

from pathlib import Path

from jangar.settings.__main__ import main
from jangar.settings.controllers import ControllerSettings
from jangar.settings.reference import PAGE, page
from jangar.settings.variables import variables_of

ROOT = Path(__file__).parents[3]


def test_the_page_in_the_repository_is_up_to_date():
    """`make generate` was run after the last change of the settings."""
    assert main(["--check", "--root", str(ROOT)]) == 0


def test_the_page_has_every_variable_once():
    """With its default and its Helm value."""
    text = page(list(variables_of(ControllerSettings).values()))
    for variable in variables_of(ControllerSettings).values():
        assert text.count(f"| `{variable.name}` |") == 1
    assert "| `60000` | `orchestrationController.cancel.timeoutMs` |" in text


def test_a_page_that_is_out_of_date_is_reported_and_updated(tmp_path, capsys):
    """--check writes nothing; without it the page is written; a second time there is nothing to do."""
    (tmp_path / PAGE).parent.mkdir(parents=True)
    assert main(["--check", "--root", str(tmp_path)]) == 1
    assert not (tmp_path / PAGE).exists()
    assert main(["--root", str(tmp_path)]) == 0
    assert main(["--check", "--root", str(tmp_path)]) == 0
    assert "out of date" in capsys.readouterr().err


def test_a_folder_that_is_not_the_repository_is_rejected(tmp_path):
    """Nothing is written outside the repository."""
    assert main(["--root", str(tmp_path)]) == 2
