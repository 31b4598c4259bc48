import io.aeron.cluster.codecs.mark.ClusterComponentType;
import io.aeron.cluster.service.ClusterMarkFile;
import org.agrona.MarkFile;
import org.agrona.concurrent.errors.DistinctErrorLog;
import org.agrona.concurrent.errors.ErrorLogReader;

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/**
 * Does to the mark file that its arguments name what the lines of standard input say, at times that they say, and
 * prints what came of each that asks or fails.
 */
public final class ClusterMarks
{
    private static final int ERROR_LENGTH = 1024 * 1024;
    private static long nowMs;
    private static ClusterMarkFile mark;

    private ClusterMarks()
    {
    }

    /**
     * @param args the folder, and the file's name.
     * @throws Exception on a failure of the input.
     */
    public static void main(final String[] args) throws Exception
    {
        try (BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII)))
        {
            for (String line = input.readLine(); line != null; line = input.readLine())
            {
                try
                {
                    apply(new File(args[0]), args[1], line.split(" "));
                }
                catch (final RuntimeException ex)
                {
                    System.out.println(ex.getClass().getName() + ": " + ex.getMessage());
                }
            }
        }
        if (null != mark)
        {
            mark.close();
        }
    }

    private static void apply(final File folder, final String name, final String[] words)
    {
        final File file = new File(folder, name);
        switch (words[0])
        {
            case "clock":
                nowMs = Long.parseLong(words[1]);
                break;

            case "claim":
                mark = new ClusterMarkFile(
                    file, ClusterComponentType.valueOf(words[1]), ERROR_LENGTH, () -> nowMs, 10_000, 4096);
                encode();
                break;

            case "open":
                mark = new ClusterMarkFile(folder, name, () -> nowMs, 0, null);
                break;

            case "link":
                MarkFile.ensureMarkFileLink(new File(words[1]), file, name.replace(".dat", ".lnk"));
                break;

            case "ready":
                mark.signalReady(nowMs);
                break;

            case "beat":
                mark.updateActivityTimestamp(nowMs);
                break;

            case "terminated":
                mark.signalTerminated();
                break;

            case "failed":
                mark.signalFailedStart();
                break;

            case "error":
                new DistinctErrorLog(mark.errorBuffer(), () -> nowMs, StandardCharsets.US_ASCII)
                    .record(new IllegalStateException(words[1]));
                break;

            case "errors":
                ErrorLogReader.read(mark.errorBuffer(), (count, first, last, text) ->
                    System.out.println(count + " " + first + " " + last + " " + text.split("\\R")[0]));
                break;

            case "print":
                System.out.println(mark.decoder());
                System.out.println(mark.activityTimestampVolatile() + " " + mark.candidateTermId());
                break;

            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static void encode()
    {
        mark.encoder()
            .candidateTermId(mark.candidateTermId())
            .archiveStreamId(10)
            .serviceStreamId(104)
            .consensusModuleStreamId(105)
            .ingressStreamId(101)
            .memberId(2)
            .serviceId(-1)
            .clusterId(3)
            .aeronDirectory("/dev/shm/aeron")
            .controlChannel("aeron:ipc?term-length=128k")
            .ingressChannel("aeron:udp?endpoint=localhost:9020")
            .serviceName("")
            .authenticator("io.aeron.security.DefaultAuthenticatorSupplier")
            .servicesClusterDir("/tmp/cluster");
    }
}
