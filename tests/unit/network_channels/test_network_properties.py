"""Properties of the UDP side: the reference's names, defaults and built-in classes; our own."""

import pytest

from aerolog.transport.config.known_names import STRICT
from aerolog.transport.config.sources import Properties
from aerolog.transport.driver import properties as network
from aerolog.transport.driver.properties import PROPERTIES, driver_settings
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.events.properties import DRIVER_EVENT_PROPERTIES

S = 1_000_000_000

DEFAULTS = {
    "aeron.unicast.flow.control.strategy": "unicast_max",
    "aeron.multicast.flow.control.strategy": "multicast_max",
    "aeron.PreferredMulticastFlowControl.asf": b"\xff" * 8,
    "aeron.flow.control.sm.applicationSpecificFeedback": b"",
    "aeron.CubicCongestionControl.initialRtt": 100_000,
    "aeron.CubicCongestionControl.measureRtt": False,
    "aeron.CubicCongestionControl.tcpMode": False,
    "aeron.SendChannelEndpoint.supplier": "default",
    "aeron.ReceiveChannelEndpoint.supplier": "default",
    "aeron.sender.io.vector.capacity": 4,
    "aeron.receiver.io.vector.capacity": 4,
    "aeron.network.publication.max.messages.per.send": 4,
    "aeron.driver.connect": True,
    "aeron.debug.send.data.loss.rate": 0.0,
    "aeron.debug.send.control.loss.rate": 0.0,
    "aeron.debug.receive.data.loss.rate": 0.0,
    "aeron.debug.receive.control.loss.rate": 0.0,
    "aeron.debug.send.data.loss.seed": -1,
    "aeron.debug.send.control.loss.seed": -1,
    "aeron.debug.receive.data.loss.seed": -1,
    "aeron.debug.receive.control.loss.seed": -1,
    "aeron.udp.channel.outgoing.interceptors": "",
    "aeron.udp.channel.incoming.interceptors": "",
    "aeron.udp.channel.transport.bindings.loss.args": None,
    "aeron.udp.channel.transport.bindings.fixed.loss.args": None,
    "aeron.udp.channel.transport.bindings.multi.gap.loss.args": None,
    "aeron.rehearse.send.data": "",
    "aeron.rehearse.send.control": "",
    "aeron.rehearse.receive.data": "",
    "aeron.rehearse.receive.control": "",
    "aeron.network.offload": True,
    "aeron.media.receive.timestamps": True,
    "aeron.driver.async.executor.idle.strategy": "sleep-ms",
    "aeron.driver.async.executor.idle.strategy.init.args": None,
    "aeron.driver.resolver.neighbor.timeout": 10 * S,
    "aeron.driver.resolver.self.resolution.interval": S,
    "aeron.driver.resolver.neighbor.resolution.interval": 2 * S,
    "aeron.driver.resolver.bootstrap.neighbor.resolution.interval": 10 * S,
    "aeron.name.resolver.supplier": "default",
    "aeron.name.resolver.init.args": None,
    "aeron.name.resolver.csv.lookup.table.args": None,
}


def test_the_table_has_the_references_names_and_defaults_and_ours():
    after_the_others = PROPERTIES.index(network.RECEIVER_WILDCARD_PORT_RANGE) + 1
    of_every_component = (*DRIVER_EVENT_PROPERTIES, STRICT)
    assert PROPERTIES[-len(of_every_component) :] == of_every_component
    of_network = PROPERTIES[after_the_others : -len(of_every_component)]
    assert {prop.name: prop.default for prop in of_network} == DEFAULTS
    assert set(of_network).isdisjoint(DRIVER_EVENT_PROPERTIES)
    assert len({prop.keyword for prop in PROPERTIES}) == len(PROPERTIES)


@pytest.mark.parametrize(
    ("prop", "text", "stands_for"),
    [
        (network.MULTICAST_FLOW_CONTROL_STRATEGY, "io.aeron.driver.MinMulticastFlowControl", "min"),
        (
            network.SEND_CHANNEL_ENDPOINT_SUPPLIER,
            "io.aeron.driver.ext.DebugSendChannelEndpointSupplier",
            "debug",
        ),
        (
            network.RECEIVE_CHANNEL_ENDPOINT_SUPPLIER,
            "io.aeron.driver.ext.DebugReceiveChannelEndpointSupplier",
            "debug",
        ),
        (network.NAME_RESOLVER_SUPPLIER, "csv_table", "csv_table"),
    ],
)
def test_built_in_classes_are_known_by_the_references_names(prop, text, stands_for):
    properties = Properties()
    properties.set(prop.name, text, "test")

    assert driver_settings(properties)[prop].endswith(stands_for)
    properties.set(prop.name, "org.example.Own", "test")
    with pytest.raises(ConfigurationError, match="is not built in"):
        driver_settings(properties)


def test_the_c_drivers_variables_are_read():
    properties = Properties.from_environment(
        {
            "AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS": "loss",
            "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_LOSS_ARGS": "rate=0.1|seed=3",
            "AERON_CUBICCONGESTIONCONTROL_TCPMODE": "on",
            "AERON_DEBUG_RECEIVE_DATA_LOSS_RATE": "0.25",
        }
    )
    settings = driver_settings(properties)

    assert settings[network.INCOMING_INTERCEPTORS] == "loss"
    assert settings[network.LOSS_ARGS] == "rate=0.1|seed=3"
    assert settings[network.CUBIC_TCP_MODE] is True
    assert settings[network.RECEIVE_DATA_LOSS_RATE] == 0.25


@pytest.mark.parametrize(
    "keyword",
    [
        "sender_io_vector_capacity",
        "receiver_io_vector_capacity",
        "network_publication_max_messages_per_send",
    ],
)
def test_batches_hold_something(keyword):
    with pytest.raises(ConfigurationError, match="less than the least, 1"):
        driver_settings(Properties(), {keyword: 0})
