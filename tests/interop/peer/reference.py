"""The reference in Java, or the end of a test without it."""

from __future__ import annotations

from prerequisites import skip_without_program

from peer.artifact import PeerUnavailable, Toolchain, toolchain


def reference_toolchain() -> Toolchain:
    """Java, the jar and the compiled peers; without them a visible skip, or under CI a failure."""
    try:
        return toolchain()
    except PeerUnavailable as reason:
        skip_without_program(f"no reference peer: {reason}")
