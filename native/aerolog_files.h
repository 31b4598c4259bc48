/* File allocation, with the calls that Python and Cython do not declare. */
#ifndef AEROLOG_FILES_H
#define AEROLOG_FILES_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
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

/* The same for a file that is open no more. Returns -ESTALE if its path names another file now. */
static inline int aerolog_allocate_in(
    const char *path, uint64_t device, uint64_t inode, int64_t offset, int64_t length)
{
    struct stat found;
    int result;
    const int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
    {
        return -errno;
    }
    if (fstat(fd, &found) != 0)
    {
        result = -errno;
    }
    else if (found.st_dev != device || found.st_ino != inode)
    {
        result = -ESTALE;
    }
    else
    {
        result = aerolog_allocate(fd, offset, length);
    }
    close(fd);
    return result;
}

#endif
