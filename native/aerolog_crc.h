/* CRC-32 (IEEE 802.3) and CRC-32C (Castagnoli): reflected, start and final xor all ones.
 *
 * By the processor's instructions where it has them, found at run time; otherwise eight bytes at a
 * time from tables. Call aerolog_crc_init once before anything else. Spec archive-files 10.
 */
#ifndef AEROLOG_CRC_H
#define AEROLOG_CRC_H

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <arm_acle.h>
#include <sys/auxv.h>
#ifndef HWCAP_CRC32
#define HWCAP_CRC32 (1 << 7)
#endif
#endif

typedef uint32_t (*aerolog_crc_function)(const uint8_t *data, int64_t length);

#define AEROLOG_CRC32_POLYNOMIAL 0xEDB88320u
#define AEROLOG_CRC32C_POLYNOMIAL 0x82F63B78u

static uint32_t aerolog_crc32_table[8][256];
static uint32_t aerolog_crc32c_table[8][256];

static void aerolog_crc_fill(uint32_t table[8][256], uint32_t polynomial)
{
    for (uint32_t i = 0; i < 256; i++)
    {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++)
        {
            value = (value >> 1) ^ ((value & 1) ? polynomial : 0);
        }
        table[0][i] = value;
    }
    for (int slice = 1; slice < 8; slice++)
    {
        for (uint32_t i = 0; i < 256; i++)
        {
            uint32_t before = table[slice - 1][i];
            table[slice][i] = (before >> 8) ^ table[0][before & 0xFF];
        }
    }
}

static inline uint32_t aerolog_crc_sliced(
    uint32_t table[8][256], const uint8_t *data, int64_t length)
{
    uint32_t crc = 0xFFFFFFFFu;
    while (length >= 8)
    {
        uint32_t low, high;
        memcpy(&low, data, 4);
        memcpy(&high, data + 4, 4);
        low ^= crc;
        crc = table[7][low & 0xFF] ^ table[6][(low >> 8) & 0xFF] ^ table[5][(low >> 16) & 0xFF] ^
            table[4][low >> 24] ^ table[3][high & 0xFF] ^ table[2][(high >> 8) & 0xFF] ^
            table[1][(high >> 16) & 0xFF] ^ table[0][high >> 24];
        data += 8;
        length -= 8;
    }
    while (length-- > 0)
    {
        crc = (crc >> 8) ^ table[0][(crc ^ *data++) & 0xFF];
    }
    return ~crc;
}

static uint32_t aerolog_crc32_by_table(const uint8_t *data, int64_t length)
{
    return aerolog_crc_sliced(aerolog_crc32_table, data, length);
}

static uint32_t aerolog_crc32c_by_table(const uint8_t *data, int64_t length)
{
    return aerolog_crc_sliced(aerolog_crc32c_table, data, length);
}

#if defined(__x86_64__)

__attribute__((target("sse4.2")))
static uint32_t aerolog_crc32c_native(const uint8_t *data, int64_t length)
{
    uint64_t crc = 0xFFFFFFFFu;
    for (; length >= 8; data += 8, length -= 8)
    {
        uint64_t word;
        memcpy(&word, data, 8);
        crc = _mm_crc32_u64(crc, word);
    }
    uint32_t rest = (uint32_t)crc;
    while (length-- > 0)
    {
        rest = _mm_crc32_u8(rest, *data++);
    }
    return ~rest;
}

static inline aerolog_crc_function aerolog_crc32_select(void) { return aerolog_crc32_by_table; }

static inline aerolog_crc_function aerolog_crc32c_select(void)
{
    return __builtin_cpu_supports("sse4.2") ? aerolog_crc32c_native : aerolog_crc32c_by_table;
}

#elif defined(__aarch64__) && defined(__linux__)

__attribute__((target("+crc")))
static uint32_t aerolog_crc32_native(const uint8_t *data, int64_t length)
{
    uint32_t crc = 0xFFFFFFFFu;
    for (; length >= 8; data += 8, length -= 8)
    {
        uint64_t word;
        memcpy(&word, data, 8);
        crc = __crc32d(crc, word);
    }
    while (length-- > 0)
    {
        crc = __crc32b(crc, *data++);
    }
    return ~crc;
}

__attribute__((target("+crc")))
static uint32_t aerolog_crc32c_native(const uint8_t *data, int64_t length)
{
    uint32_t crc = 0xFFFFFFFFu;
    for (; length >= 8; data += 8, length -= 8)
    {
        uint64_t word;
        memcpy(&word, data, 8);
        crc = __crc32cd(crc, word);
    }
    while (length-- > 0)
    {
        crc = __crc32cb(crc, *data++);
    }
    return ~crc;
}

static inline aerolog_crc_function aerolog_crc32_select(void)
{
    return (getauxval(AT_HWCAP) & HWCAP_CRC32) ? aerolog_crc32_native : aerolog_crc32_by_table;
}

static inline aerolog_crc_function aerolog_crc32c_select(void)
{
    return (getauxval(AT_HWCAP) & HWCAP_CRC32) ? aerolog_crc32c_native : aerolog_crc32c_by_table;
}

#else

static inline aerolog_crc_function aerolog_crc32_select(void) { return aerolog_crc32_by_table; }
static inline aerolog_crc_function aerolog_crc32c_select(void) { return aerolog_crc32c_by_table; }

#endif

static inline void aerolog_crc_init(void)
{
    aerolog_crc_fill(aerolog_crc32_table, AEROLOG_CRC32_POLYNOMIAL);
    aerolog_crc_fill(aerolog_crc32c_table, AEROLOG_CRC32C_POLYNOMIAL);
}

#endif
