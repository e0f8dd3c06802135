"""`true` as Luigi tasks: eight workers wide, then a chain. Run with Luigi's own interpreter; prints JSON."""

import json
import logging
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import luigi

WIDE, CHAIN, AT_ONCE = (int(word) for word in sys.argv[1:4])
DIRECTORY = Path(tempfile.mkdtemp(prefix="bench-luigi-"))
logging.disable(logging.CRITICAL)


class Step(luigi.Task):
    kind = luigi.Parameter()
    number = luigi.IntParameter()

    def requires(self):
        return [Step(self.kind, self.number - 1)] if self.kind == "chain" and self.number else []

    def output(self):
        return luigi.LocalTarget(DIRECTORY / f"{self.kind}-{self.number}")

    def run(self):
        subprocess.run(["true"], check=True)
        Path(self.output().path).touch()


def timed(tasks, workers):
    began = time.perf_counter()
    assert luigi.build(tasks, workers=workers, local_scheduler=True, log_level="CRITICAL")
    return time.perf_counter() - began


wide = timed([Step("wide", number) for number in range(WIDE)], AT_ONCE)
chain = timed([Step("chain", CHAIN - 1)], 1)
print(json.dumps({"wide": wide, "chain": chain}))
