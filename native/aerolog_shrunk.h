/* Read-only mappings whose file becomes shorter (docs/decisions/0018).
 *
 * A load from a page behind the end of its file raises SIGBUS, and so does one from a hole of a
 * file on a memory file system that is full. For a watched mapping the handler puts a page of zeros
 * there, notes it with its cause, and the load goes on; whoever reads the mapping asks afterwards.
 * Any other SIGBUS goes to the handler that was there before. The handler calls nothing but mmap,
 * sigaction, stat and statfs, and reads the table of watched mappings without a lock: its blocks
 * are never freed. */
#ifndef AEROLOG_SHRUNK_H
#define AEROLOG_SHRUNK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#define AEROLOG_WATCHES_IN_BLOCK 128

/* Why a page is missing. */
#define AEROLOG_SHORTER 1    /* the file ends before it */
#define AEROLOG_NO_ROOM 2    /* a hole, and the file system is full */
#define AEROLOG_UNREADABLE 3 /* the file has it, and it cannot be read */

typedef struct
{
    uintptr_t begin; /* 0: free. Written last when a mapping is added, first when it goes. */
    uintptr_t end;
    int64_t missing; /* -1, or the lowest offset at which the file had nothing */
    int64_t number;  /* 0, or how many mappings had met a missing page when this one did */
    int cause;       /* 0, or why a page was missing; a file that ends before it outweighs others */
    const char *path;
    uint64_t device; /* with the inode, of the file that is mapped: another may have the path now */
    uint64_t inode;
} aerolog_watch;

typedef struct aerolog_watch_block
{
    struct aerolog_watch_block *next;
    aerolog_watch watches[AEROLOG_WATCHES_IN_BLOCK];
} aerolog_watch_block;

static aerolog_watch_block aerolog_first_block;
static pthread_mutex_t aerolog_watch_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction aerolog_other_action;
static uintptr_t aerolog_page_size;
static int64_t aerolog_shrunk_count;
static char aerolog_gone_path[4096]; /* of the last such mapping that is no more */
static int64_t aerolog_gone_number;
static int aerolog_gone_cause;

static int aerolog_cause_of(const aerolog_watch *watch, int64_t offset)
{
    struct stat file;
    struct statfs system;
    if (stat(watch->path, &file) != 0 || file.st_dev != watch->device ||
        file.st_ino != watch->inode || file.st_size <= offset)
    {
        return AEROLOG_SHORTER;
    }
    return statfs(watch->path, &system) == 0 && system.f_bavail == 0 ? AEROLOG_NO_ROOM
                                                                     : AEROLOG_UNREADABLE;
}

static void aerolog_on_bus_error(int number, siginfo_t *info, void *context)
{
    const uintptr_t at = (uintptr_t)info->si_addr;
    const uintptr_t page = at & ~(aerolog_page_size - 1);
    aerolog_watch_block *block = &aerolog_first_block;
    while (info->si_code > 0 && block != NULL) /* above 0: a fault, not sent by a process */
    {
        for (int i = 0; i < AEROLOG_WATCHES_IN_BLOCK; i++)
        {
            aerolog_watch *watch = &block->watches[i];
            const uintptr_t begin = __atomic_load_n(&watch->begin, __ATOMIC_ACQUIRE);
            if (begin == 0 || at < begin || at >= watch->end)
            {
                continue;
            }
            if (mmap((void *)page, aerolog_page_size, PROT_READ,
                     MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
            {
                break;
            }
            if (__atomic_load_n(&watch->missing, __ATOMIC_RELAXED) < 0)
            {
                watch->number = __atomic_add_fetch(&aerolog_shrunk_count, 1, __ATOMIC_RELAXED);
            }
            int64_t offset = (int64_t)(page - begin);
            const int code = errno;
            const int cause = aerolog_cause_of(watch, offset);
            errno = code;
            if (watch->cause == 0 || cause == AEROLOG_SHORTER)
            {
                watch->cause = cause;
            }
            int64_t before = __atomic_load_n(&watch->missing, __ATOMIC_RELAXED);
            while ((before < 0 || offset < before) &&
                   !__atomic_compare_exchange_n(
                       &watch->missing, &before, offset, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            {
            }
            return;
        }
        block = __atomic_load_n(&block->next, __ATOMIC_ACQUIRE);
    }
    (void)number;
    (void)context;
    /* The load fails again, and this time the other handler, or the system's, gets it. */
    struct sigaction other = aerolog_other_action;
    aerolog_other_action.sa_handler = SIG_DFL;
    aerolog_other_action.sa_flags = 0;
    sigaction(SIGBUS, &other, NULL);
    if (info->si_code <= 0) /* sent by a process: nothing fails again by itself */
    {
        raise(SIGBUS);
    }
}

/* Puts the handler in its place unless it is there. Returns 0, or -1 with errno. */
static int aerolog_handle_bus_errors(void)
{
    struct sigaction now, ours;
    if (sigaction(SIGBUS, NULL, &now) != 0)
    {
        return -1;
    }
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == aerolog_on_bus_error)
    {
        return 0;
    }
    aerolog_page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    aerolog_other_action = now;
    memset(&ours, 0, sizeof(ours));
    ours.sa_sigaction = aerolog_on_bus_error;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&ours.sa_mask);
    return sigaction(SIGBUS, &ours, NULL);
}

/* Watches a mapping. Returns NULL, with errno, without memory or handler. */
static inline void *aerolog_watch_mapping(
    const void *address, int64_t length, const char *path, uint64_t device, uint64_t inode)
{
    aerolog_watch *found = NULL;
    pthread_mutex_lock(&aerolog_watch_lock);
    if (aerolog_handle_bus_errors() == 0)
    {
        aerolog_watch_block *block = &aerolog_first_block;
        while (found == NULL)
        {
            for (int i = 0; found == NULL && i < AEROLOG_WATCHES_IN_BLOCK; i++)
            {
                if (block->watches[i].begin == 0)
                {
                    found = &block->watches[i];
                }
            }
            if (found == NULL && block->next == NULL)
            {
                aerolog_watch_block *more = calloc(1, sizeof(aerolog_watch_block));
                if (more == NULL)
                {
                    break;
                }
                __atomic_store_n(&block->next, more, __ATOMIC_RELEASE);
            }
            block = block->next;
        }
        if (found != NULL)
        {
            found->end = (uintptr_t)address + (uintptr_t)length;
            found->missing = -1;
            found->number = 0;
            found->cause = 0;
            found->path = path;
            found->device = device;
            found->inode = inode;
            __atomic_store_n(&found->begin, (uintptr_t)address, __ATOMIC_RELEASE);
        }
    }
    pthread_mutex_unlock(&aerolog_watch_lock);
    return found;
}

static inline void aerolog_end_watch(void *watched)
{
    aerolog_watch *watch = watched;
    pthread_mutex_lock(&aerolog_watch_lock);
    if (watch->missing >= 0 && watch->number > aerolog_gone_number)
    {
        aerolog_gone_number = watch->number;
        aerolog_gone_cause = watch->cause;
        memcpy(aerolog_gone_path, watch->path,
               strnlen(watch->path, sizeof(aerolog_gone_path) - 1) + 1);
        aerolog_gone_path[sizeof(aerolog_gone_path) - 1] = 0;
    }
    __atomic_store_n(&watch->begin, 0, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&aerolog_watch_lock);
}

static inline int64_t aerolog_missing_from(const void *watched)
{
    const aerolog_watch *watch = watched;
    return watch == NULL ? -1 : __atomic_load_n(&watch->missing, __ATOMIC_ACQUIRE);
}

static inline int aerolog_missing_cause(const void *watched)
{
    return ((const aerolog_watch *)watched)->cause;
}

/* How many mappings have met a missing page; copies the path and the cause of the last of them. */
static inline int64_t aerolog_last_missing(char *path, size_t size, int *cause)
{
    pthread_mutex_lock(&aerolog_watch_lock);
    const char *found = aerolog_gone_path;
    int64_t number = aerolog_gone_number;
    *cause = aerolog_gone_cause;
    for (aerolog_watch_block *block = &aerolog_first_block; block != NULL; block = block->next)
    {
        for (int i = 0; i < AEROLOG_WATCHES_IN_BLOCK; i++)
        {
            aerolog_watch *watch = &block->watches[i];
            if (watch->begin != 0 && aerolog_missing_from(watch) >= 0 && watch->number > number)
            {
                found = watch->path;
                number = watch->number;
                *cause = watch->cause;
            }
        }
    }
    const size_t length = strnlen(found, size - 1);
    memcpy(path, found, length);
    path[length] = 0;
    pthread_mutex_unlock(&aerolog_watch_lock);
    return number;
}

#endif
