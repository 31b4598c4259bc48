"""``python -m benchmarks [NAME…] [--json]``."""

import argparse
import sys

from benchmarks.runner import BENCHMARKS, main


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks", description="Measure beside the peers.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}")
    parser.add_argument("--json", action="store_true", help="print a list of objects")
    return parser.parse_args()


if __name__ == "__main__":
    arguments = _arguments()
    sys.exit(main(arguments.names, as_json=arguments.json))
