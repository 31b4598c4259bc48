"""Options of a service container: keywords, properties, defaults, refusals."""

from __future__ import annotations

from typing import Any

import pytest

from aerolog.cluster.service import ServiceContainerOptions
from aerolog.transport.config.sources import Properties
from aerolog.transport.errors import ChannelUriError, ConfigurationError


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
        ([], {"leader": 1}, "unknown option 'leader' for a service container"),
    ],
)
def test_refusals(arguments: list[str], options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        made(*arguments, **options)


def test_channels_are_checked() -> None:
    with pytest.raises(ChannelUriError, match="nonsense"):
        made(snapshot_channel="nonsense")


def test_options_of_the_archive_s_client_are_checked() -> None:
    options = made(archive={"message_timeout": 2.0})
    assert options.archive_options()["message_timeout"] == 2.0
    with pytest.raises(ConfigurationError, match="unknown option"):
        made(archive={"message_patience": 2.0}).archive_options()
