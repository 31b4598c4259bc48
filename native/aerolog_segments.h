/* Files without a name that get one when they are ready, and room given back. */
#ifndef AEROLOG_SEGMENTS_H
#define AEROLOG_SEGMENTS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* A new empty file in a folder that must not have one of that name; a descriptor or -errno. */
static inline int aerolog_create_in(int folder, const char *name)
{
    const int fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return fd >= 0 ? fd : -errno;
}

/* Take a file's name away, when it could not be made whole. */
static inline void aerolog_remove_in(int folder, const char *name)
{
    (void)unlinkat(folder, name, 0);
}

/* A new empty file in a folder, which has no name; a descriptor or -errno. */
static inline int aerolog_create_unnamed(int folder)
{
#ifdef O_TMPFILE
    const int fd = openat(folder, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0666);
    return fd >= 0 ? fd : -errno;
#else
    (void)folder;
    return -EOPNOTSUPP;
#endif
}

/* Give an unnamed file a name that nothing in the folder may have; 0 or -errno. */
static inline int aerolog_name_in(int fd, int folder, const char *name)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, path, folder, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : -errno;
}

/* Take back a range's place on disk: it reads as zeros, the length stays; 0 or -errno. */
static inline int aerolog_release_range(int fd, int64_t offset, int64_t length)
{
#ifdef FALLOC_FL_PUNCH_HOLE
    return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length) == 0 ? 0
                                                                                          : -errno;
#else
    (void)fd;
    (void)offset;
    (void)length;
    return -EOPNOTSUPP;
#endif
}

/* Bytes that may still be allocated on the file system of a descriptor, or -errno. */
static inline int64_t aerolog_usable_space(int fd)
{
    struct statvfs status;
    if (fstatvfs(fd, &status) != 0)
    {
        return -errno;
    }
    return (int64_t)status.f_bavail * (int64_t)status.f_frsize;
}

#endif
