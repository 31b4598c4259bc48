"""What the reference's classes and ours are asked to write, so that a test compares the bytes.

Each line is one for the peer program ``Layouts.java``; what the reference made of it stands in
``tests/golden/data/reference-layouts.json``.
"""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING, Any

from aerolog.transport.concurrent.clock import ManualClock
from aerolog.transport.memory.broadcast import BroadcastTransmitter
from aerolog.transport.memory.counters import CountersManager
from aerolog.transport.memory.error_log import DistinctErrorLog
from aerolog.transport.memory.loss_report import LossReport
from aerolog.transport.memory.mapped_file import MappedFile
from aerolog.transport.memory.ring_buffer import ManyToOneRingBuffer
from aerolog.transport.protocol import frame_codec
from aerolog.transport.protocol.commands import COMMANDS, Command
from aerolog.transport.protocol.layout import DriverMessage, FieldKind
from aerolog.transport.protocol.responses import RESPONSES, Response

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

FIRST_VALUE = 3
RANGES = {FieldKind.I16: 2**15, FieldKind.U16: 2**16, FieldKind.I32: 2**31, FieldKind.I64: 2**63}


def camel(name: str) -> str:
    """The reference's spelling of a member's name."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


# -- messages between clients and drivers ----------------------------------------------------------

DESTINATION = {"registration_id": "registrationCorrelationId"}
COUNTER = {"key": "keyBuffer"}
PUBLICATION_READY = {
    "limit_counter_id": "publicationLimitCounterId",
    "channel_status_id": "channelStatusCounterId",
    "log_file": "logFileName",
}
#: For each message the constant of its type, its flyweight, and the setters with other names.
FLYWEIGHTS: dict[str, tuple[str, str, dict[str, str]]] = {
    "AddPublication": ("ADD_PUBLICATION", "PublicationMessage", {}),
    "RemovePublication": ("REMOVE_PUBLICATION", "RemovePublication", {"flags": "revoke"}),
    "AddExclusivePublication": ("ADD_EXCLUSIVE_PUBLICATION", "PublicationMessage", {}),
    "AddSubscription": ("ADD_SUBSCRIPTION", "SubscriptionMessage", {}),
    "RemoveSubscription": ("REMOVE_SUBSCRIPTION", "RemoveSubscription", {}),
    "ClientKeepalive": ("CLIENT_KEEPALIVE", "CorrelatedMessage", {}),
    "AddDestination": ("ADD_DESTINATION", "DestinationMessage", DESTINATION),
    "RemoveDestination": ("REMOVE_DESTINATION", "DestinationMessage", DESTINATION),
    "AddCounter": ("ADD_COUNTER", "CounterMessage", COUNTER),
    "RemoveCounter": ("REMOVE_COUNTER", "RemoveCounter", {}),
    "ClientClose": ("CLIENT_CLOSE", "CorrelatedMessage", {}),
    "AddReceiveDestination": ("ADD_RCV_DESTINATION", "DestinationMessage", DESTINATION),
    "RemoveReceiveDestination": ("REMOVE_RCV_DESTINATION", "DestinationMessage", DESTINATION),
    "TerminateDriver": ("TERMINATE_DRIVER", "TerminateDriver", {"token": "tokenBuffer"}),
    "AddStaticCounter": ("ADD_STATIC_COUNTER", "StaticCounterMessage", COUNTER),
    "RejectImage": ("REJECT_IMAGE", "RejectImage", {}),
    "RemoveDestinationById": (
        "REMOVE_DESTINATION_BY_ID",
        "DestinationByIdMessage",
        {"registration_id": "resourceRegistrationId"},
    ),
    "GetNextAvailableSessionId": (
        "GET_NEXT_AVAILABLE_SESSION_ID",
        "GetNextAvailableSessionIdMessage",
        {},
    ),
    "OnError": (
        "ON_ERROR",
        "ErrorResponse",
        {
            "correlation_id": "offendingCommandCorrelationId",
            "code": "errorCode",
            "message": "errorMessage",
        },
    ),
    "AvailableImage": (
        "ON_AVAILABLE_IMAGE",
        "ImageBuffersReady",
        {"position_counter_id": "subscriberPositionId", "log_file": "logFileName"},
    ),
    "PublicationReady": ("ON_PUBLICATION_READY", "PublicationBuffersReady", PUBLICATION_READY),
    "OperationSuccess": ("ON_OPERATION_SUCCESS", "OperationSucceeded", {}),
    "UnavailableImage": ("ON_UNAVAILABLE_IMAGE", "ImageMessage", {}),
    "ExclusivePublicationReady": (
        "ON_EXCLUSIVE_PUBLICATION_READY",
        "PublicationBuffersReady",
        PUBLICATION_READY,
    ),
    "SubscriptionReady": (
        "ON_SUBSCRIPTION_READY",
        "SubscriptionReady",
        {"channel_status_id": "channelStatusCounterId"},
    ),
    "CounterReady": ("ON_COUNTER_READY", "CounterUpdate", {}),
    "UnavailableCounter": (
        "ON_UNAVAILABLE_COUNTER",
        "CounterUpdate",
        {"registration_id": "correlationId"},
    ),
    "ClientTimeout": ("ON_CLIENT_TIMEOUT", "ClientTimeout", {}),
    "StaticCounter": ("ON_STATIC_COUNTER", "StaticCounter", {}),
    "OnPublicationError": (
        "ON_PUBLICATION_ERROR",
        "PublicationErrorFrame",
        {"code": "errorCode", "message": "errorMessage"},
    ),
    "NextAvailableSessionId": (
        "ON_NEXT_AVAILABLE_SESSION_ID",
        "NextAvailableSessionId",
        {"session_id": "nextSessionId"},
    ),
}
#: Values that the reference's setters do not leave open.
FIXED_VALUES: dict[str, dict[str, Any]] = {
    "RemovePublication": {"flags": 1},
    # The label behind them is aligned to 4 and not to 8.
    "AddCounter": {"key": b"nine byte"},
    "AddStaticCounter": {"key": b"nine byte"},
    "OnError": {"code": 5},
    "OnPublicationError": {
        "address_type": 1, "port": 40123, "address": bytes([10, 1, 2, 3, *12 * [0]]), "code": 8
    },
}  # fmt: skip


def driver_messages() -> dict[str, Command | Response]:
    """Each command and response by name, with values that differ from member to member."""
    number = count(FIRST_VALUE)
    kinds: list[type[Command | Response]] = [*COMMANDS.values(), *RESPONSES.values()]
    found = {}
    for kind in kinds:
        given = FIXED_VALUES.get(kind.__name__, {})
        values = {field.name: _value(field.kind, field.name, next(number)) for field in kind.LAYOUT}
        found[kind.__name__] = kind(**values | given)
    return found


def _value(kind: FieldKind, name: str, number: int) -> int | str | bytes:
    if kind in RANGES:
        value = number * 0x9E37_79B9_7F4A_7C15 % RANGES[kind]
        return -value if number % 2 and kind is not FieldKind.U16 else value
    text = f"{name}-{'x' * (number % 4)}"[-13:]  # no multiple of four
    return text if kind is FieldKind.STRING else text.encode()


def message_line(name: str, message: DriverMessage) -> str:
    """The line that makes the reference write a message."""
    _, flyweight, others = FLYWEIGHTS[name]
    words = [f"flyweight io.aeron.command.{flyweight}Flyweight 0"]
    for field in message.LAYOUT:
        setter = others.get(field.name, camel(field.name))
        value = getattr(message, field.name)
        if field.kind is FieldKind.STRING:
            words.append(f"s {setter} {value.encode().hex()}")
        elif field.kind is FieldKind.BYTES:
            words.append(f"b {setter} {value.hex()}")
        elif field.kind is FieldKind.ADDRESS:
            words.append(f"a sourceAddress {'.'.join(map(str, value[:4]))} {message.port}")  # type: ignore[attr-defined]
        elif field.name not in ("address_type", "port"):
            words.append(f"f {setter} {value}")
    return " ".join(words)


# -- frames ----------------------------------------------------------------------------------------

STREAM = {"session_id": -0x12345678, "stream_id": 0x2468ACE}
PLACE = {"term_offset": 0x1234560, "term_id": -0x7654321, **STREAM}
LONG = 0x7EDCBA98_76543210
HEAD = "c version CURRENT_VERSION"
RESOLUTION = "io.aeron.protocol.ResolutionEntryFlyweight"
#: Each frame, and how the reference's flyweights are made to write it.
FRAMES: dict[str, tuple[frame_codec.AnyFrame, str]] = {
    "data": (
        frame_codec.DataFrame(**PLACE, flags=0xA0, reserved_value=-LONG),
        "DataHeader c headerType HDR_TYPE_DATA c frameLength HEADER_LENGTH",
    ),
    "pad": (
        frame_codec.PadFrame(**PLACE, flags=0xC0, reserved_value=LONG, frame_length=0x1234560),
        f"DataHeader c headerType HDR_TYPE_PAD f frameLength {0x1234560}",
    ),
    "setup": (
        frame_codec.SetupFrame(
            **STREAM,
            term_offset=0x1234560,
            initial_term_id=-0x7654321,
            active_term_id=-0x7654300,
            term_length=0x10000,
            mtu=1408,
            ttl=17,
            flags=0x80,
        ),
        "Setup c headerType HDR_TYPE_SETUP c frameLength HEADER_LENGTH f mtuLength 1408",
    ),
    "status message": (
        frame_codec.StatusMessage(**PLACE, window=0x20000, receiver_id=-LONG, flags=0xC0),
        (
            "StatusMessage c headerType HDR_TYPE_SM c frameLength HEADER_LENGTH"
            f" f consumptionTermId {-0x7654321} f consumptionTermOffset {0x1234560}"
            f" f receiverWindowLength {0x20000}"
        ),
    ),
    "status message with a tag": (
        frame_codec.StatusMessage(**PLACE, window=0x20000, receiver_id=LONG, group_tag=-LONG),
        (
            "StatusMessage c headerType HDR_TYPE_SM f frameLength 44"
            f" f consumptionTermId {-0x7654321} f consumptionTermOffset {0x1234560}"
            f" f receiverWindowLength {0x20000}"
        ),
    ),
    "nak": (
        frame_codec.Nak(**PLACE, length=0x1000),
        "Nak c headerType HDR_TYPE_NAK c frameLength HEADER_LENGTH",
    ),
    "rtt measurement": (
        frame_codec.RttMeasurement(
            **STREAM,
            echo_timestamp_ns=LONG,
            reception_delta_ns=0x123456789A,
            receiver_id=-LONG,
            flags=0x80,
        ),
        (
            "RttMeasurement c headerType HDR_TYPE_RTTM c frameLength HEADER_LENGTH"
            f" f echoTimestampNs {LONG} f receptionDelta {0x123456789A}"
        ),
    ),
    "error": (
        frame_codec.ErrorFrame(
            **STREAM, receiver_id=LONG, code=13, text="refused", group_tag=-LONG, flags=0x08
        ),
        (
            "Error c headerType HDR_TYPE_ERR f frameLength 47 f errorCode 13"
            f" s errorMessage {b'refused'.hex()}"
        ),
    ),
    "response setup": (
        frame_codec.ResponseSetup(**STREAM, response_session_id=0x1F2E3D4C),
        "ResponseSetup c headerType HDR_TYPE_RSP_SETUP c frameLength HEADER_LENGTH",
    ),
    "resolution": (
        frame_codec.ResolutionFrame(
            (
                frame_codec.ResolutionEntry("here", "10.1.2.3", 40123, 0, 0x80),
                frame_codec.ResolutionEntry("there.too", "fd00::1:2", 8050, 4711),
            )
        ),
        (
            "Header c headerType HDR_TYPE_RES f frameLength 72"
            f" + {RESOLUTION} 8 c resType RES_TYPE_NAME_TO_IP4_MD c flags SELF_FLAG f udpPort 40123"
            f" f ageInMs 0 b putAddress 0a010203 b putName {b'here'.hex()}"
            f" + {RESOLUTION} 32 c resType RES_TYPE_NAME_TO_IP6_MD f flags 0 f udpPort 8050"
            " f ageInMs 4711 b putAddress fd000000000000000000000000010002"
            f" b putName {b'there.too'.hex()}"
        ),
    ),
}


def frame_line(frame: frame_codec.AnyFrame, words: str) -> str:
    """The line that makes the reference write a frame: what the words leave out goes by name."""
    flyweight, rest = words.split(" ", 1)
    said = set(re.findall(r"[fcsb] (\w+)", rest))
    line = f"flyweight io.aeron.protocol.{flyweight}Flyweight 0 {HEAD}"
    if not isinstance(frame, frame_codec.ResolutionFrame):
        names = ["flags", *frame.LAYOUT, *(["group_tag"] if "group_tag" in vars_of(frame) else [])]
        others = {"term_id", "term_offset", "window"} if "consumption" in rest else set()
        others |= {"mtu", "code", "echo_timestamp_ns", "reception_delta_ns"}
        for name in dict.fromkeys(names):
            value = getattr(frame, name)
            if name not in others and camel(name) not in said and value is not None:
                line += f" f {camel(name)} {value}"
    return f"{line} {rest}"


def vars_of(frame: frame_codec.AnyFrame) -> tuple[str, ...]:
    """The members of a frame."""
    return tuple(frame.__dataclass_fields__)


#: Numbers of ``frames.pxd`` that stand in no frame of these, and the reference's names for them.
CONSTANTS = {
    "FRAME_EXTENSION": "protocol.HeaderFlyweight HDR_TYPE_EXT",
    "FLAG_BEGIN": "protocol.DataHeaderFlyweight BEGIN_FLAG",
    "FLAG_END": "protocol.DataHeaderFlyweight END_FLAG",
    "FLAGS_UNFRAGMENTED": "protocol.DataHeaderFlyweight BEGIN_AND_END_FLAGS",
    "FLAG_EOS": "protocol.DataHeaderFlyweight EOS_FLAG",
    "FLAG_REVOKED": "protocol.DataHeaderFlyweight REVOKED_FLAG",
    "SETUP_FLAG_SEND_RESPONSE": "protocol.SetupFlyweight SEND_RESPONSE_SETUP_FLAG",
    "SETUP_FLAG_GROUP": "protocol.SetupFlyweight GROUP_FLAG",
    "STATUS_FLAG_SETUP": "protocol.StatusMessageFlyweight SEND_SETUP_FLAG",
    "STATUS_FLAG_EOS": "protocol.StatusMessageFlyweight END_OF_STREAM_FLAG",
    "RTTM_FLAG_REPLY": "protocol.RttMeasurementFlyweight REPLY_FLAG",
    "ERROR_FLAG_GROUP_TAG": "protocol.ErrorFlyweight HAS_GROUP_ID_FLAG",
    "RESOLUTION_FLAG_SELF": "protocol.ResolutionEntryFlyweight SELF_FLAG",
    "CURRENT_VERSION": "protocol.HeaderFlyweight CURRENT_VERSION",
    "FRAME_ALIGNMENT": "logbuffer.FrameDescriptor FRAME_ALIGNMENT",
    "FRAME_LENGTH_MAX": "driver.Configuration MAX_UDP_PAYLOAD_LENGTH",
    "ERROR_TEXT_LIMIT": "protocol.ErrorFlyweight MAX_ERROR_MESSAGE_LENGTH",
    "RESOLUTION_NAME_LIMIT": "protocol.ResolutionEntryFlyweight MAX_NAME_LENGTH",
}


# -- parts of files --------------------------------------------------------------------------------


def _messages(*lengths: int) -> Iterator[tuple[int, str]]:
    for number, length in enumerate(lengths, 1):
        yield number, bytes((number * 16 + at) % 255 + 1 for at in range(length)).hex()


#: The last one does not fit before the end of a buffer of 256 bytes.
MESSAGES = [f"{kind} {text}" for kind, text in _messages(5, 30, 28, 32, 31, 20, 29, 26)]
#: Steps on a part of a file, as ``Layouts.java`` takes them.
PARTS: dict[str, str] = {
    "counters": (
        f"counters clock 5000 allocate 11 {b'a key'.hex()} {b'a label'.hex()} {LONG} 5 -6 7"
        f" allocate -22 {bytes(range(1, 121)).hex()} {(b'long ' * 80).hex()} {-LONG} 50 60 -70"
        f" allocate 33 {b'gone'.hex()} {b'freed'.hex()} 1 2 3 4 free 2"
    ),
    "error log": "errors 1000 first 2000 second-one 3000 first",
    "loss report": (
        f"losses 4711 {LONG} -7 8 aeron:udp?endpoint=localhost:1 10.1.2.3:40123"
        f" 5 6 7 -8 aeron:ipc{'x' * 40} source again 17 9999"
    ),
    "ring buffer": (
        f"ring {' '.join(f'write {each}' for each in MESSAGES[:-1])} read 2"
        f" write {MESSAGES[-1]} beat {LONG} correlate correlate"
    ),
    "broadcast buffer": f"broadcast {' '.join(MESSAGES)}",
}


def part_by_ours(name: str) -> bytes:
    """What our classes make of the steps, without the zeros at the end."""
    what, *words = PARTS[name].split()
    written = {
        "counters": _counters,
        "errors": _errors,
        "losses": _losses,
        "ring": _ring,
        "broadcast": _broadcast,
    }[what](iter(words))
    return written.rstrip(b"\0")


def _counters(words: Iterator[str]) -> bytes:
    mapped = MappedFile.anonymous(4 * (512 + 128))
    clock = ManualClock(epoch_ms=0)
    manager = CountersManager(mapped, 0, 4 * 512, 4 * 512, 4 * 128, clock)
    for step in words:
        if step == "clock":
            clock.advance_ns(int(next(words)) * 1_000_000)
        elif step == "free":
            manager.free(int(next(words)))
        else:
            kind, key, label = int(next(words)), next(words), next(words)
            value, registration, owner, reference = (int(next(words)) for _ in range(4))
            manager.allocate(
                kind,
                bytes.fromhex(label).decode(),
                bytes.fromhex(key),
                registration,
                owner,
                reference,
                value,
            )
    return bytes(mapped.view(0, mapped.length))


def _errors(words: Iterator[str]) -> bytes:
    mapped = MappedFile.anonymous(1024)
    clock = ManualClock(epoch_ms=0)
    log = DistinctErrorLog(mapped, 0, mapped.length, clock)
    for time_ms in words:
        clock.advance_ns((int(time_ms) - clock.now_epoch_ms()) * 1_000_000)
        log.record(next(words))
    return bytes(mapped.view(0, mapped.length))


def _losses(words: Iterator[str]) -> bytes:
    mapped = MappedFile.anonymous(1024)
    report = LossReport(mapped)
    entry = None
    for word in words:
        if word == "again":
            assert entry is not None
            report.record_loss(entry, int(next(words)), int(next(words)))
        else:
            numbers = [int(word), *(int(next(words)) for _ in range(3))]
            entry = report.create_entry(*numbers, next(words), next(words))
    return bytes(mapped.view(0, mapped.length))


def _ring(words: Iterator[str]) -> bytes:
    mapped = MappedFile.anonymous(256 + 768)
    ring = ManyToOneRingBuffer(mapped)
    for step in words:
        if step == "write":
            ring.write(int(next(words)), bytes.fromhex(next(words)))
        elif step == "read":
            ring.read(lambda *_: None, int(next(words)))
        elif step == "beat":
            ring.consumer_heartbeat_ms = int(next(words))
        else:
            ring.next_correlation_id()
    return bytes(mapped.view(0, mapped.length))


def _broadcast(words: Iterator[str]) -> bytes:
    mapped = MappedFile.anonymous(256 + 128)
    out = BroadcastTransmitter(mapped)
    for kind in words:
        out.send(int(kind), bytes.fromhex(next(words)))
    return bytes(mapped.view(0, mapped.length))


# -- all of them -----------------------------------------------------------------------------------


def lines() -> dict[str, str]:
    """The lines for ``Layouts.java``, by the name under which the answer is kept."""
    messages = driver_messages()
    events = "io.aeron.command.ControlProtocolEvents"
    found = {f"type {name}": f"constant {events} {FLYWEIGHTS[name][0]}" for name in messages}
    found |= {name: f"constant io.aeron.{words}" for name, words in CONSTANTS.items()}
    found |= {name: message_line(name, message) for name, message in messages.items()}
    found |= {f"frame {name}": frame_line(*FRAMES[name]) for name in FRAMES}
    return found | PARTS


#: Steps for the files of a cluster's node, as ``ClusterFiles.java`` and `node_steps` take them.
NODE_STEPS = """\
term 7 1 64 1000
snapshot 9 1 64 320 1001 1
snapshot 8 1 64 320 1001 0
snapshot 10 1 64 320 1001 -1
invalidate
commit 1 640
term 7 2 640 2000
standby 5 2 640 960 2200 0 an.archive:8010
standby 6 2 640 960 2200 -1 another-archive:8010
state 3 44 55
"""
#: With a term that was removed, which our code reads and never writes.
REMOVED_STEPS = "term 7 0 0 1000\nterm 7 1 640 2000\nremove 0 0\n"
#: What happens to a mark file, as ``ClusterMarks.java`` takes it.
MARKS = {
    "claimed": "clock 2000000\nclaim CONSENSUS_MODULE\n",
    "ready": "clock 2000000\nclaim CONSENSUS_MODULE\nclock 2000500\nready\n",
    "terminated": "clock 2000000\nclaim CONTAINER\nready\nterminated\n",
    "failed": "clock 2000000\nclaim BACKUP\nfailed\n",
}
MARK_PID = slice(32, 40)
NODE_FILES = ("recording.log", "node-state.dat")


def written_by_the_reference(java_tool: Callable[..., str], folder: Path) -> dict[str, str]:
    """All that a test compares with, as the reference writes it now; as it stands in the file.

    Args:
        java_tool: runs a main class, as the harness of the interop tests does.
        folder: an empty folder for the files.
    """
    asked = lines()
    answers = java_tool("Layouts", stdin="\n".join(asked.values()) + "\n").splitlines()
    found = dict(zip(asked, answers, strict=True))
    for name, steps in (("node", NODE_STEPS), ("removed", REMOVED_STEPS)):
        (folder / name).mkdir()
        java_tool("ClusterFiles", str(folder / name), stdin=steps)
    found["removed recording.log"] = file_text(folder / "removed" / "recording.log")
    found |= {name: file_text(folder / "node" / name) for name in NODE_FILES}
    for name, steps in MARKS.items():
        java_tool("ClusterMarks", str(folder), f"{name}.dat", stdin=steps)
        found[f"{name} mark"] = mark_text(folder / f"{name}.dat")
    return found


def file_text(path: Path) -> str:
    """A file's length, and its bytes without the zeros at the end."""
    return _text(path.read_bytes())


def mark_text(path: Path) -> str:
    """As `file_text`, without the owner's process id."""
    data = bytearray(path.read_bytes())
    data[MARK_PID] = bytes(8)
    return _text(data)


def _text(data: bytes | bytearray) -> str:
    return f"{len(data)} {data.rstrip(bytes(1)).hex()}"
