import io.aeron.Aeron;
import io.aeron.archive.client.AeronArchive;
import io.aeron.archive.client.RecordingDescriptorConsumer;
import io.aeron.archive.client.RecordingEventsAdapter;
import io.aeron.archive.client.RecordingEventsListener;
import io.aeron.archive.client.RecordingSubscriptionDescriptorConsumer;
import io.aeron.Subscription;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;

/** Commands over the reference's archive client that need a callback; the rest goes through Handles. */
final class ArchiveCommands
{
    private final Handles handles;
    private final Map<Integer, Queue<Object>> signals = new LinkedHashMap<>();

    ArchiveCommands(final Handles handles)
    {
        this.handles = handles;
    }

    Object connect(final Request request)
    {
        final Queue<Object> seen = new ConcurrentLinkedQueue<>();
        final AeronArchive.Context context = new AeronArchive.Context()
            .aeron(handles.get(Aeron.class, request, "client"))
            .ownsAeronClient(false)
            .controlRequestChannel(request.text("request_channel", "aeron:ipc"))
            .controlResponseChannel(request.text("response_channel", "aeron:ipc"))
            .controlRequestStreamId(request.integer("request_stream", 10))
            .controlResponseStreamId(request.integer("response_stream", 20))
            .credentialsSupplier(new Credentials(request))
            .messageTimeoutNs(TimeUnit.MILLISECONDS.toNanos(request.number("message_timeout_ms", 30_000)))
            .recordingSignalConsumer((session, correlation, recording, subscription, position, signal) ->
                seen.add(TransportCommands.event("signal", "controlSessionId", session,
                    "correlationId", correlation, "recordingId", recording,
                    "subscriptionId", subscription, "position", position, "signal", signal.name())))
            .errorHandler((ex) -> seen.add(TransportCommands.event(
                "error", "class", ex.getClass().getSimpleName(), "message", String.valueOf(ex.getMessage()))));
        final AeronArchive archive = AeronArchive.connect(context);
        final Map<String, Object> answer = handles.add(archive);
        answer.put("controlSessionId", archive.controlSessionId());
        answer.put("archiveId", archive.archiveId());
        synchronized (signals)
        {
            signals.put((Integer)answer.get("handle"), seen);
        }
        return answer;
    }

    /** Polls the control responses once and answers the recording signals and errors seen since the last call. */
    Object signals(final Request request)
    {
        handles.get(AeronArchive.class, request, "archive").pollForRecordingSignals();
        final List<Object> taken = new ArrayList<>();
        synchronized (signals)
        {
            final Queue<Object> seen = signals.get(request.integer("archive"));
            for (Object event = seen.poll(); null != event; event = seen.poll())
            {
                taken.add(event);
            }
        }
        return taken;
    }

    /** {"recording_id"} or {"from", "count"} or those with {"channel", "stream"}: the descriptors. */
    Object list(final Request request)
    {
        final AeronArchive archive = handles.get(AeronArchive.class, request, "archive");
        final List<Object> found = new ArrayList<>();
        final RecordingDescriptorConsumer consumer = (
            session, correlation, recordingId, startTimestamp, stopTimestamp, startPosition, stopPosition,
            initialTermId, segmentFileLength, termBufferLength, mtuLength, sessionId, streamId,
            strippedChannel, originalChannel, sourceIdentity) ->
        {
            final Map<String, Object> entry = new LinkedHashMap<>();
            entry.put("recordingId", recordingId);
            entry.put("startTimestamp", startTimestamp);
            entry.put("stopTimestamp", stopTimestamp);
            entry.put("startPosition", startPosition);
            entry.put("stopPosition", stopPosition);
            entry.put("initialTermId", initialTermId);
            entry.put("segmentFileLength", segmentFileLength);
            entry.put("termBufferLength", termBufferLength);
            entry.put("mtuLength", mtuLength);
            entry.put("sessionId", sessionId);
            entry.put("streamId", streamId);
            entry.put("strippedChannel", strippedChannel);
            entry.put("originalChannel", originalChannel);
            entry.put("sourceIdentity", sourceIdentity);
            found.add(entry);
        };
        if (request.has("recording_id"))
        {
            archive.listRecording(request.number("recording_id"), consumer);
        }
        else if (request.has("channel"))
        {
            archive.listRecordingsForUri(request.number("from", 0), request.integer("count", 1000),
                request.text("channel"), request.integer("stream"), consumer);
        }
        else
        {
            archive.listRecordings(request.number("from", 0), request.integer("count", 1000), consumer);
        }
        return found;
    }

    Object listSubscriptions(final Request request)
    {
        final AeronArchive archive = handles.get(AeronArchive.class, request, "archive");
        final List<Object> found = new ArrayList<>();
        final RecordingSubscriptionDescriptorConsumer consumer =
            (session, correlation, subscriptionId, streamId, strippedChannel) ->
            {
                final Map<String, Object> entry = new LinkedHashMap<>();
                entry.put("subscriptionId", subscriptionId);
                entry.put("streamId", streamId);
                entry.put("strippedChannel", strippedChannel);
                found.add(entry);
            };
        archive.listRecordingSubscriptions(
            request.integer("from", 0), request.integer("count", 1000), request.text("channel", ""),
            request.integer("stream", 0), request.flag("apply_stream", false), consumer);
        return found;
    }

    /** Reads the recording events stream: until count events came or the time is up. */
    Object recordingEvents(final Request request)
    {
        final List<Object> events = new ArrayList<>();
        final RecordingEventsListener listener = new RecordingEventsListener()
        {
            public void onStart(final long recordingId, final long startPosition, final int sessionId,
                final int streamId, final String channel, final String sourceIdentity)
            {
                events.add(TransportCommands.event("start", "recordingId", recordingId,
                    "startPosition", startPosition, "sessionId", sessionId, "streamId", streamId,
                    "channel", channel, "sourceIdentity", sourceIdentity));
            }

            public void onProgress(final long recordingId, final long startPosition, final long position)
            {
                events.add(TransportCommands.event("progress", "recordingId", recordingId,
                    "startPosition", startPosition, "position", position));
            }

            public void onStop(final long recordingId, final long startPosition, final long stopPosition)
            {
                events.add(TransportCommands.event("stop", "recordingId", recordingId,
                    "startPosition", startPosition, "stopPosition", stopPosition));
            }
        };
        final Subscription subscription = handles.get(Subscription.class, request, "subscription");
        final RecordingEventsAdapter adapter = new RecordingEventsAdapter(listener, subscription, 16);
        final long deadlineNs = request.deadlineNs();
        final long count = request.number("count");
        while (events.size() < count && System.nanoTime() < deadlineNs)
        {
            if (0 == adapter.poll())
            {
                Thread.yield();
            }
        }
        return events;
    }
}
