"""What stands below the options of a command in --help: exit codes, and what is worth a sentence more."""

RUN = (
    "Measuring stops when more launches would change no answer, or at --budget. If you interrupt a run, pyopbench "
    "prints the command that resumes it."
)
RESUME = (
    "The run says what to measure. How to judge it (--mix, --min-effect, --require and so on) is up to you again; "
    "name your own op files as you did before."
)
BUILD = (
    "Kernels that were compiled before are kept. If TensorFlow has CUDA and nvcc is found, GPU kernels are compiled "
    "too. Exit code 1: a kernel does not compile."
)
PORT = (
    "The test runs before anything is written, in a process that cannot import pyopbench. Exit codes: 0 written; "
    "1 the test failed, nothing is written; 2 this function cannot be written as source. "
    "With --to custom_op you write the loops of the C++ yourself, so the test does not run."
)
COMPARE = (
    "With --axis commit, tf or variant, name one result and two labels of that axis: "
    "`pyopbench compare RESULTS A B --axis tf`. Exit codes: 0 nothing is slower; 1 something is slower; 2 bad usage; "
    "3 nothing to compare."
)
HISTORY = (
    "A suspected change is confirmed by measuring both sides again, interleaved (--confirm). Exit codes: 0 done; "
    "1 --confirm found a slowdown; 2 bad usage; 3 nothing was timed."
)
MERGE = "Exit codes: 0 done; 2 shards are missing, doubled, torn (cut off), changed or contradictory; 3 there are none."
FLEET = (
    "Exit codes: 0 all shards are here; 1 a variant is wrong; 2 bad input; 3 a shard is missing or nothing was "
    "measured; 130 interrupted."
)
CHECK = (
    "Checksums find what a disk, a copy or an editor changed; they are not signatures. Exit codes: 0 nothing is wrong; "
    "1 something was changed, is torn (cut off), missing or there twice; 2 bad input."
)
SCAN = "Sources are parsed, never run. Hidden folders and virtual environments are skipped unless you name them."
RECORD = (
    "The program keeps its output and its exit code; pyopbench writes to stderr. If the program fails or is "
    "interrupted, what was counted so far is kept."
)
PLACEMENT = (
    "Nothing is timed. The simulated device needs a C++ compiler and no GPU, and its counts are the same every time. "
    "Exit code 1: a variant computed a wrong result."
)
COPIES = "With --device gpu, copies between host and GPU are timed too, by size and by kind of host memory."
CERTIFY = (
    "Variants are compared with copies of themselves and with slowed-down ones, and decisions are made several times. "
    "Later runs on this machine use the figures. Exit code 1: not as good as promised (docs/certification.md)."
)
