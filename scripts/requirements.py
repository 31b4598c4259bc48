"""Prints what development needs: the build requirements, every extra, the dev group.

pip learnt dependency groups late; this reads them from pyproject.toml for any pip.
"""

import tomllib
from pathlib import Path


def main() -> None:
    """One requirement a line, our own extras left out."""
    project = tomllib.loads(Path("pyproject.toml").read_text())
    wanted = list(project["build-system"]["requires"])
    for extra in project["project"]["optional-dependencies"].values():
        wanted += [item for item in extra if not item.startswith("aerolog")]
    wanted += project["dependency-groups"]["dev"]
    print("\n".join(dict.fromkeys(wanted)))


if __name__ == "__main__":
    main()
