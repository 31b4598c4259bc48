"""The log files of publications and images, and the disk space under them."""
