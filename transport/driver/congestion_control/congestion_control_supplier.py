"""Chooses an image's congestion control: `cc=` of the subscription, else the driver's default.

Other packages add strategies by an entry point in the group `aerolog.congestion_control`: its
name is the value of `cc=`, and its object is called with `ImageConditions` and returns a
`CongestionControl` (in Python a subclass of `PythonCongestionControl`)::

    [project.entry-points."aerolog.congestion_control"]
    reno = "my_package:reno"

    def reno(image: ImageConditions) -> CongestionControl:
        return Reno(initial_window=image.mtu, max_window=image.max_window)
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Final

from aerolog.transport.driver import properties
from aerolog.transport.driver.congestion_control.congestion_control import (
    CongestionControl,
    Cubic,
    StaticWindow,
    max_window_for,
)
from aerolog.transport.errors import ChannelUriError, ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.config.settings import Settings

ENTRY_POINT_GROUP: Final = properties.CONGESTION_CONTROL_PLUG_INS
STATIC: Final = "static"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageConditions:
    """The properties of an image from which its strategy is made.

    Attributes:
        receiver_window: `rcv-wnd` of the subscription or the driver's initial window, in bytes.
        term_length: the length of the image's terms in bytes.
        mtu: the sender's MTU in bytes.
        now_ns: the time of the driver's monotonic clock.
        session_id: int32.
        stream_id: int32.
        initial_rtt_ns: `aeron.CubicCongestionControl.initialRtt`.
        measure_rtt: `aeron.CubicCongestionControl.measureRtt`.
        tcp_mode: `aeron.CubicCongestionControl.tcpMode`.
    """

    receiver_window: int
    term_length: int
    mtu: int
    now_ns: int
    session_id: int = 0
    stream_id: int = 0
    initial_rtt_ns: int = 100_000
    measure_rtt: bool = False
    tcp_mode: bool = False

    @property
    def max_window(self) -> int:
        """The largest window that the image can take, in bytes."""
        return max_window_for(self.receiver_window, self.term_length)


def _static(image: ImageConditions) -> CongestionControl:
    return StaticWindow(image.receiver_window, image.term_length)


def _cubic(image: ImageConditions) -> CongestionControl:
    return Cubic(
        image.receiver_window,
        image.term_length,
        image.mtu,
        image.now_ns,
        initial_rtt_ns=image.initial_rtt_ns,
        measure_rtt=image.measure_rtt,
        tcp_mode=image.tcp_mode,
    )


_BUILT_IN: Final[dict[str, Callable[[ImageConditions], CongestionControl]]] = {
    STATIC: _static,
    "cubic": _cubic,
}


def image_congestion_control(
    cc: str | None,
    settings: Settings,
    *,
    receiver_window: int,
    term_length: int,
    mtu: int,
    now_ns: int,
    session_id: int = 0,
    stream_id: int = 0,
) -> CongestionControl:
    """Return the strategy of an image: from ``cc=``, else from the driver's properties.

    An unknown ``cc=`` is refused only here, as by the reference: the subscription is accepted,
    and each image that it would get fails.

    Args:
        cc: the value in the subscription's channel, None when it has none.
        settings: the driver's configuration.
        receiver_window: the subscription's window in bytes.
        term_length: the length of the image's terms in bytes.
        mtu: the sender's MTU in bytes.
        now_ns: the time of the driver's monotonic clock.
        session_id: the image's session.
        stream_id: the image's stream.

    Raises:
        ChannelUriError, ConfigurationError: see `congestion_control`.
    """
    image = ImageConditions(
        receiver_window=receiver_window,
        term_length=term_length,
        mtu=mtu,
        now_ns=now_ns,
        session_id=session_id,
        stream_id=stream_id,
        initial_rtt_ns=settings[properties.CUBIC_INITIAL_RTT],
        measure_rtt=settings[properties.CUBIC_MEASURE_RTT],
        tcp_mode=settings[properties.CUBIC_TCP_MODE],
    )
    configured = settings[properties.CONGESTIONCONTROL_SUPPLIER]
    return congestion_control(cc, image, STATIC if configured == "default" else configured)


def congestion_control(
    name: str | None, image: ImageConditions, default: str = STATIC
) -> CongestionControl:
    """Return the strategy that `cc=` names; the built-in names cannot be replaced.

    Args:
        name: the value of `cc`, None when the channel has none.
        image: the properties of the image.
        default: the name of the driver's default.

    Raises:
        ChannelUriError: no strategy has that name; the text is the reference's. It belongs in the
            error log: the subscription stays, without the image.
        ConfigurationError: the entry point does not load, or returns something else.
    """
    chosen = default if name is None else name
    built_in = _BUILT_IN.get(chosen)
    if built_in is not None:
        return built_in(image)
    for found in entry_points(group=ENTRY_POINT_GROUP, name=chosen):
        try:
            made = found.load()(image)
        except Exception as error:
            raise ConfigurationError(
                f"congestion control {chosen!r} ({found.value}) failed: {error}"
            ) from error
        if not isinstance(made, CongestionControl):
            raise ConfigurationError(
                f"congestion control {chosen!r} ({found.value}) made a {type(made).__name__};"
                " return a CongestionControl"
            )
        return made
    raise ChannelUriError(f"unsupported congestion control : cc={chosen}")
