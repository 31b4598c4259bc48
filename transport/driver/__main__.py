"""Entry point of ``python -m aerolog.transport.driver [-Dname=value …] [FILE …]``."""

import sys

from aerolog.transport.concurrent.stop_signal import ignore_stop_signals
from aerolog.transport.driver.main import main

code = main(sys.argv[1:])
ignore_stop_signals()
sys.exit(code)
