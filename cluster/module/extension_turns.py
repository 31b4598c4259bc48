"""When an extension is called: at the start, in each duty cycle, after elections, at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.cluster.counter_types import ElectionState
from aerolog.cluster.module.extension import ModuleControl, extension_call
from aerolog.transport.time_units import NS_PER_MS

if TYPE_CHECKING:
    from aerolog.cluster.module.extension import ControlState
    from aerolog.cluster.module.module_context import ModuleContext
    from aerolog.cluster.module.sessions import Sessions
    from aerolog.transport.security.authentication import AuthorisationService

#: How often an extension's `slow_tick_work` is called.
SLOW_TICK_NS: Final = 10 * NS_PER_MS


class ExtensionTurns:
    """The turns of the module's extension; a module without one has none.

    Attributes:
        snapshot: the messages of the extension's snapshot, until it has started.
    """

    def __init__(
        self, context: ModuleContext, sessions: Sessions, authorisation: AuthorisationService
    ) -> None:
        self._context = context
        self._sessions = sessions
        self._authorisation = authorisation
        self.snapshot: list[bytes] = []
        self._has_begun = False
        self._next_tick_ns = 0

    def start(self, *, has_snapshot: bool) -> None:
        """Start the extension, before the log is replayed."""
        extension = self._context.extension
        if extension is not None:
            control = ModuleControl(self._context, self._sessions, self._authorisation)
            with extension_call("on_start"):
                extension.on_start(control, self.snapshot if has_snapshot else None)
            self.snapshot = []
            self._has_begun = True

    def do_work(self, now_ns: int) -> int:
        """Have the extension do its part of a duty cycle; what it raises is reported."""
        extension = self._context.extension
        if extension is None or not self._has_begun:
            return 0
        calls = [extension.do_work]
        if now_ns >= self._next_tick_ns:
            self._next_tick_ns = now_ns + SLOW_TICK_NS
            calls.insert(0, extension.slow_tick_work)
        if self._context.counters.election_state.value == ElectionState.CLOSED:
            calls.append(extension.consensus_work)
        work = 0
        for call in calls:
            try:
                work += call(now_ns)
            except Exception as error:  # noqa: BLE001 - as the reference does, it is called again
                self._context.reporter.error(error, f"extension in {call.__name__}")
        return work

    def complete_election(self, state: ControlState) -> None:
        """Name the role of the node to the extension."""
        extension = self._context.extension
        if extension is not None:
            with extension_call("on_election_complete"):
                extension.on_election_complete(state)

    def close(self) -> None:
        """Have the extension release what it has; what it raises is reported."""
        extension, self._context.extension = self._context.extension, None
        if extension is not None:
            try:
                extension.close()
            except Exception as error:  # noqa: BLE001 - the module ends nevertheless
                self._context.reporter.error(error, "extension in close")
