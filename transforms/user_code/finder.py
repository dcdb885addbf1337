"""The finder of `gradscribe.numpy` and its like; their namespaces (drop_in.py) are loaded when the first is imported."""

from __future__ import annotations

import importlib
from importlib.machinery import ModuleSpec
from typing import Any

__all__ = ["DropIn"]


class DropIn:
    """A finder on `sys.meta_path`: the module `name.x` is a Namespace of `package.x`."""

    def __init__(self, name: str, package: str, public: str | None = None) -> None:
        self.name, self.package, self.public = name, package, public or name

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The spec of a module under our name; None for every other."""
        if fullname != self.name and not fullname.startswith(self.name + "."):
            return None
        return ModuleSpec(fullname, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> Any:
        """The namespace of the real module."""
        rest = spec.name[len(self.name) :]
        public = self.public + rest
        if public != spec.name:
            found = importlib.import_module(public)
            spec.loader_state = found.__spec__
            return found
        return importlib.import_module(".drop_in", __package__).namespace(spec.name, self.package + rest)

    def exec_module(self, module: Any) -> None:
        """Run nothing; a module under a second name keeps its own spec."""
        state = module.__spec__.loader_state
        if state is not None:
            module.__spec__ = state
