/* File allocation, with the calls that Python and Cython do not declare. */
#ifndef AEROLOG_FILES_H
#define AEROLOG_FILES_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

/* Gives [offset, offset + length) of a file its place on disk; contents are kept.
 * Returns 0 or -errno. A file system without fallocate gets the emulation of the C library. */
static inline int aerolog_allocate(int fd, int64_t offset, int64_t length)
{
    int result;
#ifdef __linux__
    do
    {
        result = fallocate(fd, 0, offset, length) == 0 ? 0 : errno;
    }
    while (result == EINTR);
    if (result != EOPNOTSUPP)
    {
        return -result;
    }
#endif
    do
    {
        result = posix_fallocate(fd, offset, length);
    }
    while (result == EINTR);
    return -result;
}

#endif
