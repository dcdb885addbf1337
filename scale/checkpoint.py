"""Checkpoints of a run: one file for each in a folder, the newest of which a run goes on from, bit for bit."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..transforms.trees import flatten, paths, unflatten
from . import safetensors

__all__ = ["Checkpoint", "load", "save"]

KEPT = 2  # the newest
_NAME = re.compile(r"step-(\d+)\.safetensors")
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


def save(folder: Path, state: Checkpoint) -> Path:
    """Write a checkpoint, and remove those before the last ones; return its file."""
    folder.mkdir(parents=True, exist_ok=True)
    leaves = flatten(state.params)[0]
    names = _leaf_names(state.params)
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
    return path


def _files(folder: Path) -> list[Path]:
    """Return the checkpoints in a folder, the oldest first."""
    found = [(int(match[1]), folder / name) for name in os.listdir(folder) if (match := _NAME.fullmatch(name))]
    return [path for _, path in sorted(found)]


def load(folder: Path, params: Any, who: str) -> Checkpoint:
    """Return the newest checkpoint of a folder, with the structure of `params`; raise where it is of another run."""
    files = _files(folder) if folder.is_dir() else []
    if not files:
        raise FileNotFoundError(f"{who}: there is no checkpoint in {folder}")
    try:
        arrays, metadata = safetensors.read(files[-1])
    except ValueError as error:
        older = f"; without it the run goes on from {files[-2].name}" if len(files) > 1 else ""
        raise ValueError(f"{who}: {error}. Remove it{older}.") from error
    if metadata.get("form") != _FORM:
        raise ValueError(f"{who}: {files[-1]} is no checkpoint of gs.distributed.minimize")
    told = json.loads(metadata["run"])
    leaves, structure = flatten(params)
    names = _leaf_names(params)
    wanted = {name for name, leaf in zip(names, leaves, strict=True) if leaf is not None}
    there = {name for name in arrays if name.split("/")[0] == "params"}
    if wanted != there:
        raise ValueError(
            f"{who}: {files[-1]} is of other parameters: it has {sorted(there - wanted)}, which params lacks, and lacks "
            f"{sorted(wanted - there)}"
        )
    made = [_restored(who, name, leaf, arrays.get(name)) for name, leaf in zip(names, leaves, strict=True)]
    moments: dict[str, list[Any]] = {}
    for key in arrays:
        moment, colon, _ = key.partition(":")
        if colon and moment != "history":
            moments[moment] = [arrays.get(f"{moment}:{name}") for name in names]
    history = {key.partition(":")[2]: array for key, array in arrays.items() if key.startswith("history:")}
    return Checkpoint(
        told["step"], unflatten(structure, made), moments, told["optimizer"], told["settings"], told["shards"], told["rows"],
        history, told["chosen"],
    )  # fmt: skip


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
