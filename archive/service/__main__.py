"""``python -m aerolog.archive.service`` runs an archive next to a running driver."""

import sys

from aerolog.archive.service.main import main_archive

if __name__ == "__main__":
    sys.exit(main_archive(sys.argv[1:]))
