import org.agrona.ExpandableArrayBuffer;
import org.agrona.MutableDirectBuffer;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/**
 * Encodes messages of the cluster's schemas with the reference's encoders. A message is a line of words: its name in
 * the package of the encoders, then
 * "f NAME VALUE" for a fixed field, "v NAME HEX" for variable data, "g NAME COUNT" for a group, "n" for the next entry
 * of the group, and "m" when the group is done. Its bytes are printed in hexadecimal.
 */
public final class ClusterMessages
{
    private static final String PACKAGE = "io.aeron.cluster.codecs.";

    private ClusterMessages()
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
                System.out.println(encode(line.split(" ", -1)));
            }
        }
    }

    private static String encode(final String[] words) throws Exception
    {
        final MutableDirectBuffer buffer = new ExpandableArrayBuffer();
        final Class<?> type = Class.forName(PACKAGE + words[0] + "Encoder");
        final Object message = type.getDeclaredConstructor().newInstance();
        final Class<?> header = Class.forName(type.getPackageName() + ".MessageHeaderEncoder");
        final Object head = header.getDeclaredConstructor().newInstance();
        type.getMethod("wrapAndApplyHeader", MutableDirectBuffer.class, int.class, header)
            .invoke(message, buffer, 0, head);
        Object target = message;
        int i = 1;
        while (i < words.length)
        {
            switch (words[i])
            {
                case "f":
                    set(target, words[i + 1], Long.parseLong(words[i + 2]));
                    i += 3;
                    break;

                case "v":
                    put(target, words[i + 1], HexFormat.of().parseHex(words[i + 2]));
                    i += 3;
                    break;

                case "g":
                    target = type.getMethod(words[i + 1] + "Count", int.class)
                        .invoke(message, Integer.parseInt(words[i + 2]));
                    i += 3;
                    break;

                case "n":
                    target.getClass().getMethod("next").invoke(target);
                    i++;
                    break;

                case "m":
                    target = message;
                    i++;
                    break;

                default:
                    throw new IllegalArgumentException(words[i]);
            }
        }
        final int headLength = (int)header.getMethod("encodedLength").invoke(head);
        final int length = headLength + (int)type.getMethod("encodedLength").invoke(message);
        if (headLength > 8)
        {
            set(head, "frameLength", length);
        }
        final byte[] bytes = new byte[length];
        buffer.getBytes(0, bytes);
        return HexFormat.of().formatHex(bytes);
    }

    private static void set(final Object target, final String name, final long value) throws Exception
    {
        for (final Method method : target.getClass().getMethods())
        {
            if (method.getName().equals(name) && method.getParameterCount() == 1)
            {
                method.invoke(target, as(method.getParameterTypes()[0], value));
                return;
            }
        }
        throw new NoSuchMethodException(target.getClass() + "." + name);
    }

    private static Object as(final Class<?> type, final long value) throws Exception
    {
        if (type == long.class)
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
        return type.getMethod("get", int.class).invoke(null, (int)value);
    }

    private static void put(final Object target, final String name, final byte[] data) throws Exception
    {
        final String method = "put" + Character.toUpperCase(name.charAt(0)) + name.substring(1);
        target.getClass().getMethod(method, byte[].class, int.class, int.class).invoke(target, data, 0, data.length);
    }
}
