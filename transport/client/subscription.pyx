"""Subscriptions: the reading end of a stream, all its images together (spec client 10)."""

import warnings

from libc.stdint cimport INT64_MAX, int32_t, int64_t

from aerolog.transport.client.image cimport Image, fragment_limit
from aerolog.transport.client.liveness cimport fork_generation
from aerolog.transport.client.batch_source cimport BatchSource

from aerolog.transport.client.channel_counters import channel_status, local_addresses, resolve_port
from aerolog.transport.client.destination import Destination
from aerolog.transport.client.steps.caller import waiting_caller
from aerolog.transport.client.steps.stream_steps import message_parts
from aerolog.transport.errors import ConcurrentUseError, ResourceClosedError


cdef enum _Form:
    HANDLER
    ACTIONS
    COPIES


cdef class Subscription(BatchSource):
    """A stream's images, polled in turns; used by one thread at a time. Made by ``Aeron``.

    Attributes:
        on_image: called with each new image; on the client's thread, so keep it short.
        on_image_gone: called with each image that went, which is closed by then.
    """

    def __cinit__(self, conductor, registration_id, channel, stream_id, on_image, on_image_gone):
        self.conductor = conductor
        self._client = conductor.client()
        self._images = ()
        self._fork_generation = fork_generation
        self.registration_id = registration_id
        self.channel = channel
        self.stream_id = stream_id
        self.channel_status_id = -1
        self.on_image = on_image
        self.on_image_gone = on_image_gone

    # -- what the conductor does -----------------------------------------------------------------

    def set_channel_status_id(self, status_id):
        """Keep the id of the counter that holds the state of the channel."""
        self.channel_status_id = status_id

    def add_image(self, Image image not None):
        """Add an image; polls that are under way do not see it yet."""
        self._images = (*self._images, image)

    def remove_image(self, correlation_id):
        """Close an image and take it out; None when there is none of that id."""
        cdef Image image
        for image in self._images:
            if image.correlation_id == correlation_id:
                self._images = tuple([other for other in self._images if other is not image])
                image.force_close()
                return image
        return None

    def take_images(self):
        """Close all images and take them out."""
        cdef Image image
        images, self._images = self._images, ()
        for image in images:
            image.force_close()
        return images

    def force_close(self):
        """Close without telling the driver."""
        self._closed = 1
        self.take_images()

    # -- polling ---------------------------------------------------------------------------------

    cdef int _enter(self) except -1:
        """Begin a poll; the caller clears ``_busy`` when it is over."""
        if self._closed:
            self.conductor.raise_close_reason()
        if self._fork_generation != fork_generation:
            self.conductor.ensure_usable()
        if self._busy:
            raise ConcurrentUseError(
                f"{self!r} is being polled by another thread, or by the handler that polls it"
            )
        self._busy = 1
        return 0

    cdef int32_t _first(self, tuple images) noexcept:
        """Return the index of the image that this poll begins with."""
        cdef int32_t first = self._round_robin
        self._round_robin += 1
        if first >= len(images):
            self._round_robin = 1
            first = 0
        return first

    cdef int32_t _poll(self, int form, object target, int32_t limit, bint assemble) except -1:
        """Poll the images, each at most once, for a handler or a list that takes copies.

        Returns:
            How many fragments handlers were given, or how many messages were copied.
        """
        cdef int32_t done = 0
        cdef int32_t first
        cdef Py_ssize_t i
        cdef Py_ssize_t count
        cdef tuple images
        cdef Image image
        self._enter()
        try:
            images = self._images
            count = len(images)
            if count == 0:
                return 0
            first = self._first(images)
            for i in range(count):
                if done >= limit:
                    break
                image = <Image> images[(first + i) % count]
                image.enter()
                try:
                    if form == COPIES:
                        image.poll_copies(target, limit - done, INT64_MAX, assemble)
                        done = <int32_t> len(<list> target)
                    else:
                        done += image.poll_handler(
                            target, form == ACTIONS, limit - done, INT64_MAX, assemble
                        )
                finally:
                    image.busy = 0
        finally:
            self._busy = 0
        return done

    def poll(self, handler, limit=10, *, assemble=True):
        """Hand messages of all images to a handler, beginning with another image each time.

        Args:
            handler: called with a read-only memoryview of the payload and a Header. The view is
                released when the handler returns; copy what you keep.
            limit: the largest number of fragments to take.
            assemble: join the fragments of long messages; without, each fragment is delivered.

        Returns:
            How many fragments were taken; those of unfinished messages count.

        Raises:
            ConcurrentUseError: another thread polls this subscription.
            AeronTimeoutError: the client has ended, as ``Aeron.close_reason`` says.
            Exception: the handler's own; its message counts as taken, what follows does not.
        """
        return self._poll(HANDLER, handler, fragment_limit(limit), assemble)

    def poll_controlled(self, handler, limit=10, *, assemble=True):
        """As ``poll``, with a handler that returns an Action (or None for CONTINUE).

        BREAK and ABORT end the turn of their image only.
        """
        return self._poll(ACTIONS, handler, fragment_limit(limit), assemble)

    def poll_messages(self, limit=10, *, assemble=True):
        """Take at most ``limit`` messages, copied, as a list."""
        cdef list messages = []
        self._poll(COPIES, messages, fragment_limit(limit), assemble)
        return messages

    def poll_block(self, handler, length):
        """Hand a run of whole frames of every image to a handler; see ``Image.poll_block``.

        Returns:
            Bytes taken, of all images.
        """
        return self._poll_blocks(handler, length, False)

    def poll_raw(self, handler, length):
        """Poll blocks as parts of the log's file; see ``Image.poll_raw``."""
        return self._poll_blocks(handler, length, True)

    def _poll_blocks(self, handler, length, bint raw):
        cdef int64_t total = 0
        cdef Image image
        self._enter()
        try:
            for image in self._images:
                image.enter()
                try:
                    total += image.poll_one_block(handler, length, raw)
                finally:
                    image.busy = 0
        finally:
            self._busy = 0
        return total

    cdef list begin_batch(self):
        """Take possession of all images; their readers, beginning with another each time."""
        cdef tuple images
        cdef Image image
        cdef list readers = []
        cdef Py_ssize_t i
        cdef Py_ssize_t count
        cdef int32_t first
        self._enter()
        images = self._images
        count = len(images)
        self._batch_images = []
        try:
            first = self._first(images) if count else 0
            for i in range(count):
                image = <Image> images[(first + i) % count]
                image.enter()
                self._batch_images.append(image)
                readers.append(image.reader)
        except BaseException:
            self.end_batch()
            raise
        return readers

    cdef int end_batch(self) except -1:
        cdef Image image
        for image in self._batch_images:
            image.busy = 0
        self._batch_images = None
        self._busy = 0
        return 0

    def messages(self, timeout=None, *, idle=None, until_eos=False, limit=64):
        """Iterate over messages, assembled and copied, waiting for each.

        Args:
            timeout: end when so many seconds pass without a message; None waits on.
            idle: an idle strategy, its name, or a function of the number of messages of each
                poll; None for a back-off.
            until_eos: end when there was an image and all are at their end or gone.
            limit: messages taken from the log at a time.

        Yields:
            Messages, until the subscription is closed.

        Raises:
            AeronTimeoutError: the client has ended because its driver is gone or gave it up, as
                ``Aeron.close_reason`` says.
        """
        parts = message_parts(self, timeout, until_eos=until_eos, limit=limit)
        return waiting_caller(self.conductor, idle).iterate(parts)

    # -- state -----------------------------------------------------------------------------------

    @property
    def images(self):
        """The current images."""
        return self._images

    def image(self, session_id):
        """The image of a session, None when there is none."""
        cdef Image image
        for image in self._images:
            if image.session_id == session_id:
                return image
        return None

    @property
    def is_connected(self):
        """Whether the subscription has an image."""
        cdef Image image
        for image in self._images:
            if not image.reader.is_closed():
                return True
        return False

    @property
    def closed(self):
        """Whether it was closed, by the program or with the client."""
        return bool(self._closed)

    @property
    def channel_status(self):
        """State of the channel's socket; always ACTIVE for IPC and spies."""
        return channel_status(self.conductor.counters, self.channel_status_id, self.closed)

    @property
    def local_addresses(self):
        """``host:port`` of the sockets in use; empty for IPC and spies."""
        return local_addresses(self.conductor.counters, self.channel_status_id, self.closed)

    @property
    def resolved_endpoint(self):
        """``host:port`` that is listened on, None until that is known."""
        if self._resolved_endpoint is None:
            addresses = self.local_addresses
            self._resolved_endpoint = addresses[0] if addresses else None
        return self._resolved_endpoint

    @property
    def resolved_channel(self):
        """The channel with a wildcard port replaced by the real one, None until that is known."""
        return resolve_port(self.channel, lambda: self.resolved_endpoint)

    def wait_connected(self, timeout=None):
        """Wait for an image.

        Args:
            timeout: seconds; None waits for ever.

        Raises:
            AeronTimeoutError: none came in time.
            ResourceClosedError: it was closed.
        """
        def is_there():
            self._raise_closed()
            return self.is_connected

        self.conductor.await_condition(is_there, timeout, lambda: f"no publisher of {self!r}")
        return self

    def _raise_closed(self):
        if self._closed:
            raise ResourceClosedError(f"{self!r} is closed") from self.conductor.close_reason

    # -- destinations ----------------------------------------------------------------------------

    def add_destination(self, channel, *, wait=True, timeout=None):
        """Receive the stream from one more destination (``control-mode=manual``).

        Returns:
            A Destination, whose ``remove()`` or ``with`` block takes it away again; its
            ``future`` tells how it went when ``wait`` is False.

        Raises:
            RegistrationError: the driver refuses it.
            ResourceClosedError: the subscription is closed.
        """
        self._raise_closed()
        return Destination.add_to_subscription(self, self.conductor, str(channel), wait, timeout)

    def remove_destination(self, channel, *, timeout=None):
        """Remove a destination, named by its channel."""
        self._raise_closed()
        Destination.remove_from_subscription(self, self.conductor, str(channel), timeout)

    # -- the end ---------------------------------------------------------------------------------

    def close(self):
        """Close the subscription and its images; a second call does nothing."""
        self.conductor.close_subscription(self)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.close()

    def __del__(self):
        cdef Image image
        if self.conductor is None or self._closed or self._fork_generation != fork_generation:
            return
        log_ids = tuple([image.correlation_id for image in self._images])
        warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self)
        self.force_close()
        self.conductor.subscription_dropped(self.registration_id, log_ids)

    def __repr__(self):
        return (
            f"<Subscription {self.channel} stream_id={self.stream_id} "
            f"images={len(self._images)}{' closed' if self._closed else ''}>"
        )

    def __reduce__(self):
        raise TypeError("Subscription belongs to this process: it cannot be pickled")
