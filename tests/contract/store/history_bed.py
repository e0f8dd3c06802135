"""A laptop bed whose controllers keep history in a database and export metrics."""

import urllib.request

from contract.engine.engine_beds import JANGAR, QUICK_LEASE, LaptopBed
from support.child_processes import Child, free_port


class BedWithHistory(LaptopBed):
    """`url` is the database's."""

    name = "history"
    url = ""

    def start_controllers(self) -> None:
        self._health = f"127.0.0.1:{free_port()}"
        command = [JANGAR, "controllers", "--kubeconfig", self.server.kubeconfig, "-n", "*"]
        command += ["--data-dir", self.directory / "controllers"]
        environment = {**QUICK_LEASE, "DATABASE_URL": self.url, "JANGAR_HEALTH_ADDRESS": self._health}
        self._controllers = Child("controllers", command, self.directory, env=environment)

    def metrics(self) -> str:
        """In the format that Prometheus scrapes."""
        with urllib.request.urlopen(f"http://{self._health}/metrics", timeout=10) as answer:
            text: str = answer.read().decode()
        return text
