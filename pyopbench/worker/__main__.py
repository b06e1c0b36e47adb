"""The measuring process."""

from __future__ import annotations

import gc

from pyopbench.model.child_process import die_with_parent
from pyopbench.worker.late_keras import keras_later


def main() -> None:
    """Import TensorFlow, and answer the parent.

    A worker ends with its parent: by the end of its input, and where it hangs, by a signal. While TensorFlow makes its
    modules nothing is garbage, and looking for some takes a tenth of the import.
    """
    die_with_parent()
    gc.disable()
    try:
        with keras_later():
            from pyopbench.worker import requests
    finally:
        gc.enable()
    requests.main()


if __name__ == "__main__":
    main()
