"""Networks: cells, blocks and whole losses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .case import Case


def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z))


def gru(params, inputs, target):
    Wz, Uz, bz, Wr, Ur, br, Wn, Un, bn = params
    h = np.zeros(len(bz))
    for x in inputs:
        z = sigmoid(x @ Wz + h @ Uz + bz)
        r = sigmoid(x @ Wr + h @ Ur + br)
        n = np.tanh(x @ Wn + (r * h) @ Un + bn)
        h = (1.0 - z) * n + z * h
    return np.sum((h - target) ** 2)


def gru_grad(params, inputs, target):
    Wz, Uz, bz, Wr, Ur, br, Wn, Un, bn = params
    h = np.zeros(len(bz))
    steps = []
    for x in inputs:
        z = sigmoid(x @ Wz + h @ Uz + bz)
        r = sigmoid(x @ Wr + h @ Ur + br)
        n = np.tanh(x @ Wn + (r * h) @ Un + bn)
        steps.append((x, h, z, r, n))
        h = (1.0 - z) * n + z * h
    loss = np.sum((h - target) ** 2)
    d_Wz, d_Uz, d_bz, d_Wr, d_Ur, d_br, d_Wn, d_Un, d_bn = (np.zeros_like(p) for p in params)
    d_h = 2.0 * (h - target)
    for x, h, z, r, n in reversed(steps):
        d_n = d_h * (1.0 - z) * (1.0 - n**2)
        d_rh = Un @ d_n
        d_z = d_h * (h - n) * z * (1.0 - z)
        d_r = d_rh * h * r * (1.0 - r)
        d_Wz += np.outer(x, d_z)
        d_Uz += np.outer(h, d_z)
        d_bz += d_z
        d_Wr += np.outer(x, d_r)
        d_Ur += np.outer(h, d_r)
        d_br += d_r
        d_Wn += np.outer(x, d_n)
        d_Un += np.outer(r * h, d_n)
        d_bn += d_n
        d_h = d_h * z + d_rh * r + Uz @ d_z + Ur @ d_r
    return loss, (d_Wz, d_Uz, d_bz, d_Wr, d_Ur, d_br, d_Wn, d_Un, d_bn)


def lstm(params, state, inputs, targets):
    """A loss at each step, from a state that is a parameter too."""
    W, U, b, V = params["W"], params["U"], params["b"], params["V"]
    h, c = state["h"], state["c"]
    loss = 0.0
    for x, y in zip(inputs, targets):
        i, f, o, g = np.split(W @ x + U @ h + b, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        loss = loss + np.sum((V @ h - y) ** 2)
    return loss


def lstm_grad(params, state, inputs, targets):
    W, U, b, V = params["W"], params["U"], params["b"], params["V"]
    h, c = state["h"], state["c"]
    loss = 0.0
    steps = []
    for x, y in zip(inputs, targets):
        i, f, o, g = np.split(W @ x + U @ h + b, 4)
        i, f, o, g = sigmoid(i), sigmoid(f), sigmoid(o), np.tanh(g)
        h_before, c_before = h, c
        c = f * c + i * g
        h = o * np.tanh(c)
        error = V @ h - y
        loss += np.sum(error**2)
        steps.append((x, h_before, c_before, i, f, o, g, c, h, error))
    d_W, d_U, d_b, d_V = np.zeros_like(W), np.zeros_like(U), np.zeros_like(b), np.zeros_like(V)
    d_h, d_c = np.zeros_like(h), np.zeros_like(c)
    for x, h_before, c_before, i, f, o, g, c, h, error in reversed(steps):
        d_V += np.outer(2.0 * error, h)
        d_h = d_h + V.T @ (2.0 * error)
        tanh_c = np.tanh(c)
        d_c = d_c + d_h * o * (1.0 - tanh_c**2)
        d_i = d_c * g * i * (1.0 - i)
        d_f = d_c * c_before * f * (1.0 - f)
        d_o = d_h * tanh_c * o * (1.0 - o)
        d_g = d_c * i * (1.0 - g**2)
        d_gates = np.concatenate([d_i, d_f, d_o, d_g])
        d_W += np.outer(d_gates, x)
        d_U += np.outer(d_gates, h_before)
        d_b += d_gates
        d_h = U.T @ d_gates
        d_c = d_c * f
    return loss, ({"W": d_W, "U": d_U, "b": d_b, "V": d_V}, {"h": d_h, "c": d_c})


def causal_attention(weights, x, target):
    Wq, Wk, Wv, Wo = weights
    q, k, v = x @ Wq, x @ Wk, x @ Wv
    future = np.triu(np.ones((len(x), len(x)), dtype=bool), 1)
    scores = np.where(future, -np.inf, q @ k.T / np.sqrt(q.shape[1]))
    e = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    p = e / np.sum(e, axis=1, keepdims=True)
    error = p @ v @ Wo - target
    return np.mean(error**2)


def causal_attention_grad(weights, x, target):
    Wq, Wk, Wv, Wo = weights
    q, k, v = x @ Wq, x @ Wk, x @ Wv
    scale = np.sqrt(q.shape[1])
    future = np.triu(np.ones((len(x), len(x)), dtype=bool), 1)
    scores = np.where(future, -np.inf, q @ k.T / scale)
    e = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    p = e / np.sum(e, axis=1, keepdims=True)
    mixed = p @ v
    error = mixed @ Wo - target
    loss = np.mean(error**2)
    d_error = 2.0 * error / error.size
    d_mixed = d_error @ Wo.T
    d_p = d_mixed @ v.T
    d_scores = p * (d_p - np.sum(d_p * p, axis=1, keepdims=True)) / scale
    d_q, d_k, d_v = d_scores @ k, d_scores.T @ q, p.T @ d_mixed
    return loss, (x.T @ d_q, x.T @ d_k, x.T @ d_v, mixed.T @ d_error)


def batch_norm(gamma, beta, x, targets):
    mean = np.mean(x, axis=0)
    var = np.mean((x - mean) ** 2, axis=0)
    normal = (x - mean) / np.sqrt(var + 1e-5)
    return np.sum((gamma * normal + beta - targets) ** 2)


def batch_norm_grad(gamma, beta, x, targets):
    centred = x - np.mean(x, axis=0)
    std = np.sqrt(np.mean(centred**2, axis=0) + 1e-5)
    normal = centred / std
    error = gamma * normal + beta - targets
    loss = np.sum(error**2)
    d_error = 2.0 * error
    d_gamma = np.sum(d_error * normal, axis=0)
    d_beta = np.sum(d_error, axis=0)
    d_normal = d_error * gamma
    d_x = (d_normal - np.mean(d_normal, axis=0) - normal * np.mean(d_normal * normal, axis=0)) / std
    return loss, (d_gamma, d_beta, d_x)


def deep_classifier(layers, x, labels):
    h = x
    for W, b in layers[:-1]:
        h = np.tanh(h @ W + b)
    W, b = layers[-1]
    logits = h @ W + b
    top = np.max(logits, axis=1, keepdims=True)
    log_sum = top[:, 0] + np.log(np.sum(np.exp(logits - top), axis=1))
    return np.mean(log_sum - logits[np.arange(len(x)), labels])


def deep_classifier_grad(layers, x, labels):
    h = x
    hs = [h]
    for W, b in layers[:-1]:
        h = np.tanh(h @ W + b)
        hs.append(h)
    W, b = layers[-1]
    logits = h @ W + b
    top = np.max(logits, axis=1, keepdims=True)
    e = np.exp(logits - top)
    log_sum = top[:, 0] + np.log(np.sum(e, axis=1))
    rows = np.arange(len(x))
    loss = np.mean(log_sum - logits[rows, labels])
    delta = e / np.sum(e, axis=1, keepdims=True)
    delta[rows, labels] -= 1.0
    delta /= len(x)
    d_layers = []
    for (W, b), h in zip(reversed(layers), reversed(hs)):
        d_layers.append((h.T @ delta, np.sum(delta, axis=0)))
        delta = delta @ W.T * (1.0 - h**2)
    return loss, d_layers[::-1]


@dataclass
class Block:
    """The weights of a block: a layer norm, and two layers with a shortcut around them."""

    gain: np.ndarray
    shift: np.ndarray
    W1: np.ndarray
    b1: np.ndarray
    W2: np.ndarray
    b2: np.ndarray


def normalise(x, gain, shift):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    var = np.mean(centred**2, axis=-1, keepdims=True)
    return gain * centred / np.sqrt(var + 1e-5) + shift


def transformer_block(block, x, target):
    y = normalise(x, block.gain, block.shift)
    hidden = np.maximum(y @ block.W1 + block.b1, 0.0)
    out = x + hidden @ block.W2 + block.b2
    return np.sum((out - target) ** 2)


def transformer_block_grad(block, x, target):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    std = np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + 1e-5)
    normal = centred / std
    y = block.gain * normal + block.shift
    hidden = np.maximum(y @ block.W1 + block.b1, 0.0)
    error = x + hidden @ block.W2 + block.b2 - target
    loss = np.sum(error**2)
    d_out = 2.0 * error
    d_hidden = d_out @ block.W2.T * (hidden > 0.0)
    d_y = d_hidden @ block.W1.T
    d_normal = d_y * block.gain
    mean_along = np.mean(d_normal * normal, axis=-1, keepdims=True)
    d_x = d_out + (d_normal - np.mean(d_normal, axis=-1, keepdims=True) - normal * mean_along) / std
    d_block = Block(
        gain=np.sum(d_y * normal, axis=0),
        shift=np.sum(d_y, axis=0),
        W1=y.T @ d_hidden,
        b1=np.sum(d_hidden, axis=0),
        W2=hidden.T @ d_out,
        b2=np.sum(d_out, axis=0),
    )
    return loss, (d_block, d_x)


def vae(params, x, eps):
    """The loss of an autoencoder whose code is drawn."""
    h = np.tanh(x @ params["We"] + params["be"])
    mu = h @ params["Wmu"]
    logvar = h @ params["Wlv"]
    z = mu + np.exp(0.5 * logvar) * eps
    hd = np.tanh(z @ params["Wd"] + params["bd"])
    logits = hd @ params["Wo"]
    rec = np.sum(np.logaddexp(0, logits) - x * logits)
    kl = -0.5 * np.sum(1 + logvar - mu**2 - np.exp(logvar))
    return (rec + kl) / x.shape[0]


def vae_grad(params, x, eps):
    We, be, Wmu, Wlv, Wd, bd, Wo = (params[k] for k in ("We", "be", "Wmu", "Wlv", "Wd", "bd", "Wo"))
    h = np.tanh(x @ We + be)
    mu, logvar = h @ Wmu, h @ Wlv
    std = np.exp(0.5 * logvar)
    z = mu + std * eps
    hd = np.tanh(z @ Wd + bd)
    logits = hd @ Wo
    rec = np.sum(np.logaddexp(0, logits) - x * logits)
    kl = -0.5 * np.sum(1 + logvar - mu**2 - np.exp(logvar))
    n = x.shape[0]
    d_logits = (1 / (1 + np.exp(-logits)) - x) / n
    d_Wo = hd.T @ d_logits
    d_pre = (d_logits @ Wo.T) * (1 - hd**2)
    d_Wd, d_bd = z.T @ d_pre, d_pre.sum(axis=0)
    d_z = d_pre @ Wd.T
    d_mu = d_z + mu / n
    d_logvar = 0.5 * (d_z * eps * std + (np.exp(logvar) - 1) / n)
    d_h = (d_mu @ Wmu.T + d_logvar @ Wlv.T) * (1 - h**2)
    return (rec + kl) / n, {
        "We": x.T @ d_h,
        "be": d_h.sum(axis=0),
        "Wmu": h.T @ d_mu,
        "Wlv": h.T @ d_logvar,
        "Wd": d_Wd,
        "bd": d_bd,
        "Wo": d_Wo,
    }


def conv1d_net(params, x, y):
    """The largest response of each kernel anywhere, and a logistic loss."""
    w1, b1, w2, b2 = params
    n, length = x.shape
    k = w1.shape[1]
    cols = np.stack([x[:, i : length - k + 1 + i] for i in range(k)], axis=-1)
    hidden = np.maximum(np.einsum("nlk,ck->ncl", cols, w1) + b1[:, None], 0)
    pooled = hidden.max(axis=2)
    logit = pooled @ w2 + b2
    return np.mean(np.log1p(np.exp(-y * logit)))


def conv1d_net_grad(params, x, y):
    w1, b1, w2, b2 = params
    n, length = x.shape
    k = w1.shape[1]
    cols = np.stack([x[:, i : length - k + 1 + i] for i in range(k)], axis=-1)
    pre = np.einsum("nlk,ck->ncl", cols, w1) + b1[:, None]
    hidden = np.maximum(pre, 0)
    pooled = hidden.max(axis=2)
    logit = pooled @ w2 + b2
    e = np.exp(-y * logit)
    loss = np.mean(np.log1p(e))
    d_logit = -y * e / (1 + e) / n
    d_pooled = np.outer(d_logit, w2)
    best = hidden == pooled[:, :, None]
    best = best / np.sum(best, axis=2, keepdims=True)
    d_pre = d_pooled[:, :, None] * best * (pre > 0)
    return loss, (np.einsum("ncl,nlk->ck", d_pre, cols), d_pre.sum(axis=(0, 2)), pooled.T @ d_logit, np.sum(d_logit))


def autoencoder(rng):
    """The weights of `vae`."""
    shapes = {"We": (3, 5), "be": 5, "Wmu": (5, 2), "Wlv": (5, 2), "Wd": (2, 5), "bd": 5, "Wo": (5, 3)}
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def multihead(Wq, Wk, Wv, Wo, x, target):
    """Multi-head self-attention."""
    B, T, D = x.shape
    H = 2
    q = (x @ Wq).reshape(B, T, H, D // H).transpose(0, 2, 1, 3)
    k = (x @ Wk).reshape(B, T, H, D // H).transpose(0, 2, 1, 3)
    v = (x @ Wv).reshape(B, T, H, D // H).transpose(0, 2, 1, 3)
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(D // H)
    scores = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    weights = scores / np.sum(scores, axis=-1, keepdims=True)
    out = (weights @ v).transpose(0, 2, 1, 3).reshape(B, T, D) @ Wo
    return np.mean((out - target) ** 2)


def multihead_grad(Wq, Wk, Wv, Wo, x, target):
    B, T, D = x.shape
    H = 2

    def split(a):
        return a.reshape(B, T, H, D // H).transpose(0, 2, 1, 3)

    def join(a):
        return a.transpose(0, 2, 1, 3).reshape(B * T, D)

    q, k, v = split(x @ Wq), split(x @ Wk), split(x @ Wv)
    scale = 1.0 / np.sqrt(D // H)
    scores = q @ k.transpose(0, 1, 3, 2) * scale
    e = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    weights = e / np.sum(e, axis=-1, keepdims=True)
    heads = join(weights @ v)
    error = heads @ Wo - target.reshape(B * T, D)
    d_out = 2.0 * error / error.size
    d_heads = split((d_out @ Wo.T).reshape(B, T, D))
    d_weights = d_heads @ v.transpose(0, 1, 3, 2)
    d_scores = weights * (d_weights - np.sum(d_weights * weights, axis=-1, keepdims=True)) * scale
    flat = x.reshape(B * T, D)
    d_Wq = flat.T @ join(d_scores @ k)
    d_Wk = flat.T @ join(d_scores.transpose(0, 1, 3, 2) @ q)
    d_Wv = flat.T @ join(weights.transpose(0, 1, 3, 2) @ d_heads)
    return np.mean(error**2), (d_Wq, d_Wk, d_Wv, heads.T @ d_out)


def contrastive(A, x1, x2, tau):
    """InfoNCE: the matching rows are near, the others far."""
    u, v = x1 @ A, x2 @ A
    u = u / np.linalg.norm(u, axis=1, keepdims=True)
    v = v / np.linalg.norm(v, axis=1, keepdims=True)
    sim = u @ v.T / tau
    sim = sim - sim.max(axis=1, keepdims=True)
    log_p = sim - np.log(np.exp(sim).sum(axis=1, keepdims=True))
    return -np.mean(np.diag(log_p))


def contrastive_grad(A, x1, x2, tau):
    u, v = x1 @ A, x2 @ A
    nu, nv = np.linalg.norm(u, axis=1, keepdims=True), np.linalg.norm(v, axis=1, keepdims=True)
    u, v = u / nu, v / nv
    sim = u @ v.T / tau
    sim = sim - sim.max(axis=1, keepdims=True)
    e = np.exp(sim)
    total = e.sum(axis=1, keepdims=True)
    loss = -np.mean(np.diag(sim - np.log(total)))
    d_sim = (e / total - np.eye(len(u))) / len(u) / tau
    d_u, d_v = d_sim @ v, d_sim.T @ u
    d_u = (d_u - u * np.sum(d_u * u, axis=1, keepdims=True)) / nu
    d_v = (d_v - v * np.sum(d_v * v, axis=1, keepdims=True)) / nv
    return loss, x1.T @ d_u + x2.T @ d_v


def graph_conv(W1, W2, adjacency, X, labels, mask):
    """Two layers of a graph convolutional network, cross entropy on the marked nodes."""
    A = adjacency + np.eye(len(adjacency))
    d = 1.0 / np.sqrt(A.sum(axis=1))
    A = d[:, None] * A * d[None, :]
    h = np.maximum(A @ X @ W1, 0)
    z = A @ h @ W2
    z = z - z.max(axis=1, keepdims=True)
    logp = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    return -np.sum(mask[:, None] * labels * logp) / mask.sum()


def graph_conv_grad(W1, W2, adjacency, X, labels, mask):
    A = adjacency + np.eye(len(adjacency))
    d = 1.0 / np.sqrt(A.sum(axis=1))
    A = d[:, None] * A * d[None, :]
    AX = A @ X
    h = np.maximum(AX @ W1, 0)
    Ah = A @ h
    z = Ah @ W2
    z = z - z.max(axis=1, keepdims=True)
    e = np.exp(z)
    total = e.sum(axis=1, keepdims=True)
    weights = mask[:, None] * labels / mask.sum()
    loss = -np.sum(weights * (z - np.log(total)))
    d_z = e / total * weights.sum(axis=1, keepdims=True) - weights
    d_h = A.T @ (d_z @ W2.T) * (h > 0)
    return loss, (AX.T @ d_h, Ah.T @ d_z)


def cases() -> list[Case]:
    """The functions of this file with arguments; the same numbers in each process."""
    rng = np.random.default_rng(2)
    n = rng.normal
    cell = tuple(0.5 * n(size=size) for _ in range(3) for size in ((4, 6), (6, 6), 6))
    params = {"W": 0.5 * n(size=(20, 4)), "U": 0.5 * n(size=(20, 5)), "b": n(size=20), "V": n(size=(2, 5))}
    sizes = (6, 8, 8, 8, 3)
    layers = [(0.4 * n(size=pair), 0.1 * n(size=pair[1])) for pair in zip(sizes, sizes[1:])]
    block = Block(n(size=6), n(size=6), n(size=(6, 12)), n(size=12), n(size=(12, 6)), n(size=6))
    edges = np.array([[abs(i - j) in (1, 3) for j in range(8)] for i in range(8)]) * 1.0
    classes, marked = np.eye(3)[[0, 1, 2, 0, 1, 2, 0, 1]], np.array([1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0])
    return [
        Case(gru, gru_grad, (cell, n(size=(9, 4)), n(size=6))),
        Case(lstm, lstm_grad, (params, {"h": n(size=5), "c": n(size=5)}, n(size=(7, 4)), n(size=(7, 2))), (0, 1)),
        Case(
            causal_attention,
            causal_attention_grad,
            (tuple(n(size=s) for s in ((6, 4), (6, 4), (6, 5), (5, 6))), n(size=(8, 6)), n(size=(8, 6))),
        ),
        Case(batch_norm, batch_norm_grad, (n(size=4), n(size=4), n(size=(10, 4)), n(size=(10, 4))), (0, 1, 2)),
        Case(deep_classifier, deep_classifier_grad, (layers, n(size=(12, 6)), rng.integers(0, 3, size=12))),
        Case(transformer_block, transformer_block_grad, (block, n(size=(7, 6)), n(size=(7, 6))), (0, 1)),
        Case(vae, vae_grad, (autoencoder(rng), (rng.random(size=(12, 3)) > 0.5) * 1.0, rng.normal(size=(12, 2)))),
        Case(
            conv1d_net,
            conv1d_net_grad,
            (
                (rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=3), np.float64(0.1)),
                rng.normal(size=(6, 10)),
                np.sign(rng.normal(size=6)),
            ),
        ),
        Case(
            multihead,
            multihead_grad,
            (*[n(size=(4, 4)) for _ in range(4)], n(size=(2, 5, 4)), n(size=(2, 5, 4))),
            (0, 1, 2, 3),
        ),
        Case(contrastive, contrastive_grad, (n(size=(4, 3)), n(size=(6, 4)), n(size=(6, 4)), 0.5)),
        Case(
            graph_conv,
            graph_conv_grad,
            (n(size=(5, 4)), n(size=(4, 3)), edges, n(size=(8, 5)), classes, marked),
            (0, 1),
        ),
    ]
