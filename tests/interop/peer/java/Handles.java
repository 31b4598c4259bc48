import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Objects that the test holds by number, and calls on them by name, so that every method of the reference's
 * client API can be reached from a test without a command of its own.
 */
final class Handles
{
    private final Map<Integer, Object> objects = new ConcurrentHashMap<>();
    private final AtomicInteger next = new AtomicInteger(1);

    Map<String, Object> add(final Object object)
    {
        final int handle = next.getAndIncrement();
        objects.put(handle, object);
        final Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("handle", handle);
        answer.put("class", object.getClass().getSimpleName());
        return answer;
    }

    <T> T get(final Class<T> type, final Request request, final String field)
    {
        return type.cast(object(request.integer(field)));
    }

    Object object(final int handle)
    {
        final Object object = objects.get(handle);
        if (null == object)
        {
            throw new IllegalArgumentException("unknown handle " + handle);
        }
        return object;
    }

    /** {"handle", "method", "args"}: numbers, booleans, strings (also for enums), {"hex"}, {"handle"}. */
    Object call(final Request request) throws Throwable
    {
        final Object target = object(request.integer("handle"));
        final String name = request.text("method");
        final List<Object> arguments = request.list("args");
        for (final Method method : target.getClass().getMethods())
        {
            if (method.getName().equals(name) && fits(method.getParameterTypes(), arguments))
            {
                return plain(invoke(target, method, arguments));
            }
        }
        throw new IllegalArgumentException(
            target.getClass().getSimpleName() + " has no method " + name + " for " + Json.write(arguments));
    }

    /** {"class"}: an object of a class of the reference that is made without arguments. */
    Object create(final Request request) throws Throwable
    {
        return add(Class.forName(request.text("class")).getConstructor().newInstance());
    }

    /** {"handle", "names"}: the results of several methods without arguments. */
    Object properties(final Request request) throws Throwable
    {
        final Object target = object(request.integer("handle"));
        final Map<String, Object> answer = new LinkedHashMap<>();
        for (final Object name : request.list("names"))
        {
            answer.put((String)name, plain(invoke(target, target.getClass().getMethod((String)name), List.of())));
        }
        return answer;
    }

    private Object invoke(final Object target, final Method method, final List<Object> arguments) throws Throwable
    {
        final Class<?>[] types = method.getParameterTypes();
        final Object[] values = new Object[types.length];
        for (int i = 0; i < types.length; i++)
        {
            values[i] = convert(types[i], arguments.get(i));
        }
        try
        {
            if (!Modifier.isPublic(method.getDeclaringClass().getModifiers()))
            {
                method.setAccessible(true);
            }
            return method.invoke(target, values);
        }
        catch (final InvocationTargetException ex)
        {
            throw ex.getCause();
        }
    }

    private static Object field(final Object value, final String name)
    {
        return value instanceof Map<?, ?> map ? map.get(name) : null;
    }

    private boolean fits(final Class<?>[] types, final List<Object> arguments)
    {
        boolean fits = types.length == arguments.size();
        for (int i = 0; fits && i < types.length; i++)
        {
            fits = fits(types[i], arguments.get(i));
        }
        return fits;
    }

    private boolean fits(final Class<?> type, final Object value)
    {
        if (value instanceof Long)
        {
            return type == long.class || type == int.class;
        }
        if (value instanceof Boolean)
        {
            return type == boolean.class;
        }
        if (value instanceof String)
        {
            return type == String.class || type.isEnum();
        }
        if (null != field(value, "hex"))
        {
            return type.isAssignableFrom(UnsafeBuffer.class);
        }
        return null == value ? !type.isPrimitive() :
            type.isInstance(object(((Number)field(value, "handle")).intValue()));
    }

    @SuppressWarnings({ "unchecked", "rawtypes" })
    private Object convert(final Class<?> type, final Object value)
    {
        if (type == int.class)
        {
            return Math.toIntExact((Long)value);
        }
        if (type.isEnum() && value instanceof String name)
        {
            return Enum.valueOf((Class<Enum>)type, name);
        }
        if (null != field(value, "hex"))
        {
            return new UnsafeBuffer(HexFormat.of().parseHex((String)field(value, "hex")));
        }
        if (null != field(value, "handle"))
        {
            return object(((Number)field(value, "handle")).intValue());
        }
        return value;
    }

    private Object plain(final Object value)
    {
        if (null == value || value instanceof Number || value instanceof Boolean || value instanceof String)
        {
            return value;
        }
        if (value instanceof Enum<?> || value instanceof Character)
        {
            return value.toString();
        }
        if (value instanceof List<?> list)
        {
            return list.stream().map(this::plain).toList();
        }
        if (value instanceof DirectBuffer buffer)
        {
            return Bytes.hex(buffer, 0, buffer.capacity());
        }
        return add(value);
    }
}
