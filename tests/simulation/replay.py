"""`python -m simulation.replay PLAN` in tests: run one trial again; PLAN is its JSON, or a file with it."""

import sys
from pathlib import Path
from pprint import pformat

from simulation.plans import Plan, problems


def main(given: str) -> int:
    plan = Plan.of_json(given if given.lstrip().startswith("{") else Path(given).read_text())
    violations = problems(plan)
    sys.stdout.write(pformat(plan.play().end) + "\n" + "\n".join(violations or ["no violations"]) + "\n")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
