"""Checks of fixed rooms: counters, error logs, the loss report and the catalog can be full."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from aerolog.tools.doctor.figure_text import percent
from aerolog.tools.doctor.findings import Area, FindingKind, Severity
from aerolog.transport.protocol.fixed_layout import align

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aerolog.tools.doctor.findings import Finding
    from aerolog.tools.doctor.system_snapshot import Case
    from aerolog.transport.memory.error_log import ErrorObservation
    from aerolog.transport.memory.loss_report import LossEntry

_NEARLY: Final = 80
_FULL: Final = 95
_CATALOG_MAX: Final = 2**31 - 1
_ERROR_HEADER: Final = 24

_kind: Final = partial(FindingKind, Area.CAPACITY)

COUNTERS = _kind(
    "counters-nearly-full",
    Severity.WARNING,
    "{used!n} of {most!n} counters are taken ({percent}%)",
    "each publication takes 2 to 8, each image 3 to 6, each client and recording one; when there is"
    " none left, adding a publication or subscription fails",
    "close what is not used (`aerolog stat` shows what there is); raise"
    " aeron.counters.buffer.length and start the driver anew",
)
ERROR_LOG = _kind(
    "error-log-nearly-full",
    Severity.WARNING,
    "the error log of the {who} is {percent}% full ({used!b} of {most!b})",
    "when it is full new kinds of errors are counted and not written down",
    "read it (`{command}`) and remove the causes; a start of the {who} saves and clears it;"
    " or raise its length ({setting})",
)
LOSS_REPORT = _kind(
    "loss-report-nearly-full",
    Severity.NOTICE,
    "the loss report is {percent}% full ({count!n} entries)",
    "each image with loss takes an entry for the driver's life; when it is full further ones are"
    " not reported",
    "raise aeron.loss.report.buffer.length; it is empty after a start of the driver",
)
CATALOG = _kind(
    "catalog-nearly-full",
    Severity.WARNING,
    "the catalog has {used!b} of the 2 GiB that it can have",
    "when it is full nothing can be recorded any more",
    "with the archive stopped, remove purged and invalid recordings for good: aerolog"
    " recordings compact --archive-dir DIR",
)


def rooms_are_free(case: Case) -> Iterator[Finding]:
    """Is anything of fixed length nearly full?"""
    driver, archive = case.driver, case.now.archive
    if driver is not None:
        where = f"driver {driver.aeron_dir}"
        taken = percent(len(driver.counters), driver.max_counters)
        if taken >= _NEARLY:
            yield COUNTERS.found(
                where,
                _severity(taken),
                used=len(driver.counters),
                most=driver.max_counters,
                percent=taken,
            )
        yield from _errors(
            driver.errors,
            driver.error_log_capacity,
            where,
            who="driver",
            command="aerolog errors",
            setting="aeron.error.buffer.length",
        )
        taken = percent(_loss_length(driver.losses), driver.loss_report_capacity)
        if taken >= _NEARLY:
            yield LOSS_REPORT.found(where, percent=taken, count=len(driver.losses))
    if archive is not None:
        where = f"archive {archive.archive_dir}"
        if archive.mark is not None:
            yield from _errors(
                archive.errors,
                archive.mark.error_log_capacity,
                where,
                who="archive",
                command="aerolog errors",
                setting="aeron.archive.error.buffer.length",
            )
        if percent(archive.catalog_used, _CATALOG_MAX) >= _NEARLY:
            yield CATALOG.found(where, used=archive.catalog_used)
    cluster = case.now.cluster
    if cluster is not None:
        for mark in cluster.marks:
            of_service = ".service" if mark.service_id >= 0 else ""
            yield from _errors(
                mark.errors,
                mark.error_log_capacity,
                cluster.subject,
                who=mark.who,
                command=f"aerolog cluster errors {cluster.cluster_dir}",
                setting=f"aeron.cluster{of_service}.error.buffer.length",
            )


def _errors(
    errors: Sequence[ErrorObservation],
    capacity: int,
    where: str,
    *,
    who: str,
    command: str,
    setting: str,
) -> Iterator[Finding]:
    used = sum(align(_ERROR_HEADER + len(one.text.encode()), 8) for one in errors)
    taken = percent(used, capacity)
    if taken >= _NEARLY:
        yield ERROR_LOG.found(
            where,
            who=who,
            command=command,
            setting=setting,
            used=used,
            most=capacity,
            percent=taken,
        )


def _loss_length(losses: Sequence[LossEntry]) -> int:
    """Bytes that entries take in the report (spec cnc-and-commands 7)."""
    return sum(
        align(40 + align(4 + len(one.channel), 4) + 4 + len(one.source), 64) for one in losses
    )


def _severity(percent: int) -> Severity:
    return Severity.CRITICAL if percent >= _FULL else Severity.WARNING


CHECKS: Final = (rooms_are_free,)
