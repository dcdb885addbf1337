"""The base of all transforms: objects that are called like the user's function, and pickle."""

from __future__ import annotations

import copy
import functools
import reprlib
import types
from collections.abc import Callable
from sys import modules
from typing import TYPE_CHECKING, Any

from ..runtime.arrays import computing_with, library_of_arrays
from ..tracer.core.site import prune
from . import METHODS
from .pickling import reduced

if TYPE_CHECKING:
    from ..runtime.ir.draw import ShownGraph

__all__ = ["Transform"]


def _note_container(error: TypeError, args: tuple[Any, ...]) -> None:
    """Add to an error of Python's operators that an argument is a list, a tuple or a dict, where it names one."""
    for k, value in enumerate(args):
        kind = type(value).__name__
        if type(value) in (list, tuple, dict) and (f"'{kind}'" in str(error) or "multiply sequence" in str(error)):
            instead = "pass an array, np.array(...)" if type(value) is not dict else "compute with its values"
            error.add_note(f"Argument {k} is a {kind}, which Python's operators do not take for numbers: {instead}.")
            return


class Transform:
    """A function made from the user's function; it is called like one, and knows more."""

    kind = "transform"
    __gradscribe_transform__ = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if "cupy" in modules and (module := library_of_arrays((args, kwargs))) is not None:
                with computing_with(module):  # where rules, and np.zeros in the function, make their arrays
                    return self._run(args, kwargs)
            return self._run(args, kwargs)
        except Exception as error:
            if type(error) is TypeError:
                _note_container(error, args)
            raise prune(error) from error.__cause__

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        raise NotImplementedError

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        if not callable(function):
            raise TypeError(f"gs.{self.kind} takes a function, not {type(function).__name__}: {reprlib.repr(function)}")
        self.function = function
        self.options = options
        functools.update_wrapper(self, function, updated=())

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Bind like a function, so that a decorated method gets its `self`."""
        return self if instance is None else types.MethodType(self, instance)

    def source(self, *args: Any, **kwargs: Any) -> Any:
        """The source that `gs.compile` of this runs for these arguments: `gs.source(self, ...)`."""
        return METHODS["source"](self, *args, **kwargs)

    def graph(self, *args: Any, **kwargs: Any) -> ShownGraph:
        """The graph that this source was written from, after the passes: it prints one call a line, and draws itself."""
        graph: ShownGraph = METHODS["graph"](self, *args, **kwargs)
        return graph

    def program(self, *args: Any, **kwargs: Any) -> Any:
        """The Program that this source prints: one statement a line, with what each writes over."""
        return METHODS["program"](self, *args, **kwargs)

    def compare(self, *args: Any, **kwargs: Any) -> Any:
        """Eager, compiled and finite-difference gradients at these arguments: `gs.compare(self, ...)`."""
        return METHODS["compare"](self, *args, **kwargs)

    def compile(self, **options: Any) -> Any:
        """This, compiled: `gs.compile(self, ...)`."""
        return METHODS["compile"](self, **options)

    def __reduce__(self) -> Any:
        return reduced(self)

    def __copy__(self) -> Transform:
        return self  # as Python's functions

    def __deepcopy__(self, memo: dict[int, Any]) -> Transform:
        function, options = copy.deepcopy((self.function, self.options), memo)
        same = function is self.function and all(options[name] is value for name, value in self.options.items())
        return self if same else type(self)(function, options)

    def __repr__(self) -> str:
        return f"<gs.{self.kind} of {getattr(self.function, '__qualname__', self.function)!s}>"
