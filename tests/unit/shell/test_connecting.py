"""What commands say where there is no driver, or a driver without an archive."""

import pytest
from shared_memory import memory_folder

from aerolog.archive.service.main import main_archive
from aerolog.tools.main import main
from aerolog.transport.client import announcement
from aerolog.transport.config.sources import Properties
from aerolog.transport.driver import MediaDriver

STREAMS = ("publish aeron:ipc 1 --count 1", "subscribe aeron:ipc 1 --count 1")
ARCHIVED = (
    "tail 0",
    "record aeron:ipc 1",
    "replay 0",
    "recordings list",
    "recordings describe 0",
    "recordings subscriptions",
    "export 0 --to out",
)
WATCHING = ("stat", "errors", "loss", "streams", "backlog", "driver-tool", "doctor")


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(announcement, "PATIENCE_S", 0.05)
    monkeypatch.delenv("AERON_DIR", raising=False)
    return tmp_path


@pytest.mark.parametrize("command", [*STREAMS, *ARCHIVED])
def test_without_a_driver_the_wait_is_announced(command, tmp_path, capsys):
    nowhere = tmp_path / "nowhere"
    code = main([*command.split(), "--aeron-dir", str(nowhere), "--driver-timeout", "0.3"])
    waiting, failed = capsys.readouterr().err.splitlines()
    assert code == 1
    assert waiting == f"aerolog: waiting for a media driver in {nowhere}"
    assert failed.startswith(f"aerolog: no media driver in {nowhere}: CnC file not created: ")
    assert failed.endswith(": start one, or name another directory")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", WATCHING)
def test_what_only_looks_says_so_at_once(command, tmp_path, capsys):
    nowhere = tmp_path / "nowhere"
    assert main([*command.split(), "--aeron-dir", str(nowhere)]) == 1
    (failed,) = capsys.readouterr().err.splitlines()
    assert failed.startswith(f"aerolog: {nowhere}")
    assert "start a driver there, or name another directory with --aeron-dir" in failed


def test_an_archive_announces_its_wait(tmp_path, capsys):
    nowhere = tmp_path / "nowhere"
    settings = {
        "aeron.dir": nowhere,
        "aeron.archive.dir": tmp_path / "archive",
        "aeron.archive.control.channel.enabled": "false",
        "aeron.archive.replication.channel": "aeron:ipc",
        "aeron.driver.timeout": 300,
    }
    assert main_archive([f"-D{name}={value}" for name, value in settings.items()]) == 1
    waiting, failed = capsys.readouterr().err.splitlines()[-2:]
    assert waiting == f"aerolog archive: waiting for a media driver in {nowhere}"
    assert failed.startswith(f"ERROR: no media driver in {nowhere}: ")


@pytest.fixture(scope="module")
def driver_dir():
    properties = Properties.from_command_line(["-Daeron.counters.buffer.length=1m"])
    with memory_folder() as home, MediaDriver(home / "aeron", properties=properties) as driver:
        yield driver.aeron_dir


@pytest.mark.parametrize("command", ARCHIVED)
def test_without_an_archive_the_driver_is_told_to_be_there(command, driver_dir, tmp_path, capsys):
    code = main([*command.split(), "--aeron-dir", driver_dir, "--archive-timeout", "0.5"])
    waiting, failed = capsys.readouterr().err.splitlines()
    assert code == 1
    assert waiting.startswith("aerolog: waiting for an archive on aeron:")
    assert f": the media driver in {driver_dir} is there, but no archive on aeron:" in failed
    assert failed.endswith(": start one, or name the channel of another")
    assert list(tmp_path.iterdir()) == []
