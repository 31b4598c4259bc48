import io.aeron.ExclusivePublication;
import io.aeron.Image;
import io.aeron.cluster.codecs.CloseReason;
import io.aeron.cluster.service.ClientSession;
import io.aeron.cluster.service.Cluster;
import io.aeron.logbuffer.Header;
import java.util.HashSet;
import java.util.Set;
import org.agrona.DirectBuffer;

/**
 * A service that raises in each of its methods the first time, in onStart if "raise.at.start" is set; it sends messages back and schedules a timer.
 */
public final class ClusterRaiser extends ClusterService
{
    private final Set<String> raised = new HashSet<>();

    public void onStart(final Cluster cluster, final Image snapshotImage)
    {
        super.onStart(cluster, snapshotImage);
        if (Boolean.getBoolean("raise.at.start"))
        {
            raise("start");
        }
    }

    public void onSessionOpen(final ClientSession session, final long timestamp)
    {
        raise("session open");
    }

    public void onSessionClose(final ClientSession session, final long timestamp, final CloseReason closeReason)
    {
        raise("session close");
    }

    public void onSessionMessage(
        final ClientSession session,
        final long timestamp,
        final DirectBuffer buffer,
        final int offset,
        final int length,
        final Header header)
    {
        raise("session message");
        idleUntil(() -> session.offer(buffer, offset, length) >= 0);
        idleUntil(() -> cluster.scheduleTimer(1, timestamp));
    }

    public void onTimerEvent(final long correlationId, final long timestamp)
    {
        raise("timer");
    }

    public void onTakeSnapshot(final ExclusivePublication snapshotPublication)
    {
        raise("take snapshot");
    }

    public void onRoleChange(final Cluster.Role newRole)
    {
        raise("role change");
    }

    public void onNewLeadershipTermEvent(
        final long leadershipTermId,
        final long logPosition,
        final long timestamp,
        final long termBaseLogPosition,
        final int leaderMemberId,
        final int logSessionId,
        final java.util.concurrent.TimeUnit timeUnit,
        final int appVersion)
    {
        raise("new leadership term");
    }

    public int doBackgroundWork(final long nowNs)
    {
        raise("background work");
        return 0;
    }

    public void onTerminate(final Cluster cluster)
    {
        raise("terminate");
    }

    private void raise(final String where)
    {
        if (raised.add(where))
        {
            throw new IllegalStateException("raised in " + where);
        }
    }
}
