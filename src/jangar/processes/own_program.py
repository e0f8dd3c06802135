"""The product as a program of this machine: containers of agents start it, whatever their user may reach otherwise."""

import sys
from pathlib import Path

import jangar
from jangar.nodeagent.pods.own_programs import OwnProgram

NAME = "jangar"


def own_program() -> OwnProgram | None:
    """The program beside the interpreter, with the interpreter, its packages and this one; None if there is none."""
    path = Path(sys.executable).with_name(NAME)
    if not path.exists():
        return None
    package = str(Path(jangar.__file__).absolute().parent)
    return OwnProgram(path=str(path), needs=(sys.base_prefix, sys.prefix, package))


def own_command() -> str:
    """What starts it, whatever the PATH of a process is."""
    program = own_program()
    return program.path if program is not None else NAME


def own_programs() -> tuple[OwnProgram, ...]:
    """What containers may start of it."""
    program = own_program()
    return () if program is None else (program,)
