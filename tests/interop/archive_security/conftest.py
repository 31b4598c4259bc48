"""Guarded archives of both makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import peer
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

SAMPLE = "io.aeron.samples.archive.SampleAuthenticatorSupplier"


@pytest.fixture
def guarded(start_server) -> Callable[..., Any]:
    """An archive of one make with security properties."""

    def make(implementation: str, **properties: str) -> Any:
        return start_server(implementation, "archiving-driver", properties=properties)

    return make


@pytest.fixture
def java_refusal(java_client) -> Callable[..., tuple[int | None, str]]:
    """Code and text with which an archive refuses a client of the reference."""

    def refusal(server: Any, **options: Any) -> tuple[int | None, str]:
        client = java_client(server.aeron_dir)
        with pytest.raises(peer.JavaError) as refused:
            client.archive(**options)
        return refused.value.code, refused.value.message

    return refusal
