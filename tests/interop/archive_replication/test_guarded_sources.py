"""Sources that want to know who copies from them."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.interop

SAMPLE = "io.aeron.samples.archive.SampleAuthenticatorSupplier"
ENDED_WITHOUT = "REPLICATE_END recording=none subscription=none position=-1"


@pytest.fixture(params=["from-reference", "from-ours"])
def guarded(request, own_sites):
    """A source that knows a single user, and asks some for proof."""
    return own_sites.start(
        request.param.removeprefix("from-"),
        "guarded",
        credentials=b"admin:admin",
        **{"aeron.archive.authenticator.supplier": SAMPLE},
    )


@pytest.mark.parametrize("destination", ["to-reference", "to-ours"])
def test_credentials_are_for_the_source(guarded, sites, pair_of, destination) -> None:
    pair = pair_of(guarded, sites.get(destination.removeprefix("to-"), 2))
    recording = guarded.record(pair.stream_id, 20)
    replication = pair.replicate(recording, encoded_credentials=b"admin:admin")
    assert replication.wait_end()[-1].startswith("STOP")
    (begun,) = replication.signals("REPLICATE")
    pair.check_copied(recording, begun.recording_id)


REJECTED = "authentication rejected"
NO_CHALLENGES = "Replication does not support challenge/response authentication"


@pytest.mark.parametrize("destination", ["to-reference", "to-ours"])
def test_sources_that_refuse(guarded, sites, pair_of, destination) -> None:
    pair = pair_of(guarded, sites.get(destination.removeprefix("to-"), 2))
    recording = guarded.record(pair.stream_id, 3)
    for credentials, reason in [
        (b"", REJECTED),
        (b"who:knows", REJECTED),
        (b"admin:adminC", NO_CHALLENGES),
    ]:
        replication = pair.replicate(recording, encoded_credentials=credentials)
        assert replication.wait_end(stop=False) == [
            f"ERROR 14 Replication connection failed=ERROR - {reason}",
            ENDED_WITHOUT,
        ]
