/* Memory-ordered access to words that other processes see, named for what they mean.
 *
 * Every shared word of the transport is read and written through these functions and nothing else:
 * a plain C access may be torn, hoisted out of a loop or reordered by the compiler. "plain" ones
 * are single untorn accesses without ordering, for words that have one writer.
 * Orders: spec log-buffers (introduction), cnc-and-commands 3 to 6.
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

static inline int32_t aerolog_load_plain_i32(const void *p) { return __atomic_load_n((const int32_t *)p, __ATOMIC_RELAXED); }
static inline int64_t aerolog_load_plain_i64(const void *p) { return __atomic_load_n((const int64_t *)p, __ATOMIC_RELAXED); }
static inline int32_t aerolog_load_acquire_i32(const void *p) { return __atomic_load_n((const int32_t *)p, __ATOMIC_ACQUIRE); }
static inline int64_t aerolog_load_acquire_i64(const void *p) { return __atomic_load_n((const int64_t *)p, __ATOMIC_ACQUIRE); }
static inline uint8_t aerolog_load_acquire_u8(const void *p) { return __atomic_load_n((const uint8_t *)p, __ATOMIC_ACQUIRE); }

static inline void aerolog_store_plain_i32(void *p, int32_t v) { __atomic_store_n((int32_t *)p, v, __ATOMIC_RELAXED); }
static inline void aerolog_store_plain_i64(void *p, int64_t v) { __atomic_store_n((int64_t *)p, v, __ATOMIC_RELAXED); }
static inline void aerolog_store_release_i32(void *p, int32_t v) { __atomic_store_n((int32_t *)p, v, __ATOMIC_RELEASE); }
static inline void aerolog_store_release_i64(void *p, int64_t v) { __atomic_store_n((int64_t *)p, v, __ATOMIC_RELEASE); }
static inline void aerolog_store_release_u8(void *p, uint8_t v) { __atomic_store_n((uint8_t *)p, v, __ATOMIC_RELEASE); }

static inline int32_t aerolog_get_and_add_i32(void *p, int32_t d) { return __atomic_fetch_add((int32_t *)p, d, __ATOMIC_SEQ_CST); }
static inline int64_t aerolog_get_and_add_i64(void *p, int64_t d) { return __atomic_fetch_add((int64_t *)p, d, __ATOMIC_SEQ_CST); }

static inline bool aerolog_cas_i32(void *p, int32_t expected, int32_t desired)
{
    return __atomic_compare_exchange_n((int32_t *)p, &expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static inline bool aerolog_cas_i64(void *p, int64_t expected, int64_t desired)
{
    return __atomic_compare_exchange_n((int64_t *)p, &expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

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
static inline int32_t aerolog_get_i32(const void *p) { int32_t v; memcpy(&v, p, sizeof v); return v; }
static inline int64_t aerolog_get_i64(const void *p) { int64_t v; memcpy(&v, p, sizeof v); return v; }
static inline uint16_t aerolog_get_u16(const void *p) { uint16_t v; memcpy(&v, p, sizeof v); return v; }
static inline void aerolog_put_i32(void *p, int32_t v) { memcpy(p, &v, sizeof v); }
static inline void aerolog_put_i64(void *p, int64_t v) { memcpy(p, &v, sizeof v); }
static inline void aerolog_put_u16(void *p, uint16_t v) { memcpy(p, &v, sizeof v); }

#endif
