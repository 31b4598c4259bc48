"""The client of a media driver: publish and subscribe from Python.

``Aeron`` connects to a driver and adds publications, subscriptions and counters; ``AsyncAeron`` is
the same for asyncio. Payloads go in as anything with a buffer; handlers get memoryviews, iteration
gives copies, batches go straight to NumPy and Arrow memory.
"""

from typing import TYPE_CHECKING

from aerolog.transport.client.aeron import Aeron
from aerolog.transport.client.arrow import ArrowBatch
from aerolog.transport.client.claim import BufferClaim
from aerolog.transport.client.client_counters import (
    Counter,
    CounterInfo,
    Counters,
    CountersReader,
    CounterView,
)
from aerolog.transport.client.client_events import (
    ClientClosed,
    CounterAvailable,
    CounterUnavailable,
    ErrorRaised,
    Event,
    EventStream,
    ImageAvailable,
    ImageUnavailable,
    PublicationErrorFrame,
)
from aerolog.transport.client.destination import Destination
from aerolog.transport.client.diagnostics import (
    ErrorLog,
    ErrorObservation,
    LossEntry,
    LossReport,
    driver_is_active,
    request_termination,
)
from aerolog.transport.client.image import Image
from aerolog.transport.client.message import Action, Header, Message
from aerolog.transport.client.options import ClientOptions, default_aeron_dir
from aerolog.transport.client.poller import Poller
from aerolog.transport.client.publication import ExclusivePublication, Publication
from aerolog.transport.client.reconnection import Declared, ReconnectingAeron
from aerolog.transport.client.registration import RegistrationFuture
from aerolog.transport.client.response import ResponseClient, ResponseServer, ResponseSession
from aerolog.transport.client.status import OfferStatus
from aerolog.transport.client.subscription import Subscription
from aerolog.transport.protocol.channel_status import ChannelStatus

if TYPE_CHECKING:
    from aerolog.transport.client.aio import (
        AsyncAeron,
        AsyncPublication,
        AsyncResponseClient,
        AsyncSubscription,
    )
else:

    def __getattr__(name: str) -> object:
        """Import the classes for asyncio at their first use, because that import takes long."""
        if name.startswith("Async") and name in __all__:
            from aerolog.transport.client import aio

            return getattr(aio, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Action",
    "Aeron",
    "ArrowBatch",
    "AsyncAeron",
    "AsyncPublication",
    "AsyncResponseClient",
    "AsyncSubscription",
    "BufferClaim",
    "ChannelStatus",
    "ClientClosed",
    "ClientOptions",
    "Counter",
    "CounterAvailable",
    "CounterInfo",
    "CounterUnavailable",
    "CounterView",
    "Counters",
    "CountersReader",
    "Declared",
    "Destination",
    "ErrorLog",
    "ErrorObservation",
    "ErrorRaised",
    "Event",
    "EventStream",
    "ExclusivePublication",
    "Header",
    "Image",
    "ImageAvailable",
    "ImageUnavailable",
    "LossEntry",
    "LossReport",
    "Message",
    "OfferStatus",
    "Poller",
    "Publication",
    "PublicationErrorFrame",
    "ReconnectingAeron",
    "RegistrationFuture",
    "ResponseClient",
    "ResponseServer",
    "ResponseSession",
    "Subscription",
    "default_aeron_dir",
    "driver_is_active",
    "request_termination",
]
