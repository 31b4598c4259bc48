# Room for datagrams; included by the loops, needs what the port and libc.stdlib declare.

cdef class Incoming:
    """A batch of datagrams, each with room for the longest."""

    cdef incoming_t* messages
    cdef uint8_t* _memory

    def __cinit__(self) -> None:
        cdef int index
        self.messages = <incoming_t*> calloc(BATCH_LIMIT, sizeof(incoming_t))
        self._memory = <uint8_t*> calloc(BATCH_LIMIT, RECEIVE_BUFFER_LENGTH)
        if self.messages == NULL or self._memory == NULL:
            raise MemoryError
        for index in range(BATCH_LIMIT):
            self.messages[index].data = self._memory + <int64_t> index * RECEIVE_BUFFER_LENGTH
            self.messages[index].capacity = RECEIVE_BUFFER_LENGTH

    def __dealloc__(self) -> None:
        free(self.messages)
        free(self._memory)
