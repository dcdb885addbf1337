"""Functions with control flow, each with inputs that reach all its lines: what the conversion must not change."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np

CASES: list[tuple[Callable[..., Any], tuple[str, ...]]] = []
counter = 0
log: list[Any] = []


def on(*inputs: str) -> Callable[[Any], Any]:
    """Run the function on these arguments, each the text of a tuple, evaluated anew for each run."""

    def note(function: Any) -> Any:
        CASES.append((function, inputs))
        return function

    return note


class Shout:
    """Says what is done with it."""

    def __init__(self, name: str, truth: bool = True) -> None:
        self.name, self.truth = name, truth

    def __bool__(self) -> bool:
        print("truth of", self.name)
        return self.truth

    def __lt__(self, other: Any) -> Any:
        print(self.name, "<", other)
        return Shout(f"{self.name}<{other}", self.truth)

    def __repr__(self) -> str:
        return self.name


class Account:
    """Has attributes, private names and a superclass."""

    total = 0

    def __init__(self, start: int = 0) -> None:
        self.balance = start
        self.__moves: list[int] = []

    def deposit(self, amounts: list[int]) -> int:
        for amount in amounts:
            if amount < 0:
                raise ValueError(amount)
            self.balance += amount
            self.__moves.append(amount)
        return len(self.__moves)

    def count(self, bound: int) -> int:
        __n = 0
        for __m in self.__moves:
            if __m > bound:
                __n += 1
        return __n

    def describe(self, loud: bool) -> str:
        return "ACCOUNT" if loud else "account"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.balance}, {self.__moves})"


class Savings(Account):
    """Calls super() in a branch and outside of one."""

    def describe(self, loud: bool) -> str:
        text = super().describe(loud)
        if loud:
            text += super().describe(False)
        for _ in range(2):
            text += __class__.__name__[0]
        return text


CASES.append((Account.deposit, ("(Account(3), [1, 2, 3])", "(Account(), [4, -1, 5])", "(Account(), [])")))
CASES.append((Account.count, ("(filled(1, 5, 9), 4)", "(filled(), 0)")))
CASES.append((Savings.describe, ("(Savings(), True)", "(Savings(), False)")))


def filled(*moves: int) -> Account:
    account = Account()
    account.deposit(list(moves))
    return account


# loops
@on("(0,)", "(1,)", "(10,)", "('x',)")
def sum_below(n):
    s = 0
    for i in range(n):
        s += i
    return s


@on("(0,)", "(7,)", "(27,)", "(1,)")
def collatz(n):
    steps = []
    while n > 1:
        steps.append(n)
        n = n // 2 if n % 2 == 0 else 3 * n + 1
    return steps, n


@on("(1071, 462)", "(0, 5)", "(7, 0)", "(1.5, 0.5)")
def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


@on("(30,)", "(2,)", "(0,)")
def sieve(n):
    prime = [True] * (n + 1)
    found = []
    for p in range(2, n + 1):
        if not prime[p]:
            continue
        found.append(p)
        for k in range(p * p, n + 1, p):
            prime[k] = False
    return found


@on("([3, 1, 2],)", "([],)", "([1],)", "([2, 2, 1, 0, -5],)", "([1, 'a'],)")
def bubble_sort(xs):
    n = len(xs)
    while True:
        swapped = False
        for i in range(1, n):
            if xs[i - 1] > xs[i]:
                xs[i - 1], xs[i] = xs[i], xs[i - 1]
                swapped = True
        if not swapped:
            break
        n -= 1
    return xs


@on("([1, 3, 5, 7], 5)", "([1, 3, 5, 7], 4)", "([], 1)", "([1, None], 3)")
def binary_search(xs, wanted):
    low, high = 0, len(xs) - 1
    while low <= high:
        middle = (low + high) // 2
        if xs[middle] == wanted:
            return middle
        elif xs[middle] < wanted:
            low = middle + 1
        else:
            high = middle - 1
    return -1


@on("(2.0,)", "(0.0,)", "(1e-9,)", "(-1.0,)", "(-3.0,)")
def newton_root(a):
    x = a if a > 1 else 1.0
    for k in range(100):
        new = 0.5 * (x + a / x)
        if abs(new - x) < 1e-12:
            break
        x = new
    else:
        k = "not found"
    return new, k


@on("(3,)", "(0,)", "(-2,)")
def nested_counts(n):
    rows = []
    for i in range(n):
        row = []
        for j in range(i + 1):
            row.append(i * j)
        rows.append(row)
    return rows


@on("('kitten', 'sitting')", "('', 'abc')", "('abc', '')", "('same', 'same')")
def edit_distance(a, b):
    before = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        now = [i]
        for j, y in enumerate(b, 1):
            cost = 0 if x == y else 1
            now.append(min(before[j] + 1, now[j - 1] + 1, before[j - 1] + cost))
        before = now
    return before[-1]


@on("(5,)", "(0,)", "(-1,)")
def triangle(n):
    total = 0
    while n > 0:
        m = n
        while m > 0:
            total += m
            m -= 1
        n -= 1
    else:
        total = -total
    return total, n


@on("([[1, 2], [3, -4]],)", "([[1, 2], []],)", "([],)", "([[1], [-1], [5]],)")
def first_negative(rows):
    for i, row in enumerate(rows):
        for j, x in enumerate(row):
            if x < 0:
                return i, j
    return None


@on("([1, 2, 3, 4, 5, 6],)", "([],)", "([5],)", "([2, 9],)")
def jumps_of_all_kinds(xs):
    out = []
    for x in xs:
        if x == 1:
            continue
        if x % 5 == 0:
            out.append("five")
            break
        for k in range(x):
            if k == 3:
                break
            if k % 2:
                continue
            out.append((x, k))
        else:
            out.append("all")
            continue
        out.append("end")
    else:
        out.append("else")
    return out


@on("(4,)", "(0,)", "(9,)")
def return_in_while_true(n):
    while True:
        if n > 8:
            return "big"
        if n == 0:
            return "zero"
        n -= 1


@on("([2, 1, 3],)", "([],)", "([0],)", "([2, 2],)")
def break_in_else_of_inner(xs):
    for x in xs:
        for y in range(x):
            if y == 1:
                break
        else:
            break
    else:
        return "never broke"
    return x


@on("(range(3),)", "(range(0),)", "(range(5),)")
def return_in_else(xs):
    for x in xs:
        if x == 4:
            break
    else:
        return "else"
    return "broke", x


@on("(5,)", "(1,)", "(0,)")
def while_else(n):
    while n:
        n -= 1
        if n == 3:
            break
    else:
        return "ran out"
    return n


@on("(3,)", "(0,)")
def after_the_loop(n):
    for i in range(n):
        square = i * i
    return i, square


@on("(3,)", "(0,)")
def after_the_while(n):
    while n > 0:
        last = n
        n -= 1
    print(n)
    return last


@on("(True,)", "(False,)")
def bound_in_one_branch(c):
    if c:
        x = 1
    return x


@on("(True, False)", "(False, True)", "(False, False)", "(True, True)")
def bound_in_some(a, b):
    if a:
        x = 1
    elif b:
        y = 2
    try:
        return x
    except UnboundLocalError as e:
        print(e)
    return y


@on("(0,)", "(1,)", "(5,)")
def bound_late(n):
    for i in range(n):
        if i == 2:
            found = i
        elif i > 2:
            return found * 100
    return found if n > 2 else None


@on("(2,)", "(0,)", "(1,)")
def read_before_bound(n):
    total = 0
    for k in range(n):
        if k:
            total += before
        before = k + 1
    return total


@on("([1, 2, 3],)", "([],)")
def carry_none(xs):
    best = None
    for x in xs:
        if best is None or x > best:
            best = x
    return best


# deletion
@on("(3,)", "(0,)")
def del_the_loop_variable(n):
    for i in range(n):
        del i
    return i


@on("(3,)", "(0,)", "(1,)")
def del_some(n):
    x = n
    for i in range(n):
        if i == 1:
            del x
            x = "again"
    if n == 1:
        del x
    return x


@on("(2,)", "(0,)")
def del_twice(n):
    x = y = n
    while n > 0:
        n -= 1
        del x, y
    return x


@on("({'a': 1, 'b': 2}, 'a')", "({}, 'a')")
def del_items(d, key):
    if key in d:
        del d[key]
        gone = True
    else:
        gone = False
    return d, gone


# closures
@on("(3,)", "(0,)")
def late_binding(n):
    fs = []
    for i in range(n):
        fs.append(lambda: i)
    return [f() for f in fs]


@on("(3,)", "(0,)")
def early_binding(n):
    fs = []
    for i in range(n):
        fs.append(lambda i=i: i)
    return [f() for f in fs]


@on("(3,)", "(0,)")
def late_binding_def(n):
    fs = []
    for i in range(n):
        j = i * 10

        def f():
            return i, j

        fs.append(f)
    i = "after"
    return [f() for f in fs]


@on("(4,)", "(0,)")
def nonlocal_counter(n):
    count = 0

    def bump():
        nonlocal count
        count += 1
        return count

    for _ in range(n):
        if bump() > 2:
            count += 10
    return count


@on("(4,)")
def closure_in_while(n):
    seen = []
    show = lambda: seen.append(n)
    while n > 0:
        n -= 1
        show()
    return seen


@on("(True,)", "(False,)")
def closure_after_branch(c):
    x = 1
    if c:
        x = 2
    f = lambda: x
    x += 1
    return f()


@on("(True,)", "(False,)")
def closure_over_maybe(c):
    if c:
        x = 2
    f = lambda: x
    return f()


@on("(None, 'a b')", "(str.upper, 'a b')")
def default_function(f, text):
    if f is None:

        def f(word):
            return word[::-1]

    def each():
        for word in text.split():
            yield f(word)

    return list(each())


@on("(5,)", "(0,)")
def generator_late(n):
    g = (i * n for i in range(n))
    n += 100
    return list(g)


@on("([3, 1, 2],)", "([],)")
def consumed_generators(xs):
    total = 0
    for x in xs:
        total += sum(x * y for y in xs if y < x)
    return total, any(x > 2 for x in xs), sorted(-x for x in xs)


@on("(4,)")
def recursion_inside(n):
    def fact(k):
        if k < 2:
            return 1
        return k * fact(k - 1)

    return [fact(i) for i in range(n)]


@on("(3,)", "(0,)")
def decorator_inside(n):
    @functools.lru_cache
    def fib(k):
        return k if k < 2 else fib(k - 1) + fib(k - 2)

    out = 0
    while n:
        out += fib(n)
        n -= 1
    return out, fib.__name__, fib.__qualname__


@on("(6,)", "(1,)")
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


@on("(4,)", "(0,)")
def is_even(n):
    if n == 0:
        return True
    return is_odd(n - 1)


@on("(4,)", "(0,)")
def is_odd(n):
    if n == 0:
        return False
    return is_even(n - 1)


# exceptions
@on("([1, 2, 0, 4],)", "([],)", "([1],)", "(['a'],)")
def error_in_the_middle(xs):
    total = 0
    for x in xs:
        total += 1 / x
    return total


@on("([1, 0, 2],)", "([],)", "([0, 0],)")
def caught_outside_the_loop(xs):
    done = []
    try:
        for i, x in enumerate(xs):
            done.append(1 / x)
    except ZeroDivisionError as e:
        print(e, i, x)
    return done, i


@on("([1, 0, 2, 'a'],)", "([],)", "([0, 5],)")
def caught_inside_the_loop(xs):
    done = []
    for x in xs:
        try:
            y = 10 // x
        except ZeroDivisionError:
            y = None
        except TypeError as e:
            print(e)
            raise
        else:
            y += 1
        finally:
            print("tried", x)
        done.append(y)
    return done


@on("([1, 0, 2],)", "([3],)", "([],)")
def jumps_out_of_try(xs):
    for x in xs:
        try:
            if x == 3:
                return "three"
            1 / x
        except ZeroDivisionError:
            break
        finally:
            print("finally", x)
    else:
        return "else"
    return "broke"


@on("(3, 5)", "(5, 3)", "('a', 1)")
def assertion(a, b):
    assert a < b, f"{a} is not below {b}"
    assert a
    return b - a


@on("(1,)", "(0,)")
def assertion_without_words(x):
    assert x
    return x


@on("(0,)", "(1,)", "(2,)", "(3,)")
def raises_of_all_kinds(k):
    if k == 0:
        raise ValueError("zero", k)
    elif k == 1:
        raise KeyError
    elif k == 2:
        try:
            raise IndexError("inner")
        except IndexError as e:
            raise RuntimeError("outer") from e
    return k


@on("([5, 'x'],)", "([],)")
def multiline_error(xs):
    out = []
    for x in xs:
        out.append(
            max(
                x,
                x + 1,
            )
        )
    return out


@on("([1, 2],)")
def suppressed(xs):
    n = 0
    with contextlib.suppress(KeyError):
        for x in xs:
            n += x
            if x == 2:
                raise KeyError(x)
    return n, x


@on("([1.0, 0.0],)", "([],)")
def errstate(xs):
    out = []
    with np.errstate(divide="ignore"):
        for x in xs:
            y = np.float64(1.0) / x
            out.append(float(y))
    return out, y


@on("(3,)", "(-1,)")
def error_in_test(n):
    while 6 // n > 0:
        n -= 1
    return n


@on("(iter([1, 2]),)", "(5,)", "(None,)")
def error_of_the_iterable(xs):
    total = 0
    for x in xs:
        total += x
    return total


@on("([(1, 2), (3,)],)", "([(1, 2)],)", "([4],)", "([],)")
def error_of_unpacking(pairs):
    out = []
    for a, b in pairs:
        out.append(a + b)
    return out


# conditions
@on("(1, 2)", "(0, 2)", "(0, 0)", "([], {})")
def logic(a, b):
    return a and b, a or b, not a, a and b or 7, not (a or b)


@on("(Shout('a'), Shout('b', False), Shout('c'))", "(Shout('a', False), Shout('b'), Shout('c', False))")
def truth_once(a, b, c):
    if a and b or c:
        print("then")
    if not a:
        print("not a")
    elif a or b:
        print("elif")
    while a and not b and c:
        print("loop")
        break
    x = a and b
    y = a or c
    return x, y, 1 if a and c else 2


@on("(Shout('a'), Shout('b'))", "(Shout('a', False), Shout('b'))")
def chains_ask_once(a, b):
    def said(x):
        print("said", x)
        return x

    first = said(a) < said(b) < said(3)
    if said(a) < said(b) < said(4):
        print("then")
    return first


@on("(1, 2, 3)", "(3, 2, 1)", "(2, 2, 2)", "(1, 'a', 2)")
def chained(a, b, c):
    return a < b < c, a <= b <= c != a, a == b == c, a is b is not c, a in [a, b] != [c]


@on("(5,)", "(-5,)", "(0,)")
def sign(x):
    return 1 if x > 0 else -1 if x < 0 else 0


@on("([1, 2, 3, 4],)", "([],)")
def walrus(xs):
    if (n := len(xs)) > 2:
        print(n)
    total = 0
    while (n := n - 1) >= 0:
        total += (last := xs[n])
    found = [y for x in xs if (y := x * 2) > 4]
    return total, n, found, y, last


@on("(5,)", "(0,)")
def walrus_in_and(n):
    if n > 2 and (m := n * 2) < 100:
        return m
    return (k := n) or k


@on("([3, 4],)", "([],)")
def test_with_effects(xs):
    out = []
    while xs.pop() if xs else out.append("empty"):
        out.append(len(xs))
    return out


@on("('a',)", "('b',)", "('c',)", "('d',)", "('z',)")
def long_elif(c):
    if c == "a":
        n = 1
    elif c == "b":
        n = 2
    elif c == "c":
        n = 3
    elif c == "d":
        return "d"
    else:
        n = 0
    return n


@on("(3,)", "(-3,)", "(0,)")
def early_returns(x):
    if x < 0:
        return "negative"
    y = x * 2
    if y == 0:
        return "zero"
    z = y + 1
    return z


@on("(3, 1)", "(2, 1)", "(1, 3)", "(0, 0)", "(0, 9)")
def nested_returns(a, b):
    if a > b:
        if a > 2:
            return "a"
        c = 1
    elif b > 5:
        c = 2
    else:
        if a == b:
            return "equal"
        c = 3
    return a, b, c


@on("(0,)", "(1,)")
def returns_nothing(x):
    if x:
        return
    print("on")


@on("([1, 2, 3],)", "([],)")
def flags_of_the_user(xs):
    stop = False
    done = result = skip = None
    for x in xs:
        if x == 2:
            stop = True
            break
        body_1 = x
    if xs:
        return stop, done, result, skip, body_1
    return stop


# targets
@on("([[1, 2, 3], [4], [5, 6]],)", "([],)", "([[]],)")
def starred_target(rows):
    out = []
    for first, *rest in rows:
        out.append((first, rest))
    return out


@on("([0, 0], [5, 6])", "([], [1])", "([0], [])")
def subscript_target(x, values):
    for x[0] in values:
        print(x)
    return x


@on("(Account(), [1, 2])", "(Account(), [])")
def attribute_target(account, values):
    for account.balance in values:
        pass
    return account


@on("({'a': 1, 'b': 2},)", "({},)")
def dict_items(d):
    total = 0
    for key, (value, n) in zip(d, [(v, v * 2) for v in d.values()]):
        total += value * n
        d[key] = total
    return total, d


@on("([3, 4, 5],)", "([],)")
def target_read_in_iterable(x):
    for x in x:
        y = x
    return x, y


@on("([1, 2, 3],)")
def iterable_changed(xs):
    for x in xs:
        if len(xs) < 6:
            xs.append(x * 10)
    return xs


@on("(iter(range(6)),)", "(iter([]),)")
def takes_from_its_iterator(it):
    out = []
    for x in it:
        out.append(x)
        if x == 1:
            out.append(next(it, None))
        if x == 4:
            break
    return out, list(it)


@on("(5,)", "(0,)")
def zip_stops(n):
    a, b = iter(range(n)), iter(range(3))
    pairs = [x for x in zip(a, b)]
    return pairs, list(a), list(b)


# arrays and aliasing
@on("(np.ones(3), 3)", "(np.zeros(2), 0)")
def augmented_alias(b, n):
    c = b
    for _ in range(n):
        b += 1
    return b, c, b is c


@on("(np.ones(3), True)", "(np.ones(3), False)")
def rebound_alias(b, in_place):
    c = b
    if in_place:
        b *= 2
    else:
        b = b * 2
    return b, c, b is c


@on("([1], 3)", "((1,), 2)", "('a', 2)")
def augmented_list(x, n):
    y = x
    while n > 0:
        x += x[:1]
        n -= 1
    return x, y, x is y


@on("(7, 3)", "(7.5, 2)", "(1, 0)", "(True, 1)")
def augmented_all(a, b):
    a += b
    a -= 2 * b
    a *= 3
    a **= 2
    a //= 1
    a %= 97
    a /= b
    return a


@on("(6, 3)", "(1, -1)")
def augmented_bits(a, b):
    for _ in range(2):
        a |= b
        a ^= 5
        a &= 127
        a <<= b
        a >>= 1
    return a


@on("(np.eye(2), np.ones((2, 2)))")
def augmented_matmul(a, b):
    for _ in range(3):
        a @= b
    return a


@on("(np.zeros(4),)", "(np.zeros(0),)")
def stores(x):
    for i in range(len(x)):
        x[i] = i
        x[i] += 0.5
        if i == 2:
            x[:i] = -1
    return x


@on("(np.arange(6.0).reshape(2, 3),)", "(np.zeros((0, 3)),)")
def rows(x):
    total = np.zeros(3)
    for row in x:
        total += row
        row *= 2
    return total, x


@on("(np.array([1.0, 2.0]), np.array([[0.5, 0.1], [0.2, 0.3]]), 5)", "(np.ones(2), np.eye(2), 0)")
def recurrence(h, w, n):
    states = []
    for _ in range(n):
        h = np.tanh(w @ h)
        states.append(h)
    return np.stack(states) if states else h


@on("(np.array([0.3, -0.4]),)", "(np.array([900.0, 1.0]),)", "(np.array([0.0, 0.5]),)")
def doubled_until(a):
    b = a * 2
    while np.linalg.norm(b) < 1000:
        b = b * 2
    if b.sum() > 0:
        c = b
    else:
        c = 100 * b
    return c


@on("(np.array([1.0, -1.0]),)", "(3.0,)", "(np.array([-1.0]),)")
def array_truth(x):
    if x > 0:
        return "positive"
    return "not"


@on("(0.1, 3.0)", "(5.0, 0.0)")
def bisection(low, high):
    while high - low > 1e-9:
        middle = (low + high) / 2
        if math.cos(middle) > 0:
            low = middle
        else:
            high = middle
    return low


@on("(random.Random(3), 20)", "(random.Random(4), 0)")
def metropolis(rng, n):
    x, accepted = 0.0, 0
    for _ in range(n):
        new = x + rng.uniform(-1, 1)
        if rng.random() < math.exp(0.5 * (x * x - new * new)):
            x = new
            accepted += 1
    return x, accepted


@on("(np.random.default_rng(0), 4)")
def draws(rng, n):
    out = []
    while len(out) < n:
        v = rng.normal()
        if v > 0 or out and v < out[-1]:
            out.append(v)
    return out


# scopes
@on("(3,)", "(0,)")
def global_counter(n):
    global counter
    for i in range(n):
        counter += i
        if counter > 2:
            counter -= 1
    return counter


@on("(3,)")
def global_list(n):
    for i in range(n):
        log.append(i)
        log[0] = n
    return len(log)


@on("(2,)", "(0,)")
def comprehension_scopes(n):
    x = "outer"
    a = [x for x in range(n)]
    b = {x: y for x in range(n) for y in range(x)}
    c = {x for x in a if x}
    d = [[x * y for y in range(2)] for x in a]
    return x, a, b, c, d, [lambda: x for x in range(n)] and 1


@on("(2,)", "(0,)")
def comprehension_closures(n):
    fs = [lambda: k for k in range(n)]
    gs = [(lambda k=k: k) for k in range(n)]
    return [f() for f in fs], [g() for g in gs]


@on("([(1, 2), (3, 4)],)", "([],)", "([(1,)],)")
def comprehension_targets(pairs):
    return [a * b for a, b in pairs] + [a for a, *_ in pairs]


@on("(2,)", "(0,)")
def comprehension_unbound(n):
    if n:
        k = n
    return [k + i for i in range(2)]


@on("(3,)")
def asks_locals(n):
    for i in range(n):
        j = i
    return sorted(locals())


@on("(3,)")
def class_in_loop(n):
    made = []
    for i in range(n):

        class Inner:
            value = i

            def get(self):
                return self.value

        made.append(Inner)
    return [(m.__qualname__, m().get()) for m in made]


@on("(3,)", "(0,)")
def import_in_branch(n):
    if n:
        import bisect as b

        return b.bisect([1, 2, 3], n)
    return "none"


@on("(3,)")
def names_of_functions(n):
    found = []
    for k in range(n):
        if k == 1:

            def inner():
                return lambda: k

            found += [inner.__qualname__, inner().__qualname__, inner.__name__]
    return found


@on("(1, 2, 3)", "(0,)")
def star_arguments(*args, **options):
    total = 0
    for a in args:
        total += a
    if not options and total:
        total = -total
    return total


@on("(5,)", "(5, 2)")
def defaults(n, step=1, *, until=3):
    out = []
    while n > until:
        out.append(n)
        n -= step
    return out


# match and others
@on("(1,)", "((1, 2),)", "([1, 2, 3],)", "({'k': 5},)", "('x',)", "(Account(3),)", "(None,)")
def matching(x):
    for _ in range(2):
        match x:
            case 1:
                r = "one"
            case (a, b):
                r = a + b
            case [a, *rest] if rest:
                r = rest
            case {"k": v, **others}:
                r = v, others
            case Account(balance=n):
                r = n
            case str() as s:
                r = s
            case _:
                r = None
    return r


@on("([1, 2, 0, 3],)", "([0],)", "([],)")
def match_with_jumps(xs):
    out = []
    for x in xs:
        match x:
            case 0:
                break
            case 1:
                continue
            case n:
                out.append(n)
        out.append("next")
    return out


@on("(3,)", "(0,)")
def generator(n):
    for i in range(n):
        got = yield i
        if not got and i == 1:
            break


@on("(3,)")
def uses_generator(n):
    def gen():
        try:
            for i in range(n):
                yield i
        finally:
            print("closed")

    for x in gen():
        if x == 1:
            break
    print("after")
    return x


@on("(3,)")
def generator_closed_by_return(n):
    def gen():
        try:
            yield from range(n)
        finally:
            print("closed")

    for x in gen():
        if x == 1:
            return print("returning") or x


@on("(4,)", "(0,)")
def annotated(n: int) -> "list[int]":
    out: list[int] = []
    k: int
    for k in range(n):
        half: float = k / 2
        if half > 0.5:
            out.append(k)
    return out


@on("(3,)", "(0,)")
def documented(n):
    """A docstring, which stays."""
    while n:
        n -= 1
    return n, documented.__doc__


@on("(10,)", "(3,)")
def infinite_iterator(n):
    for i in itertools.count():
        if i * i > n:
            return i


@on("(3,)", "(0,)")
def prints(n):
    for i in range(n):
        print(i, end=" " if i < n - 1 else "\n")
    else:
        print("end")


@on("({1: [2, 3], 2: [4], 3: [4], 4: []}, 1)", "({1: []}, 1)", "({}, 1)")
def depth_first(graph, start):
    seen, stack, order = set(), [start], []
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        order.append(node)
        for other in reversed(graph[node]):
            stack.append(other)
    return order


@on("('3+4*2',)", "('2*(3+4)',)", "('1+',)", "('(1',)")
def calculator(text):
    place = 0

    def peek():
        return text[place] if place < len(text) else ""

    def take():
        nonlocal place
        c = peek()
        place += 1
        return c

    def factor():
        if peek() == "(":
            take()
            value = expression()
            if take() != ")":
                raise SyntaxError("no )")
            return value
        return int(take())

    def term():
        value = factor()
        while peek() == "*":
            take()
            value *= factor()
        return value

    def expression():
        value = term()
        while peek() and peek() in "+-":
            if take() == "+":
                value += term()
            else:
                value -= term()
        return value

    return expression()


@on(
    "([[2.0, 1.0], [1.0, 3.0]], [3.0, 5.0])",
    "([[0.0, 1.0], [1.0, 0.0]], [1.0, 2.0])",
    "([[1.0, 1.0], [1.0, 1.0]], [1.0, 2.0])",
)
def gauss(a, b):
    n = len(b)
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(a[i][k]) > abs(a[best][k]):
                best = i
        if a[best][k] == 0:
            raise ArithmeticError("singular")
        if best != k:
            a[k], a[best] = a[best], a[k]
            b[k], b[best] = b[best], b[k]
        for i in range(k + 1, n):
            f = a[i][k] / a[k][k]
            for j in range(k, n):
                a[i][j] -= f * a[k][j]
            b[i] -= f * b[k]
    x = [0.0] * n
    for i in reversed(range(n)):
        s = b[i]
        for j in range(i + 1, n):
            s -= a[i][j] * x[j]
        x[i] = s / a[i][i]
    return x


@on("(0.0, 1.0, 0.1)", "(0.0, 0.0, 0.1)", "(0.0, 1.0, 0.3)", "(0.0, 4.0, 1e-2)")
def adaptive_step(t, end, h):
    y, steps = 1.0, 0
    while t < end:
        if t + h > end:
            h = end - t
        big = y - h * y
        half = y - h / 2 * y
        small = half - h / 2 * half
        error = abs(big - small)
        if error > 1e-3:
            h /= 2
            continue
        t, y = t + h, small
        steps += 1
        if error < 1e-4:
            h *= 2
        if steps > 50:
            raise RuntimeError("too many steps")
    return y, steps


@on("([1, 2, 3],)", "([],)", "([0.1] * 10,)", "([1, 'a'],)", "(5,)", "([[1], [2]],)")
def sums_of_comprehensions(xs):
    total = sum(x * 2 for x in xs)
    total += sum([x for x in xs], 5) + sum((i * x for i, x in enumerate(xs)), start=0.5)
    return total, sum(x for x in xs if x), sum(xs)


@on("([1, 2],)", "([],)")
def sum_that_is_another(xs):
    sum = lambda items, *more: (type(items).__name__, list(items), more)
    return sum(x + 1 for x in xs), sum([x for x in xs], 3)


@on("(iter([1, 2]),)", "([0],)")
def sum_that_stops(xs):
    def more(x):
        return next(iter([])) if x == 0 else x

    return sum([more(x) for x in xs])


@on("(iter([1, 2]),)", "([0],)")
def sum_that_stops_late(xs):
    def more(x):
        return next(iter([])) if x == 0 else x

    return sum(more(x) for x in xs) + sum(more(x) for x in xs)


lambda_branch = lambda x: "big" if x > 3 else ("small" if x >= 0 else "negative")
lambda_logic = lambda x, y: x and y or [k for k in range(3) if k != x]
CASES.append((lambda_branch, ("(5,)", "(1,)", "(-1,)", "('a',)")))
CASES.append((lambda_logic, ("(1, 2)", "(0, 0)", "(2, 0)")))
