import io.aeron.ExclusivePublication;
import io.aeron.Image;
import io.aeron.cluster.codecs.CloseReason;
import io.aeron.cluster.service.ClientSession;
import io.aeron.cluster.service.Cluster;
import io.aeron.cluster.service.ClusteredService;
import io.aeron.logbuffer.Header;
import java.util.function.BooleanSupplier;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * A service that schedules the timers of a message, "ID:MILLIS ID:MILLIS -ID ...", of which the last takes one back, and
 * says which ones fire. The times count from the second multiple of 1,024 ms after the message, at which ticks of
 * a wheel begin too.
 */
public final class ClusterTimers implements ClusteredService
{
    private Cluster cluster;

    public void onStart(final Cluster cluster, final Image snapshotImage)
    {
        this.cluster = cluster;
    }

    public void onSessionOpen(final ClientSession session, final long timestamp)
    {
    }

    public void onSessionClose(final ClientSession session, final long timestamp, final CloseReason closeReason)
    {
    }

    public void onSessionMessage(
        final ClientSession session,
        final long timestamp,
        final DirectBuffer buffer,
        final int offset,
        final int length,
        final Header header)
    {
        final long base = (timestamp / 1024 + 2) * 1024;
        for (final String word : buffer.getStringWithoutLengthAscii(offset, length).split(" "))
        {
            final String[] parts = word.split(":");
            idleUntil(() -> parts.length == 1 ? cluster.cancelTimer(-Long.parseLong(parts[0])) :
                cluster.scheduleTimer(Long.parseLong(parts[0]), base + Long.parseLong(parts[1])));
        }
        tell(session, "scheduled " + base);
    }

    public void onTimerEvent(final long correlationId, final long timestamp)
    {
        cluster.forEachClientSession((session) -> tell(session, "timer " + correlationId + " " + timestamp));
    }

    public void onTakeSnapshot(final ExclusivePublication snapshotPublication)
    {
    }

    public void onRoleChange(final Cluster.Role newRole)
    {
    }

    public void onTerminate(final Cluster cluster)
    {
    }

    private void tell(final ClientSession session, final String text)
    {
        final UnsafeBuffer buffer = new UnsafeBuffer(text.getBytes());
        idleUntil(() -> session.offer(buffer, 0, buffer.capacity()) > 0);
    }

    private void idleUntil(final BooleanSupplier done)
    {
        while (!done.getAsBoolean())
        {
            cluster.idleStrategy().idle();
        }
    }
}
