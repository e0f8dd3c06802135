"""Adds or replaces the laptop's context in the user's kubeconfig and keeps everything else."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

CONTEXT: Final = "jangar"
SECTIONS: Final = ("clusters", "users", "contexts")


class CannotMerge(Exception):
    """The user's file is not a valid kubeconfig; it was not changed."""


def own_kubeconfig(environment: Mapping[str, str]) -> Path:
    """The first file of $KUBECONFIG, else ~/.kube/config."""
    listed = [part for part in environment.get("KUBECONFIG", "").split(os.pathsep) if part]
    return Path(listed[0]) if listed else Path(environment.get("HOME") or Path.home()) / ".kube" / "config"


def merge(ours: Path, theirs: Path) -> bool:
    """Write the context into the user's file; returns whether it became the current one, because there was none."""
    added = _read(ours)
    merged = merged_config(_read(theirs) if theirs.exists() else {}, added)
    theirs.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # A symbolic link, as of people who keep their files elsewhere, stays one.
    target = theirs.resolve()
    temporary = target.with_name(f".{target.name}.jangar-{os.getpid()}")
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w") as file:
            yaml.dump(merged, file, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return bool(merged["current-context"] == CONTEXT)


def merged_config(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """Entries called `jangar` are ours; others, their order and unknown fields are kept."""
    merged: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", **theirs}
    for section in SECTIONS:
        there = list(merged.get(section) or ())
        if not all(isinstance(item, dict) for item in there):
            raise CannotMerge(f"{section} is not a list of named entries")
        for entry in ours[section]:
            named = {**entry, "name": CONTEXT}
            if section == "contexts":
                named["context"] = {**entry["context"], "cluster": CONTEXT, "user": CONTEXT}
            places = [index for index, item in enumerate(there) if item.get("name") == CONTEXT]
            if places:
                there[places[0]] = named
            else:
                there.append(named)
        merged[section] = there
    merged["current-context"] = merged.get("current-context") or CONTEXT
    return merged


def _read(path: Path) -> dict[str, Any]:
    try:
        config = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise CannotMerge(f"{path} cannot be read: {error}") from error
    if config is None:
        return {}
    if not isinstance(config, dict):
        raise CannotMerge(f"{path} is not a kubeconfig")
    return config
