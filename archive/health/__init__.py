"""Health of recordings: what verification knows of each closed segment, and what it finds."""

from aerolog.archive.health.findings import Finding, Kind
from aerolog.archive.health.health import Health, SegmentHealth
from aerolog.archive.health.verifying import verify_recording

__all__ = ["Finding", "Health", "Kind", "SegmentHealth", "verify_recording"]
