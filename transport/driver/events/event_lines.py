"""Formats a driver's event records as the text of log lines.

Commands and responses are recorded as they stand in the buffers, and frames follow the address of
the other side; all other records have the layouts that `event_log` writes. A record that was cut
short is shown as far as it goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aerolog.transport.errors import ErrorCode
from aerolog.transport.events.event_codes import DriverEventCode
from aerolog.transport.events.event_fields import CutShortError, Fields, host_text, name_and_text
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import responses as r

if TYPE_CHECKING:
    from collections.abc import Callable

E = DriverEventCode

#: Record types of the to-driver buffer that are logged.
COMMAND_EVENTS: Final[dict[int, DriverEventCode]] = {
    c.AddPublication.TYPE_ID: E.CMD_IN_ADD_PUBLICATION,
    c.RemovePublication.TYPE_ID: E.CMD_IN_REMOVE_PUBLICATION,
    c.AddExclusivePublication.TYPE_ID: E.CMD_IN_ADD_EXCLUSIVE_PUBLICATION,
    c.AddSubscription.TYPE_ID: E.CMD_IN_ADD_SUBSCRIPTION,
    c.RemoveSubscription.TYPE_ID: E.CMD_IN_REMOVE_SUBSCRIPTION,
    c.ClientKeepalive.TYPE_ID: E.CMD_IN_KEEPALIVE_CLIENT,
    c.AddDestination.TYPE_ID: E.CMD_IN_ADD_DESTINATION,
    c.RemoveDestination.TYPE_ID: E.CMD_IN_REMOVE_DESTINATION,
    c.AddCounter.TYPE_ID: E.CMD_IN_ADD_COUNTER,
    c.RemoveCounter.TYPE_ID: E.CMD_IN_REMOVE_COUNTER,
    c.ClientClose.TYPE_ID: E.CMD_IN_CLIENT_CLOSE,
    c.AddReceiveDestination.TYPE_ID: E.CMD_IN_ADD_RCV_DESTINATION,
    c.RemoveReceiveDestination.TYPE_ID: E.CMD_IN_REMOVE_RCV_DESTINATION,
    c.TerminateDriver.TYPE_ID: E.CMD_IN_TERMINATE_DRIVER,
    c.RejectImage.TYPE_ID: E.CMD_IN_REJECT_IMAGE,
    c.RemoveDestinationById.TYPE_ID: E.CMD_IN_REMOVE_DESTINATION_BY_ID,
}
#: Record types of the to-clients buffer that are logged.
RESPONSE_EVENTS: Final[dict[int, DriverEventCode]] = {
    r.OnError.TYPE_ID: E.CMD_OUT_ERROR,
    r.AvailableImage.TYPE_ID: E.CMD_OUT_AVAILABLE_IMAGE,
    r.PublicationReady.TYPE_ID: E.CMD_OUT_PUBLICATION_READY,
    r.OperationSuccess.TYPE_ID: E.CMD_OUT_ON_OPERATION_SUCCESS,
    r.UnavailableImage.TYPE_ID: E.CMD_OUT_ON_UNAVAILABLE_IMAGE,
    r.ExclusivePublicationReady.TYPE_ID: E.CMD_OUT_EXCLUSIVE_PUBLICATION_READY,
    r.SubscriptionReady.TYPE_ID: E.CMD_OUT_SUBSCRIPTION_READY,
    r.CounterReady.TYPE_ID: E.CMD_OUT_COUNTER_READY,
    r.UnavailableCounter.TYPE_ID: E.CMD_OUT_ON_UNAVAILABLE_COUNTER,
    r.ClientTimeout.TYPE_ID: E.CMD_OUT_ON_CLIENT_TIMEOUT,
}
_COMMAND_TYPES: Final = {event: type_id for type_id, event in COMMAND_EVENTS.items()}
_RESPONSE_TYPES: Final = {event: type_id for type_id, event in RESPONSE_EVENTS.items()}

_STREAM_CLIENT: Final = "streamId={stream_id} clientId={client_id} correlationId={correlation_id}"
_CLIENT: Final = "clientId={client_id} correlationId={correlation_id}"
_DESTINATION: Final = (
    "registrationCorrelationId={registration_id} clientId={client_id} "
    "correlationId={correlation_id} channel={channel}"
)
_READY: Final = (
    "sessionId={session_id} streamId={stream_id} publicationLimitCounterId={limit_counter_id} "
    "channelStatusCounterId={channel_status_id} correlationId={correlation_id} "
    "registrationId={registration_id} logFileName={log_file}"
)
_MESSAGES: Final[dict[DriverEventCode, str]] = {
    E.CMD_IN_ADD_PUBLICATION: _STREAM_CLIENT + " channel={channel}",
    E.CMD_IN_ADD_EXCLUSIVE_PUBLICATION: _STREAM_CLIENT + " channel={channel}",
    E.CMD_IN_REMOVE_PUBLICATION: "registrationId={registration_id} " + _CLIENT + " revoke={revoke}",
    E.CMD_IN_ADD_SUBSCRIPTION: (
        "streamId={stream_id} registrationCorrelationId={registration_correlation_id} "
        + _CLIENT
        + " channel={channel}"
    ),
    E.CMD_IN_REMOVE_SUBSCRIPTION: "registrationId={registration_id} " + _CLIENT,
    E.CMD_IN_REMOVE_COUNTER: "registrationId={registration_id} " + _CLIENT,
    E.CMD_IN_KEEPALIVE_CLIENT: _CLIENT,
    E.CMD_IN_CLIENT_CLOSE: _CLIENT,
    E.CMD_IN_ADD_DESTINATION: _DESTINATION,
    E.CMD_IN_REMOVE_DESTINATION: _DESTINATION,
    E.CMD_IN_ADD_RCV_DESTINATION: _DESTINATION,
    E.CMD_IN_REMOVE_RCV_DESTINATION: _DESTINATION,
    E.CMD_IN_ADD_COUNTER: (
        "typeId={type_id} keyBufferOffset={key_offset} keyBufferLength={key_length} "
        "labelBufferOffset={label_offset} labelBufferLength={label_length} " + _CLIENT
    ),
    E.CMD_IN_TERMINATE_DRIVER: "clientId={client_id} tokenBufferLength={token_length}",
    E.CMD_IN_REJECT_IMAGE: (
        _CLIENT + " imageCorrelationId={image_correlation_id} position={position} reason={reason}"
    ),
    E.CMD_IN_REMOVE_DESTINATION_BY_ID: (
        "resourceRegistrationId={registration_id} "
        "destinationRegistrationId={destination_registration_id}"
    ),
    E.CMD_OUT_PUBLICATION_READY: _READY,
    E.CMD_OUT_EXCLUSIVE_PUBLICATION_READY: _READY,
    E.CMD_OUT_AVAILABLE_IMAGE: (
        "sessionId={session_id} streamId={stream_id} subscriberPositionId={position_counter_id} "
        "subscriptionRegistrationId={subscription_registration_id} correlationId={correlation_id} "
        "sourceIdentity={source_identity} logFileName={log_file}"
    ),
    E.CMD_OUT_ON_OPERATION_SUCCESS: "correlationId={correlation_id}",
    E.CMD_OUT_ON_UNAVAILABLE_IMAGE: (
        "streamId={stream_id} correlationId={correlation_id} "
        "subscriptionRegistrationId={subscription_registration_id} channel={channel}"
    ),
    E.CMD_OUT_ERROR: (
        "offendingCommandCorrelationId={correlation_id} errorCode={error} message={message}"
    ),
    E.CMD_OUT_SUBSCRIPTION_READY: (
        "correlationId={correlation_id} channelStatusCounterId={channel_status_id}"
    ),
    E.CMD_OUT_COUNTER_READY: "correlationId={correlation_id} counterId={counter_id}",
    E.CMD_OUT_ON_UNAVAILABLE_COUNTER: "correlationId={registration_id} counterId={counter_id}",
    E.CMD_OUT_ON_CLIENT_TIMEOUT: "clientId={client_id}",
}
_COUNTER_KEY_AT: Final = 24
_ALIGNMENT: Final = 4


def _derived(message: Any) -> dict[str, Any]:
    """Return the fields of a message by name, with the further values that lines show."""
    values = {name: getattr(message, name) for name in message.__dataclass_fields__}
    if isinstance(message, c.RemovePublication):
        values["revoke"] = _truth(message.revoke)
    elif isinstance(message, c.AddCounter):
        end_of_key = _COUNTER_KEY_AT + len(message.key)
        values["key_offset"], values["key_length"] = _COUNTER_KEY_AT, len(message.key)
        values["label_offset"] = -(-end_of_key // _ALIGNMENT) * _ALIGNMENT + 4
        values["label_length"] = len(message.label.encode())
    elif isinstance(message, c.TerminateDriver):
        values["token_length"] = len(message.token)
    elif isinstance(message, r.OnError):
        values["error"] = _error_name(message.code)
    return values


def _error_name(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"UNKNOWN({code})"


def _truth(value: object) -> str:
    return "true" if value else "false"


def _stream_bytes(fields: Fields) -> str:
    return (
        f"sessionId={fields.take('i')} streamId={fields.take('i')} termId={fields.take('i')} "
        f"termOffset={fields.take('i')} length={fields.take('i')} channel={fields.text()}"
    )


def _nak(fields: Fields) -> str:
    return f"address={fields.address()} {_stream_bytes(fields)}"


def _publication(fields: Fields) -> str:
    return f"sessionId={fields.take('i')} streamId={fields.take('i')} channel={fields.text()}"


def _subscription(fields: Fields) -> str:
    return f"streamId={fields.take('i')} id={fields.take('q')} channel={fields.text()}"


def _image(fields: Fields) -> str:
    return (
        f"sessionId={fields.take('i')} streamId={fields.take('i')} id={fields.take('q')} "
        f"channel={fields.text()}"
    )


def _untethered(fields: Fields) -> str:
    return (
        f"subscriptionId={fields.take('q')} streamId={fields.take('i')} "
        f"sessionId={fields.take('i')} {fields.text()}"
    )


def _receiver(fields: Fields) -> str:
    return (
        f"receiverCount={fields.take('i')} receiverId={fields.take('q')} "
        f"sessionId={fields.take('i')} streamId={fields.take('i')} channel={fields.text()}"
    )


def _revoke(fields: Fields) -> str:
    return (
        f"revokedPos={fields.take('q')} sessionId={fields.take('i')} "
        f"streamId={fields.take('i')} channel={fields.text()}"
    )


def _resolve(fields: Fields) -> str:
    return (
        f"resolver={fields.text()} durationNs={fields.take('q')} name={fields.text()} "
        f"isReResolution={_truth(fields.take('b'))} "
        f"address={host_text(fields.rest(fields.take('i')))}"
    )


def _lookup(fields: Fields) -> str:
    return (
        f"resolver={fields.text()} durationNs={fields.take('q')} name={fields.text()} "
        f"isReLookup={_truth(fields.take('b'))} resolvedName={fields.text()}"
    )


def _host_name(fields: Fields) -> str:
    return f"durationNs={fields.take('q')} hostName={fields.text()}"


def _frame(fields: Fields) -> str:
    address = fields.address()
    return f"address={address} {frame_text(fields.rest())}"


def frame_text(frame: bytes) -> str:
    """Format the first frame of a datagram: its type and the fields of its header."""
    fields = Fields(frame)
    length, _, flags, type_id = (fields.take(code) for code in ("i", "B", "B", "H"))
    known = _FRAMES.get(type_id)
    if known is None:
        return f"type=UNKNOWN({type_id})"
    name, layout = known
    head = f"type={name} flags={flags:08b} frameLength={length}"
    if not layout:
        return head + "".join(_resolutions(fields))
    values = {key: fields.take(code) for key, code in layout}
    if name == "SETUP":
        order = ("sessionId", "streamId", "activeTermId", "initialTermId", "termOffset")
        values = {key: values[key] for key in (*order, "termLength", "mtu", "ttl")}
    elif name in {"DATA", "PAD"}:
        values = {key: values[key] for key in ("sessionId", "streamId", "termId", "termOffset")}
    return head + "".join(f" {key}={value}" for key, value in values.items())


_DATA: Final = (("termOffset", "i"), ("sessionId", "i"), ("streamId", "i"), ("termId", "i"))
#: Frame types with their names, and the fields after the first eight bytes.
_FRAMES: Final[dict[int, tuple[str, tuple[tuple[str, str], ...]]]] = {
    0: ("PAD", _DATA),
    1: ("DATA", _DATA),
    2: (
        "NAK",
        (
            ("sessionId", "i"),
            ("streamId", "i"),
            ("termId", "i"),
            ("termOffset", "i"),
            ("length", "i"),
        ),
    ),
    3: (
        "SM",
        (
            ("sessionId", "i"),
            ("streamId", "i"),
            ("termId", "i"),
            ("termOffset", "i"),
            ("receiverWindowLength", "i"),
            ("receiverId", "q"),
        ),
    ),
    5: (
        "SETUP",
        (
            ("termOffset", "i"),
            ("sessionId", "i"),
            ("streamId", "i"),
            ("initialTermId", "i"),
            ("activeTermId", "i"),
            ("termLength", "i"),
            ("mtu", "i"),
            ("ttl", "i"),
        ),
    ),
    6: (
        "RTT",
        (
            ("sessionId", "i"),
            ("streamId", "i"),
            ("echoTimestampNs", "q"),
            ("receptionDelta", "q"),
            ("receiverId", "q"),
        ),
    ),
    7: ("RES", ()),
}
_IPV6_ENTRY: Final = 2


def _resolutions(fields: Fields) -> list[str]:
    """Format the entries of a name resolution frame, each in brackets."""
    found: list[str] = []
    while True:
        try:
            type_id, flags, port, age = (fields.take(code) for code in ("b", "B", "H", "i"))
            host = host_text(fields.rest(16 if type_id == _IPV6_ENTRY else 4))
            name = fields.rest(fields.take("h")).decode(errors="replace")
        except CutShortError:
            return found
        found.append(
            f" [resType={type_id} flags={flags:08b} port={port} ageInMs={age} "
            f"address={host} name={name}]"
        )
        used = (8 + (16 if type_id == _IPV6_ENTRY else 4) + 2 + len(name.encode())) % 8
        fields.rest(8 - used if used else 0)


_OTHERS: Final[dict[DriverEventCode, Callable[[Fields], str]]] = {
    E.FRAME_IN: _frame,
    E.FRAME_OUT: _frame,
    E.REMOVE_PUBLICATION_CLEANUP: _publication,
    E.REMOVE_SUBSCRIPTION_CLEANUP: _subscription,
    E.REMOVE_IMAGE_CLEANUP: _image,
    E.SEND_CHANNEL_CREATION: Fields.text,
    E.RECEIVE_CHANNEL_CREATION: Fields.text,
    E.SEND_CHANNEL_CLOSE: Fields.text,
    E.RECEIVE_CHANNEL_CLOSE: Fields.text,
    E.UNTETHERED_SUBSCRIPTION_STATE_CHANGE: _untethered,
    E.NAME_RESOLUTION_NEIGHBOR_ADDED: Fields.address,
    E.NAME_RESOLUTION_NEIGHBOR_REMOVED: Fields.address,
    E.FLOW_CONTROL_RECEIVER_ADDED: _receiver,
    E.FLOW_CONTROL_RECEIVER_REMOVED: _receiver,
    E.NAME_RESOLUTION_RESOLVE: _resolve,
    E.TEXT_DATA: Fields.text,
    E.NAME_RESOLUTION_LOOKUP: _lookup,
    E.NAME_RESOLUTION_HOST_NAME: _host_name,
    E.NAK_SENT: _nak,
    E.RESEND: _stream_bytes,
    E.NAK_RECEIVED: _nak,
    E.PUBLICATION_REVOKE: _revoke,
    E.PUBLICATION_IMAGE_REVOKE: _revoke,
}


def dissect(event: int, data: bytes) -> tuple[str, str]:
    """Return the name and the text of an event.

    Args:
        event: its code; an unknown code is shown as a number.
        data: the recorded bytes, which may be cut short.
    """
    return name_and_text(DriverEventCode, event, data, _text)


def _text(event: DriverEventCode, data: bytes) -> str:
    return _OTHERS[event](Fields(data)) if event in _OTHERS else _message_text(event, data)


def _message_text(event: DriverEventCode, data: bytes) -> str:
    command_type = _COMMAND_TYPES.get(event)
    message: Any
    if command_type is not None:
        message = c.decode_command(command_type, data)
    else:
        message = r.decode_response(_RESPONSE_TYPES[event], data)
    return _MESSAGES[event].format_map(_derived(message))
