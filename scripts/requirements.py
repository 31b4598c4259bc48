"""Prints what pip installs for a part of the work: build, demo, wheels or test.

Usage: requirements.py PART. pip learnt dependency groups late; this reads them for any pip.

build  what compiles the package, and every extra that is installed in seconds: all but Spark
demo   Spark
wheels the dependency group of what makes wheels
test   Spark and the dependency group of development, which has that of wheels
"""

import sys
import tomllib
from pathlib import Path


def requirements(part: str) -> list[str]:
    """The requirements of a part, the package itself left out."""
    content = tomllib.loads(Path("pyproject.toml").read_text())
    extras: dict[str, list[str]] = content["project"]["optional-dependencies"]
    groups: dict[str, list[str]] = content["dependency-groups"]
    spark = extras.pop("spark")
    if part == "build":
        wanted = [content["build-system"]["requires"], *extras.values()]
    elif part == "demo":
        wanted = [spark]
    elif part == "wheels":
        wanted = [groups["wheels"]]
    else:
        own = [one for one in groups["dev"] if isinstance(one, str)]
        wanted = [spark, groups["wheels"], own]
    named = dict.fromkeys(one for some in wanted for one in some)
    return [one for one in named if not one.startswith("aerolog[")]


if __name__ == "__main__":
    if sys.argv[1:] not in (["build"], ["demo"], ["wheels"], ["test"]):
        sys.exit(__doc__)
    print("\n".join(requirements(sys.argv[1])))
