def reported_value_and_grad(w, X, y):
    """Value and gradient of `reported`, golden_functions.py:314.

    Specialised to w: float64[n]; X: float64[m, n]; y: float64[m].

    Returns loss: float64; d_w: like w.
    """

    # forward
    r = X @ w - y
    loss = (r**2).sum() / r.size  # golden_functions.py:316: loss = np.mean(r**2)
    print("loss", loss)

    # backward
    d_w = X.T @ (2.0 / r.size * r)  # golden_functions.py:315: r = X @ w - y
    return loss, d_w
