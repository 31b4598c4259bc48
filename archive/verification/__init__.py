"""Verification of recordings: checks of closed segments, their findings, and repairs."""

from aerolog.archive.verification.findings import Finding, Kind
from aerolog.archive.verification.health import Health, SegmentHealth
from aerolog.archive.verification.recording_verification import verify_recording

__all__ = ["Finding", "Health", "Kind", "SegmentHealth", "verify_recording"]
