import io.aeron.cluster.NodeStateFile;
import io.aeron.cluster.RecordingLog;

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;

/**
 * Opens the recording log and the node state of the folder that is the argument, does what the lines of standard input
 * say, and prints what the reference's classes read afterwards.
 */
public final class ClusterFiles
{
    private ClusterFiles()
    {
    }

    /**
     * @param args the cluster's folder.
     * @throws Exception on any failure.
     */
    public static void main(final String[] args) throws Exception
    {
        final File folder = new File(args[0]);
        try (RecordingLog log = new RecordingLog(folder, true);
            NodeStateFile state = new NodeStateFile(folder, true, 1);
            BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII)))
        {
            for (String line = input.readLine(); line != null; line = input.readLine())
            {
                apply(log, state, line.split(" "));
            }
            for (final RecordingLog.Entry entry : log.entries())
            {
                System.out.println(String.join(
                    " ",
                    Long.toString(entry.recordingId),
                    Long.toString(entry.leadershipTermId),
                    Long.toString(entry.termBaseLogPosition),
                    Long.toString(entry.logPosition),
                    Long.toString(entry.timestamp),
                    Integer.toString(entry.serviceId),
                    Integer.toString(entry.type),
                    Boolean.toString(entry.isValid),
                    Integer.toString(entry.entryIndex),
                    String.valueOf(entry.archiveEndpoint)));
            }
            System.out.println(String.join(
                " ",
                "state",
                Long.toString(state.candidateTerm().candidateTermId()),
                Long.toString(state.candidateTerm().timestamp()),
                Long.toString(state.candidateTerm().logPosition())));
        }
    }

    private static void apply(final RecordingLog log, final NodeStateFile state, final String[] words) throws Exception
    {
        final long[] v = new long[8];
        for (int i = 1; i < words.length && i <= 6; i++)
        {
            v[i] = Long.parseLong(words[i]);
        }
        switch (words[0])
        {
            case "term":
                log.appendTerm(v[1], v[2], v[3], v[4]);
                break;

            case "snapshot":
                log.appendSnapshot(v[1], v[2], v[3], v[4], v[5], (int)v[6]);
                break;

            case "standby":
                log.appendStandbySnapshot(v[1], v[2], v[3], v[4], v[5], (int)v[6], words[7]);
                break;

            case "commit":
                log.commitLogPosition(v[1], v[2]);
                break;

            case "invalidate":
                log.invalidateLatestSnapshot();
                break;

            case "remove":
                call(log, "removeEntry", v[1], (int)v[2]);
                break;

            case "reload":
                log.reload();
                break;

            case "state":
                state.updateCandidateTermId(v[1], v[3], v[2]);
                break;

            case "propose":
                state.proposeMaxCandidateTermId(v[1], v[3], v[2]);
                break;

            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static void call(final RecordingLog log, final String name, final long termId, final int index)
        throws Exception
    {
        final Method method = RecordingLog.class.getDeclaredMethod(name, long.class, int.class);
        method.setAccessible(true);
        try
        {
            method.invoke(log, termId, index);
        }
        catch (final InvocationTargetException ex)
        {
            throw new IllegalStateException(ex.getCause());
        }
    }
}
