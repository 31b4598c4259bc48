import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.aeron.FragmentAssembler;
import io.aeron.Image;
import io.aeron.Publication;
import io.aeron.Subscription;
import io.aeron.logbuffer.BufferClaim;
import io.aeron.logbuffer.FragmentHandler;
import io.aeron.logbuffer.Header;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.status.CountersReader;

import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** Commands over the reference's transport client that need a loop or a callback; the rest goes through Handles. */
final class TransportCommands
{
    private final Handles handles;
    private final Map<Integer, Queue<Object>> events = new LinkedHashMap<>();
    private final Set<Subscription> left = ConcurrentHashMap.newKeySet();

    TransportCommands(final Handles handles)
    {
        this.handles = handles;
    }

    Object connect(final Request request)
    {
        final Queue<Object> seen = new ConcurrentLinkedQueue<>();
        final Aeron.Context context = new Aeron.Context()
            .aeronDirectoryName(request.text("dir"))
            .clientName(request.text("name", ""))
            .driverTimeoutMs(request.number("driver_timeout_ms", 30_000))
            .keepAliveIntervalNs(TimeUnit.MILLISECONDS.toNanos(request.number("keepalive_ms", 500)))
            .errorHandler((ex) -> seen.add(event("error", "class", ex.getClass().getSimpleName(),
                "message", String.valueOf(ex.getMessage()))))
            .availableImageHandler((image) -> seen.add(imageEvent("available_image", image)))
            .unavailableImageHandler((image) ->
            {
                left.add(image.subscription());
                seen.add(imageEvent("unavailable_image", image));
            })
            .availableCounterHandler((counters, registrationId, id) ->
                seen.add(event("available_counter", "registrationId", registrationId, "id", id)))
            .unavailableCounterHandler((counters, registrationId, id) ->
                seen.add(event("unavailable_counter", "registrationId", registrationId, "id", id)))
            .publicationErrorFrameHandler((frame) -> seen.add(event("publication_error",
                "registrationId", frame.registrationId(), "sessionId", frame.sessionId(),
                "errorCode", frame.errorCode(), "message", frame.errorMessage())))
            .closeHandler(() -> seen.add(event("closed")));
        final Aeron aeron = Aeron.connect(context);
        final Map<String, Object> answer = handles.add(aeron);
        answer.put("clientId", aeron.clientId());
        synchronized (events)
        {
            events.put((Integer)answer.get("handle"), seen);
        }
        return answer;
    }

    /** What the handlers of a client saw since the last call. */
    Object events(final Request request)
    {
        final Queue<Object> seen;
        synchronized (events)
        {
            seen = events.get(request.integer("client"));
        }
        final List<Object> taken = new ArrayList<>();
        for (Object event = seen.poll(); null != event; event = seen.poll())
        {
            taken.add(event);
        }
        return taken;
    }

    /** Offers the messages in order, each until it is taken; answers the positions. */
    Object offer(final Request request)
    {
        final Publication publication = handles.get(Publication.class, request, "publication");
        final long deadlineNs = request.deadlineNs();
        final boolean retry = request.flag("retry", true);
        final long reserved = request.number("reserved_value", 0);
        final List<Object> positions = new ArrayList<>();
        for (final Object hex : request.list("messages"))
        {
            final UnsafeBuffer message = new UnsafeBuffer(HexFormat.of().parseHex((String)hex));
            final LongSupplier attempt = () -> publication.offer(
                message, 0, message.capacity(), (buffer, offset, length) -> reserved);
            positions.add(retry ? untilTaken(attempt, deadlineNs) : attempt.getAsLong());
        }
        return positions;
    }

    Object offerExclusive(final Request request)
    {
        final ExclusivePublication publication = handles.get(ExclusivePublication.class, request, "publication");
        final long deadlineNs = request.deadlineNs();
        final boolean retry = request.flag("retry", true);
        final long reserved = request.number("reserved_value", 0);
        final List<Object> positions = new ArrayList<>();
        for (final Object hex : request.list("messages"))
        {
            final UnsafeBuffer message = new UnsafeBuffer(HexFormat.of().parseHex((String)hex));
            final LongSupplier attempt = () -> publication.offer(
                message, 0, message.capacity(), (buffer, offset, length) -> reserved);
            positions.add(retry ? untilTaken(attempt, deadlineNs) : attempt.getAsLong());
        }
        return positions;
    }

    /** Claims, writes and commits (or aborts) one message; answers the position. */
    Object claim(final Request request)
    {
        final byte[] data = request.bytes("message");
        final BufferClaim claim = new BufferClaim();
        final Object publication = handles.object(request.integer("publication"));
        final long position = untilTaken(() -> publication instanceof Publication shared ?
            shared.tryClaim(data.length, claim) :
            ((ExclusivePublication)publication).tryClaim(data.length, claim), request.deadlineNs());
        claim.buffer().putBytes(claim.offset(), data);
        if (request.flag("abort", false))
        {
            claim.abort();
        }
        else
        {
            claim.commit();
        }
        return position;
    }

    /** Offers numbered messages (see Bytes.fill); answers how many and the last position. */
    Object offerNumbered(final Request request)
    {
        final Object publication = handles.object(request.integer("publication"));
        final int length = request.integer("length");
        final long first = request.number("first", 0);
        final long count = request.number("count");
        final long deadlineNs = request.deadlineNs();
        final UnsafeBuffer buffer = new UnsafeBuffer(new byte[length]);
        long position = 0;
        for (long index = first; index < first + count; index++)
        {
            Bytes.fill(buffer, index, length);
            position = untilTaken(() -> publication instanceof Publication shared ?
                shared.offer(buffer, 0, length) :
                ((ExclusivePublication)publication).offer(buffer, 0, length), deadlineNs);
        }
        return Map.of("count", count, "position", position);
    }

    /** Polls until count messages came or the time is up; with "until_eos" also ends when all images are drained. */
    Object poll(final Request request)
    {
        final List<Object> messages = new ArrayList<>();
        final FragmentHandler collect = (buffer, offset, length, header) ->
            messages.add(message(buffer, offset, length, header));
        final FragmentHandler handler =
            request.flag("assemble", true) ? new FragmentAssembler(collect) : collect;
        pollUntil(request, handler, () -> messages.size());
        return messages;
    }

    /** Polls numbered messages, checks number, order and bytes; answers count, last position, first difference. */
    Object pollNumbered(final Request request)
    {
        final long first = request.number("first", 0);
        final long[] state = { 0, 0, -1 };
        final int length = request.integer("length");
        final FragmentHandler check = (buffer, offset, size, header) ->
        {
            final boolean right = size == length && Bytes.matches(buffer, offset, size, first + state[0]);
            if (!right && state[2] < 0)
            {
                state[2] = state[0];
            }
            state[0]++;
            state[1] = header.position();
        };
        pollUntil(request, new FragmentAssembler(check), () -> state[0]);
        final Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("count", state[0]);
        answer.put("position", state[1]);
        answer.put("first_wrong", state[2] < 0 ? null : state[2]);
        return answer;
    }

    Object counters(final Request request)
    {
        final Aeron aeron = handles.get(Aeron.class, request, "client");
        final CountersReader reader = aeron.countersReader();
        final List<Object> found = new ArrayList<>();
        reader.forEach((id, typeId, key, label) ->
        {
            final Map<String, Object> counter = new LinkedHashMap<>();
            counter.put("id", id);
            counter.put("typeId", typeId);
            counter.put("key", Bytes.hex(key, 0, key.capacity()));
            counter.put("label", label);
            counter.put("value", reader.getCounterValue(id));
            counter.put("registrationId", reader.getCounterRegistrationId(id));
            counter.put("ownerId", reader.getCounterOwnerId(id));
            counter.put("referenceId", reader.getCounterReferenceId(id));
            found.add(counter);
        });
        return found;
    }

    private void pollUntil(final Request request, final FragmentHandler handler, final LongSupplier taken)
    {
        final Object source = handles.object(request.integer("subscription"));
        final long count = request.number("count", Long.MAX_VALUE);
        final boolean untilEos = request.flag("until_eos", false);
        final long deadlineNs = request.deadlineNs();
        while (taken.getAsLong() < count && System.nanoTime() < deadlineNs)
        {
            final int limit = (int)Math.min(64, count - taken.getAsLong());
            final int fragments = source instanceof Subscription subscription ?
                subscription.poll(handler, limit) : ((Image)source).poll(handler, limit);
            if (0 == fragments)
            {
                if (untilEos && drained(source))
                {
                    return;
                }
                Thread.yield();
            }
        }
    }

    /** An image that has gone, and left nobody, was drained: its end may have been seen by an earlier poll. */
    private boolean drained(final Object source)
    {
        if (source instanceof Image image)
        {
            return image.isEndOfStream() || image.isClosed();
        }
        final Subscription subscription = (Subscription)source;
        final List<Image> images = subscription.images();
        return images.isEmpty() ? left.contains(subscription) :
            images.stream().allMatch(Image::isEndOfStream);
    }

    private static long untilTaken(final LongSupplier attempt, final long deadlineNs)
    {
        long result = attempt.getAsLong();
        while (result < 0)
        {
            if (result == Publication.CLOSED || result == Publication.MAX_POSITION_EXCEEDED)
            {
                throw new IllegalStateException("offer refused: " + Publication.errorString(result));
            }
            if (System.nanoTime() > deadlineNs)
            {
                throw new IllegalStateException("offer timed out: " + Publication.errorString(result));
            }
            Thread.yield();
            result = attempt.getAsLong();
        }
        return result;
    }

    private static Object message(
        final DirectBuffer buffer, final int offset, final int length, final Header header)
    {
        final Map<String, Object> message = new LinkedHashMap<>();
        message.put("data", Bytes.hex(buffer, offset, length));
        message.put("position", header.position());
        message.put("sessionId", header.sessionId());
        message.put("streamId", header.streamId());
        message.put("termId", header.termId());
        message.put("termOffset", header.termOffset());
        message.put("flags", header.flags() & 0xFF);
        message.put("reservedValue", header.reservedValue());
        return message;
    }

    static Map<String, Object> event(final String kind, final Object... pairs)
    {
        final Map<String, Object> event = new LinkedHashMap<>();
        event.put("event", kind);
        for (int i = 0; i < pairs.length; i += 2)
        {
            event.put((String)pairs[i], pairs[i + 1]);
        }
        return event;
    }

    private static Object imageEvent(final String kind, final Image image)
    {
        return event(kind, "sessionId", image.sessionId(), "correlationId", image.correlationId(),
            "subscription", image.subscription().registrationId(), "position", image.position(),
            "joinPosition", image.joinPosition(), "sourceIdentity", image.sourceIdentity());
    }
}
