"""The update formula of each optimiser, once: NumPy on one parameter, for Tensors, pytrees and compiled steps alike.

Each takes a parameter, its gradient, what the optimiser remembers of it (`old`), the number of the step (from 1 on) and its
options, and gives the new parameter and what to remember. The lines stand in the source of compiled steps, as a user's do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["adadelta", "adagrad", "adam", "adamax", "asgd", "nadam", "radam", "rmsprop", "rprop", "sgd"]

Updated = tuple[Any, dict[str, Any]]


def sgd(
    param: Any, grad: Any, old: Any, step: Any, *, lr: Any, momentum: Any, dampening: Any, nesterov: bool, **_: Any
) -> Updated:
    """Gradient descent, with momentum as PyTorch has it (after Sutskever et al., 2013)."""
    if momentum == 0:
        param = param - lr * grad
        return param, {}
    fresh = grad if dampening == 0 else (1 - dampening * (step > 1)) * grad
    velocity = momentum * old["momentum_buffer"] + fresh
    ahead = grad + momentum * velocity if nesterov else velocity
    param = param - lr * ahead
    return param, {"momentum_buffer": velocity}


def adam(
    param: Any, grad: Any, old: Any, step: Any, *, lr: Any, betas: Any, eps: Any, amsgrad: bool, **_: Any
) -> Updated:
    """Running means of the gradient and of its square, unbiased (Kingma and Ba, arXiv:1412.6980)."""
    beta1, beta2 = betas
    mean = old["exp_avg"] + (1 - beta1) * (grad - old["exp_avg"])
    square = beta2 * old["exp_avg_sq"] + (1 - beta2) * (grad * grad)
    new = {"exp_avg": mean, "exp_avg_sq": square}
    if amsgrad:  # Reddi et al., arXiv:1904.09237
        square = np.maximum(old["max_exp_avg_sq"], square)
        new["max_exp_avg_sq"] = square
    size = lr / (1 - beta1**step)
    correction = (1 - beta2**step) ** 0.5
    param = param - size * mean / (np.sqrt(square) / correction + eps)
    return param, new


def adamax(param: Any, grad: Any, old: Any, step: Any, *, lr: Any, betas: Any, eps: Any, **_: Any) -> Updated:
    """Adam with the largest gradient, which fades, in place of the mean square (section 7.1 there)."""
    beta1, beta2 = betas
    mean = old["exp_avg"] + (1 - beta1) * (grad - old["exp_avg"])
    largest = np.maximum(beta2 * old["exp_inf"], np.abs(grad) + eps)
    param = param - lr / (1 - beta1**step) * mean / largest
    return param, {"exp_avg": mean, "exp_inf": largest}


def rmsprop(
    param: Any, grad: Any, old: Any, step: Any, *, lr: Any, alpha: Any, eps: Any, momentum: Any, centered: bool, **_: Any
) -> Updated:  # fmt: skip
    """Steps over the root of a running mean of the squared gradient (Tieleman and Hinton, 2012; centred: Graves, 2013)."""
    square = alpha * old["square_avg"] + (1 - alpha) * (grad * grad)
    new = {"square_avg": square}
    if centered:
        mean = old["grad_avg"] + (1 - alpha) * (grad - old["grad_avg"])
        square = square - mean * mean
        new["grad_avg"] = mean
    scaled = grad / (np.sqrt(square) + eps)
    if momentum > 0:
        scaled = momentum * old["momentum_buffer"] + scaled
        new["momentum_buffer"] = scaled
    param = param - lr * scaled
    return param, new


def adagrad(param: Any, grad: Any, old: Any, step: Any, *, lr: Any, lr_decay: Any, eps: Any, **_: Any) -> Updated:
    """Steps over the root of the sum of all squared gradients (Duchi, Hazan and Singer, 2011)."""
    total = old["sum"] + grad * grad
    size = lr if lr_decay == 0 else lr / (1 + (step - 1) * lr_decay)
    param = param - size * grad / (np.sqrt(total) + eps)
    return param, {"sum": total}


def adadelta(param: Any, grad: Any, old: Any, step: Any, *, lr: Any, rho: Any, eps: Any, **_: Any) -> Updated:
    """Steps whose root mean square follows that of the steps before (Zeiler, arXiv:1212.5701)."""
    square = rho * old["square_avg"] + (1 - rho) * (grad * grad)
    delta = np.sqrt(old["acc_delta"] + eps) / np.sqrt(square + eps) * grad
    moved = rho * old["acc_delta"] + (1 - rho) * (delta * delta)
    param = param - lr * delta
    return param, {"square_avg": square, "acc_delta": moved}


def nadam(
    param: Any, grad: Any, old: Any, step: Any, *, lr: Any, betas: Any, eps: Any, momentum_decay: Any, **_: Any
) -> Updated:
    """Adam with Nesterov's look ahead, by a momentum that grows from step to step (Dozat, 2016)."""
    beta1, beta2 = betas
    now = beta1 * (1 - 0.5 * 0.96 ** (step * momentum_decay))
    ahead = beta1 * (1 - 0.5 * 0.96 ** ((step + 1) * momentum_decay))
    product = old["mu_product"] * now
    mean = old["exp_avg"] + (1 - beta1) * (grad - old["exp_avg"])
    square = beta2 * old["exp_avg_sq"] + (1 - beta2) * (grad * grad)
    root = np.sqrt(square / (1 - beta2**step)) + eps
    direction = (1 - now) / (1 - product) * grad + ahead / (1 - product * ahead) * mean
    param = param - lr * direction / root
    return param, {"mu_product": product, "exp_avg": mean, "exp_avg_sq": square}


def radam(param: Any, grad: Any, old: Any, step: Any, *, lr: Any, betas: Any, eps: Any, **_: Any) -> Updated:
    """Adam whose steps wait for the mean square to settle: until then they are the mean's (Liu et al., arXiv:1908.03265)."""
    beta1, beta2 = betas
    mean = old["exp_avg"] + (1 - beta1) * (grad - old["exp_avg"])
    square = beta2 * old["exp_avg_sq"] + (1 - beta2) * (grad * grad)
    size = lr / (1 - beta1**step)
    fading = beta2**step
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * step * fading / (1 - fading)
    if length > 5:
        settled = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length) * (1 - fading)
        param = param - size * settled**0.5 * mean / (np.sqrt(square) + eps)
    else:
        param = param - size * mean
    return param, {"exp_avg": mean, "exp_avg_sq": square}


def rprop(param: Any, grad: Any, old: Any, step: Any, *, etas: Any, step_sizes: Any, **_: Any) -> Updated:
    """Steps by the gradient's sign, longer while it stays, shorter where it turned (Riedmiller and Braun, 1993)."""
    shrink, grow = etas
    turn, size = grad * old["prev"], old["step_size"]
    size = np.clip(np.where(turn > 0, size * grow, np.where(turn < 0, size * shrink, size)), *step_sizes)
    grad = np.where(turn < 0, 0, grad)
    param = param - np.sign(grad) * size
    return param, {"prev": grad, "step_size": size}


def asgd(param: Any, grad: Any, old: Any, step: Any, *, lr: Any, lambd: Any, alpha: Any, t0: Any, **_: Any) -> Updated:
    """Gradient descent by shorter and shorter steps, and the average of where it went (Polyak and Juditsky, 1992)."""
    param = param * (1 - lambd * old["eta"]) - old["eta"] * grad
    average = old["ax"] + old["mu"] * (param - old["ax"])
    eta = lr / (1 + lambd * lr * step) ** alpha
    mu = 1 / max(1, step - t0)
    return param, {"eta": eta, "mu": mu, "ax": average}
