import io.aeron.cluster.client.AeronCluster;
import io.aeron.cluster.client.EgressListener;
import java.util.Arrays;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The reference's client: sends numbered messages, a window of them at a time, and checks what comes back.
 */
public final class ClusterClient
{
    private static int received;
    private static long[] sentAt;
    private static long[] took;
    private static String fault;

    private ClusterClient()
    {
    }

    /**
     * @param args the driver's directory, the ingress channel, its endpoints or {@code -}, the egress channel, the
     *             number of messages, the length of each, and the window.
     */
    public static void main(final String[] args)
    {
        final int count = Integer.parseInt(args[4]);
        final int length = Integer.parseInt(args[5]);
        final int window = Integer.parseInt(args[6]);
        sentAt = new long[count];
        took = new long[count];
        final UnsafeBuffer message = new UnsafeBuffer(new byte[length]);
        final EgressListener listener = (clusterSessionId, timestamp, buffer, offset, size, header) ->
        {
            if (size != length || buffer.getLong(offset) != received)
            {
                fault = "message " + received + " came back as " + buffer.getLong(offset) + " of " + size + " bytes";
            }
            took[received] = System.nanoTime() - sentAt[received];
            received++;
        };
        try (AeronCluster cluster = AeronCluster.connect(new AeronCluster.Context()
            .aeronDirectoryName(args[0])
            .ingressChannel(args[1])
            .ingressEndpoints("-".equals(args[2]) ? null : args[2])
            .egressChannel(args[3])
            .egressListener(listener)))
        {
            System.out.println("session " + cluster.clusterSessionId());
            int sent = 0;
            long heard = System.nanoTime();
            final long start = heard;
            while (received < count && null == fault)
            {
                if (sent < count && sent - received < window)
                {
                    message.putLong(0, sent);
                    sentAt[sent] = System.nanoTime();
                    if (cluster.offer(message, 0, length) > 0)
                    {
                        sent++;
                    }
                }
                if (cluster.pollEgress() > 0)
                {
                    heard = System.nanoTime();
                }
                else if (System.nanoTime() - heard > 20_000_000_000L)
                {
                    fault = "nothing came for 20 s after " + received + " of " + sent + " sent";
                }
            }
            final long nanos = System.nanoTime() - start;
            // The first half lets the virtual machines warm up.
            final long[] half = Arrays.copyOfRange(took, count / 2, count);
            Arrays.sort(half);
            System.out.println(null != fault ? fault : "echoed " + received + " ns " + nanos +
                " p50 " + half[half.length / 2] + " p99 " + half[half.length * 99 / 100]);
        }
    }
}
