"""Noticing that the other side is gone."""

from dataclasses import dataclass
from typing import Any

import pytest

from aerolog.tools.connection.liveness import Watch
from aerolog.transport.errors import (
    ArchiveError,
    DriverTimeoutError,
    NotConnectedError,
    ResourceClosedError,
)


@dataclass
class FakeAeron:
    closed: bool = False
    close_reason: BaseException | None = None


@dataclass
class FakeArchive:
    is_disconnected: bool = False
    error: ArchiveError | None = None
    checks: int = 0

    def check_for_error(self) -> None:
        self.checks += 1
        if self.error is not None:
            raise self.error


def watch(aeron: FakeAeron, archive: FakeArchive | None = None) -> Watch:
    fakes: Any = (aeron, archive)
    return Watch(*fakes)


def test_while_all_is_well_the_archive_is_listened_to() -> None:
    archive = FakeArchive()
    watching = watch(FakeAeron(), archive)

    watching()
    watching()

    assert archive.checks == 2


def test_the_reason_of_a_client_that_ended_is_raised() -> None:
    reason = DriverTimeoutError("the driver is gone")

    with pytest.raises(DriverTimeoutError, match="the driver is gone"):
        watch(FakeAeron(closed=True, close_reason=reason))()
    with pytest.raises(ResourceClosedError):
        watch(FakeAeron(closed=True))()


def test_an_archive_that_is_gone_is_an_error() -> None:
    with pytest.raises(NotConnectedError, match="the archive is gone"):
        watch(FakeAeron(), FakeArchive(is_disconnected=True))()


def test_an_error_of_the_archive_is_raised_first() -> None:
    archive = FakeArchive(is_disconnected=True, error=ArchiveError(0, "replay failed"))

    with pytest.raises(ArchiveError, match="replay failed"):
        watch(FakeAeron(), archive)()
