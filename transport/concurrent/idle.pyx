"""Native idle strategies, by class or by name (spec configuration 9, spec client 18).

A park waits on a word of the strategy as well as on the clock, so that wake() from another thread
ends it at once and a runner stops promptly, however long its strategy sleeps.
"""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.concurrent.atomic cimport (
    cpu_pause,
    load_acquire_i32,
    load_plain_i64,
    store_release_i32,
)
from aerolog.transport.time_units cimport NS_PER_MS, NS_PER_S, NS_PER_US

from aerolog.transport.errors import ConfigurationError

cdef extern from *:
    """
    #if defined(__linux__)
    #include <linux/futex.h>
    #include <sys/syscall.h>
    #include <time.h>
    #include <unistd.h>

    /* Waits while *word is 0, at most so long. Spurious and early returns are allowed. */
    static void aerolog_wait_word(int32_t *word, int64_t duration_ns)
    {
        struct timespec wait = {duration_ns / 1000000000, duration_ns % 1000000000};
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, &wait, NULL, 0);
    }

    static void aerolog_wake_word(int32_t *word)
    {
        syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
    #else
    #include <time.h>

    /* Without futexes a park is cut into slices, after each of which the word is looked at. */
    static void aerolog_wait_word(int32_t *word, int64_t duration_ns)
    {
        while (duration_ns > 0 && __atomic_load_n(word, __ATOMIC_ACQUIRE) == 0)
        {
            int64_t slice = duration_ns < 10000000 ? duration_ns : 10000000;
            struct timespec wait = {0, slice};
            nanosleep(&wait, NULL);
            duration_ns -= slice;
        }
    }

    static void aerolog_wake_word(int32_t *word) { (void)word; }
    #endif
    """
    void wait_word "aerolog_wait_word" (int32_t* word, int64_t duration_ns) noexcept nogil
    void wake_word "aerolog_wake_word" (int32_t* word) noexcept nogil

cdef extern from "sched.h" nogil:
    int sched_yield() noexcept

cdef int64_t _MAX_PERIOD_NS = <int64_t> 3600 * NS_PER_S
cdef int64_t _DEFAULT_PARK_NS = NS_PER_US


def _checked(what: str, value: int, low: int, high: int) -> int:
    if not low <= value <= high:
        raise ConfigurationError(f"{what} must be in {low}..{high}: {value}")
    return value


cdef class IdleStrategy:
    """Base of the native strategies; an instance belongs to one thread."""

    cdef void idle(self, int work_count) noexcept nogil:
        pass

    cdef void reset(self) noexcept nogil:
        pass

    cdef void wake(self) noexcept nogil:
        store_release_i32(&self._signal, 1)
        wake_word(&self._signal)

    cdef bint park(self, int64_t duration_ns) noexcept nogil:
        if load_acquire_i32(&self._signal) == 0:
            wait_word(&self._signal, duration_ns)
        if load_acquire_i32(&self._signal) == 0:
            return False
        store_release_i32(&self._signal, 0)
        return True

    cdef int64_t longest_park(self) noexcept nogil:
        return 0

    def __call__(self, work_count: int = 0) -> None:
        """Idle once, without the GIL; a positive work count resets instead."""
        cdef int count = work_count
        with nogil:
            self.idle(count)

    def reset_idle(self) -> None:
        """Return to the shortest wait."""
        self.reset()

    def wake_up(self) -> None:
        """End the park of the owning thread; any thread may call this."""
        self.wake()

    @property
    def alias(self) -> str:
        """Short name of the strategy in the configuration."""
        return _ALIAS_BY_CLASS.get(type(self), type(self).__name__)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


cdef class NoOpIdleStrategy(IdleStrategy):
    """Does not wait at all."""


cdef class BusySpinIdleStrategy(IdleStrategy):
    """Executes the processor's pause instruction for spin loops."""

    cdef void idle(self, int work_count) noexcept nogil:
        if work_count <= 0:
            cpu_pause()


cdef class YieldingIdleStrategy(IdleStrategy):
    """Yields the processor to another thread."""

    cdef void idle(self, int work_count) noexcept nogil:
        if work_count <= 0:
            sched_yield()


cdef class SleepingIdleStrategy(IdleStrategy):
    """Parks for a fixed time.

    Args:
        period_ns: duration of a park, from 1 ns to an hour.
    """

    def __init__(self, period_ns: int = NS_PER_US) -> None:
        self.period_ns = _checked("sleep period in ns", period_ns, 1, _MAX_PERIOD_NS)

    cdef void idle(self, int work_count) noexcept nogil:
        if work_count <= 0:
            self.park(self.period_ns)

    cdef int64_t longest_park(self) noexcept nogil:
        return self.period_ns

    def __repr__(self) -> str:
        return f"{type(self).__name__}(period_ns={self.period_ns})"


cdef class SleepingMillisIdleStrategy(SleepingIdleStrategy):
    """Parks for a number of milliseconds.

    Args:
        period_ms: duration of a park, milliseconds.
    """

    def __init__(self, period_ms: int = 1) -> None:
        super().__init__(period_ms * NS_PER_MS)


cdef inline bint _counts(int64_t* turns, int64_t most) noexcept nogil:
    """Count one more turn, unless there were as many as there may be."""
    if turns[0] >= most:
        return False
    turns[0] += 1
    return True


cdef inline int64_t _doubled(int64_t* park_ns, int64_t most_ns) noexcept nogil:
    """Double the next park; return this one."""
    cdef int64_t this_ns = park_ns[0]
    park_ns[0] = min(this_ns * 2, most_ns)
    return this_ns


cdef class BackoffIdleStrategy(IdleStrategy):
    """Spins, then yields, then parks for times that double, until there is work again.

    Args:
        max_spins: number of spins before the first yield.
        max_yields: number of yields before the first park.
        min_park_ns: duration of the first park, nanoseconds.
        max_park_ns: duration of the longest park, nanoseconds.
    """

    def __init__(
        self,
        max_spins: int = 10,
        max_yields: int = 20,
        min_park_ns: int = NS_PER_US,
        max_park_ns: int = NS_PER_MS,
    ) -> None:
        self.max_spins = _checked("backoff spins", max_spins, 0, 2**62)
        self.max_yields = _checked("backoff yields", max_yields, 0, 2**62)
        self.min_park_ns = _checked("backoff shortest park in ns", min_park_ns, 1, _MAX_PERIOD_NS)
        self.max_park_ns = _checked(
            "backoff longest park in ns", max_park_ns, min_park_ns, _MAX_PERIOD_NS
        )
        self._park_ns = self.min_park_ns

    cdef void idle(self, int work_count) noexcept nogil:
        if work_count > 0:
            self._spins = 0
            self._yields = 0
            self._park_ns = self.min_park_ns
        elif _counts(&self._spins, self.max_spins):
            cpu_pause()
        elif _counts(&self._yields, self.max_yields):
            sched_yield()
        else:
            self.park(_doubled(&self._park_ns, self.max_park_ns))

    cdef int64_t longest_park(self) noexcept nogil:
        if self._yields < self.max_yields or self._park_ns < self.max_park_ns:
            return 0
        return self.max_park_ns

    cdef void reset(self) noexcept nogil:
        self._spins = 0
        self._yields = 0
        self._park_ns = self.min_park_ns

    def pause_ns(self, work_count: int = 0) -> int:
        """Count a turn as a call does, for a caller that waits by other means than a park.

        Args:
            work_count: the work of the turn; a positive one starts over.

        Returns:
            How long to wait, in nanoseconds; 0 where a call would spin or yield.
        """
        cdef int count = work_count
        if count > 0:
            self.reset()
            return 0
        if _counts(&self._spins, self.max_spins) or _counts(&self._yields, self.max_yields):
            return 0
        return _doubled(&self._park_ns, self.max_park_ns)

    def __repr__(self) -> str:
        return (
            f"BackoffIdleStrategy(max_spins={self.max_spins}, max_yields={self.max_yields},"
            f" min_park_ns={self.min_park_ns}, max_park_ns={self.max_park_ns})"
        )


cdef class ControllableIdleStrategy(IdleStrategy):
    """Idles as the value of a counter says: 1 not at all, 2 spin, 3 yield, any other park."""

    cdef void bind(self, int64_t* mode_counter, object owner):
        self._mode_counter = mode_counter
        self._counter_owner = owner

    cdef void idle(self, int work_count) noexcept nogil:
        cdef int64_t mode
        if work_count > 0:
            return
        mode = 0 if self._mode_counter == NULL else load_plain_i64(self._mode_counter)
        if mode == 1:
            return
        if mode == 2:
            cpu_pause()
        elif mode == 3:
            sched_yield()
        else:
            self.park(_DEFAULT_PARK_NS)


cdef class CallableIdleStrategy(IdleStrategy):
    """Calls a Python callable with the work count.

    If it raises an exception in a native loop, the strategy parks instead and keeps the exception
    in ``error``, from which the runner passes it to its error handler.
    """

    def __init__(self, function: object) -> None:
        if not callable(function):
            raise ConfigurationError(f"an idle strategy is a callable or a name: {function!r}")
        self.function = function
        self.error = None

    cdef void idle(self, int work_count) noexcept nogil:
        cdef bint failed = False
        with gil:
            try:
                self.function(work_count)
            except BaseException as error:
                self.error = error
                failed = True
        if failed:
            self.park(NS_PER_MS)

    def __call__(self, work_count: int = 0) -> None:
        """Call the function; its exceptions reach the caller."""
        self.function(work_count)

    def take_error(self) -> object:
        """Return the exception that was kept, and forget it."""
        error, self.error = self.error, None
        return error

    def __repr__(self) -> str:
        return f"CallableIdleStrategy({self.function!r})"


_CLASSES = {
    "noop": NoOpIdleStrategy,
    "spin": BusySpinIdleStrategy,
    "yield": YieldingIdleStrategy,
    "sleep-ns": SleepingIdleStrategy,
    "sleep-ms": SleepingMillisIdleStrategy,
    "backoff": BackoffIdleStrategy,
    "controllable": ControllableIdleStrategy,
}
_ALIAS_BY_CLASS = {strategy: alias for alias, strategy in _CLASSES.items()}
_JAVA_PACKAGE = "org.agrona.concurrent."

# All names of the strategies, and the alias for each.
ALIASES = {
    **{alias: alias for alias in _CLASSES},
    **{_JAVA_PACKAGE + strategy.__name__: alias for alias, strategy in _CLASSES.items()},
    "sleeping": "sleep-ns",
}


def _duration_ns(text: str) -> int:
    from aerolog.transport.config import parse_duration_ns

    return parse_duration_ns("idle strategy arguments", text)


def _count(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ConfigurationError(f"not a count: {text!r}") from None


def _with_arguments(alias: str, init_args: str) -> IdleStrategy:
    words = [word.strip() for word in init_args.split(",")]
    if alias == "sleep-ns" and len(words) == 1:
        return SleepingIdleStrategy(_duration_ns(words[0]))
    if alias == "backoff" and len(words) == 4:
        return BackoffIdleStrategy(
            _count(words[0]), _count(words[1]), _duration_ns(words[2]), _duration_ns(words[3])
        )
    raise ConfigurationError(f"idle strategy {alias!r} does not take the arguments {init_args!r}")


def idle_strategy(name: object, init_args: str | None = None) -> IdleStrategy:
    """Create an idle strategy by its name; an IdleStrategy is returned as it is.

    Args:
        name: an alias of the reference's C driver, a Java class name, an IdleStrategy, or a
            callable that takes the work count.
        init_args: the text in the environment: a duration for ``sleep-ns``; spins, yields, shortest
            and longest park for ``backoff``.

    Raises:
        ConfigurationError: if the name is unknown or the arguments cannot be used.
    """
    if isinstance(name, IdleStrategy):
        return name
    if not isinstance(name, str):
        return CallableIdleStrategy(name)
    alias = ALIASES.get(name)
    if alias is None:
        raise ConfigurationError(
            f"unknown idle strategy {name!r}: use one of {', '.join(sorted(_CLASSES))},"
            f" or the Java class name of one"
        )
    if init_args:
        return _with_arguments(alias, init_args)
    return _CLASSES[alias]()
