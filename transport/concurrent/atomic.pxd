"""Memory-ordered access to shared words; the meaning of each is in native/aerolog_atomic.h."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

cdef extern from "aerolog_atomic.h" nogil:
    int32_t load_plain_i32 "aerolog_load_plain_i32" (const void* p) noexcept
    int64_t load_plain_i64 "aerolog_load_plain_i64" (const void* p) noexcept
    int32_t load_acquire_i32 "aerolog_load_acquire_i32" (const void* p) noexcept
    int64_t load_acquire_i64 "aerolog_load_acquire_i64" (const void* p) noexcept
    uint8_t load_acquire_u8 "aerolog_load_acquire_u8" (const void* p) noexcept
    void store_plain_i32 "aerolog_store_plain_i32" (void* p, int32_t v) noexcept
    void store_plain_i64 "aerolog_store_plain_i64" (void* p, int64_t v) noexcept
    void store_release_i32 "aerolog_store_release_i32" (void* p, int32_t v) noexcept
    void store_release_i64 "aerolog_store_release_i64" (void* p, int64_t v) noexcept
    void store_release_u8 "aerolog_store_release_u8" (void* p, uint8_t v) noexcept
    int32_t get_and_add_i32 "aerolog_get_and_add_i32" (void* p, int32_t d) noexcept
    int64_t get_and_add_i64 "aerolog_get_and_add_i64" (void* p, int64_t d) noexcept
    bint cas_i32 "aerolog_cas_i32" (void* p, int32_t expected, int32_t desired) noexcept
    bint cas_i64 "aerolog_cas_i64" (void* p, int64_t expected, int64_t desired) noexcept
    void fence_acquire "aerolog_fence_acquire" () noexcept
    void fence_release "aerolog_fence_release" () noexcept
    void cpu_pause "aerolog_pause" () noexcept
    int32_t get_i32 "aerolog_get_i32" (const void* p) noexcept
    int64_t get_i64 "aerolog_get_i64" (const void* p) noexcept
    uint16_t get_u16 "aerolog_get_u16" (const void* p) noexcept
    void put_i32 "aerolog_put_i32" (void* p, int32_t v) noexcept
    void put_i64 "aerolog_put_i64" (void* p, int64_t v) noexcept
    void put_u16 "aerolog_put_u16" (void* p, uint16_t v) noexcept
