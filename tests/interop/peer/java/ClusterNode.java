import io.aeron.archive.Archive;
import io.aeron.archive.ArchiveThreadingMode;
import io.aeron.archive.client.AeronArchive;
import io.aeron.cluster.ClusteredMediaDriver;
import io.aeron.cluster.ConsensusModule;
import io.aeron.cluster.service.ClusteredServiceContainer;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;

/**
 * A node of a cluster of one member with an echo service or with services elsewhere, until its input ends.
 */
public final class ClusterNode
{
    private ClusterNode()
    {
    }

    /** A client of the archive on the same driver. */
    static AeronArchive.Context archiveClient(final String aeronDir)
    {
        return new AeronArchive.Context()
            .aeronDirectoryName(aeronDir)
            .controlRequestChannel("aeron:ipc")
            .controlResponseChannel("aeron:ipc");
    }

    /** A driver, an archive and a consensus module, which is told where they and their files are. */
    static ClusteredMediaDriver launch(
        final String folder, final String aeronDir, final String members, final ConsensusModule.Context module)
    {
        return ClusteredMediaDriver.launch(
            new MediaDriver.Context()
                .aeronDirectoryName(aeronDir)
                .threadingMode(ThreadingMode.SHARED)
                .dirDeleteOnStart(true)
                .dirDeleteOnShutdown(true),
            new Archive.Context()
                .aeronDirectoryName(aeronDir)
                .archiveDirectoryName(folder + "/archive")
                .controlChannel("aeron:udp?endpoint=" + members.split(",")[5])
                .replicationChannel("aeron:udp?endpoint=localhost:0")
                .recordingEventsEnabled(false)
                .threadingMode(ArchiveThreadingMode.SHARED),
            module
                .aeronDirectoryName(aeronDir)
                .clusterMembers(members)
                .replicationChannel("aeron:udp?endpoint=localhost:0")
                .clusterDirectoryName(folder + "/cluster")
                .archiveContext(archiveClient(aeronDir)));
    }

    /**
     * @param args the node's folder, the driver's directory, the members, the ingress channel, the authenticator
     *             supplier or {@code -}, and how many services run elsewhere, 0 for an echo service here.
     * @throws Exception on any failure.
     */
    @SuppressWarnings("try")
    public static void main(final String[] args) throws Exception
    {
        final String folder = args[0];
        final String aeronDir = args[1];
        final int elsewhere = Integer.parseInt(args[5]);
        final ConsensusModule.Context module = new ConsensusModule.Context()
            .clusterMemberId(0)
            .serviceCount(Math.max(1, elsewhere))
            .ingressChannel(args[3])
            .isIpcIngressAllowed(true)
            .errorHandler(Throwable::printStackTrace);
        if (!"-".equals(args[4]))
        {
            System.setProperty(ConsensusModule.Configuration.AUTHENTICATOR_SUPPLIER_PROP_NAME, args[4]);
        }
        try (ClusteredMediaDriver driver = launch(folder, aeronDir, args[2], module);
            ClusteredServiceContainer container = elsewhere > 0 ? null : ClusteredServiceContainer.launch(
                new ClusteredServiceContainer.Context()
                    .aeronDirectoryName(aeronDir)
                    .archiveContext(archiveClient(aeronDir))
                    .clusterDirectoryName(folder + "/cluster")
                    .clusteredService(new ClusterEcho())
                    .errorHandler(Throwable::printStackTrace)))
        {
            Server.untilInputEnds();
        }
    }
}
