"""Channel URIs: parsing, building, and what archive and driver derive from them."""

from aerolog.transport.uri.channel_uri import ChannelUri
from aerolog.transport.uri.keys import IPC_CHANNEL, PARAMETERS, SPY_PREFIX, Kind, Parameter

__all__ = ["IPC_CHANNEL", "PARAMETERS", "SPY_PREFIX", "ChannelUri", "Kind", "Parameter"]
