import io.aeron.cluster.service.ClusteredService;
import io.aeron.cluster.service.ClusteredServiceContainer;
import java.lang.reflect.Constructor;

/**
 * A container of services beside a consensus module, until its input ends.
 */
public final class ClusterContainer
{
    private ClusterContainer()
    {
    }

    /**
     * @param args the node's folder, the driver's directory, and the service's class.
     * @throws Exception on any failure.
     */
    @SuppressWarnings("try")
    public static void main(final String[] args) throws Exception
    {
        final Constructor<?> constructor = Class.forName(args[2]).getDeclaredConstructor();
        constructor.setAccessible(true);
        final Object service = constructor.newInstance();
        try (ClusteredServiceContainer container = ClusteredServiceContainer.launch(
                new ClusteredServiceContainer.Context()
                    .aeronDirectoryName(args[1])
                    .archiveContext(ClusterNode.archiveClient(args[1]))
                    .clusterDirectoryName(args[0] + "/cluster")
                    .clusteredService((ClusteredService)service)
                    .terminationHook(() -> System.out.println("terminated"))
                    .errorHandler(Throwable::printStackTrace)))
        {
            Server.untilInputEnds();
        }
    }
}
