"""Every exception and warning of gradscribe, and their wording."""

from __future__ import annotations

import opcode
import signal
import sys

__all__ = [
    "AutogradError", "CompileError", "ConvergenceError", "DtypeError", "EagerWarning", "GradientLossError", "NoRuleError",
    "ShapeError", "SingularPointError", "VerifyError", "is_of_a_signal", "no_such_name",
]  # fmt: skip


class AutogradError(RuntimeError):
    """The eager engine was asked for something that its graph cannot give (PyTorch raises RuntimeError there).

    >>> import numpy as np, gradscribe as gs
    >>> try:
    ...     gs.tensor(1.0).backward()
    ... except gs.AutogradError:
    ...     print("nothing requires grad")
    nothing requires grad
    """


class ShapeError(AutogradError, ValueError):
    """Two shapes disagree, or a scalar was needed.

    >>> import numpy as np, gradscribe as gs
    >>> try:
    ...     gs.grad(np.sin)(np.ones(3))
    ... except gs.ShapeError:
    ...     print("the gradient of three numbers")
    the gradient of three numbers
    """


class DtypeError(AutogradError, TypeError):
    """Something that is not a floating-point or complex number was to be differentiated.

    >>> import numpy as np, gradscribe as gs
    >>> try:
    ...     gs.grad(np.sin)(3)
    ... except gs.DtypeError:
    ...     print("an int has no derivative")
    an int has no derivative
    """


class GradientLossError(AutogradError, TypeError):
    """A value would leave its Tensor, and its gradient with it.

    >>> import numpy as np, gradscribe as gs
    >>> t = gs.tensor(1.0, requires_grad=True)
    >>> try:
    ...     np.array([t, t])
    ... except gs.GradientLossError:
    ...     print("its gradient would be lost")
    its gradient would be lost
    """


class SingularPointError(AutogradError, FloatingPointError):
    """A derivative was asked for at a point that has none, under `gs.singular("raise")`.

    >>> import numpy as np, gradscribe as gs
    >>> with gs.singular("raise"):
    ...     try:
    ...         gs.grad(np.abs)(0.0)
    ...     except gs.SingularPointError:
    ...         print("a corner")
    a corner
    """


class ConvergenceError(ArithmeticError):
    """An iteration has not come to rest; the text says how far it still moves.

    >>> import numpy as np, gradscribe as gs
    >>> try:
    ...     gs.fixed_point(lambda x, a: x + a, 0.0, 1.0)
    ... except gs.ConvergenceError:
    ...     print("it moves on and on")
    it moves on and on
    """


class CompileError(RuntimeError):
    """A function cannot be compiled, and its source was asked for.

    >>> import numpy as np, gradscribe as gs
    >>> try:
    ...     gs.source(lambda x: np.log(x, where=x > 0, out=None), np.ones(1))
    ... except gs.CompileError:
    ...     print("it runs eagerly")
    it runs eagerly
    """


class VerifyError(CompileError, AssertionError):
    """Compiled and eager results differ, or a graph is not well formed.

    >>> import gradscribe as gs
    >>> issubclass(gs.VerifyError, gs.CompileError)  # `gs.compile(f, verify=True)` raises it
    True
    """


class EagerWarning(UserWarning):
    """A compiled function runs eagerly; the text names the line, the reason and what to change.

    >>> import warnings
    >>> import numpy as np, gradscribe as gs
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     print(gs.compile(lambda x: np.log(x, where=x > 0, out=None))(np.ones(1)))
    [0.]
    >>> caught[0].category is gs.EagerWarning
    True
    """


FROM_PYTHON = "np.frompyfunc"  # makes a ufunc of a Python function
_WRITERS = ("np.save", "np.savetxt", "np.savez", "np.savez_compressed")  # write numbers into a file


class NoRuleError(NotImplementedError, TypeError):
    """A NumPy function has no rule here.

    >>> import numpy as np, gradscribe as gs
    >>> try:
    ...     gs.grad(np.frompyfunc(abs, 1, 1))(1.0)
    ... except gs.NoRuleError:
    ...     print("no rule for what np.frompyfunc makes")
    no rule for what np.frompyfunc makes
    """

    @classmethod
    def unknown(cls, path: str) -> NoRuleError:
        """No op of that name is registered at all."""
        if path.startswith(FROM_PYTHON):
            called = path.removeprefix(FROM_PYTHON)[1:-1]
            return cls(
                f"{path} has no gradient rule in gradscribe: it calls `{called}` out of sight, element by element.\n"
                f"Take np.vectorize, which is differentiated, or call `{called}` with the whole array."
            )
        if path in _WRITERS:
            return cls(
                f"{path} writes plain numbers, and one of its arguments requires grad, which a file does not keep.\n"
                "Give it the numbers alone: x.detach()."
            )
        return cls(
            f"{path} has no gradient rule in gradscribe, and one of its arguments requires grad.\n"
            f"Compute it outside the differentiated part (x.detach()), or add it:\n"
            f'    gs.op({path}, "x", gs.Kind.elementwise)\n'
            f"    gs.rule({path}, x=lambda g, x: g * ...)"
        )

    @classmethod
    def argument(cls, path: str, name: str) -> NoRuleError:
        """The op is known, but has no formula for that argument."""
        return cls(
            f"{path} has no gradient rule for its argument `{name}`, and that argument requires grad.\n"
            f"Pass it as a constant (x.detach()), or add one: gs.rule({path}, {name}=lambda g, ...: ...)"
        )


_IMPORT_FROM = opcode.opmap["IMPORT_FROM"]


def no_such_name(message: str) -> AttributeError | ImportError:
    """Return what `__getattr__` of a module raises; of `from module import name` Python shows an ImportError's words alone."""
    asking = sys._getframe(2)
    imports = asking.f_lasti >= 0 and asking.f_code.co_code[asking.f_lasti] == _IMPORT_FROM
    return ImportError(message) if imports else AttributeError(message)


def is_of_a_signal(error: BaseException) -> bool:
    """Return whether a handler of a signal raised an error, such as that of an alarm: it is about no code that ran then."""
    trace = error.__traceback__
    codes = set()
    while trace is not None:
        codes.add(trace.tb_frame.f_code)
        trace = trace.tb_next
    handlers = map(signal.getsignal, signal.valid_signals())
    return any(getattr(getattr(h, "__func__", h), "__code__", None) in codes for h in handlers if callable(h))
