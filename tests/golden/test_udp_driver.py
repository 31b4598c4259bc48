"""Every channel of the corpus on our driver: accepted, or refused in the reference's words."""

import re
import time

import pytest
from golden_data import channel_uris
from peer.streams import free_port

from aerolog.transport.client import Aeron
from aerolog.transport.driver import MediaDriver
from aerolog.transport.errors import ErrorCode, RegistrationError

ROWS = channel_uris()
KINDS = ("publication", "subscription")
CASES = [
    pytest.param(row["uri"], kind, row[f"java_driver_add_{kind}"], id=f"{kind} {row['uri'][:100]}")
    for row in ROWS
    for kind in KINDS
    if row.get(f"java_driver_add_{kind}") is not None
]
# The corpus shows these for whatever ports a row had, and keeps this much of a text.
SHOWN_PORTS = ("23500", "23501", "23502", "23555")
TEXT_LENGTH = 300
CLIENT_S_PREFIX = "io.aeron.exceptions.AeronException : "


@pytest.fixture(scope="module")
def aeron():
    """A client on a driver with the terms of the corpus."""
    with (
        MediaDriver.embedded(
            term_buffer_length="64k",
            ipc_term_buffer_length="64k",
            publication_linger_timeout=0,
            media_receive_timestamps=False,  # as the Java driver, which has none
        ) as driver,
        Aeron(driver.aeron_dir) as client,
    ):
        yield client


@pytest.fixture
def with_ports():
    """Puts ports of this row where the corpus shows its own."""
    ports = {shown: str(free_port("0.0.0.0")) for shown in SHOWN_PORTS}
    pattern = re.compile("|".join(SHOWN_PORTS))
    return lambda text: pattern.sub(lambda found: ports[found[0]], text)


def answer_to(add, channel):
    """What the driver adds; an endpoint of an earlier row that still closes asks to try again."""
    deadline = time.monotonic() + 10.0
    while True:
        try:
            return add(channel, 1001)
        except RegistrationError as error:
            is_closing = error.code is ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE
            if not is_closing or time.monotonic() > deadline:
                raise


@pytest.mark.parametrize(("uri", "kind", "reference"), CASES)
def test_a_channel_is_answered_as_by_the_reference(aeron, with_ports, uri, kind, reference):
    add = getattr(aeron, f"add_{kind}")
    if reference["accepted"]:
        with answer_to(add, with_ports(uri)) as added:
            assert added.registration_id > 0
        return
    with pytest.raises(RegistrationError) as refused:
        answer_to(add, with_ports(uri))
    assert refused.value.code.name == reference["error_code"]
    text = with_ports(reference["text"]).removeprefix(CLIENT_S_PREFIX)
    assert text[: TEXT_LENGTH - len(CLIENT_S_PREFIX)].removesuffix("...") in refused.value.message
