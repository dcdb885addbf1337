"""Compiled functions: captured once per signature, then run as generated NumPy source."""

from __future__ import annotations

import functools
import os
import threading
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from sys import gettrace, modules, settrace
from typing import TYPE_CHECKING, Any

from ....runtime.arrays import PLACE, computing_with, library_of_arrays
from ....runtime.errors import CompileError, EagerWarning, VerifyError, is_of_a_signal
from ....tracer.core.exits import warn_at_user
from ....tracer.core.site import definition, prune
from ....tracer.core.thread_state import LOCAL
from ...transform import Transform
from ...trees import flatten
from ...user_code.scope import scope
from ..capture.failure import Failure
from .arms import Ran, UncheckedArmError
from .debugger import TRACED_BY, skipping_ours
from .varying import Varying

if TYPE_CHECKING:
    from .free_sizes import Families
    from .misses import Miss
    from .outcome_tree import Tree
    from .specialise import Entry, Inputs, Specialisation

__all__ = ["LIMIT", "TARGETS", "Compiled", "eager_only", "target_of"]

MANY = 512  # signatures (batch sizes, for one) that share those sources, after which they are forgotten
LIMIT = 16  # specialisations with a source of their own, after which new signatures run eagerly
TARGETS = ("numpy", "native", "auto")
_undumped: set[str] = set()  # folders that could not be written, of which one warning is enough
_ASKED = frozenset(["passes", "dump", "fastmath", "loop_memory"])
_STATIC = frozenset(["static_argnums", "static_argnames"])


def eager_only() -> bool:
    """Whether GRADSCRIBE_EAGER says that nothing is to be compiled."""
    return os.environ.get("GRADSCRIBE_EAGER", "") not in ("", "0")


def target_of(options: dict[str, Any]) -> str:
    """The target that was asked for: by `target=`, or by GRADSCRIBE_TARGET."""
    asked = options.get("target") or os.environ.get("GRADSCRIBE_TARGET", "") or "numpy"
    if asked not in TARGETS:
        raise ValueError(f"target is {', '.join(map(repr, TARGETS[:-1]))} or {TARGETS[-1]!r}, not {asked!r}")
    return str(asked)


def _dump(filename: str, text: str) -> None:
    """Write a source into the folder that GRADSCRIBE_DUMP names, if it names one; a folder that cannot be written only warns."""
    folder = os.environ.get("GRADSCRIBE_DUMP", "")
    if not folder:
        return
    try:
        os.makedirs(folder, exist_ok=True)
        Path(folder, os.path.basename(filename)).write_text(text, encoding="utf-8")
    except OSError as error:
        if folder not in _undumped:
            _undumped.add(folder)
            warnings.warn(f"GRADSCRIBE_DUMP={folder}: generated source could not be written: {error}", stacklevel=2)


@functools.cache
def _compiler() -> Any:
    """The compiler proper, which stands on gast and is loaded when something is first compiled."""
    from . import lazy_imports

    return lazy_imports


class Compiled(Transform):
    """A compiled function: called like the function, it runs generated source, or says why it does not."""

    kind = "compile"

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, options)
        self.verify: Any = options["verify"]  # True: each call; "first calls": as without it, differences being errors
        self.limit: int = options.get("max_specialisations", LIMIT)
        self._optimised = _compiler().passes_of(options) if _ASKED & options.keys() else None
        self._static = _compiler().Static.of(function, options) if _STATIC & options.keys() else None
        self._last: Entry | None = None
        self._recent: tuple[Entry, ...] = ()  # and those before it: of other sizes
        self._varying = Varying()  # where numbers change from call to call
        self._entries: dict[Any, list[Entry]] = {}
        self._families: Families | None = None  # what is known of other sizes
        self._texts: dict[Any, Specialisation] = {}
        self._trees: dict[frozenset[Specialisation], Tree] = {}
        self._hits: dict[Specialisation, int] = {}  # of entries that were forgotten
        self._misses: deque[Miss] = deque(maxlen=16)
        self._number_misses: dict[Any, int] = {}
        self._keeps = True  # loops and branches stay what they are, where they can
        self._eager: Failure | None = None
        self._said: dict[Failure, int] = {}  # why calls ran eagerly, and how many did
        self._lock = threading.RLock()
        target = target_of(options)
        self._native = None if target == "numpy" else _compiler().Native(self, waits=target == "native")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if gettrace() is not None and getattr(gettrace(), "__name__", None) == TRACED_BY:
            settrace(skipping_ours(gettrace(), settrace(None)))  # type: ignore[func-returns-value]
        last = self._last
        if last is not None and LOCAL.depth == 0 and not LOCAL.watched:
            try:
                fits = last.check(*args, **kwargs) if kwargs else last.check(*args)  # which is quicker
            except (TypeError, ValueError, AttributeError, LookupError):
                fits = False
            if fits:
                try:
                    result = last.call(*args, **kwargs) if kwargs else last.call(*args)
                except Exception as error:
                    result = self._raised(error, last, args, kwargs)
                if result is not NotImplemented:
                    last.hits += 1
                    return result
        try:
            if "cupy" in modules and (library := library_of_arrays(flatten((args, kwargs))[0])) is not None:
                with computing_with(library):
                    return self._slow(args, kwargs)
            return self._slow(args, kwargs)
        except Exception as error:
            raise prune(error) from error.__cause__

    def _slow(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if LOCAL.depth or self._eager is not None or LOCAL.eagerly or eager_only():
            return self._run_eagerly(args, kwargs)  # who looks on sees the function itself
        if LOCAL.profiler is not None:
            return self._profiled(args, kwargs)
        for entry in self._recent[1:]:
            if entry.fits(args, kwargs) and (result := self._called(entry, args, kwargs)) is not NotImplemented:
                self._remember(entry)
                return result
        return self._specialised(args, kwargs)

    def _profiled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call as one entry of a profile, which says whether the function was captured for it."""

        def known() -> tuple[int, int]:
            return len(self._texts), len(self._entries)

        return LOCAL.profiler.whole(self._label(), self, args, kwargs, known)

    def _remember(self, entry: Entry | None) -> None:
        self._last = entry
        self._recent = () if entry is None else (entry, *[e for e in self._recent if e is not entry][:7])

    def _run_eagerly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._eager is not None:
            self._said[self._eager] = self._said.get(self._eager, 0) + 1
        if LOCAL.depth:
            return scope().rebuild(self.function)(*args, **kwargs)
        return self.function(*args, **kwargs)

    def inputs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inputs:
        """Return the arguments of a call as specialisations look at them."""
        return _compiler().Inputs(self.function, args, kwargs, self._varying.places, self._static)  # type: ignore[no-any-return]

    def _specialised(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        inputs = self.inputs(args, kwargs)
        if (arrays := inputs.unmapped()) is not None:
            return self._specialised(*arrays)
        if inputs.refused is not None:
            self._say(inputs.refused, stays=False)
            return self._run_eagerly(args, kwargs)
        for entry in tuple(self._entries.get(inputs.key, ())):
            if not entry.specialisation.doubted and self.verify is not True and entry.fits(args, kwargs):
                result = self._called(entry, args, kwargs)
                if result is not NotImplemented:
                    if self._eager is None:
                        self._remember(entry)
                    return result
        if not self._lock.acquire(blocking=False):  # another thread specialises; waiting for it could be for ever
            return self._run_eagerly(args, kwargs)
        try:
            return self._specialised_alone(inputs, args, kwargs)
        finally:
            self._lock.release()

    def _called(self, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            result = entry.call(*args, **kwargs)
        except Exception as error:
            result = self._raised(error, entry, args, kwargs)
        if result is not NotImplemented:
            entry.hits += 1
        return result

    def _raised(self, error: Exception, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An error of generated source: raised, or where eager would have written before it, what eager does.

        NotImplemented where the call takes an arm that no checked call has taken.
        """
        if is_of_a_signal(error):
            raise error
        if isinstance(error, UncheckedArmError) or (entry.lengths and entry.specialisation.raised_early(error)):
            return NotImplemented
        changes = entry.specialisation.signature.writes or entry.stores
        if changes and _compiler().wrote_nothing(error, entry.specialisation):
            return self._run_eagerly(args, kwargs)
        raise _compiler().located(error, entry.specialisation) from error.__cause__

    def _specialised_alone(self, inputs: Inputs, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call where something is not known yet: one thread at a time."""
        for entry in tuple(self._entries.get(inputs.key, ())):
            if not entry.fits(args, kwargs):
                continue
            specialisation = entry.specialisation
            checking = specialisation.doubted or self.verify is True
            result = NotImplemented if checking else self._called(entry, args, kwargs)
            if checking or (result is NotImplemented and specialisation.arms):
                result = self._checked_again(entry, inputs, args, kwargs)
            if result is not NotImplemented:
                if not specialisation.doubted and self._eager is None and self.verify is not True:
                    if self._native is not None and entry.members and PLACE.module is None:
                        self._native.take_over(entry, inputs)
                    self._remember(entry)
                return result
            if entry.leaves_out(args, kwargs):
                return self._left_out(entry, args, kwargs)
        if len(self._texts) >= self.limit and not (self._families and self._families.may_serve(inputs.key)):
            self._say_full()
            return self._run_eagerly(args, kwargs)
        if self._note_miss(inputs):
            inputs = self.inputs(args, kwargs)
        return self._capture(inputs, args, kwargs, inputs.key)

    def _left_out(self, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of lengths that are not worth to be learnt."""
        if entry.left_out > max(MANY, entry.hits):
            self._say(Failure(
                "has lengths that follow from values, as that of `x[mask]`, and seldom the same twice; calls with new ones run "
                "eagerly. Keep all elements, and let zeros take no part (np.where)", definition(self.function),
            ), stays=False)  # fmt: skip
        return self._run_eagerly(args, kwargs)

    def _say_full(self) -> None:
        self._say(Failure(
            f"has {self.limit} specialisations already; other signatures run eagerly. Pass what varies as arrays or floats",
            definition(self.function),
        ), stays=False)  # fmt: skip

    def _note_miss(self, inputs: Inputs) -> bool:
        """Remember why nothing known serves a call, as the newest entries of its kind say; whether numbers changed."""
        known: Sequence[Entry] = self._entries.get(inputs.key, ())[:4]
        if not known:
            newest = {entry.specialisation: entry for entries in self._entries.values() for entry in entries[:1]}
            known = tuple(newest.values())
        quiet = [entry for entry in known if not _compiler().prints(entry.specialisation.raw)]
        varies = self._varying.note(inputs, quiet)
        miss = _compiler().missed(known, inputs) if known else None
        if miss is not None:
            self._misses.append(miss)
        return varies

    def _capture(self, inputs: Inputs, args: tuple[Any, ...], kwargs: dict[str, Any], key: Any) -> Any:
        families = self._families = self._families or _compiler().Families()
        try:
            options = (self._optimised, self._varying.places, families, self._keeps)
            result, made = _compiler().captured(self.function, inputs, *options)
        except _compiler().NeededError as needed:
            made = needed
        except _compiler().NumberNeededError as error:
            self._varying.fix()
            for failure in error.args:
                self._say(failure, stays=False)
            return self._run_eagerly(args, kwargs)
        except _compiler().OverlapError as overlap:
            self._say(Failure(str(overlap), definition(self.function)), stays=False)
            return self._run_eagerly(args, kwargs)
        if isinstance(made, _compiler().NeededError):
            again = self._specialised_alone
            return self._varying.run_fixed(made.places, lambda: again(self.inputs(args, kwargs), args, kwargs))
        if made is None:
            return result
        if self._varying.places and (
            isinstance(made, (_compiler().Unwritten, Failure)) or (made.varied and made.number_guards)
        ):
            self._varying.fix()  # and the next call is captured with their values
            return result
        if isinstance(made, _compiler().Unwritten):
            if self.verify:
                raise made.error
            if made.kept:
                return self._unroll(result)
            why = f"could not be written as source ({made.error!r}); please report it"
            made = Failure(why, definition(self.function))
        if isinstance(made, Failure):
            self._say(made, stays=not made.passing)
            return result
        if made.number_guards:
            self._number_misses[key] = self._number_misses.get(key, 0) + 1
            if self._number_misses[key] > 2:
                why = "turns a traced float into a number that differs from call to call"
                self._say(Failure(why, made.number_site), stays=True)
                return result
        problem = made.first_check(result)
        if problem is not None and made.varied:
            self._varying.fix()
            return result
        if problem is not None and made.shared and (not self.verify or families.has_several(made.outline)):
            families.fix(made.outline)  # and the next call of this size is written down by itself
            return result
        if problem is not None and made.kept and not self.verify:
            return self._unroll(result)
        if problem is not None:
            self._mismatch(problem, made.entry, made.before)
            return result
        text = (made.entry.specialisation.text, made.entry.specialisation.rebuild)
        known = self._texts.get(text)
        entry = (
            made.entry
            if known is None
            else _compiler().Entry(made.entry.plan, known, made.entry.extras, (), made.entry.stores, made.entry.lengths)
        )
        if known is None and len(self._texts) >= self.limit:
            families.refuse(key)
            self._say_full()
            return result
        if known is not None:
            known.trust_arms(made.entry.specialisation.checked)
        families.learn(made.outline, entry.specialisation, key)
        if made.shared:  # a known source serves another size, and was checked there
            entry.specialisation.settle(Ran())
            if self._entries and self._misses:
                self._misses.pop()
        if known is None:
            self._texts[text] = made.entry.specialisation
            _dump(made.entry.specialisation.filename, made.entry.specialisation.text)
        if len(self._entries) > MANY:
            self._hits = self._own_hits()
            self._entries.clear()
        self._add(entry, key, args, kwargs)
        native = self._native if PLACE.module is None else None
        if native is not None and entry in self._entries[key]:  # or a tree has it, which is checked first
            native.take_over(entry, made.before)
        return result

    def _unroll(self, result: Any) -> Any:
        """The source with loops kept is not right: the next call is captured without."""
        self._keeps = False
        self._entries.clear()
        self._texts.clear()
        self._families = None
        self._remember(None)
        return result

    def _add(self, entry: Entry, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Keep an entry: in a tree with others of its signature, where they differ in the paths that they take."""
        entries = self._entries.get(key, [])
        for known in entries if entry.lengths else ():
            if known.specialisation is entry.specialisation and known.fits(args, kwargs):
                known.learn(entry)
                return
        try:
            self._entries[key] = _compiler().joined(entry, entries, self._trees) if entries else [entry]
        except Exception as error:  # of ours: sources of their own do as well
            if is_of_a_signal(error):
                raise
            self._entries[key] = [entry, *entries]
            if self.verify:
                raise
        first = self._entries[key][0]
        if first.members and first.specialisation.doubted:
            self._remember(None)
            _dump(first.specialisation.filename, first.specialisation.text)
        elif not first.specialisation.doubted and self.verify is not True:
            self._remember(first)

    def _checked_again(self, entry: Entry, inputs: Inputs, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The first call whose inputs differ runs both ways, as does one that takes an arm for the first time.

        With `verify=True` every call does.
        """
        specialisation, ran = entry.specialisation, Ran()
        counts = self.verify is not True and not specialisation.paths and specialisation.unchecked > 0
        if counts:
            specialisation.unchecked -= 1
            if inputs.digest() == specialisation.digest and entry.reads_as_at_first():
                result = self._called(entry, args, kwargs)
                if result is not NotImplemented:
                    return result
        copies, outside = inputs.copied(), entry.outside()
        found = entry.tried(copies, ran, outside)
        if found is NotImplemented:  # a guard fails: this call is another's
            specialisation.unchecked += counts
            return found
        unasked = _compiler().writes_unasked(entry, ((args, kwargs), entry.left_outside()), (copies, outside))
        checks = self.verify is True or counts or specialisation.doubts(ran, inputs.digest())
        if unasked is None and not checks:
            return self._called(entry, args, kwargs)
        before, held, stood = inputs.again(), _compiler().snapshots(entry.stores), entry.left_outside()
        try:
            result = self._run_eagerly(args, kwargs)
        except Exception as error:
            if type(error) is not type(found) and self.verify is True:
                self._mismatch(f"eager raised {error!r}, compiled gave {found!r}", entry, before)
            raise
        entry.hits += 1
        problem = f"it raised {found!r}" if isinstance(found, Exception) else unasked
        if problem is None:
            found, values = entry.parted(found)
            problem = _compiler().difference(found, result, specialisation.eps)
            problem = problem or _compiler().left_otherwise(entry, copies, outside, inputs, stood)
            problem = problem or _compiler().holds_otherwise(entry.stores, values, held, specialisation.eps)
        if problem is not None and specialisation.digest is None and self._varying.places:
            self._varying.fix()
            self._entries.clear()
            return result
        if problem is not None and not self.verify and specialisation.loops():
            specialisation.forget()
            return self._unroll(result)
        if problem is not None:
            self._mismatch(problem, entry, before)
        specialisation.settle(ran)
        return result

    def _mismatch(self, problem: str, entry: Entry, inputs: Inputs) -> None:
        statement = _compiler().first_difference(entry, inputs)
        entry.specialisation.forget()
        self._remember(None)
        self._eager = Failure(
            f"gave another result compiled than eagerly ({problem}{'; ' * bool(statement)}{statement})",
            definition(self.function),
        )
        if self.verify:
            raise VerifyError(
                f"gs.compile({self._label()}): {self._eager}. Please report it; the function runs eagerly."
            )
        self._say(self._eager, stays=True)

    def _label(self) -> str:
        return str(getattr(self.function, "__name__", self.function))

    def _say(self, failure: Failure, stays: bool) -> None:
        if stays:
            self._eager = failure
            self._remember(None)
        elif failure in self._said:
            self._said[failure] += 1
            return
        self._said[failure] = 1
        self._warn(f"gs.compile: `{self._label()}` runs eagerly: {failure}.")

    def _warn(self, message: str) -> None:
        """Say that calls run eagerly, at the user's line; who compiles unasked says nothing."""
        warn_at_user(message, EagerWarning)

    def hits(self) -> dict[Specialisation, int]:
        """The number of calls that each specialisation served; several threads at once may lose a few."""
        if self._native is not None:
            self._native.count()
        return {one: hits + one.left[0] for one, hits in self._own_hits().items()}

    def _own_hits(self) -> dict[Specialisation, int]:
        """Return the number of calls that each served by itself, outside of trees."""
        found = dict.fromkeys(self._texts.values(), 0) | self._hits
        for entries in list(self._entries.values()):
            for one in (one for entry in entries for one in entry.members or (entry,)):
                found[one.specialisation] = found.get(one.specialisation, 0) + one.hits
        return found

    def specialisation(self, *args: Any, **kwargs: Any) -> Specialisation:
        """The specialisation that serves a call with these arguments, captured now if need be."""
        return self.entry(*args, **kwargs).specialisation

    def entry(self, *args: Any, **kwargs: Any) -> Entry:
        """Return the signature and the specialisation that serve a call with these arguments, captured now if need be."""
        library = library_of_arrays(flatten((args, kwargs))[0])
        with computing_with(PLACE.module if library is None else library):
            return self._entry(args, kwargs)

    def _entry(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Entry:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EagerWarning)
            inputs = self.inputs(args, kwargs)
            if (arrays := inputs.unmapped()) is not None:
                return self._entry(*arrays)
            if inputs.refused is None:
                found = self._serving(args, kwargs)
                if found is not None:
                    return found
                for _ in range(2 if self._eager is None and not LOCAL.depth else 0):  # the first may not make it yet
                    copies = inputs.copied()
                    self._specialised(tuple(copies[0]), copies[1])  # it may write into its arguments
                    found = self._serving(args, kwargs)
                    if found is not None:
                        return found
        reason = self._eager or inputs.refused or Failure("has too many specialisations", None)
        raise CompileError(f"`{self._label()}` has no generated source, because it runs eagerly: {reason}.")

    def _serving(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Entry | None:
        inputs = self.inputs(args, kwargs)
        for entry in self._entries.get(inputs.key, ()):
            if entry.fits(args, kwargs):
                found = entry.tried(inputs.copied())
                if isinstance(found, Exception):
                    raise found
                if found is not NotImplemented:
                    return entry
        return None
