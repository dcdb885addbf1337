"""A user's file as type checkers see it, under `--strict`: a line that must fail says so, all others must pass."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradscribe as gs
import gradscribe.functional as F
import gradscribe.numpy as gnp
from gradscribe import Tensor
from gradscribe.autograd import Function, gradcheck
from gradscribe.autograd.functional import jacobian as functional_jacobian
from gradscribe.nn import CrossEntropyLoss
from gradscribe.nn.functional import relu
from gradscribe.numpy import linalg
from gradscribe.optim import Adam
from gradscribe.optim.lr_scheduler import StepLR
from gradscribe.scipy import special
from gradscribe.tree import leaves
from gradscribe.utils.checkpoint import checkpoint

Array = np.ndarray[Any, np.dtype[np.float64]]


def f(x: float) -> float:
    return x * x


def loss(w: Array, b: float, /, *, scale: float = 1.0) -> float:
    return float(np.sum(w * w) * scale + b)


def with_aux(x: Array) -> tuple[float, str]:
    return float(x.sum()), "words"


# transforms keep the parameters of their function
g1 = gs.grad(f)
g1(3.0)
g1("bad")  # error: arg-type
g1("bad", 3)  # error: too many
g1()  # error: too few
gs.grad(loss, argnums=(0, 1))(np.ones(3), 2.0, scale=0.5)
gs.grad(loss)(np.ones(3), 2.0, skale=0.5)  # error: no such keyword
gradient, aux = gs.grad(with_aux, has_aux=True)(np.ones(3))
words: str = aux
number: int = aux  # error: str is no int


@gs.value_and_grad(argnums=(0, 1))
def cost(w: Array, b: float) -> float:
    return float(np.sum(w) + b)


value, slopes = cost(np.ones(3), 1.0)
as_float: float = value
as_text: str = value  # error: float is no str
cost("bad", 1.0)  # error: arg-type


@gs.compile
def compiled(x: float) -> float:
    return x + 1.0


compiled(1.0) + 1.0
compiled("bad")  # error: arg-type
gs.compile(gs.grad(f), fastmath=True)(1.0)
gs.jit(f)("bad")  # error: arg-type
gs.vmap(f)(1.0)
gs.hessian(f)("bad")  # error: arg-type
gs.jacobian(f)(1.0)
print(gs.grad(f).source(1.0), gs.compare(f, 1.0))


@gs.custom_vjp
def clipped(x: float) -> float:
    return x


def forward(x: float) -> tuple[float, None]:
    return x, None


def backward(residuals: None, g: float) -> tuple[float]:
    return (g,)


clipped.defvjp(forward, backward)
clipped("bad")  # error: arg-type

# Tensors
t = gs.tensor([1.0, 2.0], requires_grad=True)
total: Tensor = (t * 2 + 1).exp().sum()
total.backward()
shape: tuple[int, ...] = t.T.shape
first: Tensor = t[0]
wrong: int = t + 1  # error: a Tensor is no int
t.clamp(min=0.0).add_(1.0, alpha=2)
t.nosuch()  # error: no such method
t.backward(retain="yes")  # error: no such keyword
np.sum(t)
gs.exp(t), gs.where(t > 0, t, 0.0), gs.ones(3)

# names that are made at run time
optimiser = Adam([t], lr=0.1)
StepLR(optimiser, step_size=3)
gs.optim.SGD([t], lr=0.1).step()
gs.nn.functional.relu(t), relu(t), F.softmax(t, dim=0), CrossEntropyLoss()
gs.autograd.gradcheck(f, (t,)), gradcheck(f, (t,)), functional_jacobian(f, t)
gnp.sin(np.ones(3)), linalg.norm(np.ones(3)), special.expit(0.5), gs.numpy.cos(1.0)
leaves({"w": t}), checkpoint(f, 1.0), gs.tree.leaves([t]), gs.default_generator.random()
gs.nosuch  # error: no such name
gs.nn.Linear  # error: no such name
gs.autograd.nosuch  # error: no such name


class Square(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * x
