#!/usr/bin/env bash
# Packs TensorFlow with CUDA for a GPU host without a network: `scripts/pack_gpu.sh OUT CAPABILITY [PART_SIZE]`.
# CAPABILITY is that of the GPU without its point: 90 for an H100. It packs this very Python, whose version the host
# does not need to have, with what .venv holds (`make .venv/.run`), and the TensorFlow of .venv with CUDA instead of the
# one without: 314 MiB with what `make .venv/.dev` installs. Leaves parts of at most 46 MiB (or PART_SIZE, as `split`
# takes it) and SHA256SUMS in OUT. Carry them over in any number of trips, and run scripts/unpack_gpu.sh there.
# Needs pip, zstd, readelf and strip here, 6 GB in TMPDIR, and a quarter of an hour.
set -euo pipefail

if [ $# -lt 2 ] || [ $# -gt 3 ]; then
    sed -n '2,7s/^# //p' "$0" >&2
    exit 2
fi
out=$1 capability=$2 part_size=${3:-46M}
here=$(dirname "$(realpath "$0")")
python=$(realpath "$here/../.venv/bin/python")
for tool in zstd readelf strip tar split sha256sum unzip; do
    command -v "$tool" > /dev/null || { echo "pack_gpu.sh: $tool is not installed" >&2; exit 2; }
done
[ -x "$python" ] || { echo "pack_gpu.sh: there is no .venv; make .venv/.run makes it" >&2; exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/all/tools" "$work/wheels" "$out"
ask() { "$here/../.venv/bin/python" -c "$1"; }
version=$(ask 'import sys; print("%d.%d" % sys.version_info[:2])')
packages=$(ask 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
tensorflow=$(ask 'from importlib.metadata import version; print(version("tensorflow-cpu"))')

# Python itself, with the libraries that its modules need and a host may lack.
home=$(ask 'import sys; print(sys.base_prefix)')
mkdir -p "$work/all/python/bin" "$work/all/python/lib"
cp -L "$python" "$work/all/python/bin/python3"
find "$home/lib" -maxdepth 1 -name 'libpython*.so.*' -exec cp -L {} "$work/all/python/lib/" \;
tar -C "$home/lib" -c --exclude=test --exclude=site-packages --exclude='config-*' --exclude=__pycache__ \
    --exclude=idlelib --exclude=tkinter --exclude=ensurepip "python$version" | tar -C "$work/all/python/lib" -x
mkdir "$work/all/fallback"
find "$home/lib/python$version/lib-dynload" -name '*.so' ! -name '_tkinter*' -exec ldd {} \; \
    | awk '/=> \//{print $3}' | sort -u | grep -Ev '/(libc|libm|libpthread|libdl|libresolv|librt)\.so' \
    | xargs -I{} cp -L {} "$work/all/fallback/"

# What .venv holds, but for TensorFlow, what only draws and checks, and what TensorFlow does without.
tar -C "$packages" -c --exclude=__pycache__ --exclude=./tensorflow --exclude='./tensorflow_cpu*' --exclude=./clang \
    --exclude=./vl_convert --exclude=./grpc --exclude=./mypy --exclude='./*mypyc*' --exclude=./material \
    --exclude=./babel --exclude=./selenium --exclude=./jedi --exclude=./pip --exclude='*.pyi' . \
    | (mkdir "$work/all/site" && tar -C "$work/all/site" -x)

# pip takes a wheel only of a platform that it is told by name.
download=(--no-deps --only-binary=:all: --python-version "$version" --implementation cp)
for glibc in 2_28 2_27 2_24 2_17; do download+=(--platform "manylinux_${glibc}_x86_64"); done
download+=(--platform manylinux2014_x86_64)
python3 -m pip download -q "${download[@]}" -d "$work/wheels" "tensorflow==$tensorflow" \
    'nvidia-cuda-runtime-cu12<13' 'nvidia-cuda-cupti-cu12<13'
for wheel in "$work"/wheels/*.whl; do unzip -q -o "$wheel" -d "$work/all/site"; done

# Only TensorFlow's own libraries: stripping those that a wheel brings for others breaks them.
inside=$work/all/site/tensorflow
rm -rf "$inside"/include/external/{llvm-project,cutlass_archive,stablehlo,onednn,com_github_grpc_grpc,envoy_api,triton} \
    "$inside"/include/tensorflow/compiler/mlir "$work"/all/site/nvidia/*/include
find "$work/all/site/nvidia" -name 'lib*.so*' ! -name 'libcudart.so.*' ! -name 'libcupti.so.*' -delete
# It converts traces for TensorBoard, and is imported and not used: 90 MB.
rm "$inside/python/profiler/internal/_pywrap_profiler_plugin.so"
touch "$inside/python/profiler/internal/_pywrap_profiler_plugin.py"
find "$inside" -name '*.so*' -type f -size +5M -exec strip --strip-unneeded {} \;
"$python" "$here/prune_gpu_code.py" "$capability" "$inside"/libtensorflow_{cc,framework}.so.2

rm -f "$out"/part-* "$out/SHA256SUMS" "$out/tools.tar"
cp -L "$(command -v zstd)" "$work/all/tools/"
ldd "$(command -v zstd)" | awk '/=> \//{print $3}' | grep -Ev '/(libc|libm|libpthread)\.so' \
    | xargs -I{} cp -L {} "$work/all/tools/"
tar -C "$work/all/tools" -cf "$out/tools.tar" . && rm -r "$work/all/tools"
# A long window: the same kernels stand in both libraries.
tar -C "$work/all" -c . | zstd -q -19 -T0 --long=27 | split -b "$part_size" - "$out/part-"
(cd "$out" && sha256sum part-* tools.tar > SHA256SUMS)
ls -l "$out"
