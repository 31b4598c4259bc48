/* Memory-ordered access to words that other processes see, named for what they mean.
 *
 * Every shared word of the transport is read and written through these functions and nothing else:
 * a plain C access may be torn, hoisted out of a loop or reordered by the compiler. "plain" ones
 * are single untorn accesses without ordering, for words that have one writer.
 * Orders: spec log-buffers 7, spec cnc-and-commands 3 to 6.
 */
#ifndef AEROLOG_ATOMIC_H
#define AEROLOG_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "aerolog maps little-endian structures in place and supports little-endian machines only"
#endif

_Static_assert(__atomic_always_lock_free(sizeof(int32_t), 0), "32-bit atomics must be lock free");
_Static_assert(__atomic_always_lock_free(sizeof(int64_t), 0), "64-bit atomics must be lock free");

/* Each macro makes one function, for example aerolog_load_acquire_i32. */
#define AEROLOG_LOAD(name, type, order) \
    static inline type aerolog_load_##name(const void *p) \
    { \
        return __atomic_load_n((const type *)p, order); \
    }

#define AEROLOG_STORE(name, type, order) \
    static inline void aerolog_store_##name(void *p, type v) \
    { \
        __atomic_store_n((type *)p, v, order); \
    }

#define AEROLOG_GET_AND_ADD(name, type) \
    static inline type aerolog_get_and_add_##name(void *p, type d) \
    { \
        return __atomic_fetch_add((type *)p, d, __ATOMIC_SEQ_CST); \
    }

#define AEROLOG_CAS(name, type) \
    static inline bool aerolog_cas_##name(void *p, type expected, type desired) \
    { \
        return __atomic_compare_exchange_n( \
            (type *)p, &expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    }

AEROLOG_LOAD(plain_i32, int32_t, __ATOMIC_RELAXED)
AEROLOG_LOAD(plain_i64, int64_t, __ATOMIC_RELAXED)
AEROLOG_LOAD(acquire_i32, int32_t, __ATOMIC_ACQUIRE)
AEROLOG_LOAD(acquire_i64, int64_t, __ATOMIC_ACQUIRE)
AEROLOG_LOAD(acquire_u8, uint8_t, __ATOMIC_ACQUIRE)

AEROLOG_STORE(plain_i32, int32_t, __ATOMIC_RELAXED)
AEROLOG_STORE(plain_i64, int64_t, __ATOMIC_RELAXED)
AEROLOG_STORE(release_i32, int32_t, __ATOMIC_RELEASE)
AEROLOG_STORE(release_i64, int64_t, __ATOMIC_RELEASE)
AEROLOG_STORE(release_u8, uint8_t, __ATOMIC_RELEASE)

AEROLOG_GET_AND_ADD(i32, int32_t)
AEROLOG_GET_AND_ADD(i64, int64_t)

AEROLOG_CAS(i32, int32_t)
AEROLOG_CAS(i64, int64_t)

static inline void aerolog_fence_acquire(void) { __atomic_thread_fence(__ATOMIC_ACQUIRE); }
static inline void aerolog_fence_release(void) { __atomic_thread_fence(__ATOMIC_RELEASE); }

static inline void aerolog_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield" ::: "memory");
#endif
}

/* Fields that a layout does not align to their size: never a pointer cast, always a copy. */
#define AEROLOG_COPIED(name, type) \
    static inline type aerolog_get_##name(const void *p) \
    { \
        type v; \
        memcpy(&v, p, sizeof v); \
        return v; \
    } \
    static inline void aerolog_put_##name(void *p, type v) \
    { \
        memcpy(p, &v, sizeof v); \
    }

AEROLOG_COPIED(i32, int32_t)
AEROLOG_COPIED(i64, int64_t)
AEROLOG_COPIED(u16, uint16_t)

#endif
