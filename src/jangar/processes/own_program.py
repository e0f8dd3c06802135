"""Locates the installed `jangar` program, which agent containers start even if their user cannot reach it."""

import sys
from pathlib import Path

import jangar
import kubekit
from picokube import HostProgram

NAME = "jangar"


def own_program() -> HostProgram | None:
    """The `jangar` next to the interpreter, with the directories it needs; None if it is not installed there."""
    path = Path(sys.executable).with_name(NAME)
    if not path.exists():
        return None
    packages = [str(Path(package.__path__[0]).absolute()) for package in (jangar, kubekit)]
    return HostProgram(path=str(path), needs=(sys.base_prefix, sys.prefix, *packages))


def own_command() -> str:
    """The command that starts `jangar` regardless of PATH."""
    program = own_program()
    return program.path if program is not None else NAME


def own_programs() -> tuple[HostProgram, ...]:
    """The programs that containers may start."""
    program = own_program()
    return () if program is None else (program,)
