"""``python -m aerolog.archive.service`` runs an archive next to a running driver."""

import sys

from aerolog.archive.service.main import main_archive
from aerolog.transport.concurrent.stop_signal import ignore_stop_signals

if __name__ == "__main__":
    code = main_archive(sys.argv[1:])
    ignore_stop_signals()
    sys.exit(code)
