"""Term buffers of publications and images: their layout, appenders, readers and cleaning."""
