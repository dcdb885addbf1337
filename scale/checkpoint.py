"""Checkpoints of a run: one file for each in a folder, the newest of which a run goes on from, bit for bit."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..tracer.core.exits import warn_at_user
from ..transforms.trees import flatten, paths, unflatten
from . import safetensors

__all__ = ["Checkpoint", "check_free", "load", "save"]

KEPT = 2  # the newest
_NAME = re.compile(r"step-(\d+)\.safetensors")
_LEFT = re.compile(r"\.step-\d+\.safetensors\.\w+\.tmp")
_MOMENT = re.compile(r"(\w+):(params.*)")
_FORM = "gradscribe distributed run 1"


class Checkpoint(NamedTuple):
    """A run after `step` steps: all that the next step depends on, and the history."""

    step: int
    params: Any
    moments: dict[str, list[Any]]
    optimizer: str
    settings: dict[str, float]
    shards: int
    rows: list[int] | None
    history: dict[str, Any]
    chosen: dict[str, Any]


def _leaf_names(params: Any) -> list[str]:
    return ["/".join(["params", *map(str, path)]) for path in paths(params)]


def check_free(folder: Path, resumed: Path | None, who: str) -> None:
    """Raise where the checkpoints of another run are in a folder; remove what saves that were killed have left there."""
    if not folder.is_dir():
        return
    files = _files(folder)
    if files and not (resumed is not None and resumed.resolve() == folder.resolve()):
        raise FileExistsError(
            f"{who}: checkpoints of another run are in {folder}: resume=True goes on from {files[-1].name}, or save into another "
            "folder"
        )
    for name in os.listdir(folder):
        if _LEFT.fullmatch(name):
            (folder / name).unlink(missing_ok=True)


def save(folder: Path, state: Checkpoint, who: str) -> None:
    """Write a checkpoint, and remove those before the last ones; raise OSError with the one that is left where that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder, state)
    except OSError as error:
        failed = OSError(
            error.errno,
            f"{who} cannot write the checkpoint of step {state.step} into {folder}: {error.strerror or error}",
        )
        files = _files(folder) if folder.is_dir() else []
        if files:
            failed.add_note(f"{files[-1].name} is whole, and resume= goes on from it")
        raise failed from error


def _write(folder: Path, state: Checkpoint) -> None:
    leaves = flatten(state.params)[0]
    names = _leaf_names(state.params)
    twice = [name for k, name in enumerate(names) if name in names[:k]]
    if twice:
        raise ValueError(f"two parameters are called {twice[0]} in a checkpoint: give their keys other names")
    arrays = {name: leaf for name, leaf in zip(names, leaves, strict=True) if leaf is not None}
    for moment, values in state.moments.items():
        arrays |= {f"{moment}:{name}": value for name, value in zip(names, values, strict=True) if value is not None}
    arrays |= {f"history:{name}": np.asarray(column) for name, column in state.history.items()}
    told = {
        "step": state.step, "optimizer": state.optimizer, "settings": state.settings, "shards": state.shards,
        "rows": state.rows, "chosen": state.chosen,
    }  # fmt: skip
    path = folder / f"step-{state.step:09d}.safetensors"
    safetensors.write(path, arrays, {"form": _FORM, "run": json.dumps(told)})
    for old in _files(folder)[:-KEPT]:
        old.unlink(missing_ok=True)


def _files(folder: Path) -> list[Path]:
    """Return the checkpoints in a folder, the oldest first."""
    found = [(int(match[1]), folder / name) for name in os.listdir(folder) if (match := _NAME.fullmatch(name))]
    return [path for _, path in sorted(found)]


def load(folder: Path, params: Any, who: str) -> Checkpoint:
    """Return the newest whole checkpoint of a folder, with the structure of `params`; raise where it is of another run."""
    path, arrays, metadata = _newest(folder, who)
    told = json.loads(metadata["run"])
    leaves, structure = flatten(params)
    names = _leaf_names(params)
    wanted = {name for name, leaf in zip(names, leaves, strict=True) if leaf is not None}
    there = {name for name in arrays if name.split("/")[0] == "params"}
    if wanted != there:
        raise ValueError(
            f"{who}: {path} is of other parameters: it has {sorted(there - wanted)}, which params lacks, and lacks "
            f"{sorted(wanted - there)}"
        )
    made = [_restored(who, name, leaf, arrays.get(name)) for name, leaf in zip(names, leaves, strict=True)]
    moments: dict[str, list[Any]] = {}
    for key in arrays:
        if match := _MOMENT.fullmatch(key):
            moments[match[1]] = [arrays.get(f"{match[1]}:{name}") for name in names]
    history = {key.partition(":")[2]: array for key, array in arrays.items() if key.startswith("history:")}
    return Checkpoint(
        told["step"], unflatten(structure, made), moments, told["optimizer"], told["settings"], told["shards"], told["rows"],
        history, told["chosen"],
    )  # fmt: skip


def _newest(folder: Path, who: str) -> tuple[Path, dict[str, Any], dict[str, str]]:
    """Return the newest file of a folder that is whole, and what is in it; a warning names those that are not."""
    files = _files(folder) if folder.is_dir() else []
    if not files:
        raise FileNotFoundError(f"{who}: there is no checkpoint in {folder}")
    damaged: list[str] = []
    for path in reversed(files):
        try:
            arrays, metadata = safetensors.read(path)
        except ValueError as error:
            damaged.append(str(error))
            continue
        if metadata.get("form") != _FORM:
            damaged.append(f"{path} is no checkpoint of gs.distributed.minimize")
            continue
        if damaged:
            warn_at_user(f"{who}: {'; '.join(damaged)}. The run goes on from {path.name}.", UserWarning)
        return path, arrays, metadata
    raise ValueError(f"{who}: there is no whole checkpoint in {folder}: {'; '.join(damaged)}")


def _restored(who: str, name: str, leaf: Any, array: Any) -> Any:
    """Return a parameter as it was, of the type of the one in its place."""
    if leaf is None:
        return None
    if np.shape(leaf) != array.shape or (np.asarray(leaf).dtype != array.dtype):
        raise ValueError(
            f"{who}: `{name}` is {array.dtype} of shape {array.shape} in the checkpoint, and {np.asarray(leaf).dtype} of shape "
            f"{np.shape(leaf)} in params"
        )
    if isinstance(leaf, np.ndarray):
        return array
    return array[()] if isinstance(leaf, np.generic) else type(leaf)(array[()])
