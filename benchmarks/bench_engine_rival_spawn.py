"""Plain processes, started by hand from a small process: what the steps themselves cost. Prints one line of JSON."""

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor


def main() -> None:
    wide, chain, at_once = map(int, sys.argv[1:])
    began = time.perf_counter()
    with ThreadPoolExecutor(at_once) as places:
        list(places.map(_true, range(wide)))
    middle = time.perf_counter()
    for number in range(chain):
        _true(number)
    print(json.dumps({"wide": middle - began, "chain": time.perf_counter() - middle}))


def _true(_number: int) -> None:
    subprocess.run(["true"], check=True)


if __name__ == "__main__":
    main()
