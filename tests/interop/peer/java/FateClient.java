import io.aeron.Aeron;
import io.aeron.Publication;
import io.aeron.Subscription;
import java.nio.charset.StandardCharsets;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * A client with the reference's own error handler, which sends itself a message for each line of its input, and ends with
 * code 1 when its client is closed.
 */
public final class FateClient
{
    private FateClient()
    {
    }

    private static boolean isHeard(final Aeron aeron, final Publication publication, final Subscription subscription)
    {
        final UnsafeBuffer message = new UnsafeBuffer("message".getBytes(StandardCharsets.UTF_8));
        boolean isSent = false;
        while (!aeron.isClosed())
        {
            isSent = isSent || publication.offer(message) > 0;
            if (isSent && subscription.poll((buffer, offset, length, header) -> {}, 1) > 0)
            {
                return true;
            }
            Thread.yield();
        }
        return false;
    }

    /**
     * @param args the driver's directory and a stream.
     * @throws Exception on any failure.
     */
    public static void main(final String[] args) throws Exception
    {
        final int stream = Integer.parseInt(args[1]);
        final Aeron aeron = Aeron.connect(new Aeron.Context().aeronDirectoryName(args[0]));
        final Publication publication = aeron.addPublication("aeron:ipc?term-length=64k", stream);
        final Subscription subscription = aeron.addSubscription("aeron:ipc", stream);
        System.out.println("ready");
        while (!aeron.isClosed())
        {
            if (System.in.available() == 0)
            {
                Thread.sleep(10);
                continue;
            }
            System.in.read();
            if (isHeard(aeron, publication, subscription))
            {
                System.out.println("heard");
            }
        }
        System.exit(1);
    }
}
