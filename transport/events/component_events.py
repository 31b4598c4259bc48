"""The event log of one component: the events that it logs, and its hold on the log."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from aerolog.transport.events.event_codes import chosen_events, full_code
from aerolog.transport.events.event_fields import text_field
from aerolog.transport.events.event_reader import HeldLog
from aerolog.transport.events.properties import EVENT_BUFFER_LENGTH, EVENT_LOG_FILENAME
from aerolog.transport.text_output import write_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from enum import IntEnum

    from aerolog.transport.concurrent.clock import Clock
    from aerolog.transport.config.definition import Property
    from aerolog.transport.config.settings import Settings
    from aerolog.transport.events.event_reader import Dissect

C = TypeVar("C", bound="IntEnum")


@dataclass(frozen=True, slots=True)
class EventComponent(Generic[C]):
    """A component that logs events.

    Attributes:
        number: the component's number in event codes.
        name: the name with which its lines begin.
        events: all events that it can log.
        enabled, disabled: the properties that name the events to log, and those not to log.
        dissect: makes the name and text of an event from its record.
        groups: names that stand for several events in these properties.
    """

    number: int
    name: str
    events: type[C]
    enabled: Property[str | None]
    disabled: Property[str | None]
    dissect: Dissect
    groups: Mapping[str, frozenset[C]] | None = None

    def hold(self, settings: Settings, clock: Clock) -> tuple[HeldLog, frozenset[C]] | None:
        """Return a hold on the log and the events to log, or None if nothing is to be logged.

        Unknown events are reported on stderr and otherwise ignored.

        Args:
            settings: the settings with the properties of event logging.
            clock: gives the times of events.

        Raises:
            ConfigurationError: if the buffer length is not a power of two.
            OSError: if the file cannot be opened.
        """
        events = chosen_events(
            settings[self.enabled], settings[self.disabled], self.events, _unknown, self.groups
        )
        if not events:
            return None
        held = HeldLog(
            settings[EVENT_LOG_FILENAME] or "",
            settings[EVENT_BUFFER_LENGTH],
            clock,
            component=self.number,
            name=self.name,
            dissect=self.dissect,
        )
        return held, events


def _unknown(entry: str) -> None:
    write_text(f"unknown event code: {entry}\n")


class ComponentEvents(Generic[C]):
    """Writes those events of a component that are enabled, which may be none.

    Args:
        component: the component that logs them.
        held: its hold on the log of the process; None when no event is enabled.
        events: the enabled events.
    """

    def __init__(
        self,
        component: EventComponent[C],
        held: HeldLog | None = None,
        events: frozenset[C] = frozenset(),
    ) -> None:
        self._number = component.number
        self._held = held
        self._log = None if held is None else held.log
        self._events = events

    def close(self) -> None:
        """Write the remaining events; further calls do nothing."""
        if self._held is not None:
            self._held.close()

    def code(self, event: C) -> int:
        """Return the code of an event in the log, or 0 if the event is not logged."""
        return full_code(self._number, event) if event in self._events else 0

    def _write(self, event: C, payload: bytes) -> None:
        if event in self._events and self._log is not None:
            self._log.write(full_code(self._number, event), payload)

    def _write_fields(self, event: C, layout: str, numbers: tuple[int, ...], *texts: str) -> None:
        """Write an event that consists of numbers, packed by a layout of `struct`, and of texts."""
        if event in self._events:
            self._write(event, struct.pack(layout, *numbers) + b"".join(map(text_field, texts)))
