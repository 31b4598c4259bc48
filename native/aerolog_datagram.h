/* Batches of datagrams: what sendmmsg, recvmmsg and their control messages need, in the terms of
 * every system. Where the kernel has no batch calls they are loops of the single ones. */
#ifndef AEROLOG_DATAGRAM_H
#define AEROLOG_DATAGRAM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#define AEROLOG_SOL_UDP 17
#define AEROLOG_UDP_SEGMENT 103
#define AEROLOG_UDP_GRO 104

/* Room for the control messages of one datagram: a segment length and a timestamp. */
#define AEROLOG_CONTROL_LENGTH 64

#ifndef __linux__
struct mmsghdr
{
    struct msghdr msg_hdr;
    unsigned int msg_len;
};
#endif

/* Kernel messages taken, or -errno when none was. */
static inline int aerolog_send_batch(int fd, struct mmsghdr *messages, int count)
{
#ifdef __linux__
    int taken = sendmmsg(fd, messages, (unsigned int)count, MSG_DONTWAIT | MSG_NOSIGNAL);
    return taken < 0 ? -errno : taken;
#else
    for (int i = 0; i < count; i++)
    {
        ssize_t length = sendmsg(fd, &messages[i].msg_hdr, MSG_DONTWAIT);
        if (length < 0)
        {
            return i > 0 ? i : -errno;
        }
    }
    return count;
#endif
}

/* Messages filled, or -errno when none was. */
static inline int aerolog_receive_batch(int fd, struct mmsghdr *messages, int count)
{
#ifdef __linux__
    int filled = recvmmsg(fd, messages, (unsigned int)count, MSG_DONTWAIT, NULL);
    return filled < 0 ? -errno : filled;
#else
    for (int i = 0; i < count; i++)
    {
        ssize_t length = recvmsg(fd, &messages[i].msg_hdr, MSG_DONTWAIT);
        if (length < 0)
        {
            return i > 0 ? i : -errno;
        }
        messages[i].msg_len = (unsigned int)length;
    }
    return count;
#endif
}

/* Asks the kernel to cut the message into datagrams; control has AEROLOG_CONTROL_LENGTH bytes. */
static inline void aerolog_set_segment(struct msghdr *message, void *control, uint16_t segment)
{
    struct cmsghdr *header;
    message->msg_control = control;
    message->msg_controllen = CMSG_SPACE(sizeof segment);
    header = CMSG_FIRSTHDR(message);
    header->cmsg_level = AEROLOG_SOL_UDP;
    header->cmsg_type = AEROLOG_UDP_SEGMENT;
    header->cmsg_len = CMSG_LEN(sizeof segment);
    memcpy(CMSG_DATA(header), &segment, sizeof segment);
}

/* Segment length of a run that the kernel joined and the time of its arrival, 0 for none. */
static inline void aerolog_read_control(
    struct msghdr *message, int32_t *segment, int64_t *timestamp_ns)
{
    struct cmsghdr *header;
    *segment = 0;
    *timestamp_ns = 0;
    for (header = CMSG_FIRSTHDR(message); header != NULL; header = CMSG_NXTHDR(message, header))
    {
        if (header->cmsg_level == AEROLOG_SOL_UDP && header->cmsg_type == AEROLOG_UDP_GRO)
        {
            int length;
            memcpy(&length, CMSG_DATA(header), sizeof length);
            *segment = length;
        }
#ifdef SCM_TIMESTAMPNS
        if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_TIMESTAMPNS)
        {
            struct timespec time;
            memcpy(&time, CMSG_DATA(header), sizeof time);
            *timestamp_ns = (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
        }
#endif
    }
}

/* Whether the kernel cut the datagram because the buffer was too short. */
static inline bool aerolog_is_truncated(const struct msghdr *message)
{
    return (message->msg_flags & MSG_TRUNC) != 0;
}

#endif
