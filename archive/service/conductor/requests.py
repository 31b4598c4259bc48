"""Handlers that carry out requests and return answers (spec archive-protocol 8 to 13).

A handler returns the relevant id of an OK response, or None when it has answered or will answer
later. An exception that it raises becomes the error response.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from aerolog.archive import protocol as ap
from aerolog.archive.protocol.enums import NULL_POSITION
from aerolog.archive.protocol.extension_query import ExtensionQuery
from aerolog.archive.protocol.request_channels import request_channels
from aerolog.archive.service.conductor.extension_queries import ExtensionQueries
from aerolog.archive.service.conductor.listings import (
    Listing,
    list_recording,
    list_recordings,
    list_subscriptions,
    update_channel,
)
from aerolog.archive.service.replayer.replays import ReplayOrder
from aerolog.transport.errors import ArchiveError, ArchiveErrorCode, ChannelUriError
from aerolog.transport.uri import ChannelUri
from aerolog.transport.uri.known_keys import refuse_unknown_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from typing_extensions import TypeIs

    from aerolog.archive.service.conductor.control_session import ControlSession
    from aerolog.archive.service.context import ArchiveContext
    from aerolog.archive.service.recorder.recordings import Recordings
    from aerolog.archive.service.replayer.replay_tokens import ReplayTokens
    from aerolog.archive.service.replayer.replays import Replays
    from aerolog.archive.service.replication.replications import Replications
    from aerolog.archive.service.storage.storage import Storage


class RequestHandlers:
    """The handlers of all requests that need an active control session, by message class.

    Args:
        context: the objects that all parts of the archive use.
        recordings: the active recordings.
        replays: the active replays.
        listings: the list to which new listings are added.
        tokens: replay tokens, given out for replays over response channels.
        storage: handlers of requests that change files.
        replications: the active replications.
    """

    def __init__(
        self,
        context: ArchiveContext,
        recordings: Recordings,
        replays: Replays,
        listings: list[Listing],
        tokens: ReplayTokens,
        storage: Storage,
        replications: Replications,
    ) -> None:
        self._context = context
        self._recordings = recordings
        self._replays = replays
        self._listings = listings
        self._tokens = tokens
        self._queries = ExtensionQueries(
            context, recordings, lambda: (*replays.readers(), *replications.readers())
        )
        self._handlers: dict[type[ap.Message], Callable[[ControlSession, Any], int | None]] = {
            ap.KeepAliveRequest: self._keep_alive,
            ap.ArchiveIdRequest: self._archive_id,
            ap.StartRecordingRequest: self._start_recording,
            ap.StartRecordingRequest2: self._start_recording,
            ap.ExtendRecordingRequest: self._extend_recording,
            ap.ExtendRecordingRequest2: self._extend_recording,
            ap.StopRecordingRequest: self._stop_recording,
            ap.StopRecordingSubscriptionRequest: self._stop_subscription,
            ap.StopRecordingByIdentityRequest: self._stop_by_identity,
            ap.ReplayRequest: self._replay,
            ap.BoundedReplayRequest: self._replay,
            ap.ReplayTokenRequest: self._replay_token,
            ap.StopReplayRequest: self._stop_replay,
            ap.StopAllReplaysRequest: self._stop_all_replays,
            ap.ListRecordingsRequest: self._list_recordings,
            ap.ListRecordingsForUriRequest: self._list_recordings,
            ap.ListRecordingRequest: self._list_recording,
            ap.ListRecordingSubscriptionsRequest: self._list_subscriptions,
            ap.UpdateChannelRequest: self._update_channel,
            ap.FindLastMatchingRecordingRequest: self._find_last,
            ap.StartPositionRequest: self._start_position,
            ap.StopPositionRequest: self._stop_position,
            ap.RecordingPositionRequest: self._recording_position,
            ap.MaxRecordedPositionRequest: self._max_position,
            **storage.handlers(),
            **replications.handlers(),
        }

    def handle(self, control: ControlSession, request: ap.Message) -> int | None:
        """Carry out a request; a message of another kind is not answered.

        Raises:
            ArchiveError: the request is refused.
            ChannelUriError: it has a malformed channel.
        """
        handler = self._handlers.get(type(request))
        if handler is None:
            return None
        if self._context.config.settings.strict:
            for channel in request_channels(request):
                refuse_unknown_keys(channel)
        return handler(control, request)

    # -- the session ------------------------------------------------------------------------------

    def _keep_alive(self, _control: ControlSession, _request: ap.KeepAliveRequest) -> None:
        """Carry out a request that has no answer."""

    def _archive_id(self, _control: ControlSession, _request: ap.ArchiveIdRequest) -> int:
        return self._context.archive_id

    # -- recordings -------------------------------------------------------------------------------

    def _start_recording(
        self,
        control: ControlSession,
        request: ap.StartRecordingRequest | ap.StartRecordingRequest2,
    ) -> int:
        return self._recordings.start(
            control,
            request.correlation_id,
            request.stream_id,
            request.source_location,
            request.channel,
            auto_stop=_auto_stop(request),
        )

    def _extend_recording(
        self,
        control: ControlSession,
        request: ap.ExtendRecordingRequest | ap.ExtendRecordingRequest2,
    ) -> int:
        return self._recordings.extend(
            control,
            request.correlation_id,
            request.recording_id,
            request.stream_id,
            request.source_location,
            request.channel,
            auto_stop=_auto_stop(request),
        ).subscription_id

    def _stop_recording(self, control: ControlSession, request: ap.StopRecordingRequest) -> None:
        answer = partial(control.send_ok, request.correlation_id)
        self._recordings.stop_by_channel(control, request.stream_id, request.channel, answer)

    def _stop_subscription(
        self, control: ControlSession, request: ap.StopRecordingSubscriptionRequest
    ) -> None:
        answer = partial(control.send_ok, request.correlation_id)
        self._recordings.stop_by_subscription(control, request.subscription_id, answer)

    def _stop_by_identity(
        self, control: ControlSession, request: ap.StopRecordingByIdentityRequest
    ) -> None:
        answer = partial(control.send_ok, request.correlation_id)
        self._recordings.stop_by_identity(control, request.recording_id, answer)

    # -- replays ----------------------------------------------------------------------------------

    def _replay(
        self, control: ControlSession, request: ap.ReplayRequest | ap.BoundedReplayRequest
    ) -> None:
        bound = request.limit_counter_id if isinstance(request, ap.BoundedReplayRequest) else None
        self._replays.start(
            control,
            ReplayOrder(
                correlation_id=request.correlation_id,
                recording_id=request.recording_id,
                position=request.position,
                length=request.length,
                file_io_max_length=request.file_io_max_length,
                replay_channel=request.replay_channel,
                replay_stream_id=request.replay_stream_id,
                limit_counter_id=bound,
            ),
        )

    def _replay_token(self, control: ControlSession, request: ap.ReplayTokenRequest) -> int:
        return self._tokens.issue(control, request.recording_id, self._context.now_ns())

    def _stop_replay(self, control: ControlSession, request: ap.StopReplayRequest) -> None:
        answer = partial(control.send_ok, request.correlation_id)
        self._replays.stop(request.replay_session_id, answer)

    def _stop_all_replays(self, control: ControlSession, request: ap.StopAllReplaysRequest) -> None:
        answer = partial(control.send_ok, request.correlation_id)
        self._replays.stop_all(request.recording_id, answer)

    # -- listings ---------------------------------------------------------------------------------

    def _check_no_listing(self, control: ControlSession) -> None:
        if control.active_listing:
            raise ArchiveError(
                ArchiveErrorCode.ACTIVE_LISTING, "active listing already in progress"
            )

    def _list(self, control: ControlSession, messages: Iterator[bytes | None]) -> None:
        self._listings.append(Listing(control, messages))

    def _list_recordings(
        self,
        control: ControlSession,
        request: ap.ListRecordingsRequest | ap.ListRecordingsForUriRequest,
    ) -> None:
        self._check_no_listing(control)
        wanted: dict[str, Any] = {}
        if isinstance(request, ap.ListRecordingsForUriRequest):
            wanted = {"stream_id": request.stream_id, "fragment": request.channel}
        self._list(
            control,
            list_recordings(
                control,
                self._context.catalog,
                request.correlation_id,
                request.from_recording_id,
                request.record_count,
                **wanted,
            ),
        )

    def _list_recording(self, control: ControlSession, request: ap.ListRecordingRequest) -> None:
        self._check_no_listing(control)
        if request.recording_id not in self._context.catalog:
            control.send_recording_unknown(request.correlation_id, request.recording_id)
            return
        self._list(
            control,
            list_recording(
                control, self._context.catalog, request.correlation_id, request.recording_id
            ),
        )

    def _list_subscriptions(
        self, control: ControlSession, request: ap.ListRecordingSubscriptionsRequest
    ) -> None:
        self._check_no_listing(control)
        sources = list(self._recordings.by_key.values())
        index, count = request.pseudo_index, request.subscription_count
        if not 0 <= index < len(sources) or count <= 0:
            control.send_subscription_unknown(request.correlation_id)
            return
        self._list(
            control,
            list_subscriptions(
                control,
                sources[index:],
                request.correlation_id,
                count,
                stream_id=request.stream_id if request.apply_stream_id else None,
                fragment=request.channel,
            ),
        )

    def _update_channel(self, control: ControlSession, request: ap.UpdateChannelRequest) -> None:
        """Change a recording's channel in the catalog; this is queued with the listings."""
        self._check_no_listing(control)
        catalog, recording_id = self._context.catalog, request.recording_id
        if recording_id not in catalog:
            control.send_recording_unknown(request.correlation_id, recording_id)
            return
        try:
            stripped = str(ChannelUri.parse(request.channel).strip())
        except ChannelUriError as error:
            # The reference does not answer in this case.
            self._context.reporter.error(error)
            return
        self._list(
            control,
            update_channel(
                control,
                catalog,
                request.correlation_id,
                recording_id,
                original_channel=request.channel,
                stripped_channel=stripped,
            ),
        )

    # -- positions --------------------------------------------------------------------------------

    def _find_last(
        self, control: ControlSession, request: ap.FindLastMatchingRecordingRequest
    ) -> int | None:
        query = ExtensionQuery.of(request)
        if query is not None:
            answer = self._queries.answer(query)
            control.send_ok(request.correlation_id, answer.number, answer.message)
            return None
        if request.min_recording_id < 0:
            raise ArchiveError(
                ArchiveErrorCode.UNKNOWN_RECORDING,
                f"minRecordingId={request.min_recording_id} < 0",
            )
        return self._context.catalog.find_last(
            request.min_recording_id,
            request.session_id,
            request.stream_id,
            request.channel.encode("ascii", "replace"),
        )

    def _start_position(self, _control: ControlSession, request: ap.StartPositionRequest) -> int:
        return self._context.catalog.descriptor(request.recording_id).start_position

    def _stop_position(self, _control: ControlSession, request: ap.StopPositionRequest) -> int:
        return self._context.catalog.descriptor(request.recording_id).stop_position

    def _recording_position(
        self, _control: ControlSession, request: ap.RecordingPositionRequest
    ) -> int:
        self._context.catalog.descriptor(request.recording_id)
        return self._recordings.position(request.recording_id)

    def _max_position(
        self, _control: ControlSession, request: ap.MaxRecordedPositionRequest
    ) -> int:
        stop = self._context.catalog.descriptor(request.recording_id).stop_position
        live = self._recordings.position(request.recording_id)
        return stop if live == NULL_POSITION else live


def _auto_stop(request: ap.Message) -> bool:
    return getattr(request, "auto_stop", ap.BooleanType.FALSE) == ap.BooleanType.TRUE


def check_before_session(request: ap.Message) -> None:
    """Parse what the reference parses of a request before it looks up the session.

    Raises:
        ChannelUriError: the replay channel cannot be parsed; the request then gets no answer
            (spec archive-protocol 8.1).
    """
    if isinstance(request, (ap.ReplayRequest, ap.BoundedReplayRequest)):
        ChannelUri.parse(request.replay_channel)


def asks_for_response(
    request: ap.Message,
) -> TypeIs[ap.ReplayRequest | ap.BoundedReplayRequest]:
    """Return whether a message requests a replay over a response channel, with a token."""
    return (
        isinstance(request, (ap.ReplayRequest, ap.BoundedReplayRequest))
        and request.replay_token != ap.NULL_VALUE
        and ChannelUri.parse(request.replay_channel).has_control_mode_response
    )


def answering(
    request: ap.ReplayRequest | ap.BoundedReplayRequest, image_correlation_id: int
) -> ap.ReplayRequest | ap.BoundedReplayRequest:
    """Return the request with a channel on which the replay answers an image."""
    channel = ChannelUri.parse(request.replay_channel).put(
        "response-correlation-id", str(image_correlation_id)
    )
    return replace(request, replay_channel=str(channel))
