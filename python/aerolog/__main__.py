"""``python -m aerolog``: the command ``aerolog``, also where its script is not on the path."""

import sys

from aerolog.tools.main import main

sys.exit(main())
