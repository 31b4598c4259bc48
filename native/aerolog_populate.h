/* Pages of a mapping that are about to be written to, mapped at once instead of fault by fault. */
#ifndef AEROLOG_POPULATE_H
#define AEROLOG_POPULATE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdint.h>
#include <sys/mman.h>

#define AEROLOG_POPULATE_PAGE 4096

/* A hint: where the system does not know it, or has no page, writing shows. */
static inline void aerolog_populate(void *address, int64_t length)
{
#ifdef __linux__
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
    const uintptr_t begin = (uintptr_t)address & ~(uintptr_t)(AEROLOG_POPULATE_PAGE - 1);
    const uintptr_t end = (uintptr_t)address + (uintptr_t)length;
    (void)madvise((void *)begin, end - begin, MADV_POPULATE_WRITE);
#else
    (void)address;
    (void)length;
#endif
}

#endif
