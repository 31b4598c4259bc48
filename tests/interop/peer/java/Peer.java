import io.aeron.exceptions.RegistrationException;
import io.aeron.archive.client.ArchiveException;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * A reference client for tests. Each line on standard input is a request {"id", "op", ...}, each line on standard
 * output its answer {"id", "result"} or {"id", "error"}. Requests with "background" run on a thread of their own
 * and are answered when they are done. The process ends when its input does.
 */
public final class Peer
{
    private interface Command
    {
        Object run(Request request) throws Throwable;
    }

    private final Map<String, Command> commands = new LinkedHashMap<>();
    private final PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    private final ExecutorService background = Executors.newCachedThreadPool((task) ->
    {
        final Thread thread = new Thread(task, "background");
        thread.setDaemon(true);
        return thread;
    });

    private Peer()
    {
        final Handles handles = new Handles();
        final TransportCommands transport = new TransportCommands(handles);
        final ArchiveCommands archive = new ArchiveCommands(handles);
        final JoinCommands join = new JoinCommands(handles);
        commands.put("call", handles::call);
        commands.put("properties", handles::properties);
        commands.put("new", handles::create);
        commands.put("connect", transport::connect);
        commands.put("events", transport::events);
        commands.put("offer", transport::offer);
        commands.put("offer_exclusive", transport::offerExclusive);
        commands.put("offer_numbered", transport::offerNumbered);
        commands.put("claim", transport::claim);
        commands.put("poll", transport::poll);
        commands.put("poll_numbered", transport::pollNumbered);
        commands.put("counters", transport::counters);
        commands.put("archive_connect", archive::connect);
        commands.put("archive_signals", archive::signals);
        commands.put("archive_list", archive::list);
        commands.put("archive_list_subscriptions", archive::listSubscriptions);
        commands.put("archive_recording_events", archive::recordingEvents);
        commands.put("join_merge", join::merge);
        commands.put("join_follow", join::follow);
    }

    private void serve(final Request request)
    {
        final Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("id", request.number("id"));
        try
        {
            final Command command = commands.get(request.text("op"));
            if (null == command)
            {
                throw new IllegalArgumentException("unknown op " + request.text("op"));
            }
            answer.put("result", command.run(request));
        }
        catch (final Throwable ex)
        {
            answer.put("error", describe(ex));
        }
        synchronized (out)
        {
            out.println(Json.write(answer));
        }
    }

    private static Map<String, Object> describe(final Throwable ex)
    {
        final Map<String, Object> error = new LinkedHashMap<>();
        error.put("class", ex.getClass().getSimpleName());
        error.put("message", String.valueOf(ex.getMessage()));
        if (ex instanceof RegistrationException registration)
        {
            error.put("code", registration.errorCodeValue());
        }
        if (ex instanceof ArchiveException archive)
        {
            error.put("code", archive.errorCode());
        }
        return error;
    }

    public static void main(final String[] args) throws Exception
    {
        final Peer peer = new Peer();
        final BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        peer.out.println("ready");
        for (String line = in.readLine(); null != line; line = in.readLine())
        {
            final Request request = new Request(line);
            if (request.flag("background", false))
            {
                peer.background.execute(() -> peer.serve(request));
            }
            else
            {
                peer.serve(request);
            }
        }
        System.exit(0);
    }
}
