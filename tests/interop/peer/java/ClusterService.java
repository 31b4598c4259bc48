import io.aeron.ExclusivePublication;
import io.aeron.Image;
import io.aeron.Publication;
import io.aeron.cluster.codecs.CloseReason;
import io.aeron.cluster.service.ClientSession;
import io.aeron.cluster.service.Cluster;
import io.aeron.cluster.service.ClusteredService;
import java.util.function.BooleanSupplier;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * What the services of tests begin with: they keep the cluster, have no state, and speak to sessions.
 */
abstract class ClusterService implements ClusteredService
{
    protected Cluster cluster;

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

    public void onTakeSnapshot(final ExclusivePublication snapshotPublication)
    {
    }

    public void onRoleChange(final Cluster.Role newRole)
    {
    }

    public void onTerminate(final Cluster cluster)
    {
    }

    protected final void tellAll(final String text)
    {
        cluster.forEachClientSession((session) -> tell(session, text));
    }

    protected void tell(final ClientSession session, final String text)
    {
        final UnsafeBuffer buffer = new UnsafeBuffer(text.getBytes());
        offer(session, buffer, 0, buffer.capacity());
    }

    /** Tries again while there is no room only, as a session may have gone. */
    protected final void offer(
        final ClientSession session, final DirectBuffer buffer, final int offset, final int length)
    {
        idleUntil(() ->
        {
            final long result = session.offer(buffer, offset, length);
            return Publication.BACK_PRESSURED != result && Publication.ADMIN_ACTION != result;
        });
    }

    protected final void idleUntil(final BooleanSupplier done)
    {
        while (!done.getAsBoolean())
        {
            cluster.idleStrategy().idle();
        }
    }
}
