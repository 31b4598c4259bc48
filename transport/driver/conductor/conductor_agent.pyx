"""The conductor's duty cycle: timers, the test for commands, the work of every stream.

Spec cnc-and-commands 12. Native code decides whether Python is needed, and does all work that
clients are not told about. The control part (``DriverConductor.control``) then runs on the same
thread; an idle driver never calls it.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, realloc

from aerolog.transport.concurrent.agent cimport Agent
from aerolog.transport.concurrent.atomic cimport (
    get_and_add_i64,
    load_acquire_i32,
    load_acquire_i64,
    store_release_i32,
)
from aerolog.transport.concurrent.clock cimport Clock
from aerolog.transport.concurrent.idle cimport ControllableIdleStrategy, IdleStrategy
from aerolog.transport.driver.conductor.driver_stream cimport DriverStream
from aerolog.transport.driver.receive.receiver cimport Receiver
from aerolog.transport.driver.send.sender cimport Sender
from aerolog.transport.memory.counters cimport CountersReader
from aerolog.transport.memory.heartbeat cimport heartbeat_seen, silence_of
from aerolog.transport.memory.ring_buffer cimport ManyToOneRingBuffer
from aerolog.transport.time_units cimport NS_PER_MS

cdef int64_t _EPOCH_PERIOD_NS = 1_000_000
# With more streams than MANY, a stream that has had no work for QUIET_CYCLES runs in every
# sixteenth cycle only: its limit is a window ahead of any publisher that becomes active.
cdef enum:
    MANY = 64
    QUIET_CYCLES = 256
    QUIET_PERIOD = 16
cdef int64_t _PARK = 4  # the value that makes a controllable idle strategy park


cdef class ConductorAgent(Agent):
    """The agent that runs the conductor.

    Args:
        conductor: its ``control`` and ``on_close`` are called on the agent's thread.
        clock: the driver's clock.
        commands: the to-driver ring buffer.
        counters: the counters of the driver.
        unblocked_commands_id: the system counter of unblocked commands.
        timer_interval_ns: the time between timer events.
        client_liveness_timeout_ns: a client without keepalive for longer is dead; a command that
            is not committed for longer is skipped.
    """

    def __cinit__(
        self,
        conductor,
        Clock clock not None,
        ManyToOneRingBuffer commands not None,
        CountersReader counters not None,
        *,
        int unblocked_commands_id,
        timer_interval_ns,
        client_liveness_timeout_ns,
    ):
        self._conductor = conductor
        self._clock = clock
        self._commands = commands
        self._counters = counters
        self._streams = []
        self._client_slots = {}
        self._unblocked_commands = counters.value_address(unblocked_commands_id)
        if self._unblocked_commands is NULL:
            raise IndexError(f"no such counter: {unblocked_commands_id}")
        self._timer_interval_ns = timer_interval_ns
        self._client_liveness_ns = client_liveness_timeout_ns
        self._now_ns = clock.nano_time()
        self._epoch_read_ns = self._now_ns
        self._now_ms = clock.epoch_ms()
        self._timer_deadline_ns = self._now_ns + self._timer_interval_ns
        self._head_since_ns = self._now_ns

    def __init__(self, *_, **__):
        super().__init__("driver-conductor")

    def __dealloc__(self):
        free(self._turns)
        free(self._watched)

    # ---- the duty cycle -------------------------------------------------------------------

    cdef int duty_cycle(self, int64_t now_ns) noexcept nogil:
        cdef int work_count = 0
        self._now_ns = now_ns
        if now_ns - self._epoch_read_ns >= _EPOCH_PERIOD_NS:
            self._epoch_read_ns = now_ns
            self._now_ms = self._clock.epoch_ms()
        if self._timer_deadline_ns - now_ns <= 0:
            self._timer_deadline_ns = now_ns + self._timer_interval_ns
            self._on_timer()
            work_count += 1
        work_count += self._turn_streams(now_ns)
        self.control_due = (
            self._timer_due
            or self._allocation_due
            or self._called_again
            or load_acquire_i32(&self._rung) != 0
            or self._more_to_hand_over
            or self._commands.has_message()
            or (self._sender is not None and self._sender.has_events())
            or (self._receiver is not None and self._receiver.has_events())
        )
        return work_count

    cdef int _turn_streams(self, int64_t now_ns) noexcept nogil:
        cdef int work_count = 0
        cdef int index, done
        cdef turn_t* turn
        cdef bint are_many = self._stream_count > MANY
        self._cycle += 1
        for index in range(self._stream_count):
            turn = &self._turns[index]
            if (
                are_many
                and turn.quiet_cycles >= QUIET_CYCLES
                and (self._cycle + index) % QUIET_PERIOD != 0
            ):
                continue
            done = (<DriverStream> turn.stream).update(now_ns)
            if (<DriverStream> turn.stream).allocation_due:
                self._allocation_due = True
            if done > 0:
                turn.quiet_cycles = 0
                work_count += done
            elif turn.quiet_cycles < QUIET_CYCLES:
                turn.quiet_cycles += 1
        return work_count

    cdef void _on_timer(self) noexcept nogil:
        """Handle a timer event; request control only if clients have to be told something."""
        cdef int index
        self._commands.beat(self._now_ms)
        self._check_blocked_commands()
        if self._called_at_timer:
            self._called_again = True
        if self._asks_at_timers or self._a_client_is_due():
            self._timer_due = True
            return
        for index in range(self._stream_count):
            if (<DriverStream> self._turns[index].stream).needs_control(self._now_ns):
                self._timer_due = True
                return
        for index in range(self._stream_count - 1, -1, -1):
            (<DriverStream> self._turns[index].stream).tick(self._now_ns)

    cdef bint _a_client_is_due(self) noexcept nogil:
        cdef int index
        cdef bint found = False
        for index in range(self._client_count):
            # Every heartbeat is looked at, so that each silence is measured from its begin.
            found = self._is_due(&self._watched[index]) or found
        return found

    cdef bint _is_due(self, client_t* client) noexcept nogil:
        """Whether a client has closed (its heartbeat is 0) or has been silent for too long."""
        cdef int64_t value_ms = load_acquire_i64(client.counter)
        cdef int64_t silence_ns = silence_of(
            &client.heartbeat, value_ms, self._now_ns, self._now_ms
        )
        return value_ms == 0 or silence_ns // NS_PER_MS > self._client_liveness_ns // NS_PER_MS

    cdef void _check_blocked_commands(self) noexcept nogil:
        """Skip a command whose writer died, once nothing has moved for the liveness timeout."""
        cdef int64_t head = self._commands.head_position()
        if head == self._last_head and self._commands.tail_position() > head:
            if self._now_ns - self._head_since_ns > self._client_liveness_ns:
                if self._commands.try_unblock():
                    get_and_add_i64(self._unblocked_commands, 1)
        else:
            self._last_head = head
            self._head_since_ns = self._now_ns

    # ---- control ------------------------------------------------------------------------------

    def control(self) -> int:
        """Let the conductor do the work that needs Python; return a work count."""
        timer_due = self._timer_due
        allocation_due = self._allocation_due
        self._timer_due = self._allocation_due = False
        store_release_i32(&self._rung, 0)  # first: a ring during the work gets another call
        work_count = self._conductor.control(timer_due, allocation_due)
        if self._sender is not None:
            self._more_to_hand_over = (
                len(self._sender.backlog) > 0 or len(self._receiver.backlog) > 0
            )
        return work_count

    def on_close(self) -> None:
        """Close the conductor; the agent's thread calls this after its last cycle."""
        self._conductor.on_close()

    @property
    def now_ns(self) -> int:
        """Return the monotonic time of the current cycle."""
        return self._now_ns

    @property
    def now_ms(self) -> int:
        """Return the epoch time of the current cycle, at most a millisecond old."""
        return self._now_ms

    def is_client_due(self, counter_id: int) -> bool:
        """Return whether a client that is watched has closed or has been silent for too long."""
        cdef int slot = self._client_slots[counter_id]
        return self._is_due(&self._watched[slot])

    def call_again(self, now: bool, at_timer: bool) -> None:
        """Say whether there is more to do, in the next cycle or at the next timer event."""
        self._called_again = now
        self._called_at_timer = at_timer

    def ring(self) -> None:
        """Request control in the next duty cycle; any thread may do so."""
        store_release_i32(&self._rung, 1)

    def ask_at_timers(self) -> None:
        """Request control at every timer event from now on, whatever native code finds."""
        self._asks_at_timers = True

    def watch_events(self, sender: Sender, receiver: Receiver) -> None:
        """Request control whenever the sender or the receiver has an event to report."""
        self._sender = sender
        self._receiver = receiver

    def add_stream(self, stream: DriverStream) -> None:
        """Run a stream in every duty cycle from now on."""
        cdef turn_t* grown
        if self._stream_count == self._stream_capacity:
            capacity = max(8, 2 * self._stream_capacity)
            grown = <turn_t*> realloc(self._turns, <size_t> capacity * sizeof(turn_t))
            if grown is NULL:
                raise MemoryError
            self._turns = grown
            self._stream_capacity = capacity
        self._turns[self._stream_count].stream = <void*> stream
        self._turns[self._stream_count].quiet_cycles = 0
        self._streams.append(stream)
        self._stream_count += 1

    def remove_stream(self, stream: DriverStream) -> None:
        """Stop running a stream; the last stream takes its place in the order."""
        cdef int index = self._streams.index(stream)
        last = self._streams.pop()
        self._stream_count -= 1
        if index < self._stream_count:
            self._streams[index] = last
            self._turns[index] = self._turns[self._stream_count]

    def watch_client(self, counter_id: int) -> None:
        """Check a client's heartbeat counter at every timer event."""
        cdef client_t* grown
        cdef int64_t* address = self._counters.value_address(counter_id)
        if address is NULL:
            raise IndexError(f"no such counter: {counter_id}")
        if self._client_count == self._client_capacity:
            capacity = max(8, 2 * self._client_capacity)
            grown = <client_t*> realloc(self._watched, <size_t> capacity * sizeof(client_t))
            if grown is NULL:
                raise MemoryError
            self._watched = grown
            self._client_capacity = capacity
        self._watched[self._client_count].counter = address
        self._watched[self._client_count].heartbeat = heartbeat_seen(
            load_acquire_i64(address), self._now_ns
        )
        self._client_slots[counter_id] = self._client_count
        self._client_count += 1

    def forget_client(self, counter_id: int) -> None:
        """Stop checking a client's heartbeat counter."""
        cdef int slot = self._client_slots.pop(counter_id)
        self._client_count -= 1
        if slot < self._client_count:
            self._watched[slot] = self._watched[self._client_count]
            for moved, its_slot in self._client_slots.items():
                if its_slot == self._client_count:
                    self._client_slots[moved] = slot
                    break


def bind_idle_strategy(strategy: IdleStrategy, counters: CountersReader, mode_id: int) -> None:
    """Give a controllable idle strategy its counter, set to park; other strategies need none."""
    if isinstance(strategy, ControllableIdleStrategy):
        counters.set_value(mode_id, _PARK)
        (<ControllableIdleStrategy> strategy).bind(counters.value_address(mode_id), counters)
