"""Why functions of NumPy and scipy.special have no rule, and what those are about that calculate nothing: said by hand."""

from __future__ import annotations

__all__ = ["ABOUT", "REASONS"]


def _each(reason: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), reason)


FILES, TEXT, DTYPES, SETTINGS, DATES, SELF = (
    "files", "text", "dtypes", "settings of NumPy", "dates", "about NumPy itself",
)  # fmt: skip

# By the module that defines a function, by its name, or by both.
ABOUT: dict[str, str] = {
    "numpy.lib._npyio_impl": FILES, "numpy.lib.format": FILES, "numpy._core.memmap": FILES,
    "numpy._core.arrayprint": TEXT, "numpy.lib._utils_impl": SELF, "numpy.lib._array_utils_impl": SELF,
    "numpy._core._ufunc_config": SETTINGS, "numpy._core.numerictypes": DTYPES, "numpy.lib._type_check_impl": DTYPES,
    "numpy.lib._ufunclike_impl": SELF, "numpy._pytesttester": SELF, "scipy._lib._testutils": SELF,
    **_each(FILES, "fromfile fromregex frombuffer fromstring numpy.ndarray.dump numpy.ndarray.dumps numpy.ndarray.tofile"),
    **_each(TEXT, "base_repr binary_repr format_float_positional format_float_scientific"),
    **_each(DTYPES, "can_cast promote_types min_scalar_type result_type issubdtype isdtype mintypecode typename"),
    **_each(DATES, "busday_count busday_offset is_busday datetime_as_string datetime_data isnat"),
    **_each(SETTINGS, "seterr geterr seterrcall geterrcall setbufsize getbufsize"),
    **_each(SELF, "show_config show_runtime get_include info test"),
    **_each("shapes", "broadcast_shapes mask_indices iterable isscalar einsum_path isfortran nested_iters"),
    **_each("memory", "may_share_memory shares_memory"),
}  # fmt: skip

MATRIX = "matrices of the class np.matrix; use arrays"
OBJECTS = "it calls Python for each element, and its arrays hold objects; use np.vectorize"
NODES = "nodes of a quadrature, tables of zeros and numbers of a sequence: constants of whole numbers"
POLYNOMIAL = "gives an object that holds coefficients; use the eval_* function"
ELLIPSOIDAL = "no closed form of its slope in SciPy's functions"
INVERSE = "the inverse in a parameter of a distribution: no closed form of its slope"
OLD = "SciPy's old form, which gives tables of several functions"

# Why what calculates has no rule.
REASONS: dict[str, str] = {
    **_each(MATRIX, "asmatrix bmat"),
    "frompyfunc": OBJECTS,
    "fromiter": "takes numbers one by one from an iterator; use np.stack of a list",
    "from_dlpack": "takes another library's array; use gs.from_dlpack",
}
