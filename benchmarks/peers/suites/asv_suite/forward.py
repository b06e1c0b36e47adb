"""Forward cases as an asv benchmark: `setup` prepares, the timed method only calls."""

from peers import cases
from pyopbench.worker.suite_api import Case, prepare


class Forward:
    """One parameter, the id of the case."""

    params = (cases.handed_over(),)
    param_names = ("case",)

    def setup(self, case: str) -> None:
        """Prepare the case in the process that will time it."""
        self.call = prepare(Case.from_id(case)).segments[0]

    def time_case(self, case: str) -> None:
        """Call it once."""
        self.call()
