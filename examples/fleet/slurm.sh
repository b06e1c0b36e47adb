#!/bin/bash
# A plan over the nodes of a cluster, a shard on each; the arguments are those of `pyopbench run`:
#
#   export SHARDS=12
#   job=$(sbatch --parsable --exclusive --array=1-$SHARDS examples/fleet/slurm.sh --settings seed=1 --until end)
#   sbatch --dependency=afterany:$job --wrap "pyopbench merge shards/* --out merged && pyopbench report merged"
#
# If merging names shards that are missing: sbatch --exclusive --array=3,7 examples/fleet/slurm.sh --settings seed=1 --until end
#SBATCH --exclusive
#SBATCH --requeue
#SBATCH --time=04:00:00
set -euo pipefail

: "${SHARDS:?the number of shards, which stays the same when some are measured again}"
export PYOPBENCH_HOST="${SLURMD_NODENAME:-$(hostname -s)}"
folder="${RESULTS:-shards}/shard-$SLURM_ARRAY_TASK_ID"

if [ -e "$folder/run.json" ] || [ -e "$folder/sides.json" ]; then  # the node was lost, and Slurm starts it again
  own=()
  for word in "$@"; do case "$word" in *.py | *.py:*) own+=("$word") ;; esac; done
  exec pyopbench resume --yes "$folder" "${own[@]+"${own[@]}"}"
fi
exec pyopbench run "$@" --shard "$SLURM_ARRAY_TASK_ID/$SHARDS" --out "$folder"
