"""The conductor receives requests, runs sessions and answers clients (spec archive-protocol 18).

Everything here runs on one thread. Recorder and replayer may run on others: the conductor reaches
them through their session tables, and they ring its doorbell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.archive import protocol as ap
from aerolog.archive.service import properties as p
from aerolog.archive.service.access_rules import REQUESTS
from aerolog.archive.service.conductor.control_session import SESSION_CLOSED, SessionEnd
from aerolog.archive.service.conductor.control_sessions import ControlSessions
from aerolog.archive.service.conductor.refusals import answer_to
from aerolog.archive.service.conductor.requests import (
    RequestHandlers,
    answering,
    asks_for_response,
    check_before_session,
)
from aerolog.archive.service.recorder.recordings import Recordings
from aerolog.archive.service.replayer.replay_tokens import ReplayTokens
from aerolog.archive.service.replayer.replays import NO_COUNTER, Replays
from aerolog.archive.service.replication.replications import Replications
from aerolog.archive.service.storage.segment_deletion import Deletions
from aerolog.archive.service.storage.storage import Storage
from aerolog.transport.agents.watch_agent import WatchAgent
from aerolog.transport.client.message import Action
from aerolog.transport.errors import (
    ActiveArchiveError,
    ArchiveError,
    ArchiveErrorCode,
    ResourceClosedError,
)
from aerolog.transport.text_output import logger
from aerolog.transport.time_units import NS_PER_MS, NS_PER_S
from aerolog.transport.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerolog.archive.format.mark_file import ArchiveMarkFile
    from aerolog.archive.service.conductor.control_session import ControlSession
    from aerolog.archive.service.conductor.listings import Listing
    from aerolog.archive.service.context import ArchiveContext
    from aerolog.archive.service.session_table import SessionTable
    from aerolog.transport.client.image import Image
    from aerolog.transport.client.message import Header
    from aerolog.transport.client.subscription import Subscription
    from aerolog.transport.security.authentication import Authenticator, AuthorisationService

_LOG: Final = logger(__name__)
FRAGMENT_LIMIT: Final = 10
MARK_INTERVAL_NS: Final = NS_PER_S
BUSY_INTERVAL_NS: Final = NS_PER_MS
IDLE_INTERVAL_NS: Final = 50_000_000
BLOCKED_INTERVAL_NS: Final = 100_000
SESSION_ID_MAX: Final = 2**31 - 2  # of the first id, when ids are a sequence
SESSION_ID_BITS: Final = 63  # of ids drawn at random, which nobody guesses and none has twice

_SESSION_REQUESTS: Final = frozenset(REQUESTS.values())
# Requests that neither activate a session nor need an active one (spec archive-protocol 8.1).
_STATELESS: Final = (ap.ReplayTokenRequest, ap.UpdateChannelRequest)


class ArchiveConductor(WatchAgent):
    """Owns all control sessions and runs everything but the transfer of recorded data.

    Args:
        context: the objects that all parts of the archive use.
        mark_file: receives the archive's signs of life.
        authenticator: decides which clients may connect.
        authorisation: decides which requests they may send.
        recorder_table: where the recorder finds writers.
        replayer_table: where the replayer finds readers.
        before_close: ends recorder and replayer if they have not ended yet.
        on_fatal: called with the reason when the archive cannot go on.
    """

    def __init__(
        self,
        context: ArchiveContext,
        mark_file: ArchiveMarkFile,
        authenticator: Authenticator,
        authorisation: AuthorisationService,
        recorder_table: SessionTable,
        replayer_table: SessionTable,
        *,
        before_close: Callable[[], None],
        on_fatal: Callable[[BaseException], None],
    ) -> None:
        super().__init__("archive-conductor", context.doorbell, context.aeron.conductor.liveness)
        self._context = context
        self._mark_file = mark_file
        self._authorisation = authorisation
        self._before_close = before_close
        self._on_fatal = on_fatal
        self._is_taken = False
        self._listings: list[Listing] = []
        self.deletions = Deletions(context)
        self.recordings = Recordings(context, recorder_table, self.deletions.reaches)
        self.replays = Replays(context, replayer_table, self._recording_counter)
        self.recordings.on_end = self.replays.recording_ended
        self._tokens = ReplayTokens(context.config[p.CONNECT_TIMEOUT], context.random)
        self._sessions = ControlSessions(
            context, authenticator, self._take_session_id, self._tokens.drop_session
        )
        self.replications = Replications(context, self.recordings, self._take_session_id)
        self._requests = RequestHandlers(
            context,
            self.recordings,
            self.replays,
            self._listings,
            self._tokens,
            Storage(
                context, self.recordings, self.replays, self.deletions, self.replications.readers
            ),
            self.replications,
        )
        self._next_session_id = context.random.randrange(SESSION_ID_MAX + 1)
        self._next_mark_ns = 0
        self.mark_beat = mark_file.native_beat()
        self._first_image = 0
        self._gone_images: list[Image] = []
        self._ended = False
        self._resolved_channel: str | None = None
        self._subscriptions = self._listen()

    def _listen(self) -> list[Subscription]:
        """Return the subscriptions for requests, the network's first."""
        config, aeron = self._context.config, self._context.aeron
        found = []
        if config.control_channel is not None:
            sparse = config[p.CONTROL_SPARSE]
            channel = ChannelUri.parse(config.control_channel).replace(sparse=sparse)
            found.append((str(channel), config[p.CONTROL_STREAM_ID]))
        found.append((config[p.LOCAL_CONTROL_CHANNEL], config[p.LOCAL_CONTROL_STREAM_ID]))
        return [
            aeron.add_subscription(channel, stream_id, on_image_gone=self._gone_images.append)
            for channel, stream_id in found
        ]

    @property
    def control_channel(self) -> str | None:
        """The network's control channel with the port in use, None without one."""
        if self._context.config.control_channel is None:
            return None
        # The channel is stored, because a closed subscription no longer has it.
        if self._resolved_channel is None and not self._subscriptions[0].closed:
            self._resolved_channel = self._subscriptions[0].resolved_channel
        return self._resolved_channel

    def _take_session_id(self) -> int:
        """Return a new id for a session or replication."""
        if self._context.config[p.BOUND_CONTROL_SESSIONS]:
            return self._context.random.getrandbits(SESSION_ID_BITS)
        session_id = self._next_session_id
        self._next_session_id += 1
        return session_id

    def _recording_counter(self, recording_id: int) -> int:
        session = self.recordings.sessions.get(recording_id)
        return NO_COUNTER if session is None else session.counter.counter_id

    def on_start(self) -> None:
        """Prepare the conductor's own thread; not called in INVOKER mode."""
        if self._context.config[p.THREADING_MODE] != "INVOKER":
            self.prepare_thread()

    # -- the duty cycle ---------------------------------------------------------------------------

    def control(self) -> int:
        """Do one round of all work that needs the interpreter."""
        if self._ended:
            return 0
        self.take_bell()
        context = self._context
        now_ns, now_ms = context.now_ns(), context.now_ms()
        work = self.turn_client(context.aeron.conductor)
        if context.aeron.closed:
            self._give_up()
            return 1
        if now_ns >= self._next_mark_ns:
            try:
                self._mark_file.check_owned()
            except ActiveArchiveError as reason:
                self._leave(reason)
                return 1
            self._next_mark_ns = now_ns + MARK_INTERVAL_NS
        work += self._poll_requests()
        self._tokens.expire(now_ns)
        work += self._drop_gone_images()
        # This comes before recordings end, because a replication reports its end first.
        self.recordings.find_ended()
        work += self.replications.do_work(now_ns, now_ms)
        work += self.recordings.do_work()
        work += self.replays.do_work()
        work += self.deletions.do_work()
        work += self._turn_listings()
        work += self._sessions.do_work(now_ns, now_ms)
        self._plan(now_ns, work)
        return work

    def _plan(self, now_ns: int, work: int) -> None:
        """Set when to be called again if nothing happens before."""
        is_busy = (
            work > 0
            or bool(self._listings)
            or self.replays.is_busy
            or self.deletions.is_busy
            or self.replications.is_busy
        )
        next_ns = now_ns + (BUSY_INTERVAL_NS if is_busy else IDLE_INTERVAL_NS)
        if any(not listing.is_blocked for listing in self._listings):
            next_ns = now_ns
        elif self._listings:
            next_ns = now_ns + BLOCKED_INTERVAL_NS
        next_ns = min(next_ns, self.deletions.next_turn_ns(now_ns))
        turn_ns = self._sessions.next_turn_ns(now_ns + BUSY_INTERVAL_NS)
        if turn_ns is not None:
            next_ns = min(next_ns, turn_ns)
        images = tuple(image for s in self._subscriptions for image in s.images)
        self.watch(images, next_ns)

    def _turn_listings(self) -> int:
        work = 0
        for listing in list(self._listings):
            try:
                work += listing.do_work()
            except Exception as error:  # noqa: BLE001 - other listings are unaffected
                self._context.reporter.error(error)
                listing.is_done = True
                listing.control.active_listing = False
            if listing.is_done:
                self._listings.remove(listing)
        return work

    # -- requests ---------------------------------------------------------------------------------

    def _poll_requests(self) -> int:
        work = 0
        for subscription in self._subscriptions:
            room = FRAGMENT_LIMIT
            images = subscription.images
            # Each round starts with another image, so that a flood from one client delays no other.
            self._first_image += 1
            for index in range(len(images)):
                if room <= 0:
                    break
                image = images[(self._first_image + index) % len(images)]
                taken = image.poll_controlled(self._request_handler(image), room)
                room -= taken
                work += taken
        return work

    def _request_handler(self, image: Image) -> Callable[[memoryview, Header], Action]:
        def take(view: memoryview, _header: Header) -> Action:
            # No message of a client may stop the service for the others.
            try:
                self._on_request(image, bytes(view))
            except Exception as error:  # noqa: BLE001 - logged, counted; the message is consumed
                self._context.reporter.error(error)
            return Action.COMMIT

        return take

    def _on_request(self, image: Image, encoded: bytes) -> None:
        request = ap.decode(encoded)
        if request is None:
            return
        self._context.reporter.events.message(encoded)
        request.check_enums()
        if request.LAYOUT.template_id in _SESSION_REQUESTS:
            self._on_session_request(image, request)
            return
        match request:
            case ap.ConnectRequest() | ap.AuthConnectRequest():
                self._sessions.connect(image, request)
            case ap.CloseSessionRequest():
                # A session that has ended before is nothing to report.
                if self._sessions.get(request.control_session_id) is None:
                    return
                session = self._sessions.find(image, request)
                if session is not None:
                    session.abort(SESSION_CLOSED, SessionEnd.CLOSED)
            case ap.ChallengeResponse():
                session = self._sessions.find(image, request)
                if session is not None:
                    session.on_challenge_response(
                        request.correlation_id, request.encoded_credentials
                    )
            case _:
                return  # as the reference, an archive ignores the messages that archives send

    def _on_session_request(self, image: Image, request: ap.Message) -> None:
        check_before_session(request)
        if asks_for_response(request):
            session = self._tokens.session_of(
                request.replay_token, request.recording_id, self._context.now_ns()
            )
            if session is None:
                self._context.reporter.event(
                    f"Unknown session or token timeout for replayToken={request.replay_token}",
                    "unknown replay token",
                )
                return
            # The replay answers the image on which the request came.
            request = answering(request, image.correlation_id)
        else:
            session = self._sessions.find(image, request)
            if session is None or not self._is_authorised(image, session, request):
                return
        self._carry_out(session, request)

    def _is_authorised(self, image: Image, session: ControlSession, request: ap.Message) -> bool:
        template_id = request.LAYOUT.template_id
        correlation_id: int | None = getattr(request, "correlation_id", None)
        allowed = self._authorisation.is_authorised(
            ap.SCHEMA_ID, template_id, None, session.principal
        )
        if not allowed and correlation_id is not None:
            self._context.counters.requests_unauthorised.add(1)
            self._context.reporter.event(
                f"unauthorised archive action={template_id}"
                f" controlSessionId={session.session_id} source={image.source_identity}",
                ("unauthorised", template_id, session.principal),
            )
            session.send_error(
                correlation_id, ArchiveErrorCode.UNAUTHORISED_ACTION, "unauthorised action"
            )
        return allowed

    def _carry_out(self, session: ControlSession, request: ap.Message) -> None:
        correlation_id: int | None = getattr(request, "correlation_id", None)
        if correlation_id is None:
            return
        if isinstance(request, _STATELESS):
            # The reference does not check this; here no client evades authentication.
            if not session.is_authenticated:
                return
        elif not session.activate():
            return
        try:
            relevant_id = self._requests.handle(session, request)
        except Exception as error:  # noqa: BLE001 - reported to the client
            code, text = answer_to(error)
            if not isinstance(error, ArchiveError):
                self._context.reporter.error(error)
            session.send_error(correlation_id, code, text)
            return
        if relevant_id is not None:
            session.send_ok(correlation_id, relevant_id)

    def _drop_gone_images(self) -> int:
        work = 0
        while self._gone_images:
            self._sessions.on_image_gone(self._gone_images.pop())
            work += 1
        return work

    # -- the end ----------------------------------------------------------------------------------

    def _give_up(self) -> None:
        """End after the loss of driver or client: clients cannot be notified, the catalog stays."""
        try:
            self._mark_file.check_owned()
        except ActiveArchiveError as taken:
            self._leave(taken)
            return
        self._end()
        reason = self._context.aeron.close_reason or ResourceClosedError(
            "the archive's Aeron client is closed"
        )
        self._context.reporter.error(reason)
        self._on_fatal(reason)

    def _end(self) -> None:
        self._ended = True
        self.mark_beat = None

    def _leave(self, reason: ActiveArchiveError) -> None:
        """End without a write: catalog, segments and error log are another archive's."""
        self._is_taken = True
        self._end()
        _LOG.critical("%s", reason)
        self._context.aeron.close()
        self._on_fatal(reason)

    def on_close(self) -> None:
        """End every recording, replay and session, in the reference's order."""
        run = self._context.reporter.run
        run(self._before_close)
        if not self._context.aeron.closed:
            run(self.replications.close)
            run(self.recordings.close)
            run(self.replays.close)
            self._sessions.close()
        if not self._is_taken:
            run(self.deletions.close)
        self._end()
