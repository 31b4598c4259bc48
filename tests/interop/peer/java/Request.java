import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** One decoded line: typed access to its fields. */
final class Request
{
    private final Map<String, Object> fields;

    @SuppressWarnings("unchecked")
    Request(final String line)
    {
        fields = (Map<String, Object>)Json.parse(line);
    }

    boolean has(final String name)
    {
        return fields.get(name) != null;
    }

    Object get(final String name)
    {
        final Object value = fields.get(name);
        if (null == value)
        {
            throw new IllegalArgumentException("the request has no field " + name);
        }
        return value;
    }

    String text(final String name)
    {
        return (String)get(name);
    }

    String text(final String name, final String otherwise)
    {
        return has(name) ? text(name) : otherwise;
    }

    long number(final String name)
    {
        return ((Number)get(name)).longValue();
    }

    long number(final String name, final long otherwise)
    {
        return has(name) ? number(name) : otherwise;
    }

    int integer(final String name)
    {
        return Math.toIntExact(number(name));
    }

    int integer(final String name, final int otherwise)
    {
        return Math.toIntExact(number(name, otherwise));
    }

    boolean flag(final String name, final boolean otherwise)
    {
        return has(name) ? (Boolean)get(name) : otherwise;
    }

    byte[] bytes(final String name)
    {
        return HexFormat.of().parseHex(text(name));
    }

    @SuppressWarnings("unchecked")
    List<Object> list(final String name)
    {
        return has(name) ? (List<Object>)get(name) : List.of();
    }

    /** The instant (System.nanoTime) at which this request has used up its "timeout" (seconds, 30 by default). */
    long deadlineNs()
    {
        final double seconds = has("timeout") ? ((Number)get("timeout")).doubleValue() : 30.0;
        return System.nanoTime() + (long)(seconds * TimeUnit.SECONDS.toNanos(1));
    }
}
