"""How many offers may be lost with a leader: those that its ingress took, and no others."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest
from cluster_script import scripted_session
from live_archive import until

from aerolog.cluster.client import ClientState, SessionClosedError
from aerolog.transport.client.status import OfferStatus

if TYPE_CHECKING:
    from cluster_script import ScriptedMember

    from aerolog.cluster.client import AeronCluster
    from aerolog.transport.client import Aeron

    Session = tuple[AeronCluster, ScriptedMember]


def lose_leader(cluster: AeronCluster, member: ScriptedMember) -> None:
    member.close()

    def is_lost() -> bool:
        cluster.session.poll()
        return cluster.state is ClientState.AWAIT_NEW_LEADER

    until(is_lost, "a client that has noticed", patience_s=10)


def test_offers_of_each_kind_are_uncertain_when_no_leader_follows(aeron: Aeron) -> None:
    """The lost leader's offers are counted, while those that were refused afterwards are not."""
    with scripted_session(aeron, heartbeat_ns=100_000_000) as (cluster, member):
        assert cluster.offer(b"one") > 0
        assert cluster.send(b"two") > 0
        assert cluster.offer_many([b"three", b"four"]) == 2
        with cluster.try_claim(4) as claim:
            claim.buffer[32:] = b"five"
        assert cluster.uncertain_offers == 0
        lose_leader(cluster, member)
        assert cluster.uncertain_offers == 5
        assert cluster.offer(b"late") is OfferStatus.NOT_CONNECTED
        assert cluster.offer_many([b"late"]) == 0
        assert cluster.try_claim(4) is OfferStatus.NOT_CONNECTED
        with pytest.raises(SessionClosedError, match="no leader came: await new leader for too"):
            list(cluster.messages())
        assert cluster.offer(b"late") is OfferStatus.CLOSED
        assert cluster.uncertain_offers == 5


def test_a_claim_that_is_aborted_is_no_offer(session: Session) -> None:
    cluster, member = session
    cluster.try_claim(4).abort()
    with pytest.raises(KeyError), cluster.try_claim(4):
        raise KeyError("in the block")
    cluster.try_claim(4)
    gc.collect()
    with cluster.try_claim(4) as claim:
        claim.buffer[32:] = b"text"
    assert member.await_text()[2] == b"text"
    lose_leader(cluster, member)
    assert cluster.uncertain_offers == 1


def test_a_claim_that_is_committed_after_the_leader_is_uncertain(session: Session) -> None:
    cluster, member = session
    claim = cluster.try_claim(4)
    lose_leader(cluster, member)
    assert cluster.uncertain_offers == 0
    claim.commit()
    assert cluster.uncertain_offers == 1
