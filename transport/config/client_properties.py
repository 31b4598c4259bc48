"""The client's properties (configuration 10), each declared once."""

from __future__ import annotations

from typing import Final

from aerolog.transport.config.definition import Declare
from aerolog.transport.config.driver_properties import DIR, DRIVER_TIMEOUT_MS

_client = Declare("aeron.client.")

_client.share(DIR, DRIVER_TIMEOUT_MS)
CLIENT_NAME = _client.text(
    "aeron.client.name", "", "name in the client's heartbeat counter, at most 100 characters"
)
IDLE_SLEEP_DURATION = _client.duration(
    "aeron.client.idle.sleep.duration", 16_000_000, "idle sleep of the conductor, at most 1s",
    high=1_000_000_000,
)  # fmt: skip
RESOURCE_LINGER_DURATION = _client.duration(
    "aeron.client.resource.linger.duration", 3_000_000_000, "time a closed log stays mapped"
)
CLOSE_LINGER_DURATION = _client.duration(
    "aeron.client.close.linger.duration", 0, "pause on close before logs are unmapped"
)
PRE_TOUCH_MAPPED_MEMORY = _client.boolean(
    "aeron.pre.touch.mapped.memory", False, "touch every page of a log when it is mapped",
    any_case=True, env="AERON_CLIENT_PRE_TOUCH_MAPPED_MEMORY", keyword="pre_touch_mapped_memory",
)  # fmt: skip

#: Every property of the client, in the order of the reference page.
CLIENT_PROPERTIES: Final = _client.table
