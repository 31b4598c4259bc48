import io.aeron.driver.reports.LossReport;
import io.aeron.protocol.HeaderFlyweight;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.broadcast.BroadcastTransmitter;
import org.agrona.concurrent.errors.DistinctErrorLog;
import org.agrona.concurrent.ringbuffer.ManyToOneRingBuffer;
import org.agrona.concurrent.status.CountersManager;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/**
 * Writes with the reference's classes what the lines of standard input say into a buffer of its own for each line, and
 * prints the buffer in hexadecimal up to the end of what was written.
 * <ul>
 * <li>"constant CLASS NAME" prints a number.
 * <li>"flyweight CLASS OFFSET", then setters: "f NAME NUMBER", "c NAME CONSTANT", "s NAME HEX" for text, "b NAME HEX" for bytes and
 * "a NAME HOST PORT" for an address. "+" begins a second flyweight in the buffer.
 * <li>"counters", "errors", "losses", "ring" and "broadcast", then steps as the methods below take them.
 * </ul>
 */
public final class Layouts
{
    private static final int LENGTH = 8192;
    private static long nowMs;

    private Layouts()
    {
    }

    /**
     * @param args none.
     * @throws Exception on any failure.
     */
    public static void main(final String[] args) throws Exception
    {
        try (BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII)))
        {
            for (String line = input.readLine(); line != null; line = input.readLine())
            {
                System.out.println(answer(line.split(" ")));
            }
        }
    }

    private static String answer(final String[] words) throws Exception
    {
        if ("constant".equals(words[0]))
        {
            return Long.toString(constant(Class.forName(words[1]), words[2]));
        }
        final byte[] bytes = written((byte)0, words);
        if ("flyweight".equals(words[0]))
        {
            return HexFormat.of().formatHex(bytes, 0, writtenLength(bytes, words));
        }
        int length = LENGTH;
        while (0 == bytes[length - 1])
        {
            length--;
        }
        return HexFormat.of().formatHex(bytes, 0, length);
    }

    private static byte[] written(final byte before, final String[] words) throws Exception
    {
        final UnsafeBuffer buffer = new UnsafeBuffer(ByteBuffer.allocateDirect(LENGTH));
        buffer.setMemory(0, LENGTH, before);
        write(buffer, words);
        final byte[] bytes = new byte[LENGTH];
        buffer.getBytes(0, bytes);
        return bytes;
    }

    private static int writtenLength(final byte[] zeros, final String[] words) throws Exception
    {
        final byte[] ones = written((byte)-1, words);
        int length = LENGTH;
        while (0 == zeros[length - 1] && -1 == ones[length - 1])
        {
            length--;
        }
        final Object target = Class.forName(words[1]).getDeclaredConstructor().newInstance();
        final UnsafeBuffer buffer = new UnsafeBuffer(zeros);
        if (target instanceof HeaderFlyweight)
        {
            final int frameLength = buffer.getInt(0);
            return frameLength > LENGTH ? length : Math.max(length, frameLength);
        }
        for (final Method method : target.getClass().getMethods())
        {
            if ("length".equals(method.getName()))
            {
                wrap(target, buffer, 0);
                return Math.max(length, (int)method.invoke(target));
            }
        }
        return length;
    }

    private static void write(final UnsafeBuffer buffer, final String[] words) throws Exception
    {
        nowMs = 0;
        switch (words[0])
        {
            case "flyweight":
                flyweights(buffer, words);
                break;

            case "counters":
                counters(buffer, words);
                break;

            case "errors":
                errors(buffer, words);
                break;

            case "losses":
                losses(buffer, words);
                break;

            case "ring":
                ring(new ManyToOneRingBuffer(new UnsafeBuffer(buffer, 0, 256 + 768)), words);
                break;

            case "broadcast":
                broadcast(new BroadcastTransmitter(new UnsafeBuffer(buffer, 0, 256 + 128)), words);
                break;

            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    /** "write TYPE MESSAGE", "read COUNT", "beat MS" and "correlate". */
    private static void ring(final ManyToOneRingBuffer ring, final String[] words)
    {
        int i = 1;
        while (i < words.length)
        {
            switch (words[i])
            {
                case "write":
                    final byte[] message = HexFormat.of().parseHex(words[i + 2]);
                    ring.write(Integer.parseInt(words[i + 1]), new UnsafeBuffer(message), 0, message.length);
                    i += 3;
                    break;

                case "read":
                    ring.read((type, data, offset, length) -> {}, Integer.parseInt(words[i + 1]));
                    i += 2;
                    break;

                case "beat":
                    ring.consumerHeartbeatTime(Long.parseLong(words[i + 1]));
                    i += 2;
                    break;

                case "correlate":
                    ring.nextCorrelationId();
                    i++;
                    break;

                default:
                    throw new IllegalArgumentException(words[i]);
            }
        }
    }

    /** "TYPE MESSAGE" for each message. */
    private static void broadcast(final BroadcastTransmitter out, final String[] words)
    {
        for (int i = 1; i < words.length; i += 2)
        {
            final byte[] message = HexFormat.of().parseHex(words[i + 1]);
            out.transmit(Integer.parseInt(words[i]), new UnsafeBuffer(message), 0, message.length);
        }
    }

    private static void flyweights(final UnsafeBuffer buffer, final String[] words) throws Exception
    {
        Object target = null;
        int i = 1;
        while (i < words.length)
        {
            switch (words[i])
            {
                case "f":
                    set(target, words[i + 1], Long.parseLong(words[i + 2]));
                    i += 3;
                    break;

                case "s":
                    final byte[] text = HexFormat.of().parseHex(words[i + 2]);
                    target.getClass().getMethod(words[i + 1], String.class)
                        .invoke(target, new String(text, StandardCharsets.US_ASCII));
                    i += 3;
                    break;

                case "b":
                    bytes(target, words[i + 1], HexFormat.of().parseHex(words[i + 2]));
                    i += 3;
                    break;

                case "c":
                    set(target, words[i + 1], constant(target.getClass(), words[i + 2]));
                    i += 3;
                    break;

                case "a":
                    final InetAddress host = InetAddress.getByName(words[i + 2]);
                    target.getClass().getMethod(words[i + 1], InetSocketAddress.class)
                        .invoke(target, new InetSocketAddress(host, Integer.parseInt(words[i + 3])));
                    i += 4;
                    break;

                default:
                    final int at = "+".equals(words[i]) ? i + 1 : i;
                    target = Class.forName(words[at]).getDeclaredConstructor().newInstance();
                    wrap(target, buffer, Integer.parseInt(words[at + 1]));
                    i = at + 2;
                    break;
            }
        }
    }

    private static void wrap(final Object target, final UnsafeBuffer buffer, final int offset) throws Exception
    {
        if (target instanceof UnsafeBuffer)
        {
            ((UnsafeBuffer)target).wrap(buffer, offset, buffer.capacity() - offset);
        }
        else
        {
            target.getClass().getMethod("wrap", MutableDirectBuffer.class, int.class).invoke(target, buffer, offset);
        }
    }

    private static void set(final Object target, final String name, final long value) throws Exception
    {
        for (final Method method : target.getClass().getMethods())
        {
            if (method.getName().equals(name) && method.getParameterCount() == 1 && !method.isBridge() &&
                method.getReturnType() != boolean.class)
            {
                method.invoke(target, as(method.getParameterTypes()[0], value));
                return;
            }
        }
        throw new NoSuchMethodException(target.getClass() + "." + name);
    }

    private static long constant(final Class<?> type, final String name) throws Exception
    {
        return ((Number)type.getField(name).get(null)).longValue();
    }

    private static Object as(final Class<?> type, final long value) throws Exception
    {
        if (type == long.class || type == Long.class)
        {
            return value;
        }
        if (type == int.class)
        {
            return (int)value;
        }
        if (type == short.class)
        {
            return (short)value;
        }
        if (type == byte.class)
        {
            return (byte)value;
        }
        if (type == boolean.class)
        {
            return 0 != value;
        }
        return type.getMethod("get", int.class).invoke(null, (int)value);
    }

    private static void bytes(final Object target, final String name, final byte[] data) throws Exception
    {
        if (name.startsWith("put"))
        {
            target.getClass().getMethod(name, byte[].class).invoke(target, data);
        }
        else
        {
            target.getClass().getMethod(name, DirectBuffer.class, int.class, int.class)
                .invoke(target, new UnsafeBuffer(data), 0, data.length);
        }
    }

    /** "allocate TYPE KEY LABEL VALUE REGISTRATION OWNER REFERENCE", "free ID" and "clock MS". */
    private static void counters(final UnsafeBuffer buffer, final String[] words)
    {
        final UnsafeBuffer metadata = new UnsafeBuffer(buffer, 0, 4 * CountersManager.METADATA_LENGTH);
        final UnsafeBuffer values =
            new UnsafeBuffer(buffer, metadata.capacity(), 4 * CountersManager.COUNTER_LENGTH);
        final CountersManager manager =
            new CountersManager(metadata, values, StandardCharsets.US_ASCII, () -> nowMs, 1000);
        int i = 1;
        while (i < words.length)
        {
            switch (words[i])
            {
                case "allocate":
                    final byte[] key = HexFormat.of().parseHex(words[i + 2]);
                    final byte[] label = HexFormat.of().parseHex(words[i + 3]);
                    final int id = manager.allocate(
                        Integer.parseInt(words[i + 1]),
                        new UnsafeBuffer(key), 0, key.length,
                        new UnsafeBuffer(label), 0, label.length);
                    manager.setCounterValue(id, Long.parseLong(words[i + 4]));
                    manager.setCounterRegistrationId(id, Long.parseLong(words[i + 5]));
                    manager.setCounterOwnerId(id, Long.parseLong(words[i + 6]));
                    manager.setCounterReferenceId(id, Long.parseLong(words[i + 7]));
                    i += 8;
                    break;

                case "free":
                    manager.free(Integer.parseInt(words[i + 1]));
                    i += 2;
                    break;

                case "clock":
                    nowMs = Long.parseLong(words[i + 1]);
                    i += 2;
                    break;

                default:
                    throw new IllegalArgumentException(words[i]);
            }
        }
    }

    /** "MS TEXT" for each observation; each text is one error. */
    private static void errors(final UnsafeBuffer buffer, final String[] words)
    {
        final DistinctErrorLog log = new DistinctErrorLog(buffer, () -> nowMs, StandardCharsets.US_ASCII);
        for (int i = 1; i < words.length; i += 2)
        {
            nowMs = Long.parseLong(words[i]);
            log.record(new Told(words[i + 1]));
        }
    }

    /** "BYTES MS SESSION STREAM CHANNEL SOURCE" for each entry, and "again BYTES MS" for the last one. */
    private static void losses(final UnsafeBuffer buffer, final String[] words)
    {
        final LossReport report = new LossReport(buffer);
        LossReport.ReportEntry entry = null;
        int i = 1;
        while (i < words.length)
        {
            if ("again".equals(words[i]))
            {
                entry.recordObservation(Long.parseLong(words[i + 1]), Long.parseLong(words[i + 2]));
                i += 3;
            }
            else
            {
                entry = report.createEntry(
                    Long.parseLong(words[i]),
                    Long.parseLong(words[i + 1]),
                    Integer.parseInt(words[i + 2]),
                    Integer.parseInt(words[i + 3]),
                    words[i + 4],
                    words[i + 5]);
                i += 6;
            }
        }
    }

    private static final class Told extends RuntimeException
    {
        private static final long serialVersionUID = 1L;

        Told(final String text)
        {
            super(text);
        }

        public void printStackTrace(final PrintWriter out)
        {
            out.print(getMessage());
        }
    }
}
