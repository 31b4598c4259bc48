import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.security.Permission;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Runs main classes of the reference one after the other in one JVM, each as if in a process of its own. A request is
 * a line {"class", "args", "stdin"} on standard input, its answer a line {"code", "out", "err"}: the exit code and
 * what was printed. An uncaught error is printed as the launcher does. The process ends when its input does.
 */
@SuppressWarnings("removal")
public final class ToolRunner
{
    private static final class Exit extends SecurityException
    {
        private static final long serialVersionUID = 1L;
        private final int status;

        private Exit(final int status)
        {
            this.status = status;
        }
    }

    private static final class NoExit extends SecurityManager
    {
        public void checkExit(final int status)
        {
            if (running)
            {
                throw new Exit(status);
            }
        }

        public void checkPermission(final Permission permission)
        {
        }
    }

    private static volatile boolean running;

    private ToolRunner()
    {
    }

    private static Map<String, Object> run(final Map<?, ?> request) throws Exception
    {
        final String[] args = ((List<?>)request.get("args")).stream().map(String::valueOf).toArray(String[]::new);
        final Class<?> tool = Class.forName(request.get("class").toString());
        final ByteArrayOutputStream out = new ByteArrayOutputStream();
        final ByteArrayOutputStream err = new ByteArrayOutputStream();
        final PrintStream oldOut = System.out;
        final PrintStream oldErr = System.err;
        final InputStream oldIn = System.in;
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        System.setIn(new ByteArrayInputStream(request.get("stdin").toString().getBytes(StandardCharsets.UTF_8)));
        int code = 0;
        running = true;
        try
        {
            tool.getMethod("main", String[].class).invoke(null, (Object)args);
        }
        catch (final java.lang.reflect.InvocationTargetException ex)
        {
            code = exitCode(ex.getCause());
        }
        finally
        {
            running = false;
            System.out.flush();
            System.setOut(oldOut);
            System.setErr(oldErr);
            System.setIn(oldIn);
        }
        final Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("code", code);
        answer.put("out", out.toString(StandardCharsets.UTF_8));
        answer.put("err", err.toString(StandardCharsets.UTF_8));
        return answer;
    }

    private static int exitCode(final Throwable thrown)
    {
        if (thrown instanceof Exit exit)
        {
            return exit.status & 0xff;
        }
        System.err.print("Exception in thread \"main\" ");
        thrown.printStackTrace();
        return 1;
    }

    public static void main(final String[] args) throws Exception
    {
        System.setSecurityManager(new NoExit());
        final PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        answers.println("ready");
        final BufferedReader requests =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        while (null != (line = requests.readLine()))
        {
            answers.println(Json.write(run((Map<?, ?>)Json.parse(line))));
        }
    }
}
