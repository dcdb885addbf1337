import numpy as np


def penalised_value_and_grad(w, x, y):
    """Value and gradient of `penalised`.

    Decisions in sequence, some of which leave an argument out.

    Specialised to w: float64[n]; x: float64[m, n]; y: float64[m].

    Returns loss_2: float64; d_w: like w.
    """

    # forward
    r = x @ w - y
    loss = (r**2).sum() / r.size  # golden_functions.py:358: loss = np.mean(r**2)
    # golden_functions.py:359: size = np.sqrt(np.sum(w**2))
    w_squared = w**2
    size = np.sqrt(w_squared.sum())
    # golden_functions.py:360: if loss > 1.0:
    taken = loss > 1.0
    loss_2 = 1.0 + np.log(loss) if taken else loss
    # golden_functions.py:362: if size > 1.0:
    taken_2 = size > 1.0
    if taken_2:
        # golden_functions.py:363: loss = loss + 0.1 * size
        loss_2 = loss_2 + 0.1 * size
    # golden_functions.py:364: if w[0] < 0.0 and np.max(r) > 0.0:
    taken_3 = r.max() > 0.0 if w[0] < 0.0 else np.bool(False)
    if taken_3:
        # golden_functions.py:365: loss = loss + w[0] ** 2
        loss_part = w[0]
        loss_2 = loss_2 + loss_part**2
    else:
        # golden_functions.py:366: elif w[1] < 0.0:
        t = w[1] < 0.0
        if t:
            loss_2 = loss_2 * 2.0  # golden_functions.py:367: loss = loss * 2.0

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:364: if w[0] < 0.0 and np.max(r) > 0.0:
        if taken_3:
            # golden_functions.py:365: loss = loss + w[0] ** 2
            d_w_part = np.zeros(w.shape)
            d_w_part[0] += 2.0 * loss_part
            d_loss_2 = np.float64(1.0)
        else:
            # golden_functions.py:366: elif w[1] < 0.0:
            d_loss_2 = np.float64(1.0) * 2.0 if t else np.float64(1.0)
        # golden_functions.py:362: if size > 1.0:
        if taken_2:
            d_size = d_loss_2 * 0.1  # golden_functions.py:363: loss = loss + 0.1 * size
            # golden_functions.py:359: size = np.sqrt(np.sum(w**2))
            t_2 = 2.0 * np.broadcast_to(0.5 * d_size / size, w_squared.shape)[0] * w
        else:
            t_2 = None
        # golden_functions.py:360: if loss > 1.0:
        if taken:
            # golden_functions.py:361: loss = 1.0 + np.log(loss)
            d_loss_2 = d_loss_2 / loss
        # golden_functions.py:359: size = np.sqrt(np.sum(w**2))
        if taken_3:
            t_3 = d_w_part + t_2 if taken_2 else d_w_part
        else:
            t_3 = t_2
        # golden_functions.py:358: loss = np.mean(r**2)
        d_r = 2.0 * (d_loss_2 / r.size) * r
        # golden_functions.py:357: r = x @ w - y
        x_d_r = x.T @ d_r
        if taken_3 or taken_2:
            # out=: written over an array that nobody reads again
            np.add(t_3, x_d_r, out=x_d_r)
            d_w = x_d_r
        else:
            d_w = x_d_r
    return loss_2, d_w
