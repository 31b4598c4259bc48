"""The conductor's control part: commands and timer events (spec cnc-and-commands 12).

It runs on the conductor agent's thread, and the native agent calls it when there is work to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerolog.transport.counters.system_counters import SystemCounter
from aerolog.transport.driver import properties
from aerolog.transport.driver.conductor.clients import Clients
from aerolog.transport.driver.conductor.command_error import CommandError, answer_to
from aerolog.transport.driver.conductor.command_order import CommandOrder
from aerolog.transport.driver.conductor.conductor_agent import ConductorAgent
from aerolog.transport.driver.conductor.conductor_context import ConductorContext
from aerolog.transport.driver.conductor.counter_links import CounterLinks
from aerolog.transport.driver.conductor.network_conductor import NetworkConductor
from aerolog.transport.driver.conductor.session_ids import PublicationSessions, SessionIds
from aerolog.transport.driver.ipc.ipc_conductor import IpcConductor
from aerolog.transport.driver.receive.receiver import Receiver
from aerolog.transport.driver.send.sender import Sender
from aerolog.transport.driver.threading_mode import (
    CONDUCTOR,
    RECEIVER,
    SENDER,
    AgentSlot,
    DriverAgents,
    agent_slot,
)
from aerolog.transport.errors import ControlProtocolError, ErrorCode
from aerolog.transport.protocol import commands
from aerolog.transport.protocol.responses import NextAvailableSessionId, OnError, OperationSuccess
from aerolog.transport.uri.keys import IPC_CHANNEL
from aerolog.transport.uri.known_keys import check_keys

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.transport.driver.context import DriverContext

_COMMANDS_PER_CYCLE = 1
_MAX_REASON_LENGTH = 1023


class DriverConductor:
    """Owns the resources of a driver and answers its clients.

    Attributes:
        agent: the native agent that calls this conductor.
        agents: all agents of the driver, for its threads to run.
        network: handles UDP publications, subscriptions and images.
        on_rung: called on another thread when that has work for the conductor, to end its park.
        on_worked: called on the conductor's thread when it has done work that clients of this
            process may be waiting for.
    """

    def __init__(self, context: DriverContext) -> None:
        self._context = context
        settings = context.settings
        self._commands = context.cnc.to_driver
        self._corruption_count = 0
        self.on_rung: Callable[[], object] | None = None
        self.on_worked: Callable[[], object] | None = None
        self.agent = ConductorAgent(
            self,
            context.clock,
            self._commands,
            context.counters,
            unblocked_commands_id=SystemCounter.UNBLOCKED_COMMANDS,
            timer_interval_ns=settings[properties.TIMER_INTERVAL],
            client_liveness_timeout_ns=settings[properties.CLIENT_LIVENESS_TIMEOUT],
        )
        self._sessions = PublicationSessions(
            SessionIds(
                context.random.getrandbits(32),
                settings[properties.PUBLICATION_RESERVED_SESSION_ID_LOW],
                settings[properties.PUBLICATION_RESERVED_SESSION_ID_HIGH],
            )
        )
        self._clients = Clients(context, self.agent)
        self._order = CommandOrder(self._execute, self._refuse)
        self._counters = CounterLinks(context, self._clients)
        self._ipc = IpcConductor(context, self.agent, self._clients, self._order, self._sessions)
        context.logs.ring = self._ring
        sender = Sender(
            context.clock,
            context.counters,
            status_message_timeout_ns=settings[properties.RCV_STATUS_MESSAGE_TIMEOUT],
            send_to_status_poll_ratio=settings[properties.SEND_TO_STATUS_POLL_RATIO],
            reresolution_check_interval_ns=settings[properties.DRIVER_RERESOLUTION_CHECK_INTERVAL],
        )
        receiver = Receiver(
            context.clock,
            context.counters,
            reresolution_check_interval_ns=settings[properties.DRIVER_RERESOLUTION_CHECK_INTERVAL],
        )
        self.agent.watch_events(sender, receiver)
        self.network = NetworkConductor(
            ConductorContext(
                context,
                self.agent,
                self._clients,
                self._order,
                self._sessions,
                self._ipc,
                sender,
                receiver,
            )
        )
        self.agents = DriverAgents(
            agent_slot(context, CONDUCTOR, self.agent),
            AgentSlot(context.names.agent, None),
            agent_slot(context, SENDER, sender),
            agent_slot(context, RECEIVER, receiver),
        )
        self._handlers = self._handler_table()

    def control(self, timer_due: bool, allocation_due: bool) -> int:
        """Do the work that the native agent has found; return a work count.

        Args:
            timer_due: a timer event has something to tell clients.
            allocation_due: the next term of a log is to be allocated, or the disk had no space.
        """
        work_count = 0
        if timer_due:
            self._on_timer()
            work_count += 1
        work_count += self._context.logs.poll()
        work_count += self._run_command()
        work_count += self.network.on_events()
        self._report_corrupt_commands()
        if allocation_due:
            self._ipc.publications.allocate_terms()
            self.network.allocate_terms()
        logs = self._context.logs
        work_count += logs.free_some()
        self.agent.call_again(
            now=logs.waiting > 0 or self._order.is_ready, at_timer=logs.refused > 0
        )
        if work_count > 0 and self.on_worked is not None:
            self.on_worked()
        return work_count

    def on_close(self) -> None:
        """Close all logs, delete their files, and tell clients that the driver has stopped."""
        self._ipc.publications.free_logs()
        self.network.free_logs()
        self._context.logs.close()
        self._context.cnc.mark_closed()
        self._context.on_ended()

    def close_network(self) -> None:
        """Close all sockets, once no agent runs any more."""
        self.network.close_sockets()
        self._context.names.close()

    def _on_timer(self) -> None:
        """Handle a timer event that clients are told about, in the reference's order."""
        self._clients.on_timer()
        self._ipc.publications.drop_links_of_gone_clients()
        self.network.publications.drop_links_of_gone_clients()
        self.network.publications.on_timer()
        self._ipc.subscriptions.close_of_gone_clients()
        self.network.subscriptions.close_of_gone_clients()
        self.network.spies.close_of_gone_clients()
        self.network.images.on_timer()
        self._ipc.on_timer()
        self._counters.on_timer()

    def _ring(self) -> None:
        """Have the conductor take what was made beside it; on another thread."""
        self.agent.ring()
        if self.on_rung is not None:
            self.on_rung()

    def _run_command(self) -> int:
        """Run a command that has waited for its client's turn, else read one; return a count."""
        if self.network.is_busy:
            return 0
        if self._order.is_ready:
            self._order.run_next()
            return 1
        if self._order.is_full:
            return 0
        return self._commands.read(self._on_command, _COMMANDS_PER_CYCLE)

    def _on_command(self, type_id: int, message: bytes) -> None:
        self._context.events.command(type_id, message)
        try:
            command = commands.decode_command(type_id, message)
        except Exception as error:  # noqa: BLE001 -- whatever it is, it is answered
            self._refuse(0, error)
            return
        if isinstance(command, commands.ClientKeepalive):
            self._execute(command)  # a sign of life is not answered, and does not wait
        else:
            self._order.take(command)

    def _execute(self, command: commands.Command) -> None:
        try:
            self._handlers[type(command)](command)
        except Exception as error:  # noqa: BLE001 -- whatever it is, the client is answered
            self._order.fail(command, error)

    def _refuse(self, correlation_id: int, error: Exception) -> None:
        """Answer a command that failed, and record the error."""
        if not (isinstance(error, CommandError) and error.quiet):
            self._context.errors.record(error)
        code, text = answer_to(error)
        self._context.tell(OnError(correlation_id, code, text))

    def _handler_table(self) -> dict[type[commands.Command], Callable[..., None]]:
        return {
            commands.AddPublication: self._add_publication,
            commands.AddExclusivePublication: self._add_publication,
            commands.RemovePublication: self._remove_publication,
            commands.AddSubscription: self._add_subscription,
            commands.RemoveSubscription: self._remove_subscription,
            commands.ClientKeepalive: self._keepalive,
            commands.AddDestination: self._add_destination,
            commands.RemoveDestination: self.network.remove_destination,
            commands.RemoveDestinationById: self.network.remove_destination_by_id,
            commands.AddReceiveDestination: self._add_receive_destination,
            commands.RemoveReceiveDestination: self.network.remove_receive_destination,
            commands.AddCounter: self._counters.add,
            commands.RemoveCounter: self._counters.remove,
            commands.AddStaticCounter: self._counters.add_static,
            commands.ClientClose: self._close_client,
            commands.RejectImage: self._reject_image,
            commands.GetNextAvailableSessionId: self._next_session_id,
            commands.TerminateDriver: self._terminate,
        }

    def _add_publication(
        self, command: commands.AddPublication | commands.AddExclusivePublication
    ) -> None:
        self._check_keys(command.channel)
        if command.channel.startswith(IPC_CHANNEL):
            self._ipc.add_publication(command)
        else:
            self.network.add_publication(command)

    def _add_subscription(self, command: commands.AddSubscription) -> None:
        self._check_keys(command.channel)
        if command.channel.startswith(IPC_CHANNEL):
            self._ipc.add_subscription(command)
        else:
            self.network.add_subscription(command)

    def _add_destination(self, command: commands.AddDestination) -> None:
        self._check_keys(command.channel)
        self.network.add_destination(command)

    def _add_receive_destination(self, command: commands.AddReceiveDestination) -> None:
        self._check_keys(command.channel)
        self.network.add_receive_destination(command)

    def _check_keys(self, channel: str) -> None:
        check_keys(channel, strict=self._context.settings.strict, write=self._context.events.text)

    def _remove_publication(self, command: commands.RemovePublication) -> None:
        registration_id, revoke = command.registration_id, command.revoke
        if not (
            self._ipc.publications.remove(registration_id, revoke=revoke)
            or self.network.publications.remove(registration_id, revoke=revoke)
        ):
            raise ControlProtocolError(
                ErrorCode.UNKNOWN_PUBLICATION, f"unknown publication: {command.registration_id}"
            )
        self._context.tell(OperationSuccess(command.correlation_id))

    def _remove_subscription(self, command: commands.RemoveSubscription) -> None:
        is_ipc = self._ipc.subscriptions.remove(command.registration_id)
        if not (self.network.remove_subscription(command.registration_id) or is_ipc):
            raise ControlProtocolError(
                ErrorCode.UNKNOWN_SUBSCRIPTION, f"unknown subscription: {command.registration_id}"
            )
        self._context.tell(OperationSuccess(command.correlation_id))

    def _keepalive(self, command: commands.ClientKeepalive) -> None:
        self._clients.keepalive(command.client_id)

    def _close_client(self, command: commands.ClientClose) -> None:
        self._clients.close(command.client_id)

    def _reject_image(self, command: commands.RejectImage) -> None:
        if len(command.reason) > _MAX_REASON_LENGTH:
            raise CommandError(
                ErrorCode.GENERIC_ERROR,
                f"ERROR - Invalidation reason must be {_MAX_REASON_LENGTH} bytes or less",
            )
        publication = self._ipc.publications.find(command.image_correlation_id)
        if publication is not None:
            self._ipc.reject(
                publication,
                command.reason,
                self._context.settings[properties.IMAGE_LIVENESS_TIMEOUT],
            )
        elif not self.network.images.reject(command.image_correlation_id, command.reason):
            raise ControlProtocolError(
                ErrorCode.GENERIC_ERROR,
                f"Unable to resolve image for correlationId={command.image_correlation_id}",
            )
        self._context.tell(OperationSuccess(command.correlation_id))

    def _next_session_id(self, command: commands.GetNextAvailableSessionId) -> None:
        session_id = self._sessions.take_for_any(command.stream_id)
        self._context.tell(NextAvailableSessionId(command.correlation_id, session_id))

    def _terminate(self, command: commands.TerminateDriver) -> None:
        if self._context.may_terminate(self._context.directory, command.token):
            self._context.on_terminate()

    def _report_corrupt_commands(self) -> None:
        count = self._commands.corruption_count
        if count != self._corruption_count:
            self._corruption_count = count
            self._context.errors.record_event(
                "io.aeron.exceptions.AeronEvent: WARN - a damaged record in the to-driver buffer "
                "was skipped; the commands behind it up to the end may be lost\n",
                "damaged to-driver buffer",
            )
