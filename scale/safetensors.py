"""Arrays in a file of the format safetensors: a header in JSON, then the numbers; nothing in it is ever run."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["read", "write"]

_NAMES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "C64": "<c8", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1", "U64": "<u8",
    "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
_OF = {dtype: name for name, dtype in _NAMES.items()}
_PAIRS = "complex128:"  # in front of the name of an array that is stored as pairs, since the format has no such type
_LARGEST = 100_000_000  # bytes of a header, as the format says


def write(path: Path, arrays: dict[str, Any], metadata: dict[str, str]) -> None:
    """Write arrays into a file, as a whole or not at all: whatever happens, the file that was there before stays until then."""
    header: dict[str, Any] = {}
    content: list[bytes] = []
    digest = hashlib.sha256()
    place = 0
    for name, array in arrays.items():
        given = np.asarray(array)
        if given.dtype == np.complex128:
            name, given = _PAIRS + name, np.ascontiguousarray(given)[..., None].view(np.float64)
        given = np.asarray(given, given.dtype.newbyteorder("<"), order="C")
        if given.dtype.str not in _OF:
            raise TypeError(f"{path.name} cannot hold `{name}`: safetensors has no type {given.dtype}")
        data = given.tobytes()
        header[name] = {
            "dtype": _OF[given.dtype.str], "shape": list(given.shape), "data_offsets": [place, place + len(data)],
        }  # fmt: skip
        place += len(data)
        digest.update(data)
        content.append(data)
    told = json.dumps({"__metadata__": {**metadata, "sha256": digest.hexdigest()}, **header}).encode()
    told += b" " * (-len(told) % 8)
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(len(told).to_bytes(8, "little"))
            file.write(told)
            file.writelines(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make a new name in a folder last, where the system can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folders
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the arrays of a file and its metadata; ValueError where the file is damaged."""
    whole = path.read_bytes()
    size = int.from_bytes(whole[:8], "little")
    if len(whole) < 8 or size > min(len(whole) - 8, _LARGEST):
        raise ValueError(f"{path} is damaged: it ends within its header")
    try:
        header = dict(json.loads(whole[8 : 8 + size]))
        metadata = dict(header.pop("__metadata__", {}))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is damaged: its header is not that of safetensors") from error
    content = memoryview(whole)[8 + size :]
    if "sha256" in metadata and hashlib.sha256(content).hexdigest() != metadata["sha256"]:
        raise ValueError(f"{path} is damaged: its numbers are not those that were written")
    arrays = {}
    for name, told in header.items():
        begin, end = told["data_offsets"]
        array = np.frombuffer(content[begin:end], _NAMES[told["dtype"]]).reshape(told["shape"])
        array = array.astype(array.dtype.newbyteorder("="))
        if name.startswith(_PAIRS):
            name, array = name.removeprefix(_PAIRS), array.view(np.complex128)[..., 0]
        arrays[name] = array
    return arrays, metadata
