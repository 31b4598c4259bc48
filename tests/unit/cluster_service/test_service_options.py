"""Options of a service container: keywords, properties, defaults, refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from aerolog.cluster.service import (
    ClusteredService,
    ServiceContainer,
    ServiceContainerOptions,
)
from aerolog.cluster.service.object_name import object_of
from aerolog.cluster.service.options import ERROR_HANDLER
from aerolog.transport.config.sources import Properties
from aerolog.transport.errors import ConfigurationError, DriverTimeoutError

if TYPE_CHECKING:
    from pathlib import Path


def made(*arguments: str, **options: Any) -> ServiceContainerOptions:
    properties = Properties.from_command_line([f"-D{each}" for each in arguments])
    return ServiceContainerOptions.of(properties=properties, **options)


def test_defaults_are_the_reference_s() -> None:
    options = made()
    assert options.name == "clustered-service-0-0"
    assert options.service_stream_id == 104
    assert options.consensus_module_stream_id == 105
    assert (options.snapshot_stream_id, options.replay_stream_id) == (106, 103)
    assert options.control_channel == "aeron:ipc?term-length=128k"
    assert options.service_cycle_threshold == 100_000_000
    assert options.archive_options()["response_stream_id"] == 121
    assert options.driver_timeout == 10_000
    assert options.error_handler is None


def test_keywords_come_before_properties() -> None:
    options = made(
        "aeron.cluster.id=3",
        "aeron.cluster.service.id=2",
        "aeron.cluster.service.cycle.threshold=5ms",
        service_id=4,
    )
    assert options.name == "clustered-service-3-4"
    assert options.service_cycle_threshold == 5_000_000
    assert options.archive_options()["response_stream_id"] == 425
    assert made("aeron.cluster.service.name=bids").name == "bids"


@pytest.mark.parametrize(
    ("arguments", "options", "told"),
    [
        (["aeron.cluster.service.id=10"], {}, "service id 10 is not in the range 0 to 9"),
        ([], {"log_fragment_limit": 0}, "log_fragment_limit is at least 1, not 0"),
        ([], {"service_name": "n" * 101}, "a service's name has at most 100 characters, not 101"),
        (
            ["aeron.cluster.service.error.buffer.length=1023k"],
            {},
            "aeron.cluster.service.error.buffer.length",
        ),
        ([], {"service_error_buffer_length": 1 << 31}, "service_error_buffer_length"),
        ([], {"leader": 1}, "unknown option 'leader' for a service container"),
    ],
)
def test_refusals(arguments: list[str], options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        made(*arguments, **options)


def test_channels_are_checked() -> None:
    named = r"aeron\.cluster\.snapshot\.channel: .* nonsense"
    with pytest.raises(ConfigurationError, match=named):
        made(snapshot_channel="nonsense")


def test_options_of_the_archive_s_client_are_checked() -> None:
    options = made(archive={"message_timeout": 2.0})
    assert options.archive_options()["message_timeout"] == 2.0
    with pytest.raises(ConfigurationError, match="unknown option"):
        made(archive={"message_patience": 2.0}).archive_options()


def test_a_container_waits_for_a_driver_for_as_long_as_it_is_told(tmp_path: Path) -> None:
    properties = Properties.from_command_line(["-Daeron.driver.timeout=50"])
    with pytest.raises(DriverTimeoutError, match=r"no media driver in .*\(waited 50 ms\)"):
        ServiceContainer(
            ClusteredService(),
            properties=properties,
            aeron_dir=str(tmp_path / "driver"),
            cluster_dir=str(tmp_path / "cluster"),
        )
    assert list((tmp_path / "cluster").iterdir()) == []


@pytest.mark.parametrize(
    ("handler", "told"),
    [
        (f"{__name__}:NUMBER", "NUMBER cannot be called"),
        ("nowhere:handle", "aeron.cluster.service.delegating.error.handler: nowhere:handle cannot"),
    ],
)
def test_an_error_handler_has_to_be_there(tmp_path: Path, handler: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        ServiceContainer(
            ClusteredService(), cluster_dir=str(tmp_path / "cluster"), error_handler=handler
        )
    assert not (tmp_path / "cluster").exists()


NUMBER = 7


def handle(error: BaseException) -> None:
    """What the property of a delegating error handler can name."""


class Handler:
    """The same as a class, which is made."""

    def __call__(self, error: BaseException) -> None:
        raise error


def test_an_error_handler_is_imported() -> None:
    assert object_of(f"{__name__}:handle", ERROR_HANDLER.name) is handle
    assert object_of(f"{__name__}:Handler", ERROR_HANDLER.name) is Handler


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("org.agrona.Handler", "is MODULE:NAME of an object in Python, not 'org.agrona.Handler'"),
        ("nowhere:handle", "nowhere:handle cannot be imported: No module named 'nowhere'"),
        ("json:handle", "json:handle cannot be imported: module 'json' has no attribute 'handle'"),
    ],
)
def test_what_cannot_be_imported_is_told(name: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        object_of(name, ERROR_HANDLER.name)
