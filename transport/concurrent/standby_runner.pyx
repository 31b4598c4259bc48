"""A native thread that turns agents whose own thread waits for the interpreter, or rests.

A runner's thread needs the interpreter for its agents' control(). While other Python code holds the
interpreter's lock for long, the standby runner, one thread for all runners of a process, calls
their native duty cycles: positions move, heartbeats are sent, logs are written. It begins when a
thread has waited for PATIENCE_NS and gives the turn back when the thread has the interpreter. Duty
cycle and control() never run at the same time. While nobody waits it costs fifty short wakes a
second.

Threads that have had no work for a while rest: where two or more do, the standby wakes in place of
all and looks for work, so that an idle process costs the wakes of one thread. It gives the turn
back for Python, and where work comes more than once; a wake of the runner takes it back at once.
"""

from libc.stdint cimport int64_t

from aerolog.transport.concurrent.atomic cimport (
    cas_i32,
    load_acquire_i32,
    load_acquire_i64,
    store_release_i32,
    store_release_i64,
)
from aerolog.transport.concurrent.idle cimport IdleStrategy

cdef extern from "sched.h" nogil:
    int sched_yield() noexcept

cdef extern from *:
    """
    #if defined(__linux__) && !defined(_GNU_SOURCE)
    #define _GNU_SOURCE
    #endif
    #include <pthread.h>
    #include <sched.h>
    #include <signal.h>
    #include <string.h>
    #include <time.h>
    #include <unistd.h>

    static pthread_mutex_t aerolog_standby_lock = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t aerolog_standby_wanted = PTHREAD_COND_INITIALIZER;
    static int aerolog_standby_runs;

    static void aerolog_standby_forget(void);

    /* A forked child has neither the thread nor the runners' threads. */
    static void aerolog_standby_after_fork(void)
    {
        pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        pthread_cond_t wanted = PTHREAD_COND_INITIALIZER;
        memcpy(&aerolog_standby_lock, &lock, sizeof lock);
        memcpy(&aerolog_standby_wanted, &wanted, sizeof wanted);
        aerolog_standby_runs = 0;
        aerolog_standby_forget();
    }

    /* Begins the thread, which takes no signals; the lock is held. 0, or an error number. */
    static int aerolog_standby_begin(void *(*run)(void *))
    {
        static int watches_forks;
        pthread_t thread;
        pthread_attr_t detached;
        sigset_t all, before;
        int failure;
        if (aerolog_standby_runs) {
            return 0;
        }
        if (!watches_forks && (failure = pthread_atfork(0, 0, aerolog_standby_after_fork))) {
            return failure;
        }
        watches_forks = 1;
        if ((failure = pthread_attr_init(&detached))) {
            return failure;
        }
        pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    #if defined(__linux__)
        {
            /* Where the process may run, not where the runner that begins it was put. */
            cpu_set_t processors;
            if (sched_getaffinity(getpid(), sizeof processors, &processors) == 0) {
                pthread_attr_setaffinity_np(&detached, sizeof processors, &processors);
            }
        }
    #endif
        sigfillset(&all);
        sigdelset(&all, SIGBUS);
        sigdelset(&all, SIGSEGV);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        failure = pthread_create(&thread, &detached, run, 0);
        pthread_sigmask(SIG_SETMASK, &before, 0);
        pthread_attr_destroy(&detached);
        if (!failure) {
            aerolog_standby_runs = 1;
    #if defined(__linux__)
            pthread_setname_np(thread, "aerolog-standby");
    #endif
        }
        return failure;
    }

    static void aerolog_standby_enter(void) { pthread_mutex_lock(&aerolog_standby_lock); }
    static void aerolog_standby_leave(void) { pthread_mutex_unlock(&aerolog_standby_lock); }
    static void aerolog_standby_want(void) { pthread_cond_signal(&aerolog_standby_wanted); }
    static void aerolog_standby_await(void)
    {
        pthread_cond_wait(&aerolog_standby_wanted, &aerolog_standby_lock);
    }

    static long long aerolog_standby_now(void)
    {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * 1000000000LL + now.tv_nsec;
    }

    static void aerolog_standby_sleep(long nanoseconds)
    {
        struct timespec time = {0, nanoseconds};
        nanosleep(&time, 0);
    }
    """
    int begin_thread "aerolog_standby_begin" (void* (*run)(void*) noexcept nogil) noexcept nogil
    void enter "aerolog_standby_enter" () noexcept nogil
    void leave "aerolog_standby_leave" () noexcept nogil
    void want "aerolog_standby_want" () noexcept nogil
    void await_duty "aerolog_standby_await" () noexcept nogil
    int64_t now "aerolog_standby_now" () noexcept nogil
    void sleep_for "aerolog_standby_sleep" (long nanoseconds) noexcept nogil

cdef enum:
    WATCH_NS = 20_000_000       # between two looks at the runners
    PATIENCE_NS = 20_000_000    # a thread may wait so long before the standby runner begins
    SHORTEST_REST_NS = 50_000   # between two cycles without work, and twice that after each
    LONGEST_REST_NS = 1_000_000
    # For threads that rest.
    FEWEST_RESTING = 2          # one alone wakes for itself as well as the standby runner would
    WORK_WITHIN_NS = 5_000_000  # work that comes again so soon is for the runner's own thread
    STUCK_NS = 50_000_000       # a thread whose cycles have not run for so long takes its turn back

cdef duty_t* duties = NULL


cdef void forget "aerolog_standby_forget" () noexcept nogil:
    global duties
    duties = NULL


cdef int add_duty(duty_t* duty) noexcept nogil:
    global duties
    cdef int failure
    enter()
    failure = begin_thread(run)
    if failure == 0:
        duty.turn = TURN_OWN
        duty.next = duties
        duties = duty
        want()
    leave()
    return -1 if failure else 0


cdef void remove_duty(duty_t* duty) noexcept nogil:
    cdef duty_t** place = &duties
    enter()
    while place[0] != NULL and place[0] != duty:
        place = &place[0].next
    if place[0] == duty:
        place[0] = duty.next
    leave()


cdef void begin_wait(duty_t* duty) noexcept nogil:
    duty.waits += 1
    store_release_i32(&duty.turn, TURN_WAITING)


cdef void end_wait(duty_t* duty) noexcept:
    if cas_i32(&duty.turn, TURN_WAITING, TURN_OWN):
        return
    with nogil:
        store_release_i32(&duty.turn, TURN_RECALLED)
        _await_turn(duty)


cdef void _await_turn(duty_t* duty) noexcept nogil:
    while load_acquire_i32(&duty.turn) != TURN_OWN:
        sched_yield()


cdef bint rest(duty_t* duty, IdleStrategy strategy, int64_t park_ns) noexcept nogil:
    cdef bint woken
    cdef int64_t cycles
    duty.park_ns = park_ns
    store_release_i32(&duty.turn, TURN_RESTING)
    # A wake must not be forgotten: it may be the last one, that of a stop.
    woken = strategy.park(park_ns)
    if cas_i32(&duty.turn, TURN_RESTING, TURN_OWN):
        return False
    while load_acquire_i32(&duty.turn) != TURN_OWN:
        cycles = load_acquire_i64(&duty.cycles)
        if not woken:
            woken = strategy.park(STUCK_NS)
        if woken and cas_i32(&duty.turn, TURN_STANDBY, TURN_RECALLED):
            _await_turn(duty)
        elif woken or load_acquire_i64(&duty.cycles) == cycles:
            cas_i32(&duty.turn, TURN_KEPT, TURN_OWN)
    return True


cdef bint _has_waited(duty_t* duty) noexcept nogil:
    """Whether a runner's thread waits, and has done so for long; the standby has the turn then."""
    cdef int64_t now_ns
    if load_acquire_i32(&duty.turn) != TURN_WAITING:
        return False
    now_ns = now()
    if duty.waits != duty.seen_waits:
        duty.seen_waits = duty.waits
        duty.seen_ns = now_ns
    if now_ns - duty.seen_ns < PATIENCE_NS:
        return False
    return cas_i32(&duty.turn, TURN_WAITING, TURN_STANDBY)


cdef int _look_for_work(duty_t* duty) noexcept nogil:
    """Run a cycle for a thread that rests, and give its turn back if it has something to do."""
    cdef int work_count = duty.cycle(duty.context)
    cdef int64_t now_ns
    cdef bint is_wanted = duty.is_due(duty.context)
    store_release_i64(&duty.cycles, duty.cycles + 1)
    if work_count > 0:
        now_ns = now()
        is_wanted = is_wanted or now_ns - duty.worked_ns < WORK_WITHIN_NS
        duty.worked_ns = now_ns
    if is_wanted:
        store_release_i32(&duty.turn, TURN_OWN)
        duty.wake(duty.context)
    elif not cas_i32(&duty.turn, TURN_STANDBY, TURN_KEPT):
        store_release_i32(&duty.turn, TURN_OWN)  # it was recalled meanwhile
    return work_count


cdef void _keep_resting() noexcept nogil:
    """Keep the turns of all threads that rest."""
    cdef duty_t* duty = duties
    while duty != NULL:
        cas_i32(&duty.turn, TURN_RESTING, TURN_KEPT)
        duty = duty.next


cdef void* run(void* unused) noexcept nogil:
    cdef duty_t* duty
    cdef int work_count, kept, resting
    cdef bint is_acting
    cdef int64_t pause_ns
    cdef int64_t rest_ns = SHORTEST_REST_NS
    enter()
    while True:
        while duties == NULL:
            await_duty()
        is_acting = False
        work_count = kept = resting = 0
        pause_ns = WATCH_NS
        duty = duties
        while duty != NULL:
            if load_acquire_i32(&duty.turn) == TURN_STANDBY or _has_waited(duty):
                is_acting = True
                work_count += duty.cycle(duty.context)
            elif cas_i32(&duty.turn, TURN_KEPT, TURN_STANDBY):
                kept += 1
                if _look_for_work(duty) > 0:
                    pause_ns = min(pause_ns, <int64_t> SHORTEST_REST_NS)
                pause_ns = min(pause_ns, duty.park_ns)
            elif load_acquire_i32(&duty.turn) == TURN_RESTING:
                resting += 1
            if load_acquire_i32(&duty.turn) == TURN_RECALLED:
                store_release_i32(&duty.turn, TURN_OWN)
            duty = duty.next
        if resting > 0 and kept + resting >= FEWEST_RESTING:
            _keep_resting()
            pause_ns = min(pause_ns, <int64_t> LONGEST_REST_NS)
        leave()
        if not is_acting or work_count > 0:
            rest_ns = SHORTEST_REST_NS
        if not is_acting:
            sleep_for(pause_ns)
        elif work_count == 0:
            sleep_for(min(rest_ns, pause_ns))
            rest_ns = min(2 * rest_ns, <int64_t> LONGEST_REST_NS)
        enter()
