"""Entry point of ``python -m aerolog.transport.driver [-Dname=value …] [FILE …]``."""

import sys

from aerolog.transport.driver.main import main

sys.exit(main(sys.argv[1:]))
