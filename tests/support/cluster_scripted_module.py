"""A consensus module that says to a service's container what a test has it say, byte for byte."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, TypeVar

from live_archive import until

from aerolog.cluster.counter_types import CLUSTER_KEY, RECOVERY_KEY, ClusterCounterType, Role
from aerolog.cluster.protocol import (
    SCHEMA,
    JoinLog,
    Message,
    NewLeadershipTermEvent,
    ServiceAck,
    SessionMessageHeader,
    SessionOpenEvent,
)
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from typing import Self

    from aerolog.transport.client import Aeron
    from aerolog.transport.client.publication import ExclusivePublication

M = TypeVar("M", bound=Message)
TO_SERVICES, TO_MODULE, LOG, EGRESS = 104, 105, 100, 102
CONTROL = "aeron:ipc?term-length=128k"
SHORT = "aeron:ipc?term-length=64k"
MANY = 2**63 - 1


class ScriptedModule:
    """A module that leads, with one session; the log is a stream of its own.

    Attributes:
        log: the publication of the log.
        to_services: the publication to the services.
    """

    def __init__(self, aeron: Aeron) -> None:
        self._aeron = aeron
        self._opened = ExitStack()
        self._heard: list[bytes] = []
        add = self._opened.enter_context
        self.to_services = add(aeron.add_exclusive_publication(CONTROL, TO_SERVICES))
        self._from_services = add(aeron.add_subscription(CONTROL, TO_MODULE))
        self.log: ExclusivePublication = add(aeron.add_exclusive_publication(SHORT, LOG))
        self._egress = add(aeron.add_subscription(SHORT, EGRESS))
        self._commit = add(
            aeron.add_counter(
                ClusterCounterType.COMMIT_POSITION, "commit", CLUSTER_KEY.numbers.pack(0)
            )
        )
        recovery = RECOVERY_KEY.numbers.pack(-1, 0, 0, 0, 0)
        add(aeron.add_counter(ClusterCounterType.RECOVERY_STATE, "recovery", recovery))

    # -- services --------------------------------------------------------------------------------

    def hear(self, wanted: type[M]) -> M:
        """The next message of the service, which has to be of a class."""

        def has_come() -> bool:
            self._heard.extend(each.data for each in self._from_services.poll_messages(10))
            return bool(self._heard)

        until(has_come, wanted.__name__)
        return wanted.decode(self._heard.pop(0))

    def lead(self) -> None:
        """Have a started service join the log, with a term and an open session 1."""
        self.join()
        assert self.hear(ServiceAck).ack_id == 1
        self.append(
            NewLeadershipTermEvent(
                leadership_term_id=0, log_position=96, timestamp=1, term_base_log_position=0,
                leader_member_id=0, log_session_id=self.log.session_id, time_unit=0, app_version=1,
            ).encode()
        )  # fmt: skip
        self.append(
            SessionOpenEvent(
                leadership_term_id=0, correlation_id=1, cluster_session_id=1, timestamp=2,
                response_stream_id=EGRESS, response_channel=SHORT,
                encoded_principal=b"",
            ).encode()
        )  # fmt: skip
        self.check_echo()

    def join(self, **others: object) -> None:
        """Tell the services to join the log."""
        values = {
            "log_position": 0,
            "max_log_position": MANY,
            "member_id": 0,
            "log_session_id": self.log.session_id,
            "log_stream_id": LOG,
            "is_startup": 1,
            "role": Role.LEADER,
            "log_channel": f"aeron:ipc?session-id={self.log.session_id}",
            **others,
        }
        self.to_services.send(JoinLog(**values).encode())

    # -- the log ---------------------------------------------------------------------------------

    def begin_next_log(self) -> None:
        """Open a log that begins at the commit position, and tell the services to join it."""
        begin = self._commit.value
        channel = ChannelUri.parse(SHORT).with_position(begin, 0, 64 * 1024)
        self.log = self._opened.enter_context(
            self._aeron.add_exclusive_publication(str(channel), LOG)
        )
        self.join(log_position=begin, is_startup=0)

    def append(self, data: bytes) -> None:
        """Append bytes to the log, and commit them."""
        self._commit.value = self.log.send(data)

    def check_echo(self, text: bytes = b"hello") -> None:
        """Append a message, and wait until the service has sent it back."""
        header = SessionMessageHeader(leadership_term_id=0, cluster_session_id=1, timestamp=3)
        self.append(header.encode() + text)
        found: list[bytes] = []

        def has_come() -> bool:
            found.extend(each.data for each in self._egress.poll_messages(10))
            return any(data.endswith(text) for data in found)

        until(has_come, f"echo of {text!r}")

    def errors(self) -> int:
        """How many errors the container has counted."""
        infos = self._aeron.counters.infos()
        (found,) = [
            info.counter_id for info in infos if info.type_id == ClusterCounterType.SERVICE_ERRORS
        ]
        return self._aeron.counters[found].value

    def close(self) -> None:
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def message_bytes(
    template_id: int,
    body: bytes,
    *,
    block: int | None = None,
    schema: int = SCHEMA.id,
    version: int = SCHEMA.version,
) -> bytes:
    """A message of a schema that need not exist."""
    length = len(body) if block is None else block
    fields = (length, template_id, schema, version)
    return b"".join(field.to_bytes(2, "little") for field in fields) + body
