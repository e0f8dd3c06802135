"""Run every benchmark, print each figure with its goal, and fail when a goal is missed."""

import sys

from benchmarks import bench_cli, bench_planner


def main() -> int:
    missed = 0
    for module in (bench_planner, bench_cli):
        for row in module.rows():
            ok = row.value <= row.goal
            missed += not ok
            mark = "ok  " if ok else "MISS"
            print(f"{mark} {row.name:<60} {row.value:>9.2f} {row.unit:<9} goal {row.goal:g}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
