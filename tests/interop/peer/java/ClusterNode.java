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
        final AeronArchive.Context archiveClient = new AeronArchive.Context()
            .aeronDirectoryName(aeronDir)
            .controlRequestChannel("aeron:ipc")
            .controlResponseChannel("aeron:ipc");
        final ConsensusModule.Context module = new ConsensusModule.Context()
            .aeronDirectoryName(aeronDir)
            .clusterMembers(args[2])
            .clusterMemberId(0)
            .serviceCount(Math.max(1, elsewhere))
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
            ClusteredServiceContainer container = elsewhere > 0 ? null : ClusteredServiceContainer.launch(
                new ClusteredServiceContainer.Context()
                    .aeronDirectoryName(aeronDir)
                    .archiveContext(archiveClient.clone())
                    .clusterDirectoryName(folder + "/cluster")
                    .clusteredService(new ClusterEcho())
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
}
