import io.aeron.ExclusivePublication;
import io.aeron.Image;
import io.aeron.cluster.service.ClientSession;
import io.aeron.cluster.service.Cluster;
import io.aeron.logbuffer.Header;
import org.agrona.DirectBuffer;
import org.agrona.ExpandableArrayBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * A service that sends each message back and counts them, and timers as thousands; the count is its state. Some messages ask for more:
 * "close", "count", "timer ID MILLIS", "cancel ID", "offer TEXT", "raise",
 * "fill LENGTH", after which a snapshot has another message of so many bytes, and "spoil", after which one fails.
 */
public final class ClusterEcho extends ClusterService
{
    private long count;
    private byte[] filling = new byte[0];
    private boolean isSpoilt;
    private long startNs;

    public void onStart(final Cluster cluster, final Image snapshotImage)
    {
        this.cluster = cluster;
        startNs = System.nanoTime();
        while (null != snapshotImage && !snapshotImage.isEndOfStream())
        {
            final int fragments = snapshotImage.poll(
                (buffer, offset, length, header) -> count = length == 8 ? buffer.getLong(offset) : count, 1);
            cluster.idleStrategy().idle(fragments);
        }
    }

    public void onSessionMessage(
        final ClientSession session,
        final long timestamp,
        final DirectBuffer buffer,
        final int offset,
        final int length,
        final Header header)
    {
        if (null == session)
        {
            tellAll("offered " + buffer.getStringWithoutLengthAscii(offset, length));
            return;
        }
        final char first = length == 0 ? ' ' : (char)buffer.getByte(offset);
        if (length < 64 && (first == 'c' || first == 't' || first == 'o' || first == 'r' || first == 's' ||
            first == 'f'))
        {
            final String[] words = buffer.getStringWithoutLengthAscii(offset, length).split(" ");
            switch (words[0])
            {
                case "close":
                    session.close();
                    return;
                case "count":
                    tell(session, "count " + count);
                    return;
                case "timer":
                    idleUntil(() -> cluster.scheduleTimer(
                        Long.parseLong(words[1]), timestamp + Long.parseLong(words[2])));
                    return;
                case "cancel":
                    idleUntil(() -> cluster.cancelTimer(Long.parseLong(words[1])));
                    return;
                case "offer":
                    final UnsafeBuffer text = new UnsafeBuffer(words[1].getBytes());
                    idleUntil(() -> cluster.offer(text, 0, text.capacity()) > 0);
                    return;
                case "fill":
                    filling = "x".repeat(Integer.parseInt(words[1])).getBytes();
                    return;
                case "spoil":
                    isSpoilt = true;
                    return;
                case "raise":
                    throw new IllegalArgumentException("asked to raise");
                default:
                    break;
            }
        }
        count++;
        offer(session, buffer, offset, length);
    }

    public void onTimerEvent(final long correlationId, final long timestamp)
    {
        count += 1000;
        tellAll("timer " + correlationId);
    }

    public void onTakeSnapshot(final ExclusivePublication snapshotPublication)
    {
        if (isSpoilt)
        {
            isSpoilt = false;
            throw new IllegalStateException("asked to spoil the snapshot");
        }
        final ExpandableArrayBuffer buffer = new ExpandableArrayBuffer();
        buffer.putLong(0, count);
        idleUntil(() -> snapshotPublication.offer(buffer, 0, 8) > 0);
        if (filling.length > 0)
        {
            final UnsafeBuffer more = new UnsafeBuffer(filling);
            idleUntil(() -> snapshotPublication.offer(more, 0, more.capacity()) > 0);
        }
    }

    public void onRoleChange(final Cluster.Role newRole)
    {
        System.out.println("recovered " + count + " in " + (System.nanoTime() - startNs));
    }
}
