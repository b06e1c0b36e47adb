"""A side of a run: what its cases run on. That is a TensorFlow, versions of packages, a Python, or a revision."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from pyopbench.model.errors import BadInput

PIN = re.compile(r"(?P<name>[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)==(?P<version>[A-Za-z0-9.!+_-]+)")
"""A package with one version (PEP 508, PEP 440); with a range, a new release would be another side."""
TENSORFLOW = ("tensorflow", "tensorflow-cpu")


@dataclass(frozen=True)
class Environment:
    """What workers import and are run by, as it is asked for."""

    tf: str | None = None  # the version of TensorFlow; None for the one that is installed here
    packages: tuple[str, ...] = ()  # versions of other packages, such as `numpy==1.26.4`, in the order of their names
    python: str | None = None  # an interpreter or its version; None for this one

    @property
    def is_here(self) -> bool:
        """Whether it is the environment that pyopbench itself runs in."""
        return self == HERE

    @property
    def text(self) -> str:
        """What is asked for, in words."""
        return f"TensorFlow {self.label}" if self.tf else self.label or "the installed packages"

    @property
    def label(self) -> str:
        """What a side that differs by it is called."""
        return " ".join(filter(None, [self.tf, *self.packages, f"python {self.python}" if self.python else ""]))


HERE = Environment()


def read_packages(text: str) -> tuple[str, ...]:
    """Return the versions of packages that one `--with` names, in the order of their names.

    >>> read_packages("scipy==1.13.1,NumPy==1.26.4")
    ('numpy==1.26.4', 'scipy==1.13.1')
    """
    versions: dict[str, str] = {}
    for word in (part.strip() for part in text.split(",")):
        pin = PIN.fullmatch(word)
        name = re.sub("[-_.]+", "-", pin["name"]).lower() if pin else ""
        if pin is None or name in versions or name in TENSORFLOW:
            raise BadInput(
                "a side has one version of each package, and TensorFlow's version is given by --tf",
                received=f"--with {text}",
                hint="for example --with numpy==1.26.4 or --tf 2.21.0",
            )
        versions[name] = pin["version"]
    return tuple(f"{name}=={versions[name]}" for name in sorted(versions))


def combine_environments(
    tf: Sequence[str] = (), packages: Sequence[str] = (), python: Sequence[str] = ()
) -> list[Environment]:
    """Return an environment for each combination of what options name, the first option varying slowest.

    >>> [environment.label for environment in combine_environments(["2.20.0", "2.21.0"], ["numpy==2.2.6"])]
    ['2.20.0 numpy==2.2.6', '2.21.0 numpy==2.2.6']
    """
    versions: Sequence[str | None] = tf or [None]
    interpreters: Sequence[str | None] = python or [None]
    pins = [read_packages(text) for text in packages] or [()]
    return [Environment(*chosen) for chosen in product(versions, pins, interpreters)]
