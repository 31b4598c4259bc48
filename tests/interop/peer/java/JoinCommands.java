import io.aeron.Subscription;
import io.aeron.archive.client.AeronArchive;
import io.aeron.archive.client.PersistentSubscription;
import io.aeron.archive.client.PersistentSubscriptionListener;
import io.aeron.archive.client.ReplayMerge;
import io.aeron.logbuffer.FragmentHandler;
import io.aeron.logbuffer.Header;
import io.aeron.FragmentAssembler;
import org.agrona.DirectBuffer;

import java.nio.ByteOrder;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32;

/** The reference's ways of joining a replay and a live stream, each run on a thread that checks every message. */
final class JoinCommands
{
    private final Handles handles;

    JoinCommands(final Handles handles)
    {
        this.handles = handles;
    }

    /** {"client", "archive", "subscription", channels, "recording_id", "start_position"}: a running merge. */
    Object merge(final Request request)
    {
        final Subscription subscription = handles.get(Subscription.class, request, "subscription");
        final AeronArchive archive = handles.get(AeronArchive.class, request, "archive");
        return start(new Merging(
            subscription,
            () -> new ReplayMerge(
                subscription,
                archive,
                request.text("replay_channel"),
                request.text("replay_destination"),
                request.text("live_destination"),
                request.number("recording_id"),
                request.number("start_position", 0))));
    }

    /** {"dir", channels, streams, "recording_id", "start_position"}: a running persistent subscription. */
    Object follow(final Request request)
    {
        final Following following = new Following();
        final PersistentSubscription.Context context = new PersistentSubscription.Context()
            .aeronDirectoryName(request.text("dir"))
            .recordingId(request.number("recording_id"))
            .startPosition(request.number("start_position", PersistentSubscription.FROM_START))
            .liveChannel(request.text("live_channel"))
            .liveStreamId(request.integer("live_stream"))
            .replayChannel(request.text("replay_channel"))
            .replayStreamId(request.integer("replay_stream", 40))
            .listener(following)
            .aeronArchiveContext(new AeronArchive.Context()
                .controlRequestChannel(request.text("request_channel", "aeron:ipc"))
                .controlResponseChannel(request.text("response_channel", "aeron:ipc"))
                .messageTimeoutNs(TimeUnit.MILLISECONDS.toNanos(request.number("message_timeout_ms", 30_000))));
        following.context = context;
        return start(following);
    }

    private Map<String, Object> start(final Run run)
    {
        final Thread thread = new Thread(run, "join");
        thread.setDaemon(true);
        run.thread = thread;
        thread.start();
        return handles.add(run);
    }

    /** Polls until it is told to end; what it has seen can be asked for from other threads. */
    abstract static class Run implements Runnable, FragmentHandler
    {
        private static final int HEAD_LENGTH = 12;

        Thread thread;
        private final CRC32 crc = new CRC32();
        private final byte[] bytes = new byte[1 << 20];
        private volatile long next = -1;
        private volatile long count;
        private volatile long position = -1;
        private volatile String wrong = "";
        private volatile String error = "";
        private volatile boolean ended;
        final List<String> events = new CopyOnWriteArrayList<>();

        abstract AutoCloseable open() throws Exception;

        abstract int poll();

        public void run()
        {
            try
            {
                final AutoCloseable joined = open();
                try
                {
                    while (!ended)
                    {
                        if (0 == poll())
                        {
                            Thread.sleep(0, 200_000);
                        }
                    }
                }
                finally
                {
                    joined.close();
                }
            }
            catch (final Exception ex)
            {
                error = ex.getClass().getSimpleName() + ": " + ex.getMessage();
            }
        }

        public void onFragment(final DirectBuffer buffer, final int offset, final int length, final Header header)
        {
            final long number = buffer.getLong(offset, ByteOrder.LITTLE_ENDIAN);
            buffer.getBytes(offset, bytes, 0, length);
            crc.reset();
            crc.update(bytes, 0, Long.BYTES);
            crc.update(bytes, HEAD_LENGTH, length - HEAD_LENGTH);
            final int checksum = buffer.getInt(offset + Long.BYTES, ByteOrder.LITTLE_ENDIAN);
            if (wrong.isEmpty() && checksum != (int)crc.getValue())
            {
                wrong = "message " + number + " is damaged";
            }
            if (wrong.isEmpty() && next >= 0 && number != next)
            {
                wrong = number + " came when " + next + " was due";
            }
            next = number + 1;
            count++;
            position = header.position();
        }

        public long nextNumber()
        {
            return next;
        }

        public long count()
        {
            return count;
        }

        public long position()
        {
            return position;
        }

        public String wrong()
        {
            return wrong;
        }

        public String error()
        {
            return error;
        }

        public List<String> events()
        {
            return List.copyOf(events);
        }

        public void end() throws InterruptedException
        {
            ended = true;
            thread.join(10_000);
        }
    }

    private static final class Merging extends Run
    {
        private interface Maker
        {
            ReplayMerge make();
        }

        private final Subscription subscription;
        private final Maker maker;
        private final FragmentHandler assembler = new FragmentAssembler(this);
        private volatile ReplayMerge merge;
        private volatile boolean merged;

        private Merging(final Subscription subscription, final Maker maker)
        {
            this.subscription = subscription;
            this.maker = maker;
        }

        AutoCloseable open()
        {
            merge = maker.make();
            return merge;
        }

        int poll()
        {
            if (merged)
            {
                return subscription.poll(assembler, 64);
            }
            final int work = merge.poll(assembler, 64);
            if (merge.isMerged())
            {
                events.add("merged at " + count());
                merged = true;
            }
            return work;
        }

        public boolean isMerged()
        {
            return merged;
        }

        public int transports()
        {
            return null == merge.image() ? 0 : merge.image().activeTransportCount();
        }
    }

    private static final class Following extends Run implements PersistentSubscriptionListener
    {
        private PersistentSubscription.Context context;
        private volatile PersistentSubscription subscription;
        private volatile boolean live;

        AutoCloseable open()
        {
            subscription = PersistentSubscription.create(context);
            return subscription;
        }

        int poll()
        {
            final int work = subscription.poll(this, 64);
            live = subscription.isLive();
            if (subscription.hasFailed() && error().isEmpty())
            {
                throw new IllegalStateException(subscription.failureReason());
            }
            return work;
        }

        public boolean isLive()
        {
            return live;
        }

        public void onLiveJoined()
        {
            events.add("joined");
        }

        public void onLiveLeft()
        {
            events.add("left");
        }

        public void onError(final Exception ex)
        {
            events.add(String.valueOf(ex.getMessage()));
        }
    }
}
