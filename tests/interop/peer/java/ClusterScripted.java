import io.aeron.Publication;
import io.aeron.cluster.client.AeronCluster;
import io.aeron.cluster.client.EgressListener;
import io.aeron.cluster.codecs.AdminRequestType;
import io.aeron.cluster.codecs.AdminResponseCode;
import io.aeron.cluster.codecs.EventCode;
import io.aeron.logbuffer.Header;
import io.aeron.security.CredentialsSupplier;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The reference's client, line by line: the commands of {@code tests/support/scripted_client.py}.
 */
public final class ClusterScripted implements EgressListener
{
    private static final String END = "end";
    private final BlockingQueue<String> commands = new LinkedBlockingQueue<>();
    private final String aeronDir;
    private AeronCluster cluster;

    private ClusterScripted(final String aeronDir)
    {
        this.aeronDir = aeronDir;
    }

    /**
     * @param args the driver's directory.
     * @throws Exception at the end of the world.
     */
    public static void main(final String[] args) throws Exception
    {
        new ClusterScripted(args[0]).run();
    }

    private void run() throws Exception
    {
        final Thread reader = new Thread(this::read);
        reader.setDaemon(true);
        reader.start();
        System.out.println("ready");
        while (true)
        {
            final String command = commands.poll(1, TimeUnit.MILLISECONDS);
            if (END.equals(command))
            {
                break;
            }
            if (null != command)
            {
                execute(command);
            }
            if (null != cluster)
            {
                cluster.pollEgress();
                cluster.pollStateChanges();
                if (cluster.isClosed())
                {
                    cluster = null;
                    System.out.println("ended");
                }
            }
        }
        close();
    }

    private void read()
    {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)))
        {
            String line;
            while (null != (line = in.readLine()))
            {
                commands.add(line);
            }
        }
        catch (final java.io.IOException ignored)
        {
            // The end of the input is the end of the program.
        }
        commands.add(END);
    }

    private void execute(final String command)
    {
        final String[] words = command.split(" ");
        switch (words[0])
        {
            case "connect":
                connect(words);
                break;
            case "offer":
                final byte[] text = command.substring("offer ".length()).getBytes(StandardCharsets.UTF_8);
                final long result = cluster.offer(new UnsafeBuffer(text), 0, text.length);
                System.out.println(result > 0 ? "offered" : "refused " + Publication.errorString(result));
                break;
            case "admin":
                cluster.sendAdminRequestToTakeASnapshot(Long.parseLong(words[1]));
                break;
            case "close":
                close();
                System.out.println("closed");
                break;
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private void connect(final String[] words)
    {
        try
        {
            cluster = AeronCluster.connect(new AeronCluster.Context()
                .aeronDirectoryName(aeronDir)
                .ingressChannel(words[1])
                .ingressEndpoints("-".equals(words[2]) ? null : words[2])
                .egressChannel(words[3])
                .messageTimeoutNs(TimeUnit.MILLISECONDS.toNanos(Long.parseLong(words[4])))
                .credentialsSupplier(new Proof())
                .egressListener(this));
            System.out.println("connected " + cluster.clusterSessionId() + " " + cluster.leadershipTermId() + " " +
                cluster.leaderMemberId());
        }
        catch (final RuntimeException ex)
        {
            System.out.println("failed " + ex.getClass().getSimpleName() + " " +
                ex.getMessage().replace('\n', ' '));
        }
    }

    private void close()
    {
        if (null != cluster)
        {
            cluster.close();
            cluster = null;
        }
    }

    /** {@inheritDoc} */
    public void onMessage(
        final long clusterSessionId,
        final long timestamp,
        final DirectBuffer buffer,
        final int offset,
        final int length,
        final Header header)
    {
        System.out.println("message " + timestamp + " " + buffer.getStringWithoutLengthUtf8(offset, length));
    }

    /** {@inheritDoc} */
    public void onSessionEvent(
        final long correlationId,
        final long clusterSessionId,
        final long leadershipTermId,
        final int leaderMemberId,
        final EventCode code,
        final String detail)
    {
        System.out.println("event " + code + " " + detail);
    }

    /** {@inheritDoc} */
    public void onNewLeader(
        final long clusterSessionId,
        final long leadershipTermId,
        final int leaderMemberId,
        final String ingressEndpoints)
    {
        System.out.println("leader " + leadershipTermId + " " + leaderMemberId + " " + ingressEndpoints);
    }

    /** {@inheritDoc} */
    public void onAdminResponse(
        final long clusterSessionId,
        final long correlationId,
        final AdminRequestType requestType,
        final AdminResponseCode responseCode,
        final String message,
        final DirectBuffer payload,
        final int payloadOffset,
        final int payloadLength)
    {
        System.out.println("answer " + responseCode + " " + message);
    }

    private static final class Proof implements CredentialsSupplier
    {
        public byte[] encodedCredentials()
        {
            return "me".getBytes(StandardCharsets.UTF_8);
        }

        public byte[] onChallenge(final byte[] encodedChallenge)
        {
            return ("proof of " + new String(encodedChallenge, StandardCharsets.UTF_8))
                .getBytes(StandardCharsets.UTF_8);
        }
    }
}
