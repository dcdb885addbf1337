"""A second name for a package, under which its modules can be imported: the same objects, loaded once."""

from __future__ import annotations

import importlib
from importlib.machinery import ModuleSpec
from typing import Any

__all__ = ["Alias"]


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
