import io.aeron.cluster.service.ClientSession;
import io.aeron.logbuffer.Header;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * A service that schedules the timers of a message, "ID:MILLIS ID:MILLIS -ID ...", of which the last takes one back, and
 * says which ones fire. The times count from the second multiple of 1,024 ms after the message, at which ticks of
 * a wheel begin too.
 */
public final class ClusterTimers extends ClusterService
{
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
        tellAll("timer " + correlationId + " " + timestamp);
    }

    /** Tries again until the session has it: each of the answers counts. */
    protected void tell(final ClientSession session, final String text)
    {
        final UnsafeBuffer buffer = new UnsafeBuffer(text.getBytes());
        idleUntil(() -> session.offer(buffer, 0, buffer.capacity()) > 0);
    }
}
