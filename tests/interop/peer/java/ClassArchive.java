import io.aeron.archive.Archive;
import io.aeron.archive.ArchivingMediaDriver;
import io.aeron.driver.MediaDriver;

import java.io.File;
import java.util.jar.JarFile;

/**
 * Loads every class of the jars of the class path and runs a driver with an archive for a moment, so that
 * {@code -XX:ArchiveClassesAtExit} writes down all that the other programs load.
 */
public final class ClassArchive
{
    private static final String SUFFIX = ".class";

    private ClassArchive()
    {
    }

    private static void load(final String entry)
    {
        final String name = entry.substring(0, entry.length() - SUFFIX.length()).replace('/', '.');
        try
        {
            Class.forName(name, false, ClassArchive.class.getClassLoader());
        }
        catch (final ClassNotFoundException | LinkageError ex)
        {
            System.err.println("left out: " + ex);
        }
    }

    public static void main(final String[] args) throws Exception
    {
        for (final String path : System.getProperty("java.class.path").split(File.pathSeparator))
        {
            try (JarFile jar = new JarFile(path))
            {
                jar.stream().map((entry) -> entry.getName()).filter((name) -> name.endsWith(SUFFIX))
                    .forEach(ClassArchive::load);
            }
        }
        ArchivingMediaDriver.launch(new MediaDriver.Context(), new Archive.Context()).close();
        System.exit(0);
    }
}
