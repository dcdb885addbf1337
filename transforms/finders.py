"""Finders of modules under a second name: `gradscribe.nn` is `gradscribe.learn.nn`, `gradscribe.numpy` a namespace of its own."""

from __future__ import annotations

import importlib
from importlib.machinery import ModuleSpec
from typing import Any

__all__ = ["Alias", "DropIn"]


class Alias:
    """A finder on `sys.meta_path`: the module `name` is `package`, and `name.x` is `package.x`."""

    def __init__(self, name: str, package: str) -> None:
        self.name, self.package = name, package

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The spec of a module under the second name; None for every other."""
        return ModuleSpec(fullname, self) if f"{fullname}.".startswith(self.name + ".") else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> Any:
        """The module itself."""
        real = self.package + spec.name[len(self.name) :]
        try:
            module = importlib.import_module(real)
        except ModuleNotFoundError as error:
            if error.name != real:
                raise
            raise ModuleNotFoundError(f"No module named {spec.name!r}", name=spec.name) from None
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: Any) -> None:
        """Nothing runs again; the import system has put our spec in the place of the module's own."""
        module.__spec__ = module.__spec__.loader_state


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
        return importlib.import_module(".user_code.drop_in", __package__).namespace(spec.name, self.package + rest)

    def exec_module(self, module: Any) -> None:
        """Run nothing; a module under a second name keeps its own spec."""
        state = module.__spec__.loader_state
        if state is not None:
            module.__spec__ = state
