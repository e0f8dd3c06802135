"""The data directory of the local control plane: its default location and the paths of its files."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jangar.settings.laptop import DATA_DIR

FOLDER = "jangar"


@dataclass(frozen=True, slots=True)
class DataDirectory:
    """One data directory."""

    directory: Path

    @classmethod
    def of(cls, directory: Path | None, environment: Mapping[str, str]) -> "DataDirectory":
        """The given directory, or $JANGAR_DATA_DIR, or `$XDG_DATA_HOME/jangar` (default: `~/.local/share/jangar`)."""
        if directory is None and (named := DATA_DIR.read(environment)):
            directory = Path(named)
        if directory is None:
            home = Path(environment.get("HOME") or Path.home())
            data_home = environment.get("XDG_DATA_HOME") or ""
            # The XDG specification requires relative paths to be ignored.
            data = Path(data_home) if data_home.startswith("/") else home / ".local" / "share"
            directory = data / FOLDER
        return cls(directory.absolute())

    @property
    def kubeconfig(self) -> Path:
        return self.directory / "kubeconfig"

    @property
    def log(self) -> Path:
        return self.directory / "server.log"

    @property
    def lock(self) -> Path:
        """Locked by the process that uses the directory."""
        return self.directory / "laptop.lock"

    @property
    def instance(self) -> Path:
        """Information that the process publishes about itself."""
        return self.directory / "laptop.json"

    @property
    def kinds(self) -> Path:
        """Fingerprint of the CRDs that were installed last."""
        return self.directory / "installed-kinds"

    @property
    def history(self) -> Path:
        """The history database."""
        return self.directory / "history.sqlite"

    @property
    def page_token(self) -> Path:
        """Token that opens the web page; deleting it ends all sessions at the next start."""
        return self.directory / "page-token"

    @property
    def page_port(self) -> Path:
        """Last port of the web page; reusing it lets open browser tabs reconnect."""
        return self.directory / "page-port"
