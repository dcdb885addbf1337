"""Functions of the standard library with control flow, and inputs that reach most of their branches."""

# ruff: noqa: E501

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

# module, then for each function its arguments: the texts of tuples, evaluated where the module's names hold
LIBRARY: dict[str, dict[str, tuple[str, ...]]] = {
    "statistics": {
        "mean": ("([1, 2, 3, 4.5],)", "([],)", "(iter([1]),)", "(['a'],)", "([Fraction(1, 3), Fraction(2, 3)],)"),
        "fmean": ("([1, 2, 3.5],)", "([1, 2], [3, 1])", "([],)", "([1], [1, 2])", "(iter([1, 2]),)", "([1], [0])"),
        "geometric_mean": ("([54, 24, 36],)", "([],)", "([-1, 1],)"),
        "harmonic_mean": ("([40, 60],)", "([40, 60], [5, 30])", "([],)", "([0, 1],)", "([-1],)", "([3],)", "(['a'],)", "([1], [1, 2])"),
        "median": ("([1, 3, 2],)", "([1, 4, 2, 3],)", "([],)"),
        "median_low": ("([1, 3, 2],)", "([1, 4, 2, 3],)", "([],)"),
        "median_high": ("([1, 3, 2],)", "([1, 4, 2, 3],)", "([],)"),
        "median_grouped": ("([1, 2, 2, 3, 4, 4, 4, 4, 4, 5],)", "([52, 52, 53, 54], 2)", "([],)", "([7],)", "(['a', 'b'],)"),
        "mode": ("([1, 1, 2],)", "([],)", "('aab',)"),
        "multimode": ("('aabbc',)", "('',)"),
        "quantiles": ("([1, 2, 3, 4, 5],)", "([1, 2, 3], )", "([1, 2, 3, 5],)", "([1, 2],)", "([1],)"),
        "variance": ("([1, 2, 4],)", "([1],)", "([1, 2, 4], 2)"),
        "pvariance": ("([1, 2, 4],)", "([],)"),
        "stdev": ("([1, 2, 4.5],)", "([1],)", "([Fraction(1), Fraction(2)],)"),
        "pstdev": ("([1, 2, 4],)", "([],)"),
        "covariance": ("([1, 2, 3], [1, 5, 6])", "([1], [1])", "([1, 2], [1])"),
        "correlation": ("([1, 2, 3], [1, 5, 6])", "([1, 1], [1, 2])", "([1], [1])", "([1], [])"),
        "linear_regression": ("([1, 2, 3], [1, 5, 6])", "([1, 1], [2, 3])", "([1], [2])", "([1, 2], [2])"),
        "_sum": ("([1, 0.5, 2],)", "([],)", "([float('inf'), 1],)", "([Decimal(1), 2],)", "(['x'],)"),
        "_exact_ratio": ("(0.5,)", "(3,)", "(float('nan'),)", "('x',)", "(Decimal('0.25'),)"),
        "_coerce": ("(int, float)", "(int, int)", "(Fraction, float)", "(float, Fraction)", "(bool, int)", "(str, int)", "(int, Fraction)"),
        "_convert": ("(Fraction(6, 3), int)", "(Fraction(1, 3), float)", "(Fraction(1, 3), int)", "(Fraction(1, 3), Decimal)"),
        "_fail_neg": ("([1, 2],)",),
        "_integer_sqrt_of_frac_rto": ("(5, 3)", "(4, 1)", "(0, 1)"),
        "_float_sqrt_of_frac": ("(5, 3)", "(0, 1)", "(4, 1)"),
        "_decimal_sqrt_of_frac": ("(5, 3)", "(0, 1)", "(-5, -3)", "(-5, 3)"),
        "NormalDist.__init__": ("(NormalDist(), 1.0, -1.0)", "(NormalDist(), 1.0, 1.0)"),
        "NormalDist.pdf": ("(NormalDist(1, 2), 0.5)", "(NormalDist(1, 0), 0.5)"),
        "NormalDist.cdf": ("(NormalDist(1, 2), 0.5)", "(NormalDist(1, 0), 0.5)"),
        "NormalDist.inv_cdf": ("(NormalDist(1, 2), 0.5)", "(NormalDist(1, 2), 1.5)", "(NormalDist(1, 0), 0.5)"),
        "NormalDist.overlap": ("(NormalDist(1, 2), NormalDist(2, 1))", "(NormalDist(), 1)", "(NormalDist(0, 1), NormalDist(1, 1))", "(NormalDist(2, 1), NormalDist(1, 2))"),
        "NormalDist.zscore": ("(NormalDist(1, 2), 0.5)", "(NormalDist(1, 0), 0.5)"),
        "NormalDist.samples": ("(NormalDist(1, 2), 3)", "(NormalDist(1, 2), 0)"),
        "NormalDist.quantiles": ("(NormalDist(), 4)",),
        "NormalDist.__add__": ("(NormalDist(), 1)", "(NormalDist(), NormalDist(1, 2))"),
        "NormalDist.__eq__": ("(NormalDist(), 1)", "(NormalDist(), NormalDist())"),
        "_normal_dist_inv_cdf": ("(0.5, 0.0, 1.0)", "(0.001, 1.0, 2.0)", "(0.999, 0.0, 1.0)", "(1e-12, 0.0, 1.0)"),
    },
    "bisect": {
        "insort_right": ("([1, 3], 2)", "([1, 3], 2, 0, 1)", "([1, 3], 2, -1)"),
        "bisect_right": ("([1, 2, 2, 3], 2)", "([], 1)", "([1, 2], 0, -1)"),
        "insort_left": ("([1, 3], 1)", "([3, 1], 2)"),
        "bisect_left": ("([1, 2, 2, 3], 2)", "([1, 'a'], 'b')", "([1], 1, -2)"),
    },
    "heapq": {
        "_siftdown": ("([1, 5, 3, 0], 0, 3)", "([1, 2, 3], 0, 2)"),
        "_siftup": ("([9, 5, 3, 7, 8], 0)", "([1], 0)", "([3, 1, 2], 0)"),
        "_siftdown_max": ("([1, 5, 3, 9], 0, 3)", "([9, 2, 3], 0, 2)"),
        "_siftup_max": ("([0, 5, 3, 7, 8], 0)", "([1], 0)"),
        "nsmallest": ("(2, [5, 1, 4, 2])", "(1, [])", "(1, [3, 1])", "(9, [2, 1])", "(2, [5, 1, 4], abs)", "(0, [1])", "(2, iter([3, 1, 2]))"),
        "nlargest": ("(2, [5, 1, 4, 2])", "(1, [])", "(1, [3, 1])", "(9, [2, 1])", "(2, [5, 1, -4], abs)", "(2, iter([3, 1, 2, 9]))"),
    },
    "colorsys": {
        "yiq_to_rgb": ("(0.5, 0.2, 0.1)", "(2.0, 0.0, 0.0)", "(-1.0, 0.0, 0.0)", "(0.0, 2.0, 2.0)", "(0.0, -2.0, -2.0)"),
        "rgb_to_hls": ("(0.2, 0.4, 0.6)", "(0.5, 0.5, 0.5)", "(0.9, 0.4, 0.6)", "(0.1, 0.9, 0.2)"),
        "hls_to_rgb": ("(0.2, 0.4, 0.6)", "(0.2, 0.7, 0.6)", "(0.2, 0.7, 0.0)"),
        "_v": ("(0.2, 0.4, 0.1)", "(0.2, 0.4, 0.4)", "(0.2, 0.4, 0.6)", "(0.2, 0.4, 0.9)"),
        "rgb_to_hsv": ("(0.2, 0.4, 0.6)", "(0.5, 0.5, 0.5)", "(0.9, 0.4, 0.6)", "(0.1, 0.9, 0.2)"),
        "hsv_to_rgb": ("(0.0, 0.4, 0.6)", "(0.2, 0.5, 0.5)", "(0.4, 0.4, 0.6)", "(0.6, 0.9, 0.2)", "(0.7, 1.0, 1.0)", "(0.9, 0.5, 1.0)", "(0.5, 0.0, 1.0)"),
    },
    "fractions": {
        "Fraction.__new__": ("(Fraction, '1/3')", "(Fraction, 6, 4)", "(Fraction, 1, 0)", "(Fraction, 0.5)", "(Fraction, 'x')", "(Fraction, ' -1.5e2 ')", "(Fraction, None)", "(Fraction, Fraction(1, 2), Fraction(1, 3))", "(Fraction, Fraction(1, 2), 0.5)", "(Fraction, Decimal('0.1'))"),
        "Fraction.limit_denominator": ("(Fraction(355, 113), 10)", "(Fraction(1, 2),)", "(Fraction(1, 3), 0)", "(Fraction('3.141592653589793'), 1000)"),
        "Fraction.from_float": ("(Fraction, 0.25)", "(Fraction, 3)", "(Fraction, 'x')"),
        "Fraction.from_decimal": ("(Fraction, Decimal('0.25'))", "(Fraction, 3)", "(Fraction, 'x')"),
        "Fraction.__str__": ("(Fraction(3, 1),)", "(Fraction(3, 2),)"),
        "Fraction._add": ("(Fraction(1, 2), Fraction(1, 3))", "(Fraction(1, 6), Fraction(1, 2))", "(Fraction(1, 6), Fraction(1, 10))"),
        "Fraction._sub": ("(Fraction(1, 2), Fraction(1, 3))", "(Fraction(1, 6), Fraction(1, 2))"),
        "Fraction._mul": ("(Fraction(1, 2), Fraction(2, 3))", "(Fraction(3, 4), Fraction(8, 9))"),
        "Fraction._div": ("(Fraction(1, 2), Fraction(2, 3))", "(Fraction(3, 4), Fraction(-3, 8))", "(Fraction(3, 4), Fraction(0))"),
        "Fraction.__pow__": ("(Fraction(2, 3), 2)", "(Fraction(2, 3), -2)", "(Fraction(-2, 3), -1)", "(Fraction(2, 3), 0.5)", "(Fraction(2, 3), Fraction(1, 2))", "(Fraction(0), -1)"),
        "Fraction.__rpow__": ("(Fraction(2, 1), 3)", "(Fraction(1, 2), 4)", "(Fraction(-2), 4)", "(Fraction(1, 2), Fraction(4))"),
        "Fraction.__round__": ("(Fraction(7, 2),)", "(Fraction(5, 2),)", "(Fraction(10, 3),)", "(Fraction(11, 3),)", "(Fraction(22, 7), 2)", "(Fraction(2222, 7), -1)"),
        "Fraction.__hash__": ("(Fraction(1, 3),)", "(Fraction(-1, 3),)", "(Fraction(1, 2**61 - 1),)", "(Fraction(-1),)"),
        "Fraction.__eq__": ("(Fraction(1, 2), 0.5)", "(Fraction(1, 2), 1)", "(Fraction(1, 2), float('nan'))", "(Fraction(1, 2), Fraction(1, 2))", "(Fraction(1, 2), 'x')", "(Fraction(1, 2), 1j)"),
        "Fraction._richcmp": ("(Fraction(1, 2), 0.5, operator.lt)", "(Fraction(1, 2), 1, operator.lt)", "(Fraction(1, 2), float('inf'), operator.lt)", "(Fraction(1, 2), 'x', operator.lt)"),
    },
    "random": {
        "Random.randrange": ("(Random(1), 10)", "(Random(1), 2, 10, 3)", "(Random(1), 0)", "(Random(1), 5, 2)", "(Random(1), 2, 10, 0)", "(Random(1), 2.5)", "(Random(1), 10, 2, -3)"),
        "Random.randint": ("(Random(1), 1, 6)", "(Random(1), 6, 1)"),
        "Random.choice": ("(Random(1), 'abc')", "(Random(1), '')"),
        "Random.shuffle": ("(Random(1), [1, 2, 3, 4])", "(Random(1), [])"),
        "Random.sample": ("(Random(1), range(10), 3)", "(Random(1), range(1000), 3)", "(Random(1), [1], 2)", "(Random(1), {1, 2}, 1)", "(Random(1), ['a', 'b'], 4)"),
        "Random.choices": ("(Random(1), 'abc')", "(Random(1), 'abc', [1, 2, 3])", "(Random(1), 'abc', [1, 2])", "(Random(1), 'abc', [0, 0, 0])", "(Random(1), 'abc', 3)", "(Random(1), '')"),
        "Random.triangular": ("(Random(1), 0, 1)", "(Random(1), 0, 1, 0.3)", "(Random(1), 1, 1)", "(Random(2), 1, 1, 1)"),
        "Random.normalvariate": ("(Random(1), 0, 1)", "(Random(2), 3, 4)"),
        "Random.gauss": ("(Random(1), 0, 1)", "(Random(2), 3, 4)"),
        "Random.expovariate": ("(Random(1), 2.0)", "(Random(1), 0)"),
        "Random.vonmisesvariate": ("(Random(1), 0.0, 4.0)", "(Random(1), 0.0, 1e-7)", "(Random(3), 1.0, 0.1)"),
        "Random.gammavariate": ("(Random(1), 2.0, 1.0)", "(Random(1), 1.0, 1.0)", "(Random(1), 0.5, 1.0)", "(Random(1), -1.0, 1.0)", "(Random(5), 0.9, 2.0)"),
        "Random.betavariate": ("(Random(1), 2.0, 1.0)", "(Random(1), 0.5, 0.5)"),
        "Random._randbelow_with_getrandbits": ("(Random(1), 10)", "(Random(1), 1)"),
        "Random._randbelow_without_getrandbits": ("(Random(1), 10)", "(Random(1), 1)", "(Random(1), 2 ** 40)"),
        "Random.seed": ("(Random(1), 'text')", "(Random(1), 3)", "(Random(1), [1])", "(Random(1), 'text', 1)", "(Random(1), b'x')"),
    },
    "calendar": {
        "isleap": ("(2000,)", "(1900,)", "(2024,)", "(2023,)"),
        "weekday": ("(2024, 2, 29)", "(10000, 1, 1)", "(0, 1, 1)", "(2023, 2, 29)"),
        "monthrange": ("(2024, 2)", "(2023, 13)", "(2023, 2)"),
        "_monthlen": ("(2024, 2)", "(2023, 2)"),
        "_prevmonth": ("(2024, 1)", "(2024, 5)"),
        "_nextmonth": ("(2024, 12)", "(2024, 5)"),
        "Calendar.monthdatescalendar": ("(Calendar(), 2024, 2)",),
        "Calendar.monthdayscalendar": ("(Calendar(6), 2024, 2)",),
        "Calendar.yeardayscalendar": ("(Calendar(), 2024, 4)",),
        "TextCalendar.formatday": ("(TextCalendar(), 0, 1, 3)", "(TextCalendar(), 5, 1, 3)"),
        "TextCalendar.formatweekday": ("(TextCalendar(), 0, 10)", "(TextCalendar(), 0, 2)"),
        "TextCalendar.formatmonthname": ("(TextCalendar(), 2024, 2, 20)", "(TextCalendar(), 2024, 2, 20, False)"),
        "TextCalendar.formatmonth": ("(TextCalendar(), 2024, 2)", "(TextCalendar(6), 2023, 5, 4, 2)"),
        "TextCalendar.formatyear": ("(TextCalendar(), 2024)",),
        "TextCalendar.prmonth": ("(TextCalendar(), 2024, 2)",),
        "HTMLCalendar.formatday": ("(HTMLCalendar(), 0, 1)", "(HTMLCalendar(), 5, 1)"),
        "HTMLCalendar.formatmonth": ("(HTMLCalendar(), 2024, 2)", "(HTMLCalendar(), 2024, 2, False)"),
    },
    "textwrap": {
        "TextWrapper._split": ("(TextWrapper(), 'look, goof-ball -- use the -b option!')", "(TextWrapper(break_on_hyphens=False), 'a b-c')"),
        "TextWrapper._munge_whitespace": ("(TextWrapper(), 'a\\tb\\nc')", "(TextWrapper(expand_tabs=False, replace_whitespace=False), 'a\\tb')"),
        "TextWrapper._wrap_chunks": ("(TextWrapper(width=7), ['aa', ' ', 'bbbbbbbbbb', ' ', 'cc'])", "(TextWrapper(width=0), [])", "(TextWrapper(width=6, max_lines=1), ['aaaa', ' ', 'bbbb'])", "(TextWrapper(width=2, max_lines=1, placeholder='...'), ['a'])", "(TextWrapper(width=9, max_lines=2, initial_indent='* '), ['aaaa', ' ', 'bbbb', ' ', 'cc', ' ', 'ddddd'])"),
        "TextWrapper._handle_long_word": ("(TextWrapper(), ['abcdef'], [], 0, 4)", "(TextWrapper(break_long_words=False), ['abcdef'], [], 0, 4)", "(TextWrapper(), ['ab-cdef'], [], 0, 4)", "(TextWrapper(), ['abc'], [], 0, 0)"),
        "TextWrapper._fix_sentence_endings": ("(TextWrapper(), ['end.', ' ', 'New', ' ', 'x'])", "(TextWrapper(), [])"),
        "dedent": ("('  a\\n  b\\n',)", "('  a\\n\\tb\\n',)", "('    a\\n  b\\n   c',)", "('a',)", "('\\ta\\n\\t  b',)"),
        "indent": ("('a\\n\\nb', '> ')", "('a\\n\\nb', '> ', bool)"),
        "wrap": ("('the quick brown fox', 10)",),
        "shorten": ("('the quick brown fox', 10)", "('x', 10)"),
    },
    "difflib": {
        "SequenceMatcher.find_longest_match": ("(SequenceMatcher(None, ' abcd', 'abcd abcd'), 0, 5, 0, 9)", "(SequenceMatcher(lambda x: x == ' ', ' abcd', 'abcd abcd'),)", "(SequenceMatcher(None, 'ab', 'c'),)"),
        "SequenceMatcher.get_matching_blocks": ("(SequenceMatcher(None, 'abxcd', 'abcd'),)", "(SequenceMatcher(None, '', ''),)"),
        "SequenceMatcher.get_opcodes": ("(SequenceMatcher(None, 'qabxcd', 'abycdf'),)", "(SequenceMatcher(None, '', 'a'),)"),
        "SequenceMatcher.ratio": ("(SequenceMatcher(None, 'abcd', 'bcde'),)",),
        "SequenceMatcher.quick_ratio": ("(SequenceMatcher(None, 'abcd', 'bcde'),)",),
        "get_close_matches": ("('appel', ['ape', 'apple', 'peach'])", "('x', [], 0)", "('x', [], 1, 2.0)"),
        "_calculate_ratio": ("(1, 4)", "(0, 0)"),
        "_count_leading": ("('   abc', ' ')", "('abc', ' ')", "('   ', ' ')"),
        "IS_LINE_JUNK": ("('\\n',)", "('x',)"),
    },
    "json.decoder": {
        "py_scanstring": ("('abc\" x', 0)", "('a\\\\nb\\\\u0041\"', 0)", "('abc', 0)", "('a\\nb\"', 0)", "('\\\\q\"', 0)", "('\\\\ud834\\\\udd1e\"', 0)", "('\\\\u12', 0)"),
        "_decode_uXXXX": ("('\\\\u0041', 1)", "('\\\\u00', 1)", "('\\\\uxyzw', 1)"),
        "JSONDecoder.decode": ("(JSONDecoder(), '[1, 2]')", "(JSONDecoder(), '[1] x')", "(JSONDecoder(), '')"),
        "JSONArray": ("(('[1, 2]', 1), json.scanner.py_make_scanner(JSONDecoder()))", "(('[]', 1), None)", "(('[1 2]', 1), json.scanner.py_make_scanner(JSONDecoder()))", "(('[ ]', 1), None)"),
        "JSONObject": ("(('{\"a\": 1, \"b\" : 2}', 1), True, json.scanner.py_make_scanner(JSONDecoder()), None, None)", "(('{}', 1), True, None, None, None)", "(('{\"a\" 1}', 1), True, None, None, None)", "(('{a}', 1), True, None, None, None)", "(('{}', 1), True, None, None, list)", "(('{}', 1), True, None, dict, None)"),
    },
    "json.encoder": {
        "py_encode_basestring": ("('a\"b\\n',)",),
        "py_encode_basestring_ascii": ("('a\"b\\n\\u20ac\\U0001d11e',)",),
        "JSONEncoder.encode": ("(JSONEncoder(), 'x')", "(JSONEncoder(), [1, {'a': None}])", "(JSONEncoder(ensure_ascii=False), 'x')", "(JSONEncoder(), {1, 2})", "(JSONEncoder(indent=2), [1.5, float('inf'), True])"),
    },
    "_pydecimal": {
        "Decimal.__new__": ("(Decimal, '1.5e3')", "(Decimal, 3)", "(Decimal, -0.5)", "(Decimal, 'nan5')", "(Decimal, '-inf')", "(Decimal, (0, (1, 2), -1))", "(Decimal, (0, (1,)))", "(Decimal, (2, (1,), 0))", "(Decimal, 'x')", "(Decimal, None)", "(Decimal, (1, (), 'F'))"),
        "Decimal.__add__": ("(Decimal('1.5'), Decimal('2.25'))", "(Decimal('1e50'), Decimal('1'))", "(Decimal('inf'), Decimal('-inf'))", "(Decimal(0), Decimal('-0'))", "(Decimal('nan'), Decimal(1))", "(Decimal(5), Decimal(-5))", "(Decimal(1), 'x')"),
        "Decimal.__mul__": ("(Decimal('1.5'), Decimal('2.25'))", "(Decimal('inf'), Decimal(0))", "(Decimal(0), Decimal(3))", "(Decimal('10'), Decimal('0.3'))", "(Decimal('inf'), Decimal(-2))"),
        "Decimal.__truediv__": ("(Decimal(1), Decimal(3))", "(Decimal(1), Decimal(0))", "(Decimal(0), Decimal(0))", "(Decimal('inf'), Decimal(2))", "(Decimal(6), Decimal(3))", "(Decimal(0), Decimal(3))", "(Decimal(2), Decimal('inf'))"),
        "Decimal.__divmod__": ("(Decimal(7), Decimal(2))", "(Decimal(7), Decimal(0))", "(Decimal(0), Decimal(0))", "(Decimal('inf'), Decimal(2))"),
        "Decimal.__pow__": ("(Decimal(2), Decimal(10))", "(Decimal(2), Decimal('0.5'))", "(Decimal(-2), Decimal('0.5'))", "(Decimal(0), Decimal(0))", "(Decimal(2), Decimal(-3))", "(Decimal(2), 5, 3)", "(Decimal('inf'), Decimal(-2))", "(Decimal(1), Decimal('1e9'))"),
        "Decimal.sqrt": ("(Decimal(2),)", "(Decimal(-1),)", "(Decimal(16),)", "(Decimal('inf'),)", "(Decimal(0),)"),
        "Decimal.exp": ("(Decimal(1),)", "(Decimal('-inf'),)", "(Decimal(0),)", "(Decimal('inf'),)", "(Decimal('1e-40'),)"),
        "Decimal.ln": ("(Decimal(10),)", "(Decimal(0),)", "(Decimal(-1),)", "(Decimal(1),)"),
        "Decimal.log10": ("(Decimal(1000),)", "(Decimal(0),)", "(Decimal(2),)", "(Decimal(-1),)"),
        "Decimal.quantize": ("(Decimal('1.41421356'), Decimal('1.000'))", "(Decimal('inf'), Decimal(1))", "(Decimal('1e30'), Decimal('1.00'))", "(Decimal(0), Decimal('0.1'))"),
        "Decimal._cmp": ("(Decimal(1), Decimal(2))", "(Decimal('1.0'), Decimal(1))", "(Decimal(-1), Decimal(2))", "(Decimal(0), Decimal(-2))", "(Decimal('inf'), Decimal('inf'))"),
        "Decimal.__str__": ("(Decimal('1.5e30'),)", "(Decimal('nan123'),)", "(Decimal('0.000001'),)", "(Decimal('-inf'),)", "(Decimal('1E+3'),)"),
        "Decimal.__hash__": ("(Decimal('1.5'),)", "(Decimal('-inf'),)", "(Decimal('snan'),)", "(Decimal(10) ** 20,)"),
        "Decimal.__round__": ("(Decimal('2.5'),)", "(Decimal('2.567'), 2)", "(Decimal('nan'),)", "(Decimal(1), 'x')", "(Decimal('inf'),)"),
        "Decimal.to_integral_exact": ("(Decimal('2.5'),)", "(Decimal('nan'),)", "(Decimal('1e3'),)", "(Decimal(0),)"),
        "Decimal.next_plus": ("(Decimal(1),)", "(Decimal('inf'),)", "(Decimal('-inf'),)", "(Decimal('nan'),)"),
        "Decimal.fma": ("(Decimal(2), Decimal(3), Decimal(4))", "(Decimal('inf'), Decimal(0), Decimal(1))", "(Decimal('nan'), Decimal(0), Decimal(1))"),
        "Decimal.remainder_near": ("(Decimal(18), Decimal(10))", "(Decimal(1), Decimal(0))", "(Decimal(25), Decimal(10))"),
        "Decimal._fix": ("(Decimal('1.5'), getcontext())", "(Decimal('1' * 40), getcontext())", "(Decimal('1e-99999999'), getcontext())", "(Decimal('0e99999999'), getcontext())"),
        "_ilog": ("(12345, 1000)",),
        "_iexp": ("(12345, 1000)", "(-5, 1000)"),
        "_dlog10": ("(123456789, -3, 12)", "(5, 0, 3)", "(1, -2, 1)"),
        "_dexp": ("(23, -1, 12)", "(1, 0, 5)"),
        "_dpower": ("(2, 0, 5, -1, 8)", "(3, 0, 7, 0, 5)"),
        "_nbits": ("(255,)",),
        "_sqrt_nearest": ("(200, 14)", "(1, 1)", "(0, 1)"),
        "_rshift_nearest": ("(10, 2)", "(7, 1)"),
        "_div_nearest": ("(7, 2)", "(5, 2)"),
        "_normalize": ("(_WorkRep(Decimal('1.5')), _WorkRep(Decimal('1e20')), 9)", "(_WorkRep(Decimal('1e20')), _WorkRep(Decimal('1.5')), 9)"),
        "_decimal_lshift_exact": ("(12, 3)", "(0, 5)", "(1200, -2)", "(12, -2)"),
        "_parse_format_specifier": ("('.2f',)", "('>10',)", "('010.3e',)", "('xx',)", "('=+,.1%',)"),
    },
    "copy": {
        "deepcopy": ("([1, [2, {3: (4,)}]],)", "(1,)", "({'a': [1]},)", "('x',)"),
        "copy": ("([1, 2],)", "((1,),)", "(3,)"),
    },
    "string": {
        "capwords": ("('a bc  d',)", "('a-b', '-')"),
        "Template.substitute": ("(Template('$a ${b} $$'), {'a': 1, 'b': 2})", "(Template('$a'), {})", "(Template('$'), {})"),
        "Template.safe_substitute": ("(Template('$a ${b} $$ $'), {'a': 1})",),
    },
    "shlex": {
        "split": ("('a \"b c\" d',)", "(\"it's\",)", "('',)"),
        "quote": ("('a b',)", "('',)", "('ab',)"),
        "shlex.read_token": ("(shlex('foo \"bar baz\"', posix=True),)", "(shlex('# x\\nfoo'),)", "(shlex('\"open'),)", "(shlex('a|b', punctuation_chars=True),)", "(shlex('x\\\\ y', posix=True),)"),
    },
    "ipaddress": {
        "ip_address": ("('192.168.0.1',)", "('::1',)", "('x',)"),
        "IPv4Address._ip_int_from_string": ("('1.2.3.4',)",),
        "_find_address_range": ("([IPv4Address('1.0.0.1'), IPv4Address('1.0.0.2')],)",),
        "_count_righthand_zero_bits": ("(8, 32)", "(0, 32)"),
        "collapse_addresses": ("([IPv4Network('192.0.2.0/25'), IPv4Network('192.0.2.128/25')],)", "([IPv4Address('1.1.1.1'), IPv6Address('::1')],)"),
    },
}  # fmt: skip


def library() -> list[tuple[Callable[..., Any], tuple[str, ...], dict[str, Any]]]:
    """The functions that this Python has, with their inputs and the names that those are written in."""
    found = []
    for name, functions in LIBRARY.items():
        module = importlib.import_module(name)
        space = {
            **vars(importlib.import_module("operator")),
            **vars(importlib.import_module("decimal")),
            **vars(module),
        }
        space["operator"], space["json"] = importlib.import_module("operator"), importlib.import_module("json")
        for path, inputs in functions.items():
            function: Any = module
            for part in path.split("."):
                function = vars(function).get(part)
                if function is None:
                    break
            function = getattr(function, "__func__", function)
            if hasattr(function, "__code__"):
                found.append((function, inputs, space))
    return found
