"""Allocates the driver's system counters, before any other counter (spec counters 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.transport.config.values import format_duration
from aerolog.transport.counters.counter_types import SYSTEM_KEY, CounterType
from aerolog.transport.counters.system_counters import SystemCounter

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.memory.counters import CountersManager

_DRIVER_OWNER = -1

VERSION_MAJOR = 1
VERSION_MINOR = 51
VERSION_PATCH = 0
VERSION_TEXT = f"{VERSION_MAJOR}.{VERSION_MINOR}.{VERSION_PATCH}"
SEMANTIC_VERSION = VERSION_MAJOR << 16 | VERSION_MINOR << 8 | VERSION_PATCH
CONTROL_PROTOCOL_VERSION = 1 << 16


def system_counter_label(
    counter: SystemCounter,
    *,
    mode: str,
    commit: str,
    threshold_ns: Callable[[SystemCounter], int],
    driver_name: str | None,
) -> str:
    """Return the label of one system counter.

    Args:
        counter: the counter that the label is for.
        mode: the name of the threading mode.
        commit: identifies this build.
        threshold_ns: the configured threshold, which the labels of some counters show.
        driver_name: the driver's name in the name resolver; the reference writes ``null`` for none.
    """
    text = counter.label
    threshold = format_duration(threshold_ns(counter)) if "{threshold}" in text else ""
    return text.format(
        mode=mode,
        version=VERSION_TEXT,
        commit=commit,
        threshold=threshold,
        driver_name="null" if driver_name is None else driver_name,
    )


def allocate_system_counters(
    counters: CountersManager,
    *,
    mode: str,
    commit: str,
    threshold_ns: Callable[[SystemCounter], int],
    driver_name: str | None,
) -> None:
    """Allocate all system counters in an empty buffer, so that counter id and system id agree.

    Args:
        counters: the counters, none of which is allocated yet.
        mode: the name of the threading mode.
        commit: identifies this build.
        threshold_ns: the configured threshold, which the labels of some counters show.
        driver_name: the driver's name in the name resolver, None for none.
    """
    for counter in SystemCounter:
        counter_id = counters.allocate(
            CounterType.SYSTEM,
            system_counter_label(
                counter,
                mode=mode,
                commit=commit,
                threshold_ns=threshold_ns,
                driver_name=driver_name,
            ),
            SYSTEM_KEY.numbers.pack(counter),
            registration_id=counter,
            owner_id=_DRIVER_OWNER,
        )
        if counter_id != counter:
            raise RuntimeError(f"system counter {counter.name} has the id {counter_id}")
    counters.set_value(SystemCounter.AERON_VERSION, SEMANTIC_VERSION)
    counters.set_value(SystemCounter.CONTROL_PROTOCOL_VERSION, CONTROL_PROTOCOL_VERSION)
