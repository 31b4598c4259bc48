import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The little JSON that the line protocol needs: objects, lists, strings, longs, doubles, booleans, null. */
final class Json
{
    private final String text;
    private int at;

    private Json(final String text)
    {
        this.text = text;
    }

    static Object parse(final String text)
    {
        final Json json = new Json(text);
        final Object value = json.value();
        json.blanks();
        if (json.at != text.length())
        {
            throw new IllegalArgumentException("text after the JSON value at " + json.at);
        }
        return value;
    }

    static String write(final Object value)
    {
        final StringBuilder out = new StringBuilder();
        append(out, value);
        return out.toString();
    }

    private void blanks()
    {
        while (at < text.length() && Character.isWhitespace(text.charAt(at)))
        {
            at++;
        }
    }

    private char peek()
    {
        blanks();
        return text.charAt(at);
    }

    private void take(final char expected)
    {
        if (peek() != expected)
        {
            throw new IllegalArgumentException("expected " + expected + " at " + at);
        }
        at++;
    }

    private Object value()
    {
        switch (peek())
        {
            case '{':
                return object();
            case '[':
                return list();
            case '"':
                return string();
            default:
                return word();
        }
    }

    private Map<String, Object> object()
    {
        final Map<String, Object> map = new LinkedHashMap<>();
        take('{');
        while (peek() != '}')
        {
            final String name = string();
            take(':');
            map.put(name, value());
            if (peek() == ',')
            {
                at++;
            }
        }
        at++;
        return map;
    }

    private List<Object> list()
    {
        final List<Object> items = new ArrayList<>();
        take('[');
        while (peek() != ']')
        {
            items.add(value());
            if (peek() == ',')
            {
                at++;
            }
        }
        at++;
        return items;
    }

    private String string()
    {
        final StringBuilder out = new StringBuilder();
        take('"');
        while (text.charAt(at) != '"')
        {
            char c = text.charAt(at++);
            if (c == '\\')
            {
                c = escaped(text.charAt(at++));
            }
            out.append(c);
        }
        at++;
        return out.toString();
    }

    private char escaped(final char c)
    {
        switch (c)
        {
            case 'n':
                return '\n';
            case 't':
                return '\t';
            case 'r':
                return '\r';
            case 'b':
                return '\b';
            case 'f':
                return '\f';
            case 'u':
                at += 4;
                return (char)Integer.parseInt(text.substring(at - 4, at), 16);
            default:
                return c;
        }
    }

    private Object word()
    {
        final int start = at;
        while (at < text.length() && ",]} \t".indexOf(text.charAt(at)) < 0)
        {
            at++;
        }
        final String word = text.substring(start, at);
        switch (word)
        {
            case "true":
                return Boolean.TRUE;
            case "false":
                return Boolean.FALSE;
            case "null":
                return null;
            default:
                if (word.matches("-?\\d+"))
                {
                    return Long.parseLong(word);
                }
                return Double.parseDouble(word);
        }
    }

    private static void append(final StringBuilder out, final Object value)
    {
        if (value instanceof Map<?, ?> map)
        {
            String before = "{";
            for (final Map.Entry<?, ?> entry : map.entrySet())
            {
                out.append(before);
                quote(out, entry.getKey().toString());
                out.append(':');
                append(out, entry.getValue());
                before = ",";
            }
            out.append(map.isEmpty() ? "{}" : "}");
        }
        else if (value instanceof Iterable<?> items)
        {
            out.append('[');
            String before = "";
            for (final Object item : items)
            {
                out.append(before);
                append(out, item);
                before = ",";
            }
            out.append(']');
        }
        else if (null == value || value instanceof Number || value instanceof Boolean)
        {
            out.append(value);
        }
        else
        {
            quote(out, value.toString());
        }
    }

    private static void quote(final StringBuilder out, final String text)
    {
        out.append('"');
        for (int i = 0; i < text.length(); i++)
        {
            final char c = text.charAt(i);
            if (c == '"' || c == '\\')
            {
                out.append('\\').append(c);
            }
            else if (c < 0x20 || c > 0x7e)
            {
                out.append(String.format("\\u%04x", (int)c));
            }
            else
            {
                out.append(c);
            }
        }
        out.append('"');
    }
}
