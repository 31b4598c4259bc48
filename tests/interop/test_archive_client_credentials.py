"""Our archive client proves who it is to the reference's archive with its sample authenticator."""

import pytest

from aerolog.transport.errors import ArchiveError, ArchiveErrorCode, ConfigurationError

pytestmark = pytest.mark.interop
SAMPLE = "io.aeron.samples.archive.SampleAuthenticatorSupplier"


@pytest.fixture
def guarded(start_server):
    return start_server(
        "reference",
        "archiving-driver",
        properties={"aeron.archive.authenticator.supplier": SAMPLE},
    )


def test_credentials_are_accepted_asked_for_or_refused(guarded, our_archive_client):
    plain = our_archive_client(guarded.aeron_dir, credentials=b"admin:admin")
    assert plain.list_recordings() == []

    asked = []

    def answer(challenge: bytes) -> bytes:
        asked.append(challenge)
        return b"admin:CSadmin"

    challenged = our_archive_client(
        guarded.aeron_dir, credentials=b"admin:adminC", on_challenge=answer
    )
    assert asked == [b"challenge!"]
    assert challenged.list_recordings() == []

    for wrong in ({"credentials": b"who:knows"}, {}):
        with pytest.raises(ArchiveError) as refused:
            our_archive_client(guarded.aeron_dir, **wrong)
        assert refused.value.code == ArchiveErrorCode.AUTHENTICATION_REJECTED
    with pytest.raises(ArchiveError) as refused:
        our_archive_client(
            guarded.aeron_dir, credentials=b"admin:adminC", on_challenge=lambda _: b"wrong"
        )
    assert refused.value.code == ArchiveErrorCode.AUTHENTICATION_REJECTED
    with pytest.raises(ConfigurationError, match="on_challenge"):
        our_archive_client(guarded.aeron_dir, credentials=b"admin:adminC")
