"""Reasons for coverage: why functions of NumPy and SciPy have no rule, and which calculate nothing."""

from __future__ import annotations

__all__ = ["ABOUT", "NO_RULE", "PASSING", "REASONS"]


def _each(reason: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), reason)


FILES, TEXT, DTYPES, SETTINGS, DATES, SELF, MEMORY, WHOLE, CONSTANT = (
    "files", "text", "dtypes", "settings of NumPy", "dates", "about NumPy or SciPy itself", "memory", "whole numbers",
    "nodes of a quadrature, zeros and expansions: constants, by whole numbers",
)  # fmt: skip

# By the module that defines a function, by its name, or by both.
ABOUT: dict[str, str] = {
    "numpy.lib._npyio_impl": FILES, "numpy.lib.format": FILES, "numpy._core.memmap": FILES,
    "numpy._core.arrayprint": TEXT, "numpy.lib._utils_impl": SELF, "numpy.lib._array_utils_impl": SELF,
    "numpy._core._ufunc_config": SETTINGS, "numpy._core.numerictypes": DTYPES, "numpy.lib._type_check_impl": DTYPES,
    "numpy._pytesttester": SELF, "scipy._lib._testutils": SELF,
    **_each(FILES, "fromfile fromregex frombuffer fromstring tofile dump dumps"),
    **_each(TEXT, "base_repr binary_repr format_float_positional format_float_scientific"),
    **_each(DTYPES, "can_cast promote_types min_scalar_type result_type issubdtype isdtype mintypecode typename"),
    **_each(DATES, "busday_count busday_offset is_busday datetime_as_string datetime_data isnat"),
    **_each("settings of SciPy", "get_workers set_workers set_backend skip_backend set_global_backend register_backend"),
    **_each(SETTINGS, "seterr geterr seterrcall geterrcall setbufsize getbufsize"),
    **_each(SELF, "show_config show_runtime get_include info test"),
    **_each("shapes", "broadcast_shapes mask_indices iterable isscalar isfortran nested_iters"),
    **_each(
        MEMORY,
        """base may_share_memory shares_memory byteswap ctypes data device getfield setfield setflags
        to_device tobytes tostring""",
    ),
    **_each(WHOLE, "bernoulli euler factorial factorial2 factorialk next_fast_len perm prev_fast_len stirling2"),
    **_each(
        CONSTANT,
        """ai_zeros bei_zeros beip_zeros ber_zeros berp_zeros bi_zeros c_roots cg_roots erf_zeros fresnel_zeros fresnelc_zeros
        fresnels_zeros h_roots he_roots j_roots jn_zeros jnjnp_zeros jnp_zeros jnyn_zeros js_roots kei_zeros keip_zeros
        kelvin_zeros ker_zeros kerp_zeros l_roots la_roots mathieu_even_coef mathieu_odd_coef p_roots ps_roots roots_chebyc
        roots_chebys roots_chebyt roots_chebyu roots_gegenbauer roots_genlaguerre roots_hermite roots_hermitenorm roots_jacobi
        roots_laguerre roots_legendre roots_sh_chebyt roots_sh_chebyu roots_sh_jacobi roots_sh_legendre s_roots t_roots
        ts_roots u_roots us_roots y0_zeros y1_zeros y1p_zeros yn_zeros ynp_zeros""",
    ),
}  # fmt: skip

# What hands Tensors on to functions that know them.
PASSING: dict[str, str] = {"row_stack": "is np.vstack", "fromfunction": "calls a function of the user's"}

INVERSE = "the inverse of a distribution in a parameter: its slope has no closed form"
SEQUENCES = "gives all orders at once, in a table; use the function of one order"
CHOOSING = "an object that chooses among ufuncs, and gives its slopes itself where it is asked for (diff_n=1)"

NO_RULE = "no rule: fine of what is not differentiated; else state one with gs.op and gs.rule"

# Why what calculates has no rule.
REASONS: dict[str, str] = {
    "fhtoffset": "a spacing that is chosen once: compute it outside, or give fht an offset",
    **_each("matrices of the class np.matrix, which Tensors are not; use arrays", "asmatrix bmat"),
    "frompyfunc": "its arrays hold objects of Python; use np.vectorize",
    "from_dlpack": "takes another library's array without its gradient; use gs.from_dlpack",
    "resize": "changes memory in place; use np.resize",
    **_each(
        INVERSE,
        """bdtrik bdtrin btdtria btdtrib chdtriv chndtridf fdtridfd gdtrib nbdtrik nbdtrin ncfdtridfd ncfdtridfn nctdtridf pdtrik
        stdtridf""",
    ),
    **_each("found by steps, to eight digits: too few to hold a slope against", "chndtrinc ncfdtrinc nctdtrinc"),
    **_each(
        "gives an object that holds coefficients; use the eval_ function of that name, or np.polyval",
        """chebyc chebys chebyt chebyu gegenbauer genlaguerre hermite hermitenorm jacobi laguerre legendre sh_chebyt sh_chebyu
        sh_jacobi sh_legendre""",
    ),
    **_each(
        CHOOSING,
        """assoc_legendre_p assoc_legendre_p_all legendre_p legendre_p_all sph_legendre_p sph_legendre_p_all sph_harm_y_all""",
    ),
    **_each(
        SEQUENCES, "lmbda lqmn lqn pbdn_seq pbdv_seq pbvv_seq riccati_jn riccati_yn obl_cv_seq pro_cv_seq",
    ),
    **_each(
        "no slope in its parameters in SciPy's functions",
        "mathieu_a mathieu_b obl_cv pro_cv ellip_harm ellip_harm_2 ellip_normal",
    ),
    **_each("SciPy has no function for its slope", "smirnov smirnovi zetac"),
    **_each("deprecated, and gone from later versions of its library", "in1d trapz clpmn lpmn lpn sph_harm"),
    "besselpoly": "docs/adding-an-op.md adds it",
}  # fmt: skip
