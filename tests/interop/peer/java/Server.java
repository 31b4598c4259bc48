import io.aeron.archive.Archive;
import io.aeron.archive.ArchivingMediaDriver;
import io.aeron.driver.MediaDriver;
import java.io.IOException;

/**
 * The reference's driver, archive, or both, configured by system properties. Prints "ready" when it runs and closes
 * when its standard input ends.
 */
public final class Server
{
    private Server()
    {
    }

    private static AutoCloseable launch(final String kind)
    {
        switch (kind)
        {
            case "driver":
                return MediaDriver.launch(new MediaDriver.Context());
            case "archive":
                return Archive.launch(new Archive.Context());
            case "archiving-driver":
                return ArchivingMediaDriver.launch(new MediaDriver.Context(), new Archive.Context());
            default:
                throw new IllegalArgumentException("unknown server: " + kind);
        }
    }

    /** Says that the program is ready, and waits until its input ends. */
    static void untilInputEnds() throws IOException
    {
        System.out.println("ready");
        System.out.flush();
        while (System.in.read() >= 0)
        {
            Thread.onSpinWait();
        }
    }

    public static void main(final String[] args) throws Exception
    {
        final AutoCloseable server = launch(args[0]);
        untilInputEnds();
        server.close();
        System.exit(0);
    }
}
