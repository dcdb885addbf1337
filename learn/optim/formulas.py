"""SGD, Adam and the others by their PyTorch names: the options of each, what it remembers, and its update formula.

A formula is NumPy on one parameter, for Tensors, pytrees and compiled steps alike. It takes a parameter, its gradient, what the
optimiser remembers of it (`old`), the number of the step (from 1 on) and the options, and returns the new parameter and what to
remember. Its lines stand in the source of compiled steps, as a user's do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .optimizer import Optimizer, not_negative

__all__ = ["ASGD", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop"]

Updated = tuple[Any, dict[str, Any]]


def _betas(betas: Any) -> tuple[float, float]:
    for k, beta in enumerate(betas):
        if not 0 <= beta < 1:
            raise ValueError(f"Invalid beta parameter at index {k}: {beta}")
    beta1, beta2 = betas
    return beta1, beta2


class SGD(Optimizer):
    """Descend along the gradient, with momentum (as PyTorch has it), Nesterov's or not.

    Raises ValueError for options out of their range. `foreach` and its like are accepted, and change nothing. Nesterov's
    needs a momentum and no dampening, else it raises ValueError.

    >>> import gradscribe as gs
    >>> w = gs.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = gs.optim.SGD([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.tolist()
    [0.8, 1.6]
    """

    def __init__(
        self, params: Any = None, lr: Any = 1e-3, momentum: Any = 0, dampening: Any = 0, weight_decay: Any = 0,
        nesterov: bool = False, *, maximize: bool = False, **hints: Any,
    ) -> None:  # fmt: skip
        options = not_negative(
            lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov, maximize=maximize,
        )  # fmt: skip
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, options, **hints)

    def memory(self, options: Any) -> dict[str, float]:
        """A running sum of gradients, where there is momentum."""
        return {"momentum_buffer": 0.0} if options["momentum"] != 0 else {}

    @staticmethod
    def formula(
        param: Any, grad: Any, old: Any, step: Any, *, lr: Any, momentum: Any, dampening: Any, nesterov: bool, **_: Any
    ) -> Updated:
        if momentum == 0:
            param = param - lr * grad
            return param, {}
        # After Sutskever et al., 2013.
        fresh = grad if dampening == 0 else (1 - dampening * (step > 1)) * grad
        velocity = momentum * old["momentum_buffer"] + fresh
        ahead = grad + momentum * velocity if nesterov else velocity
        param = param - lr * ahead
        return param, {"momentum_buffer": velocity}


class Adam(Optimizer):
    """Divide a running mean of gradients by the root of that of their squares (Kingma and Ba, arXiv:1412.6980).

    That is Adam, with AMSGrad or not; `weight_decay` is added to the gradient, or decoupled. Raises ValueError for options
    out of their range: each of `betas` is at least 0 and less than 1, the others are not negative.

    >>> import numpy as np, gradscribe as gs
    >>> optimizer = gs.optim.Adam(lr=0.1)
    >>> params = {"w": np.array([1.0, -2.0])}
    >>> state = optimizer.init(params)
    >>> params, state = optimizer.update(params, {"w": np.array([3.0, -4.0])}, state)
    >>> params
    {'w': array([ 0.9, -1.9])}
    """

    def __init__(
        self, params: Any = None, lr: Any = 1e-3, betas: tuple[Any, Any] = (0.9, 0.999), eps: Any = 1e-8,
        weight_decay: Any = 0, amsgrad: bool = False, *, maximize: bool = False, decoupled_weight_decay: bool = False,
        **hints: Any,
    ) -> None:  # fmt: skip
        options = not_negative(
            lr=lr, betas=_betas(betas), eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize,
            decoupled_weight_decay=decoupled_weight_decay,
        )  # fmt: skip
        super().__init__(params, options, **hints)

    def memory(self, options: Any) -> dict[str, float]:
        """Running means of the gradient and of its square, and the largest of the latter for AMSGrad."""
        means = {"exp_avg": 0.0, "exp_avg_sq": 0.0}
        return {**means, "max_exp_avg_sq": 0.0} if options["amsgrad"] else means

    @staticmethod
    def formula(
        param: Any, grad: Any, old: Any, step: Any, *, lr: Any, betas: Any, eps: Any, amsgrad: bool, **_: Any
    ) -> Updated:
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


class AdamW(Adam):
    """Run Adam with decoupled weight decay: parameters shrink by `lr * weight_decay` (Loshchilov and Hutter, arXiv:1711.05101).

    Raises ValueError as `Adam` does.

    >>> import numpy as np, gradscribe as gs
    >>> optimizer, w = gs.optim.AdamW(lr=0.1, weight_decay=0.5), np.array([1.0, -2.0])
    >>> optimizer.update(w, np.array([3.0, -4.0]), optimizer.init(w))[0].round(6)
    array([ 0.85, -1.8 ])
    """

    def __init__(
        self, params: Any = None, lr: Any = 1e-3, betas: tuple[Any, Any] = (0.9, 0.999), eps: Any = 1e-8,
        weight_decay: Any = 1e-2, amsgrad: bool = False, *, maximize: bool = False, **hints: Any,
    ) -> None:  # fmt: skip
        more: dict[str, Any] = {"maximize": maximize, "decoupled_weight_decay": True, **hints}
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, **more)


class Adamax(Optimizer):
    """Run Adam by the largest gradient in place of the mean square (Kingma and Ba, arXiv:1412.6980, section 7.1).

    Raises ValueError as `Adam` does.

    >>> import numpy as np, gradscribe as gs
    >>> optimizer, w = gs.optim.Adamax(lr=0.1), np.array([1.0, -2.0])
    >>> optimizer.update(w, np.array([3.0, -4.0]), optimizer.init(w))[0].round(6)
    array([ 0.9, -1.9])
    """

    def __init__(
        self, params: Any = None, lr: Any = 2e-3, betas: tuple[Any, Any] = (0.9, 0.999), eps: Any = 1e-8,
        weight_decay: Any = 0, *, maximize: bool = False, **hints: Any,
    ) -> None:  # fmt: skip
        options = not_negative(lr=lr, betas=_betas(betas), eps=eps, weight_decay=weight_decay, maximize=maximize)
        super().__init__(params, options, **hints)

    def memory(self, options: Any) -> dict[str, float]:
        """A running mean of the gradient, and the largest one, which fades."""
        return {"exp_avg": 0.0, "exp_inf": 0.0}

    @staticmethod
    def formula(param: Any, grad: Any, old: Any, step: Any, *, lr: Any, betas: Any, eps: Any, **_: Any) -> Updated:
        beta1, beta2 = betas
        mean = old["exp_avg"] + (1 - beta1) * (grad - old["exp_avg"])
        largest = np.maximum(beta2 * old["exp_inf"], np.abs(grad) + eps)
        param = param - lr / (1 - beta1**step) * mean / largest
        return param, {"exp_avg": mean, "exp_inf": largest}


class RMSprop(Optimizer):
    """Divide each step by the root of a running mean of squared gradients (Tieleman and Hinton, 2012), or of their variance.

    Raises ValueError for a negative option.

    >>> import numpy as np, gradscribe as gs
    >>> optimizer, w = gs.optim.RMSprop(lr=0.01), np.array([1.0, -2.0])
    >>> optimizer.update(w, np.array([3.0, -4.0]), optimizer.init(w))[0].round(6)
    array([ 0.9, -1.9])
    """

    def __init__(
        self, params: Any = None, lr: Any = 1e-2, alpha: Any = 0.99, eps: Any = 1e-8, weight_decay: Any = 0,
        momentum: Any = 0, centered: bool = False, *, maximize: bool = False, **hints: Any,
    ) -> None:  # fmt: skip
        options = not_negative(
            lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered, weight_decay=weight_decay, maximize=maximize,
        )  # fmt: skip
        super().__init__(params, options, **hints)

    def memory(self, options: Any) -> dict[str, float]:
        """A running mean of the squared gradient; of the gradient, where centred; a sum of steps, where there is momentum."""
        momentum = {"momentum_buffer": 0.0} if options["momentum"] > 0 else {}
        return {"square_avg": 0.0, **momentum, **({"grad_avg": 0.0} if options["centered"] else {})}

    @staticmethod
    def formula(
        param: Any, grad: Any, old: Any, step: Any, *, lr: Any, alpha: Any, eps: Any, momentum: Any, centered: bool, **_: Any
    ) -> Updated:  # fmt: skip
        square = alpha * old["square_avg"] + (1 - alpha) * (grad * grad)
        new = {"square_avg": square}
        if centered:  # Graves, 2013
            mean = old["grad_avg"] + (1 - alpha) * (grad - old["grad_avg"])
            square = square - mean * mean
            new["grad_avg"] = mean
        scaled = grad / (np.sqrt(square) + eps)
        if momentum > 0:
            scaled = momentum * old["momentum_buffer"] + scaled
            new["momentum_buffer"] = scaled
        param = param - lr * scaled
        return param, new


class Adagrad(Optimizer):
    """Divide each step by the root of the sum of all squared gradients (Duchi, Hazan and Singer, 2011).

    Raises ValueError for a negative option.

    >>> import numpy as np, gradscribe as gs
    >>> optimizer, w = gs.optim.Adagrad(lr=0.1), np.array([1.0, -2.0])
    >>> optimizer.update(w, np.array([3.0, -4.0]), optimizer.init(w))[0].round(6)
    array([ 0.9, -1.9])
    """

    def __init__(
        self, params: Any = None, lr: Any = 1e-2, lr_decay: Any = 0, weight_decay: Any = 0,
        initial_accumulator_value: Any = 0, eps: Any = 1e-10, *, maximize: bool = False, **hints: Any,
    ) -> None:  # fmt: skip
        options = not_negative(
            lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value, maximize=maximize,
        )  # fmt: skip
        super().__init__(params, options, **hints)

    def memory(self, options: Any) -> dict[str, float]:
        """The sum of the squared gradients."""
        return {"sum": options["initial_accumulator_value"]}

    @staticmethod
    def formula(param: Any, grad: Any, old: Any, step: Any, *, lr: Any, lr_decay: Any, eps: Any, **_: Any) -> Updated:
        total = old["sum"] + grad * grad
        size = lr if lr_decay == 0 else lr / (1 + (step - 1) * lr_decay)
        param = param - size * grad / (np.sqrt(total) + eps)
        return param, {"sum": total}


class Adadelta(Optimizer):
    """Take steps whose root mean square follows that of the steps before (Zeiler, arXiv:1212.5701).

    Raises ValueError for a negative option, and for a `rho` above 1.

    >>> import numpy as np, gradscribe as gs
    >>> optimizer, w = gs.optim.Adadelta(rho=0.5), np.array([1.0, -2.0])
    >>> optimizer.update(w, np.array([3.0, -4.0]), optimizer.init(w))[0].round(6)
    array([ 0.998586, -1.998586])
    """

    def __init__(
        self, params: Any = None, lr: Any = 1.0, rho: Any = 0.9, eps: Any = 1e-6, weight_decay: Any = 0, *,
        maximize: bool = False, **hints: Any,
    ) -> None:  # fmt: skip
        if not 0 <= rho <= 1:
            raise ValueError(f"Invalid rho value: {rho}")
        options = not_negative(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize)
        super().__init__(params, options, **hints)

    def memory(self, options: Any) -> dict[str, float]:
        """Running means of the squared gradient and of the squared step."""
        return {"square_avg": 0.0, "acc_delta": 0.0}

    @staticmethod
    def formula(param: Any, grad: Any, old: Any, step: Any, *, lr: Any, rho: Any, eps: Any, **_: Any) -> Updated:
        square = rho * old["square_avg"] + (1 - rho) * (grad * grad)
        delta = np.sqrt(old["acc_delta"] + eps) / np.sqrt(square + eps) * grad
        moved = rho * old["acc_delta"] + (1 - rho) * (delta * delta)
        param = param - lr * delta
        return param, {"square_avg": square, "acc_delta": moved}


class NAdam(Optimizer):
    """Run Adam with Nesterov's momentum (Dozat, 2016), which grows by `momentum_decay` from step to step.

    Raises ValueError as `Adam` does, and for a negative `momentum_decay`.

    >>> import numpy as np, gradscribe as gs
    >>> optimizer, w = gs.optim.NAdam(lr=0.1), np.array([1.0, -2.0])
    >>> optimizer.update(w, np.array([3.0, -4.0]), optimizer.init(w))[0].round(6)
    array([ 0.894355, -1.894355])
    """

    numbers: frozenset[str] = frozenset(["mu_product"])

    def __init__(
        self, params: Any = None, lr: Any = 2e-3, betas: tuple[Any, Any] = (0.9, 0.999), eps: Any = 1e-8,
        weight_decay: Any = 0, momentum_decay: Any = 4e-3, decoupled_weight_decay: bool = False, *, maximize: bool = False,
        **hints: Any,
    ) -> None:  # fmt: skip
        options = not_negative(
            lr=lr, betas=_betas(betas), eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay,
            decoupled_weight_decay=decoupled_weight_decay, maximize=maximize,
        )  # fmt: skip
        super().__init__(params, options, **hints)

    def memory(self, options: Any) -> dict[str, float]:
        """The product of the momenta so far, and running means of the gradient and of its square."""
        return {"mu_product": 1.0, "exp_avg": 0.0, "exp_avg_sq": 0.0}

    @staticmethod
    def formula(
        param: Any, grad: Any, old: Any, step: Any, *, lr: Any, betas: Any, eps: Any, momentum_decay: Any, **_: Any
    ) -> Updated:
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


class RAdam(Optimizer):
    """Run Adam with first steps of mere momentum, until its mean square has settled (Liu et al., arXiv:1908.03265).

    Raises ValueError as `Adam` does.

    >>> import numpy as np, gradscribe as gs
    >>> optimizer, w = gs.optim.RAdam(lr=0.1), np.array([1.0, -2.0])
    >>> optimizer.update(w, np.array([3.0, -4.0]), optimizer.init(w))[0].round(6)
    array([ 0.7, -1.6])
    """

    def __init__(
        self, params: Any = None, lr: Any = 1e-3, betas: tuple[Any, Any] = (0.9, 0.999), eps: Any = 1e-8,
        weight_decay: Any = 0, decoupled_weight_decay: bool = False, *, maximize: bool = False, **hints: Any,
    ) -> None:  # fmt: skip
        options = not_negative(
            lr=lr, betas=_betas(betas), eps=eps, weight_decay=weight_decay, decoupled_weight_decay=decoupled_weight_decay,
            maximize=maximize,
        )  # fmt: skip
        super().__init__(params, options, **hints)

    def memory(self, options: Any) -> dict[str, float]:
        """Running means of the gradient and of its square."""
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0}

    @staticmethod
    def formula(param: Any, grad: Any, old: Any, step: Any, *, lr: Any, betas: Any, eps: Any, **_: Any) -> Updated:
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


class Rprop(Optimizer):
    """Step by the sign of the gradient, each parameter by a size of its own (Riedmiller and Braun, 1993); for full batches.

    `etas` are what a step shrinks and grows by, `step_sizes` its bounds, `lr` is the first one. Raises ValueError
    unless `0 < etas[0] < 1 < etas[1]`.

    >>> import numpy as np, gradscribe as gs
    >>> optimizer, w = gs.optim.Rprop(lr=0.1), np.array([1.0, -2.0])
    >>> optimizer.update(w, np.array([3.0, -4.0]), optimizer.init(w))[0].round(6)
    array([ 0.9, -1.9])
    """

    def __init__(
        self, params: Any = None, lr: Any = 1e-2, etas: tuple[Any, Any] = (0.5, 1.2),
        step_sizes: tuple[Any, Any] = (1e-6, 50), *, maximize: bool = False, **hints: Any,
    ) -> None:  # fmt: skip
        options = not_negative(lr=lr, etas=etas, step_sizes=step_sizes, maximize=maximize)
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, options, **hints)

    def memory(self, options: Any) -> dict[str, float]:
        """The gradient before (0 where it turned), and the size of each step."""
        return {"prev": 0.0, "step_size": options["lr"]}

    @staticmethod
    def formula(param: Any, grad: Any, old: Any, step: Any, *, etas: Any, step_sizes: Any, **_: Any) -> Updated:
        shrink, grow = etas
        turn, size = grad * old["prev"], old["step_size"]
        size = np.clip(np.where(turn > 0, size * grow, np.where(turn < 0, size * shrink, size)), *step_sizes)
        grad = np.where(turn < 0, 0, grad)
        param = param - np.sign(grad) * size
        return param, {"prev": grad, "step_size": size}


class ASGD(Optimizer):
    """Descend along the gradient, and average the parameters from step `t0` on (Polyak and Juditsky, 1992).

    The mean is `state[p]["ax"]`. Raises ValueError for a negative `lr` or `weight_decay`.

    >>> import numpy as np, gradscribe as gs
    >>> optimizer, w = gs.optim.ASGD(lr=0.1), np.array([1.0, -2.0])
    >>> optimizer.update(w, np.array([3.0, -4.0]), optimizer.init(w))[0].round(6)
    array([ 0.69999, -1.59998])
    """

    numbers: frozenset[str] = frozenset(["eta", "mu"])

    def __init__(
        self, params: Any = None, lr: Any = 1e-2, lambd: Any = 1e-4, alpha: Any = 0.75, t0: Any = 1e6, weight_decay: Any = 0,
        *, maximize: bool = False, **hints: Any,
    ) -> None:  # fmt: skip
        options = {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "maximize": maximize,
        }  # fmt: skip
        not_negative(lr=lr, weight_decay=weight_decay)  # PyTorch asks nothing of the others
        super().__init__(params, options, **hints)

    def memory(self, options: Any) -> dict[str, float]:
        """The length of the next step, the share of it in the average, and the average."""
        return {"eta": options["lr"], "mu": 1.0, "ax": 0.0}

    @staticmethod
    def formula(
        param: Any, grad: Any, old: Any, step: Any, *, lr: Any, lambd: Any, alpha: Any, t0: Any, **_: Any
    ) -> Updated:
        param = param * (1 - lambd * old["eta"]) - old["eta"] * grad
        average = old["ax"] + old["mu"] * (param - old["ax"])
        eta = lr / (1 + lambd * lr * step) ** alpha
        mu = 1 / max(1, step - t0)
        return param, {"eta": eta, "mu": mu, "ax": average}
