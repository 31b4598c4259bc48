"""Runners, which invoke agents on a thread of their own or when the caller asks.

A runner stays in native code over any number of duty cycles and takes the GIL only when an agent
has set control_due (docs/decisions/0001). While it waits for the GIL, the standby runner calls
the duty cycles. It stops promptly, because a stop ends the park of its idle strategy.
"""

import atexit
import os
import threading
import weakref

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int32_t, int64_t

from aerolog.transport.concurrent.agent cimport Agent
from aerolog.transport.concurrent.atomic cimport (
    load_acquire_i32,
    load_plain_i64,
    store_release_i32,
    store_release_i64,
)
from aerolog.transport.concurrent.clock cimport Clock, SystemClock
from aerolog.transport.concurrent.idle cimport (
    BusySpinIdleStrategy,
    CallableIdleStrategy,
    IdleStrategy,
)
from aerolog.transport.concurrent.standby_runner cimport (
    add_duty,
    begin_wait,
    end_wait,
    remove_duty,
    rest,
)

from aerolog.transport.memory.counter cimport counter_t, no_counter, store_counter

from aerolog.transport.concurrent.daemon_thread import DaemonThread
from aerolog.transport.errors import AerologError, AeronTimeoutError, ConfigurationError
from aerolog.transport.text_output import logger, write_traceback

cdef extern from *:
    """
    #include <pthread.h>
    #include <string.h>

    /* Names the calling thread for ps and top, which show 15 bytes. */
    static void aerolog_name_thread(const char *name)
    {
    #if defined(__linux__)
        char cut[16];
        strncpy(cut, name, 15);
        cut[15] = 0;
        pthread_setname_np(pthread_self(), cut);
    #endif
    }
    """
    void name_thread "aerolog_name_thread" (const char* name) noexcept nogil

cdef enum:
    NEW = 0
    RUNNING = 1
    STOPPED = 2

cdef enum:
    # Longest parks without work in between before a thread rests, and between two rests.
    PARKS_BEFORE_REST = 64
    PARKS_BETWEEN_RESTS = 16
    # Parks of other lengths cost nothing worth sparing, or less than the standby runner's wakes.
    SHORTEST_REST_PARK_NS = 500_000
    LONGEST_REST_PARK_NS = 4_000_000

_LOGGER = logger("aerolog")
# Runners to close at exit: a thread that runs while the interpreter ends would use freed objects.
_RUNNING = weakref.WeakSet()


class AgentTerminated(Exception):  # noqa: N818
    """Raised by an agent's control() to end its runner for a reason that is no defect."""


# Their messages say all that a person needs; of any other exception the traceback is needed.
_EXPLAINED = (AgentTerminated, AerologError, OSError)


def _log_error(error: BaseException) -> None:
    _LOGGER.error("agent failed: %s", error, exc_info=error)


@atexit.register
def _stop_all() -> None:
    for runner in list(_RUNNING):
        try:
            runner.close()
        except AeronTimeoutError as error:
            # The other agents have to be closed nevertheless.
            _log_error(error)


cdef class DutyCycleTracker:
    """Records the longest time from one cycle to the next, and counts those above a threshold.

    Args:
        threshold_ns: cycles longer than this are counted, nanoseconds.
    """

    def __cinit__(self, threshold_ns: int = 100_000_000, *_: object) -> None:
        self._max_cycle_counter = no_counter()
        self._threshold_counter = no_counter()
        self.threshold_ns = threshold_ns

    cdef void bind(
        self, const counter_t* max_cycle_time, const counter_t* threshold_exceeded, object owner
    ):
        self._max_cycle_counter = max_cycle_time[0]
        self._threshold_counter = threshold_exceeded[0]
        self._counter_owner = owner

    cdef void update(self, int64_t now_ns) noexcept nogil:
        self._last_update_ns = now_ns

    cdef void measure_and_update(self, int64_t now_ns) noexcept nogil:
        cdef int64_t cycle_ns = now_ns - self._last_update_ns
        self._last_update_ns = now_ns
        if cycle_ns > self._max_cycle_time:
            store_release_i64(&self._max_cycle_time, cycle_ns)
            store_counter(&self._max_cycle_counter, cycle_ns)
        if cycle_ns > self.threshold_ns:
            store_release_i64(&self._threshold_exceeded, self._threshold_exceeded + 1)
            store_counter(&self._threshold_counter, self._threshold_exceeded)

    @property
    def max_cycle_time_ns(self) -> int:
        """Duration of the longest cycle so far, nanoseconds."""
        return load_plain_i64(&self._max_cycle_time)

    @property
    def threshold_exceeded_count(self) -> int:
        """Number of cycles that were longer than the threshold."""
        return load_plain_i64(&self._threshold_exceeded)


cdef class AgentInvoker:
    """Invokes agents in their order, on the thread of the caller.

    An exception that an agent does not handle ends all of them: what it has left undone is not
    known, and an agent that goes on looks alive (docs/decisions/0023).

    Args:
        agents: one agent or several.
        clock: gives the agents their time; the machine's by default.
        error_handler: receives errors from on_start, control and on_close; by default they are
            logged.
        trackers: one for each agent; None for an agent that is not measured.
        on_failure: called with the exception that ends the agents, before they are closed.
    """

    def __cinit__(self, *args: object, **kwargs: object) -> None:
        self._agents = NULL
        self._trackers = NULL

    def __init__(
        self,
        agents: object,
        *,
        clock: Clock | None = None,
        error_handler: object = None,
        trackers: object = None,
        on_failure: object = None,
    ) -> None:
        cdef int32_t index
        self.agents = (agents,) if isinstance(agents, Agent) else tuple(agents)
        self.trackers = tuple(trackers) if trackers is not None else (None,) * len(self.agents)
        if not self.agents or not all(isinstance(agent, Agent) for agent in self.agents):
            raise ConfigurationError(f"a runner needs agents: {agents!r}")
        if len(self.trackers) != len(self.agents):
            raise ConfigurationError(
                f"{len(self.agents)} agents take as many trackers, not {len(self.trackers)}"
            )
        self.clock = SystemClock() if clock is None else clock
        self.error_handler = _log_error if error_handler is None else error_handler
        self.on_failure = on_failure
        self._state = NEW
        self._free_arrays()
        self._agents = <void**> PyMem_Malloc(len(self.agents) * sizeof(void*))
        self._trackers = <void**> PyMem_Malloc(len(self.agents) * sizeof(void*))
        if self._agents == NULL or self._trackers == NULL:
            raise MemoryError
        for index in range(len(self.agents)):
            tracker = self.trackers[index]
            if tracker is not None and not isinstance(tracker, DutyCycleTracker):
                raise ConfigurationError(f"not a DutyCycleTracker: {tracker!r}")
            self._agents[index] = <void*> self.agents[index]
            self._trackers[index] = NULL if tracker is None else <void*> tracker
        self._count = <int32_t> len(self.agents)

    cdef void _free_arrays(self):
        PyMem_Free(self._agents)
        PyMem_Free(self._trackers)
        self._agents = NULL
        self._trackers = NULL

    def __dealloc__(self) -> None:
        self._free_arrays()

    cdef int _native_cycle(self) noexcept nogil:
        """Run one duty cycle of every agent; the tuples keep alive what the arrays borrow."""
        cdef int64_t now_ns = self.clock.nano_time()
        cdef int32_t index
        cdef int work_count = 0
        for index in range(self._count):
            if self._trackers[index] != NULL:
                (<DutyCycleTracker> self._trackers[index]).measure_and_update(now_ns)
            work_count += (<Agent> self._agents[index]).duty_cycle(now_ns)
            if (<Agent> self._agents[index]).control_due:
                self._control_due = True
        return work_count

    cdef int _control_cycle(self) except -1:
        """Run the Python part of the agents that asked for it."""
        cdef Agent agent
        cdef int work_count = 0
        self._control_due = False
        for agent in self.agents:
            if agent.control_due:
                agent.control_due = False
                work_count += agent.control()
        return work_count

    def _report(self, error: BaseException) -> None:
        try:
            self.error_handler(error)
        except Exception as second:
            _log_error(error)
            _log_error(second)

    def _fail(self, error: BaseException) -> None:
        """Report the exception that ends the agents, and call their owner."""
        self._report(error)
        if self.error_handler is not _log_error and not isinstance(error, _EXPLAINED):
            write_traceback(error)
        if self.on_failure is not None:
            try:
                self.on_failure(error)
            except Exception as second:
                self._report(second)

    def _start_agents(self) -> None:
        """Call every on_start, which no duty cycle counts."""
        cdef DutyCycleTracker tracker
        for agent in self.agents:
            agent.on_start()
        now_ns = self.clock.now_ns()
        for each in self.trackers:
            if each is not None:
                tracker = each
                tracker.update(now_ns)

    def _close_agents(self) -> None:
        """Call every on_close; an interrupt in one of them is raised after all are closed."""
        interrupt = None
        for agent in reversed(self.agents):
            try:
                agent.on_close()
            except Exception as error:
                self._report(error)
            except BaseException as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt

    @property
    def role_name(self) -> str:
        """Name of the agent, or the names of several in brackets."""
        if len(self.agents) == 1:
            return self.agents[0].role_name
        return "[" + ",".join(agent.role_name for agent in self.agents) + "]"

    @property
    def is_running(self) -> bool:
        """Whether the agents were started and are not closed."""
        return load_acquire_i32(&self._state) == RUNNING

    @property
    def is_closed(self) -> bool:
        """Whether ``close`` was called or an agent ended the run."""
        return load_acquire_i32(&self._state) == STOPPED

    def start(self) -> None:
        """Call on_start of the agents; if one fails, the invoker is closed."""
        if self._state == NEW:
            store_release_i32(&self._state, RUNNING)
            try:
                self._start_agents()
            except Exception as error:
                self._fail(error)
                self.close()
            except BaseException:
                self.close()
                raise

    def invoke(self) -> int:
        """Invoke every agent once; returns the work count, 0 if not running or re-entered.

        An interrupt is the caller's own and comes out; any other exception ends the agents.
        """
        cdef int work_count
        if self._state != RUNNING or self._in_cycle:
            return 0
        self._in_cycle = True
        try:
            with nogil:
                work_count = self._native_cycle()
            if self._control_due:
                work_count += self._control_cycle()
        except Exception as error:
            self._fail(error)
            self.close()
            return 0
        finally:
            self._in_cycle = False
        return work_count

    def close(self) -> None:
        """Call on_close of the agents in reverse order; later calls do nothing."""
        if self._state != STOPPED:
            store_release_i32(&self._state, STOPPED)
            self._close_agents()

    def __enter__(self) -> AgentInvoker:
        self.start()
        return self

    def __exit__(self, exc_type: object, exc: object, traceback: object) -> None:
        self.close()


cdef int run_cycle(void* runner) noexcept nogil:
    return (<AgentRunner> runner)._native_cycle()


cdef bint is_python_due(void* runner) noexcept nogil:
    return (<AgentRunner> runner)._control_due


cdef void end_park(void* runner) noexcept nogil:
    (<AgentRunner> runner).idle_strategy.wake()


cdef class AgentRunner(AgentInvoker):
    """Invokes agents on a thread of their own, with one idle strategy.

    Args:
        agents: one agent or several, which are invoked in their order.
        idle_strategy: an instance that no other runner uses.
        name: name of the thread; by default the role name.
        clock: as for AgentInvoker.
        error_handler: as for AgentInvoker; called on the runner's thread.
        trackers: as for AgentInvoker.
        on_failure: as for AgentInvoker; called on the runner's thread.
        affinity: number of the processor to run on; -1 for any.
    """

    def __cinit__(self, *_: object, **__: object) -> None:
        self.idle_strategy = BusySpinIdleStrategy()

    def __init__(
        self,
        agents: object,
        idle_strategy: IdleStrategy,
        *,
        name: str = "",
        clock: Clock | None = None,
        error_handler: object = None,
        trackers: object = None,
        on_failure: object = None,
        affinity: int = -1,
    ) -> None:
        super().__init__(
            agents,
            clock=clock,
            error_handler=error_handler,
            trackers=trackers,
            on_failure=on_failure,
        )
        if idle_strategy is None:
            raise ConfigurationError("a runner needs an idle strategy")
        self.idle_strategy = idle_strategy
        self._idles_in_python = isinstance(idle_strategy, CallableIdleStrategy)
        self.name = name or self.role_name
        self.affinity = affinity
        self.thread = None

    def start(self) -> None:
        """Start the thread; a runner can be started once."""
        if self._state != NEW:
            return
        store_release_i32(&self._state, RUNNING)
        # A daemon thread, so that a forgotten runner cannot block the exit; atexit closes it first.
        self.thread = DaemonThread(self._run, self.name)
        _RUNNING.add(self)
        try:
            self.thread.start()
        except BaseException:
            # After an interrupt there may be a thread, which is not to outlive the failed start.
            try:
                self.close()
            except AeronTimeoutError as error:
                self._report(error)
            if self.thread.ident is None:
                self._close_agents()
            _RUNNING.discard(self)
            store_release_i32(&self._state, STOPPED)
            raise

    def invoke(self) -> int:
        """Refuse the call, because only the runner's own thread invokes its agents.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(f"agent runner {self.name!r} is turned by its own thread")

    cdef int _run_native(self, bint idles_first, int work_count) noexcept nogil:
        """Run cycles and parks until an agent needs Python or the runner has to stop."""
        if idles_first:
            self._idle(work_count)
        while True:
            work_count = self._native_cycle()
            if self._control_due or load_acquire_i32(&self._stop):
                return work_count
            self._idle(work_count)
            if self._idles_in_python:
                return 0

    cdef void _idle(self, int work_count) noexcept nogil:
        """Idle as the strategy says; rest after many of its longest parks."""
        cdef int64_t park_ns = 0
        if work_count > 0:
            self._parks = 0
        elif self._may_rest:
            park_ns = self.idle_strategy.longest_park()
        if not SHORTEST_REST_PARK_NS <= park_ns <= LONGEST_REST_PARK_NS:
            self.idle_strategy.idle(work_count)
        elif self._parks < PARKS_BEFORE_REST:
            self._parks += 1
            self.idle_strategy.idle(work_count)
        elif rest(&self._duty, self.idle_strategy, park_ns):
            self._parks = PARKS_BEFORE_REST - PARKS_BETWEEN_RESTS

    def _run(self) -> None:
        try:
            self._set_up_thread()
            self._start_agents()
            self._turn_agents()
        except BaseException as error:
            # SystemExit and KeyboardInterrupt too: a thread would end by them without a word.
            self._fail(error)
        finally:
            with nogil:
                remove_duty(&self._duty)
            try:
                self._close_agents()
            except BaseException as error:
                self._report(error)
            finally:
                _RUNNING.discard(self)
                store_release_i32(&self._state, STOPPED)

    cdef int _turn_agents(self) except -1:
        """Run cycles, and the agents' Python between them, until the runner has to stop."""
        cdef int work_count = 0
        cdef bint idles_first = False
        self._duty.cycle = run_cycle
        self._duty.is_due = is_python_due
        self._duty.wake = end_park
        self._duty.context = <void*> self
        # A thread that was put on a processor does its work there.
        self._may_rest = self.affinity < 0
        if add_duty(&self._duty) < 0:
            self._may_rest = False
            self._report(OSError("no thread for the time in which others hold the GIL"))
        while not load_acquire_i32(&self._stop):
            with nogil:
                work_count = self._run_native(idles_first, work_count)
                begin_wait(&self._duty)
            end_wait(&self._duty)
            if self._idles_in_python:
                self._report_idle_error()
            idles_first = self._control_due
            if self._control_due:
                work_count += self._control_cycle()
        return 0

    def _report(self, error: BaseException) -> None:
        try:
            AgentInvoker._report(self, error)
        except BaseException as second:  # SystemExit would end the thread without a word
            _log_error(error)
            _log_error(second)

    def _fail(self, error: BaseException) -> None:
        try:
            AgentInvoker._fail(self, error)
        except BaseException as second:
            self._report(second)

    def _report_idle_error(self) -> None:
        error = self.idle_strategy.take_error()
        if error is not None:
            self._report(error)

    def _set_up_thread(self) -> None:
        cdef bytes name = self.name.encode("utf-8", "replace")
        name_thread(name)
        if self.affinity >= 0:
            try:
                os.sched_setaffinity(0, {self.affinity})
            except OSError as error:
                self._report(
                    ConfigurationError(
                        f"thread {self.name!r} cannot run on processor {self.affinity}: {error}"
                    )
                )

    def wake(self) -> None:
        """End the runner's park, from any thread."""
        self.idle_strategy.wake()

    def close(self, timeout_s: float = 10.0) -> None:
        """Stop the thread, which calls the agents' on_close, and wait for its end. Idempotent.

        On the runner's own thread, this only requests the stop.

        Raises:
            AeronTimeoutError: if the thread is still running after ``timeout_s`` seconds.
        """
        if self._state == NEW:
            store_release_i32(&self._state, STOPPED)
            self._close_agents()
            return
        store_release_i32(&self._stop, 1)
        self.idle_strategy.wake()
        thread = self.thread
        if thread is None or thread is threading.current_thread():
            return
        thread.join(timeout_s)
        if thread.is_alive():
            raise AeronTimeoutError(
                f"agent runner {self.name!r} is still in a duty cycle after {timeout_s} s"
            )
