"""How the command line counts things."""


def counted(number: int, noun: str) -> str:
    """1 step, 2 steps, 10,000 steps."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
