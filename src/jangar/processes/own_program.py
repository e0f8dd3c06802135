"""The product as a program of this machine: containers of agents start it, whatever their user may reach otherwise."""

import sys
from pathlib import Path

import jangar
import kubekit
from picokube import OwnProgram

NAME = "jangar"


def own_program() -> OwnProgram | None:
    """The program beside the interpreter, with the interpreter, its packages and this one; None if there is none."""
    path = Path(sys.executable).with_name(NAME)
    if not path.exists():
        return None
    packages = [str(Path(package.__path__[0]).absolute()) for package in (jangar, kubekit)]
    return OwnProgram(path=str(path), needs=(sys.base_prefix, sys.prefix, *packages))


def own_command() -> str:
    """What starts it, whatever the PATH of a process is."""
    program = own_program()
    return program.path if program is not None else NAME


def own_programs() -> tuple[OwnProgram, ...]:
    """What containers may start of it."""
    program = own_program()
    return () if program is None else (program,)
