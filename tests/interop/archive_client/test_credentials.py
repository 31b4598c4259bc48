"""Our client proves who it is to archives with the reference's sample authenticator."""

from dataclasses import dataclass, field

import pytest

from aerolog.archive import protocol as ap
from aerolog.archive.client import StaticCredentials
from aerolog.transport.errors import ArchiveError, ArchiveErrorCode, ConfigurationError

from .conftest import connect, settle

pytestmark = pytest.mark.interop
SAMPLE = "io.aeron.samples.archive.SampleAuthenticatorSupplier"


@pytest.fixture(params=["ours", "reference"])
def guarded(request, start_server):
    return start_server(
        request.param,
        "archiving-driver",
        properties={"aeron.archive.authenticator.supplier": SAMPLE},
    )


@dataclass
class Supplier:
    """Counts how often it is asked."""

    asked: list[bytes] = field(default_factory=list)

    def encoded_credentials(self) -> bytes:
        self.asked.append(b"")
        return b"admin:adminC"

    def on_challenge(self, encoded_challenge: bytes) -> bytes:
        self.asked.append(encoded_challenge)
        return b"admin:CSadmin"


async def test_credentials_are_accepted_asked_for_or_refused(
    form, guarded, our_client, sent_requests
):
    aeron, asked = our_client(guarded.aeron_dir), []

    def answer(challenge: bytes) -> bytes:
        asked.append(challenge)
        return b"admin:CSadmin"

    accepted = (
        {"credentials": b"admin:admin"},
        {"credentials": StaticCredentials(b"admin:admin")},
        {"credentials": b"admin:adminC", "on_challenge": answer},
        {"credentials": StaticCredentials(b"admin:adminC", answer=b"admin:CSadmin")},
    )
    for options in accepted:
        archive = await connect(form, aeron, **options)
        assert await archive.list_recordings() == []
        await settle(archive.client.close())
    assert asked == [b"challenge!"]
    assert sent_requests.count(ap.ChallengeResponse) == 2

    refused_options = (
        {"credentials": b"who:knows"},
        {},
        {"credentials": b"admin:adminC", "on_challenge": lambda _: b"wrong"},
    )
    for options in refused_options:
        with pytest.raises(ArchiveError, match="authentication rejected") as refused:
            await connect(form, aeron, **options)
        assert refused.value.code == ArchiveErrorCode.AUTHENTICATION_REJECTED
    for options in ({}, {"credentials": StaticCredentials(b"admin:adminC")}):
        with pytest.raises(ConfigurationError, match="proof of identity"):
            await connect(form, aeron, **{"credentials": b"admin:adminC", **options})
    assert not aeron.conductor.subscriptions
    assert not aeron.conductor.publications


async def test_a_supplier_is_asked_for_each_session(form, guarded, our_client):
    supplier = Supplier()
    archive = await connect(form, our_client(guarded.aeron_dir), credentials=supplier)
    await archive.reconnect()
    assert await archive.list_recordings() == []
    assert supplier.asked == [b"", b"challenge!"] * 2
    await settle(archive.client.close())
