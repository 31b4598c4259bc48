import io.aeron.ExclusivePublication;
import io.aeron.Image;
import io.aeron.archive.Archive;
import io.aeron.archive.ArchiveThreadingMode;
import io.aeron.archive.client.AeronArchive;
import io.aeron.cluster.ClusteredMediaDriver;
import io.aeron.cluster.ConsensusModule;
import io.aeron.cluster.codecs.CloseReason;
import io.aeron.cluster.service.ClientSession;
import io.aeron.cluster.service.Cluster;
import io.aeron.cluster.service.ClusteredService;
import io.aeron.cluster.service.ClusteredServiceContainer;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import io.aeron.logbuffer.Header;
import org.agrona.DirectBuffer;

/**
 * A node of a cluster of one member with an echo service, until its input ends.
 */
public final class ClusterNode
{
    private ClusterNode()
    {
    }

    /**
     * @param args the node's folder, the driver's directory, the members, the ingress channel, and the authenticator
     *             supplier or {@code -}.
     * @throws Exception on any failure.
     */
    @SuppressWarnings("try")
    public static void main(final String[] args) throws Exception
    {
        final String folder = args[0];
        final String aeronDir = args[1];
        final AeronArchive.Context archiveClient = new AeronArchive.Context()
            .aeronDirectoryName(aeronDir)
            .controlRequestChannel("aeron:ipc")
            .controlResponseChannel("aeron:ipc");
        final ConsensusModule.Context module = new ConsensusModule.Context()
            .aeronDirectoryName(aeronDir)
            .clusterMembers(args[2])
            .clusterMemberId(0)
            .ingressChannel(args[3])
            .isIpcIngressAllowed(true)
            .replicationChannel("aeron:udp?endpoint=localhost:0")
            .clusterDirectoryName(folder + "/cluster")
            .archiveContext(archiveClient.clone())
            .errorHandler(Throwable::printStackTrace);
        if (!"-".equals(args[4]))
        {
            System.setProperty(ConsensusModule.Configuration.AUTHENTICATOR_SUPPLIER_PROP_NAME, args[4]);
        }
        try (ClusteredMediaDriver driver = ClusteredMediaDriver.launch(
                new MediaDriver.Context()
                    .aeronDirectoryName(aeronDir)
                    .threadingMode(ThreadingMode.SHARED)
                    .dirDeleteOnStart(true)
                    .dirDeleteOnShutdown(true),
                new Archive.Context()
                    .aeronDirectoryName(aeronDir)
                    .archiveDirectoryName(folder + "/archive")
                    .controlChannel("aeron:udp?endpoint=" + args[2].split(",")[5])
                    .replicationChannel("aeron:udp?endpoint=localhost:0")
                    .recordingEventsEnabled(false)
                    .threadingMode(ArchiveThreadingMode.SHARED),
                module);
            ClusteredServiceContainer container = ClusteredServiceContainer.launch(
                new ClusteredServiceContainer.Context()
                    .aeronDirectoryName(aeronDir)
                    .archiveContext(archiveClient.clone())
                    .clusterDirectoryName(folder + "/cluster")
                    .clusteredService(new Echo())
                    .errorHandler(Throwable::printStackTrace)))
        {
            System.out.println("ready");
            System.out.flush();
            while (System.in.read() >= 0)
            {
                Thread.onSpinWait();
            }
        }
    }

    private static final class Echo implements ClusteredService
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
            if (length == 5 && "close".equals(buffer.getStringWithoutLengthAscii(offset, length)))
            {
                session.close();
                return;
            }
            while (session.offer(buffer, offset, length) < 0)
            {
                cluster.idleStrategy().idle();
            }
        }

        public void onTimerEvent(final long correlationId, final long timestamp)
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
    }
}
