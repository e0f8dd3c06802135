"""No traceback reaches a user, whatever goes wrong inside."""

import pytest

from jangar.cli import app as app_module
from jangar.cli.main import run


@pytest.mark.parametrize(
    ("error", "code", "stderr"),
    [
        pytest.param(KeyboardInterrupt(), 130, "", id="ctrl-c"),
        pytest.param(MemoryError(), 1, "jangar: out of memory", id="memory"),
        pytest.param(
            PermissionError(13, "Permission denied", "x"), 1, "jangar: Permission denied: x\n", id="os"
        ),
        pytest.param(
            ValueError("odd\n\x1b[2J"),
            1,
            "jangar: internal error: ValueError: odd\\n\\x1b[2J (set JANGAR_DEBUG=1 for details, and report it)\n",
            id="bug",
        ),
        pytest.param(
            RecursionError("deep"), 1, "jangar: internal error: RecursionError: deep", id="recursion"
        ),
        pytest.param(SystemExit(4), 4, "", id="exit-codes-pass"),
        pytest.param(None, 0, "", id="success"),
    ],
)
def test_every_end_has_a_code_and_at_most_one_line(monkeypatch, capsys, error, code, stderr):
    def ends(**_):
        if error is not None:
            raise error

    monkeypatch.setattr(app_module, "app", ends)
    monkeypatch.delenv("JANGAR_DEBUG", raising=False)
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == code
    assert capsys.readouterr().err.startswith(stderr)


def test_developers_can_have_the_traceback(monkeypatch):
    def breaks(**_):
        raise ValueError("odd")

    monkeypatch.setattr(app_module, "app", breaks)
    monkeypatch.setenv("JANGAR_DEBUG", "1")
    with pytest.raises(ValueError, match="odd"):
        run()
