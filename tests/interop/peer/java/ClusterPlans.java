import io.aeron.archive.client.AeronArchive;
import io.aeron.cluster.RecordingLog;

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Asks recording logs what the lines of standard input say, and prints each answer on one line.
 */
public final class ClusterPlans
{
    private ClusterPlans()
    {
    }

    /**
     * @param args the directory of a driver whose archive takes requests by IPC.
     * @throws Exception on a failure of the input.
     */
    public static void main(final String[] args) throws Exception
    {
        final AeronArchive.Context context = new AeronArchive.Context()
            .aeronDirectoryName(args[0])
            .controlRequestChannel("aeron:ipc")
            .controlResponseChannel("aeron:ipc");
        RecordingLog log = null;
        try (AeronArchive archive = AeronArchive.connect(context);
            BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII)))
        {
            for (String line = input.readLine(); line != null; line = input.readLine())
            {
                final String[] words = line.split(" ");
                try
                {
                    if ("open".equals(words[0]))
                    {
                        if (null != log)
                        {
                            log.close();
                        }
                        log = null;
                        log = new RecordingLog(new File(words[1]), true);
                        System.out.println("opened");
                        continue;
                    }
                    System.out.println(answer(log, archive, words));
                }
                catch (final RuntimeException ex)
                {
                    System.out.println(ex.getClass().getSimpleName() + ": " + ex.getMessage());
                }
            }
        }
    }

    private static String answer(final RecordingLog log, final AeronArchive archive, final String[] words)
        throws Exception
    {
        final long[] v = new long[words.length];
        for (int i = 1; i < words.length; i++)
        {
            v[i] = Long.parseLong(words[i]);
        }
        switch (words[0])
        {
            case "plan":
                return log.createRecoveryPlan(archive, (int)v[1], v[2]).toString();

            case "latest":
                return text(log.getLatestSnapshot((int)v[1]));

            case "standby":
                final StringBuilder found = new StringBuilder();
                for (final Map.Entry<String, List<RecordingLog.Entry>> each :
                    new TreeMap<>(log.latestStandbySnapshots((int)v[1])).entrySet())
                {
                    found.append(each.getKey()).append(' ');
                    each.getValue().forEach((entry) -> found.append(text(entry)).append(' '));
                }
                return found.toString();

            case "before":
                final Method method = RecordingLog.class.getDeclaredMethod(
                    "findSnapshotAtOrBeforeOrLowest", long.class, int.class);
                return invoke(method, log, v[1], (int)v[2]).toString();

            case "term":
                return text(log.findTermEntry(v[1])) + " " + text(log.findLastTerm()) + " " +
                    log.findLastTermRecordingId() + " " + log.isUnknown(v[1]);

            case "invalidate":
                return String.valueOf(log.invalidateLatestSnapshot());

            case "coherent":
                final Method coherent = RecordingLog.class.getDeclaredMethod(
                    "ensureCoherent", long.class, long.class, long.class, long.class, long.class, long.class,
                    long.class, long.class, int.class);
                return String.valueOf(
                    invoke(coherent, log, v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], 0));

            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static String text(final RecordingLog.Entry entry)
    {
        return null == entry ? "null" : entry.entryIndex + ":" + entry.recordingId + ":" + entry.serviceId;
    }

    private static Object invoke(final Method method, final Object target, final Object... arguments) throws Exception
    {
        method.setAccessible(true);
        try
        {
            return method.invoke(target, arguments);
        }
        catch (final InvocationTargetException ex)
        {
            if (ex.getCause() instanceof RuntimeException)
            {
                throw (RuntimeException)ex.getCause();
            }
            throw ex;
        }
    }
}
