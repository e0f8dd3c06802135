"""The directory of a laptop's control plane: where it is by default, and what stands in it by which name."""

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
        """The directory given, else $JANGAR_DATA_DIR, else the user's own: `$XDG_DATA_HOME/jangar`, by default below
        `~/.local/share`.
        """
        if directory is None and (named := DATA_DIR.read(environment)):
            directory = Path(named)
        if directory is None:
            home = Path(environment.get("HOME") or Path.home())
            given = environment.get("XDG_DATA_HOME") or ""
            # The XDG specification: a relative path is to be ignored.
            data = Path(given) if given.startswith("/") else home / ".local" / "share"
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
        """Held by the process that runs here."""
        return self.directory / "laptop.lock"

    @property
    def instance(self) -> Path:
        """What that process tells about itself."""
        return self.directory / "laptop.json"

    @property
    def kinds(self) -> Path:
        """Which version of the kinds was installed last."""
        return self.directory / "installed-kinds"

    @property
    def history(self) -> Path:
        """What became of runs, kept for longer than they are."""
        return self.directory / "history.sqlite"

    @property
    def page_token(self) -> Path:
        """What opens the web page; deleting it ends all its sessions at the next start."""
        return self.directory / "page-token"

    @property
    def page_port(self) -> Path:
        """Where the web page was last, so that an open one finds it again."""
        return self.directory / "page-port"
