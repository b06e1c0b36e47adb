#!/usr/bin/env bash
# Packs TensorFlow with CUDA for a GPU host without a network: `scripts/pack_gpu.sh OUT [TF_VERSION] [PYTHON]`.
# Leaves parts of at most 56 MiB, the wheel that unpacks them, and SHA256SUMS in OUT. Carry them over in any number of
# trips, and run scripts/unpack_gpu.sh there. Needs pip, zstd and strip here, and some minutes.
set -euo pipefail

if [ $# -lt 1 ] || [ $# -gt 3 ]; then
    sed -n '2,4s/^# //p' "$0" >&2
    exit 2
fi
out=$1 tensorflow=${2:-2.21.0} python=${3:-3.12}
for tool in python3 zstd strip tar split sha256sum; do
    command -v "$tool" > /dev/null || { echo "pack_gpu.sh: $tool is not installed" >&2; exit 2; }
done

readonly part_size=56M
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# pip takes a wheel only of a platform that it is told by name.
download=(--no-deps --only-binary=:all: --python-version "$python" --implementation cp --platform any)
for glibc in 2_28 2_27 2_24 2_17; do download+=(--platform "manylinux_${glibc}_x86_64"); done
download+=(--platform manylinux2014_x86_64)

# What TensorFlow imports, and of CUDA what elementwise kernels and copies need; pip does not resolve for other platforms.
python3 -m pip install -q "${download[@]}" --target "$work/site" \
    "tensorflow==$tensorflow" 'numpy>=2.0,<2.5' 'protobuf>=6.31.1,<8' 'h5py<3.15' 'ml_dtypes>=0.5.1,<1' \
    keras namex optree rich pygments markdown-it-py mdurl astunparse gast google_pasta termcolor opt_einsum absl-py \
    flatbuffers wrapt six typing_extensions packaging grpcio setuptools wheel typer click shellingham platformdirs \
    'nvidia-cuda-runtime-cu12<13' 'nvidia-cuda-cupti-cu12<13'

# Neither needed to run ops nor to compile custom ops.
rm -rf "$work/site/tensorflow/include/external/llvm-project" "$work/site/tensorflow/include/tensorflow/compiler/mlir" \
    "$work"/site/tensorflow/lite/python/*.so "$work"/site/tensorflow/compiler/mlir/stablehlo/*.so
for library in "$work"/site/tensorflow/libtensorflow_{cc,framework}.so.2; do strip --strip-unneeded "$library"; done

mkdir -p "$out"
rm -f "$out"/part-* "$out"/*.whl "$out/SHA256SUMS"
# A long window: the same kernels stand in the library once for each generation of GPUs.
tar -C "$work" -c site | zstd -q -15 -T0 --long=27 | split -b "$part_size" - "$out/part-"
python3 -m pip download -q "${download[@]}" -d "$out" zstandard
(cd "$out" && sha256sum part-* ./*.whl > SHA256SUMS)
ls -l "$out"
