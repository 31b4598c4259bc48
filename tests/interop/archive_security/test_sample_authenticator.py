"""The reference's sample authenticator in both archives, asked by both clients: one behaviour."""

from __future__ import annotations

import pytest
from peer.streams import free_port

from aerolog.transport.errors import ArchiveError, ArchiveErrorCode

pytestmark = pytest.mark.interop
SAMPLE = "io.aeron.samples.archive.SampleAuthenticatorSupplier"

ACCEPTED = {"credentials": b"admin:admin"}
CHALLENGED = {"credentials": b"admin:adminC", "answer": b"admin:CSadmin"}
REFUSED = {
    "none": {},
    "unknown": {"credentials": b"who:knows"},
    "wrong-answer": {"credentials": b"admin:adminC", "answer": b"wrong"},
    "the-same-again": {"credentials": b"admin:adminC", "answer": b"admin:adminC"},
}


@pytest.fixture(params=["reference", "ours"])
def sample(request, guarded):
    return guarded(request.param, **{"aeron.archive.authenticator.supplier": SAMPLE})


def as_hex(options: dict[str, bytes]) -> dict[str, str]:
    return {name: value.hex() for name, value in options.items()}


def answering(options: dict[str, bytes]):
    return lambda _challenge: options["answer"]


def test_the_references_client_at_the_sample_authenticator(
    sample, java_client, java_refusal
) -> None:
    client = java_client(sample.aeron_dir)
    for options in (ACCEPTED, CHALLENGED):
        archive = client.archive(**as_hex(options))
        assert archive.recordings(from_=0, count=1) == []
        archive.close()
    for name, options in REFUSED.items():
        code, text = java_refusal(sample, **as_hex(options))
        assert code == ArchiveErrorCode.AUTHENTICATION_REJECTED, name
        assert "authentication rejected" in text, name


def test_our_client_at_the_sample_authenticator(sample, our_archive_client) -> None:
    for options in (ACCEPTED, CHALLENGED):
        archive = our_archive_client(
            sample.aeron_dir,
            credentials=options["credentials"],
            on_challenge=answering(options),
        )
        assert archive.list_recordings() == []
    for name, options in REFUSED.items():
        with pytest.raises(ArchiveError, match="authentication rejected") as refused:
            our_archive_client(
                sample.aeron_dir,
                credentials=options.get("credentials", b""),
                on_challenge=answering(options),
            )
        assert refused.value.code == ArchiveErrorCode.AUTHENTICATION_REJECTED, name


@pytest.mark.parametrize("kind", ["udp", "response"])
@pytest.mark.parametrize("implementation", ["reference", "ours"])
def test_challenges_over_udp_from_both_clients(
    kind, implementation, guarded, java_client, java_refusal, our_archive_client
) -> None:
    port, answers = free_port(), free_port()
    server = guarded(
        implementation,
        **{
            "aeron.archive.authenticator.supplier": SAMPLE,
            "aeron.archive.control.channel.enabled": "true",
            "aeron.archive.control.channel": f"aeron:udp?endpoint=127.0.0.1:{port}",
        },
    )
    channels = {
        "request_channel": f"aeron:udp?endpoint=127.0.0.1:{port}",
        "response_channel": {
            "udp": "aeron:udp?endpoint=127.0.0.1:0",
            "response": f"aeron:udp?control-mode=response|control=127.0.0.1:{answers}",
        }[kind],
    }
    theirs = java_client(server.aeron_dir).archive(**channels, **as_hex(CHALLENGED))
    assert theirs.recordings(from_=0, count=1) == []
    theirs.close()
    ours = our_archive_client(
        server.aeron_dir,
        credentials=CHALLENGED["credentials"],
        on_challenge=answering(CHALLENGED),
        **channels,
    )
    assert ours.list_recordings() == []
    ours.close()
    wrong = REFUSED["wrong-answer"]
    assert java_refusal(server, **channels, **as_hex(wrong))[0] == (
        ArchiveErrorCode.AUTHENTICATION_REJECTED
    )
    with pytest.raises(ArchiveError, match="authentication rejected"):
        our_archive_client(
            server.aeron_dir,
            credentials=wrong["credentials"],
            on_challenge=answering(wrong),
            **channels,
        )
