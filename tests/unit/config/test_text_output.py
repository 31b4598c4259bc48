"""What leaves the program by log records, error logs and standard streams has no secrets in it."""

from __future__ import annotations

import io
import logging
from typing import TYPE_CHECKING

from aerolog.transport.concurrent.agent import Agent
from aerolog.transport.concurrent.agent_runner import AgentInvoker
from aerolog.transport.concurrent.clock import SystemClock
from aerolog.transport.events.event_reader import LineWriter
from aerolog.transport.memory.error_log import DistinctErrorLog, read_error_log
from aerolog.transport.memory.mapped_file import MappedFile
from aerolog.transport.text_output import logger, write_text, write_traceback

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

URL = "s3://AKIA:hu/sh+hush=@bucket/path"


def failure() -> OSError:
    """An error whose cause has the secret as well, as other packages raise them."""
    try:
        try:
            raise ValueError(f"cannot parse {URL}")
        except ValueError as error:
            raise OSError(f"nothing at {URL}") from error
    except OSError as error:
        return error


def test_of_log_records() -> None:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    records: list[logging.LogRecord] = []
    handler.addFilter(lambda record: not records.append(record))
    log = logger("aerolog.test_of_log_records")
    log.addHandler(handler)
    try:
        log.warning("cannot reach %s: %s", URL, failure(), exc_info=failure())
        log.warning("%d%% of %s", 50, "it")
    finally:
        log.removeHandler(handler)
    assert "hush" not in written.getvalue()
    assert "s3://bucket/path" in written.getvalue()
    assert "ValueError: cannot parse s3://bucket/path" in written.getvalue()
    assert records[0].args is None
    assert records[0].exc_info is None
    assert records[1].args == (50, "it")
    assert written.getvalue().endswith("50% of it\n")


def test_every_logger_of_the_package_is_made_there() -> None:
    import aerolog.archive.service.archive
    import aerolog.cluster.module.consensus_module  # noqa: F401 - they make their loggers

    names = ("aerolog", "aerolog.client", "aerolog.archive", "aerolog.cluster", "aerolog.security")
    for name in names:
        assert logging.getLogger(name).filters == logger(name).filters


def test_of_an_error_log(tmp_path: Path) -> None:
    path = tmp_path / "errors"
    mapped = MappedFile.create(str(path), 64 * 1024)
    log = DistinctErrorLog(mapped, 0, 64 * 1024, SystemClock())
    assert log.record(f"cannot reach {URL}")
    assert log.record_exception(failure())
    texts = [seen.text for seen in read_error_log(mapped)]
    assert len(texts) == 2
    assert "s3://bucket/path" in texts[0]
    assert b"hush" not in path.read_bytes()


def test_of_an_error_log_that_is_full(capfd: pytest.CaptureFixture[str]) -> None:
    log = DistinctErrorLog(MappedFile.anonymous(4096), 0, 64, SystemClock())
    assert not log.record(f"cannot reach {URL}, whatever comes after it")
    assert capfd.readouterr().err.endswith("s3://bucket/path, whatever comes after it\n")


def test_of_events() -> None:
    written = io.StringIO()
    LineWriter(written, {}).write(f"of {URL}\n")
    assert written.getvalue() == "of s3://bucket/path\n"


def test_of_texts_and_traces(capfd: pytest.CaptureFixture[str]) -> None:
    write_text(f"at {URL}\n")
    write_traceback(failure())
    shown = capfd.readouterr().err
    assert "hush" not in shown
    assert "at s3://bucket/path\n" in shown
    assert "OSError: nothing at s3://bucket/path" in shown


class Failing(Agent):
    """Ends with a defect, of which a place with a secret is the cause."""

    def control(self) -> int:
        raise RuntimeError("broken") from failure()


def test_of_an_agent_that_fails(capfd: pytest.CaptureFixture[str]) -> None:
    reported: list[BaseException] = []
    with AgentInvoker(Failing("failing"), error_handler=reported.append) as invoker:
        invoker.invoke()
    shown = capfd.readouterr().err
    assert "RuntimeError: broken" in shown
    assert "OSError: nothing at s3://bucket/path" in shown
    assert "hush" not in shown


def test_a_reader_of_standard_error_that_has_gone_stops_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    offered = []

    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            offered.append(text)
            raise BrokenPipeError

    monkeypatch.setattr("sys.stderr", Gone())
    write_text("anything\n")
    assert offered == ["anything\n"]
