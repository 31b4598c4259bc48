"""A native thread that turns agents whose own thread waits for the interpreter, or rests."""

from libc.stdint cimport int32_t, int64_t

from aerolog.transport.concurrent.idle cimport IdleStrategy

# Whose turn it is to call an agent's duty cycle.
cdef enum:
    TURN_OWN = 0        # the runner's own thread
    TURN_WAITING = 1    # nobody: that thread waits for the interpreter
    TURN_STANDBY = 2    # the standby runner
    TURN_RECALLED = 3   # the standby runner has to give it back
    TURN_RESTING = 4    # nobody: that thread parks, and the standby runner may keep the turn
    TURN_KEPT = 5       # the standby runner, between two cycles, while that thread rests

ctypedef int (*cycle_t)(void* context) noexcept nogil
ctypedef bint (*is_due_t)(void* context) noexcept nogil
ctypedef void (*wake_t)(void* context) noexcept nogil

# What a runner lends the standby runner; it stays where it is until it is removed.
ctypedef struct duty_t:
    cycle_t cycle           # one duty cycle of all agents; gives a work count
    is_due_t is_due         # whether an agent needs Python
    wake_t wake             # ends the park of the runner's thread
    void* context
    int32_t turn
    int64_t park_ns         # between two cycles while the thread rests
    int64_t cycles          # the standby runner's while the thread rests
    int64_t worked_ns       # when one of them had work
    int64_t waits           # counts the times that the thread has waited
    int64_t seen_waits      # the standby runner's
    int64_t seen_ns
    duty_t* next


# Have the standby look after a duty. It begins its thread in this process if need be; 0, or -1.
cdef int add_duty(duty_t* duty) noexcept nogil
# End that; afterwards the standby runner does not use the duty.
cdef void remove_duty(duty_t* duty) noexcept nogil
# Say that the runner's thread begins to wait for the interpreter.
cdef void begin_wait(duty_t* duty) noexcept nogil
# Say that it has the interpreter; the turn is its own again afterwards. Meanwhile the standby may
# need the interpreter for the cycle that it is in.
cdef void end_wait(duty_t* duty) noexcept
# Park as the idle strategy does at its longest, while the standby may keep the turn, which is the
# thread's own again afterwards. Whether the standby runner had it.
cdef bint rest(duty_t* duty, IdleStrategy strategy, int64_t park_ns) noexcept nogil
