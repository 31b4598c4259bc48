"""Messages with a sender and a number in front, so that a service can drop what comes twice.

A cluster's ingress has no receipts: after a new leader or in a new session a client repeats what
nobody has answered, and some of it is in the log already. `NumberedOffers` of the client numbers
and repeats; a service asks its `SeenNumbers` whether a number is new, and puts the same header in
front of its answers. All numbers are little-endian, 64 bits, signed.
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from aerolog.transport.errors import MessageFormatError

if TYPE_CHECKING:
    from aerolog.transport.protocol.sbe import Buffer

#: Sender and number.
HEADER: Final = struct.Struct("<qq")
SENDERS_MAX: Final = 100_000


class NumberedMessage(NamedTuple):
    """A message or an answer.

    Attributes:
        sender: who numbers, the same in all sessions of a client; 64 bits.
        number: of the message, or of the message that is answered; from 1.
        payload: what was sent.
    """

    sender: int
    number: int
    payload: bytes

    def encode(self) -> bytes:
        """The bytes that are sent."""
        return HEADER.pack(self.sender, self.number) + self.payload

    def answer(self, payload: Buffer) -> bytes:
        """The bytes of an answer to this message."""
        return NumberedMessage(self.sender, self.number, bytes(payload)).encode()


def numbered_message(data: Buffer) -> NumberedMessage:
    """Decode a message.

    Args:
        data: what came, at least 16 bytes.

    Raises:
        MessageFormatError: it is too short for sender and number.
    """
    content = bytes(data)
    if len(content) < HEADER.size:
        raise MessageFormatError(
            f"{len(content)} bytes are no numbered message: sender and number take {HEADER.size}"
        )
    sender, number = HEADER.unpack_from(content)
    return NumberedMessage(sender, number, content[HEADER.size :])


class SeenNumbers:
    """The highest number that a service has seen of each sender: part of its state.

    A sender's numbers come in order, repeated ones too, so that one number a sender is enough. The
    senders that have sent nothing for the longest are forgotten; what they repeat later counts as
    new. All members forget the same ones, since they read the same log.

    Args:
        senders_max: how many senders are kept.
    """

    def __init__(self, senders_max: int = SENDERS_MAX) -> None:
        if senders_max <= 0:
            raise ValueError(f"senders_max={senders_max} must be positive")
        self._senders_max = senders_max
        self._highest: OrderedDict[int, int] = OrderedDict()

    def add(self, message: NumberedMessage) -> bool:
        """Note a message; whether its number is new, and so the message is to be applied."""
        highest = self._highest.get(message.sender, 0)
        self._highest[message.sender] = max(highest, message.number)
        self._highest.move_to_end(message.sender)
        if len(self._highest) > self._senders_max:
            self._highest.popitem(last=False)
        return message.number > highest

    def __len__(self) -> int:
        return len(self._highest)

    def state(self) -> list[list[int]]:
        """What a snapshot keeps: pairs of sender and number, which JSON can hold as well."""
        return [[sender, number] for sender, number in self._highest.items()]

    def restore(self, state: Any) -> None:
        """Go on from the state of a snapshot."""
        self._highest = OrderedDict((int(sender), int(number)) for sender, number in state)
