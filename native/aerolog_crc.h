/* CRC-32 (IEEE 802.3) and CRC-32C (Castagnoli): reflected, start and final xor all ones.
 *
 * By the processor's instructions where it has them, found at run time; otherwise eight bytes at a
 * time from tables. x86 multiplies without carries: what was read is carried forward over the next
 * bytes by multiplying it with the remainder of a power of x, 64 bytes by one instruction on
 * processors with AVX-512. Call aerolog_crc_init once before
 * anything else. Spec archive-files 10.
 */
#ifndef AEROLOG_CRC_H
#define AEROLOG_CRC_H

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
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

/* The register after more bytes, without start and final xor. */
static inline uint32_t aerolog_crc_sliced(
    uint32_t table[8][256], uint32_t crc, const uint8_t *data, int64_t length)
{
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
    return crc;
}

static uint32_t aerolog_crc32_by_table(const uint8_t *data, int64_t length)
{
    return ~aerolog_crc_sliced(aerolog_crc32_table, 0xFFFFFFFFu, data, length);
}

static uint32_t aerolog_crc32c_by_table(const uint8_t *data, int64_t length)
{
    return ~aerolog_crc_sliced(aerolog_crc32c_table, 0xFFFFFFFFu, data, length);
}

#if defined(__x86_64__)

/* Remainders by which 128 bits are carried 256, 64 and 16 bytes forward: of the lower and upper
 * half. */
typedef struct
{
    uint64_t by_256[2];
    uint64_t by_64[2];
    uint64_t by_16[2];
} aerolog_crc_fold_t;

static aerolog_crc_fold_t aerolog_crc32_fold;
static aerolog_crc_fold_t aerolog_crc32c_fold;

/* x to the power of n modulo the polynomial, reflected, shifted to where a product needs it. */
static uint64_t aerolog_crc_power(uint32_t polynomial, int n)
{
    uint32_t value = 0x80000000u;
    while (n-- > 0)
    {
        value = (value >> 1) ^ ((value & 1) ? polynomial : 0);
    }
    return (uint64_t)value << 1;
}

static void aerolog_crc_fill_fold(aerolog_crc_fold_t *fold, uint32_t polynomial)
{
    fold->by_256[0] = aerolog_crc_power(polynomial, 2048 + 32);
    fold->by_256[1] = aerolog_crc_power(polynomial, 2048 - 32);
    fold->by_64[0] = aerolog_crc_power(polynomial, 512 + 32);
    fold->by_64[1] = aerolog_crc_power(polynomial, 512 - 32);
    fold->by_16[0] = aerolog_crc_power(polynomial, 128 + 32);
    fold->by_16[1] = aerolog_crc_power(polynomial, 128 - 32);
}

__attribute__((target("pclmul,sse4.2")))
static inline __m128i aerolog_crc_carry(__m128i before, __m128i powers, __m128i next)
{
    const __m128i low = _mm_clmulepi64_si128(before, powers, 0x00);
    const __m128i high = _mm_clmulepi64_si128(before, powers, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

/* Carries everything but the last bytes into 16 bytes that leave the same remainder, behind a
 * register of zeros. At least 64 bytes; returns how many are left. */
__attribute__((target("pclmul,sse4.2")))
static int64_t aerolog_crc_folded(
    const aerolog_crc_fold_t *fold, const uint8_t *data, int64_t length, uint8_t folded[16])
{
    const __m128i by_64 = _mm_loadu_si128((const __m128i *)fold->by_64);
    const __m128i by_16 = _mm_loadu_si128((const __m128i *)fold->by_16);
    __m128i x[4];
    for (int i = 0; i < 4; i++)
    {
        x[i] = _mm_loadu_si128((const __m128i *)(data + 16 * i));
    }
    x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128(-1));
    for (data += 64, length -= 64; length >= 64; data += 64, length -= 64)
    {
        for (int i = 0; i < 4; i++)
        {
            x[i] = aerolog_crc_carry(
                x[i], by_64, _mm_loadu_si128((const __m128i *)(data + 16 * i)));
        }
    }
    for (int i = 1; i < 4; i++)
    {
        x[0] = aerolog_crc_carry(x[0], by_16, x[i]);
    }
    for (; length >= 16; data += 16, length -= 16)
    {
        x[0] = aerolog_crc_carry(x[0], by_16, _mm_loadu_si128((const __m128i *)data));
    }
    _mm_storeu_si128((__m128i *)folded, x[0]);
    return length;
}

#define AEROLOG_CRC_WIDE "avx512f,avx512vl,vpclmulqdq,pclmul,sse4.2"
#define AEROLOG_CRC_WIDE_MIN 256

__attribute__((target(AEROLOG_CRC_WIDE)))
static inline __m512i aerolog_crc_carry_wide(__m512i before, __m512i powers, __m512i next)
{
    const __m512i low = _mm512_clmulepi64_epi128(before, powers, 0x00);
    const __m512i high = _mm512_clmulepi64_epi128(before, powers, 0x11);
    return _mm512_ternarylogic_epi64(low, high, next, 0x96); /* the xor of all three */
}

/* As aerolog_crc_folded, 256 bytes at a time; at least that many. */
__attribute__((target(AEROLOG_CRC_WIDE)))
static int64_t aerolog_crc_folded_wide(
    const aerolog_crc_fold_t *fold, const uint8_t *data, int64_t length, uint8_t folded[16])
{
    const __m128i by_16 = _mm_loadu_si128((const __m128i *)fold->by_16);
    const __m512i by_64 =
        _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)fold->by_64));
    const __m512i by_256 =
        _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)fold->by_256));
    __m512i x[4];
    for (int i = 0; i < 4; i++)
    {
        x[i] = _mm512_loadu_si512(data + 64 * i);
    }
    x[0] = _mm512_xor_si512(x[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128(-1)));
    for (data += 256, length -= 256; length >= 256; data += 256, length -= 256)
    {
        for (int i = 0; i < 4; i++)
        {
            x[i] = aerolog_crc_carry_wide(x[i], by_256, _mm512_loadu_si512(data + 64 * i));
        }
    }
    for (int i = 1; i < 4; i++)
    {
        x[0] = aerolog_crc_carry_wide(x[0], by_64, x[i]);
    }
    for (; length >= 64; data += 64, length -= 64)
    {
        x[0] = aerolog_crc_carry_wide(x[0], by_64, _mm512_loadu_si512(data));
    }
    __m128i one = _mm512_castsi512_si128(x[0]);
    one = aerolog_crc_carry(one, by_16, _mm512_extracti32x4_epi32(x[0], 1));
    one = aerolog_crc_carry(one, by_16, _mm512_extracti32x4_epi32(x[0], 2));
    one = aerolog_crc_carry(one, by_16, _mm512_extracti32x4_epi32(x[0], 3));
    for (; length >= 16; data += 16, length -= 16)
    {
        one = aerolog_crc_carry(one, by_16, _mm_loadu_si128((const __m128i *)data));
    }
    _mm_storeu_si128((__m128i *)folded, one);
    return length;
}

typedef int64_t (*aerolog_crc_folding)(
    const aerolog_crc_fold_t *fold, const uint8_t *data, int64_t length, uint8_t folded[16]);

/* The checksum by way of a folding function, long enough for it; `fold` is a constant where this
 * is called, so the compiler makes a copy of it for each. */
__attribute__((always_inline))
static inline uint32_t aerolog_crc32_by_folding(
    aerolog_crc_folding fold, const uint8_t *data, int64_t length)
{
    uint8_t folded[16];
    const int64_t left = fold(&aerolog_crc32_fold, data, length, folded);
    const uint32_t crc = aerolog_crc_sliced(aerolog_crc32_table, 0, folded, 16);
    return ~aerolog_crc_sliced(aerolog_crc32_table, crc, data + length - left, left);
}

static uint32_t aerolog_crc32_native(const uint8_t *data, int64_t length)
{
    return length < 64 ? aerolog_crc32_by_table(data, length) :
        aerolog_crc32_by_folding(aerolog_crc_folded, data, length);
}

static uint32_t aerolog_crc32_wide(const uint8_t *data, int64_t length)
{
    return length < AEROLOG_CRC_WIDE_MIN ? aerolog_crc32_native(data, length) :
        aerolog_crc32_by_folding(aerolog_crc_folded_wide, data, length);
}

__attribute__((target("sse4.2")))
static uint32_t aerolog_crc32c_words(uint32_t start, const uint8_t *data, int64_t length)
{
    uint64_t crc = start;
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
    return rest;
}

static uint32_t aerolog_crc32c_by_words(const uint8_t *data, int64_t length)
{
    return ~aerolog_crc32c_words(0xFFFFFFFFu, data, length);
}

/* As aerolog_crc32_by_folding. */
__attribute__((always_inline))
static inline uint32_t aerolog_crc32c_by_folding(
    aerolog_crc_folding fold, const uint8_t *data, int64_t length)
{
    uint8_t folded[16];
    const int64_t left = fold(&aerolog_crc32c_fold, data, length, folded);
    const uint32_t crc = aerolog_crc32c_words(0, folded, 16);
    return ~aerolog_crc32c_words(crc, data + length - left, left);
}

static uint32_t aerolog_crc32c_native(const uint8_t *data, int64_t length)
{
    return length < 256 ? aerolog_crc32c_by_words(data, length) :
        aerolog_crc32c_by_folding(aerolog_crc_folded, data, length);
}

static uint32_t aerolog_crc32c_wide(const uint8_t *data, int64_t length)
{
    return length < AEROLOG_CRC_WIDE_MIN ? aerolog_crc32c_native(data, length) :
        aerolog_crc32c_by_folding(aerolog_crc_folded_wide, data, length);
}

static inline int aerolog_crc_can_fold(void)
{
    return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
}

static inline int aerolog_crc_can_fold_wide(void)
{
    return aerolog_crc_can_fold() && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("vpclmulqdq");
}

static inline aerolog_crc_function aerolog_crc32_select(void)
{
    if (aerolog_crc_can_fold_wide())
    {
        return aerolog_crc32_wide;
    }
    return aerolog_crc_can_fold() ? aerolog_crc32_native : aerolog_crc32_by_table;
}

static inline aerolog_crc_function aerolog_crc32c_select(void)
{
    if (aerolog_crc_can_fold_wide())
    {
        return aerolog_crc32c_wide;
    }
    if (aerolog_crc_can_fold())
    {
        return aerolog_crc32c_native;
    }
    return __builtin_cpu_supports("sse4.2") ? aerolog_crc32c_by_words : aerolog_crc32c_by_table;
}

/* What a processor without the wide instructions uses, to be compared with; NULL where they are
 * not there either. */
static inline aerolog_crc_function aerolog_crc_narrow(int castagnoli)
{
    if (!aerolog_crc_can_fold_wide())
    {
        return 0;
    }
    return castagnoli ? aerolog_crc32c_native : aerolog_crc32_native;
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

static inline aerolog_crc_function aerolog_crc_narrow(int castagnoli)
{
    (void)castagnoli;
    return 0;
}

#else

static inline aerolog_crc_function aerolog_crc32_select(void) { return aerolog_crc32_by_table; }
static inline aerolog_crc_function aerolog_crc32c_select(void) { return aerolog_crc32c_by_table; }
static inline aerolog_crc_function aerolog_crc_narrow(int castagnoli)
{
    (void)castagnoli;
    return 0;
}

#endif

static inline void aerolog_crc_init(void)
{
    aerolog_crc_fill(aerolog_crc32_table, AEROLOG_CRC32_POLYNOMIAL);
    aerolog_crc_fill(aerolog_crc32c_table, AEROLOG_CRC32C_POLYNOMIAL);
#if defined(__x86_64__)
    aerolog_crc_fill_fold(&aerolog_crc32_fold, AEROLOG_CRC32_POLYNOMIAL);
    aerolog_crc_fill_fold(&aerolog_crc32c_fold, AEROLOG_CRC32C_POLYNOMIAL);
#endif
}

#endif
