#!/usr/bin/env bash
# Unpacks what scripts/pack_gpu.sh made: `scripts/unpack_gpu.sh PARTS PREFIX`; then `. PREFIX/env.sh`.
# TensorFlow shows a GPU only if it finds all of its CUDA libraries. Those that were not packed and that this host has
# not got either (cuBLAS, cuDNN ...) get an empty stand-in, and PREFIX/STAND-INS names them: elementwise ops, copies,
# callbacks and custom ops run; what calls a stand-in fails, and has no number.
set -euo pipefail

if [ $# -ne 2 ]; then
    sed -n '2,5s/^# //p' "$0" >&2
    exit 2
fi
parts=$(realpath "$1") prefix=$2
(cd "$parts" && sha256sum -c --quiet SHA256SUMS)
mkdir -p "$prefix/lib"
prefix=$(realpath "$prefix")

python3 -m zipfile -e "$parts"/zstandard-*.whl "$prefix/decompressor"
PYTHONPATH=$prefix/decompressor python3 - "$parts" "$prefix" << 'PYTHON'
import pathlib
import sys
import tarfile

import zstandard


class Joined:
    """The parts as one stream."""

    def __init__(self, paths):
        self.files = [path.open("rb") for path in sorted(paths)]

    def read(self, size=-1):
        while self.files:
            data = self.files[0].read(size)
            if data:
                return data
            self.files.pop(0).close()
        return b""


parts = Joined(pathlib.Path(sys.argv[1]).glob("part-*"))
whole = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(parts)
with whole as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
    archive.extractall(sys.argv[2], filter="tar")
PYTHON

: > "$prefix/STAND-INS"
find "$prefix/site/nvidia" -name '*.so.*' -exec ln -sf {} "$prefix/lib/" \;
for name in libcublas.so.12 libcublasLt.so.12 libcufft.so.11 libcusolver.so.11 libcusparse.so.12 libcudnn.so.9 \
    libnccl.so.2 libnvJitLink.so.12 libcurand.so.10; do
    if [ ! -e "$prefix/lib/$name" ] && ! ldconfig -p | grep -q "$name"; then
        echo | gcc -shared -fPIC -x c - -o "$prefix/lib/$name" -Wl,-soname,"$name"
        echo "$name" >> "$prefix/STAND-INS"
    fi
done

cat > "$prefix/env.sh" << ENV
export PYTHONPATH=$prefix/site\${PYTHONPATH:+:\$PYTHONPATH}
export LD_LIBRARY_PATH=$prefix/lib\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
export XLA_FLAGS=--xla_gpu_cuda_data_dir=\${CUDA_HOME:-/usr/local/cuda}
ENV
echo "unpacked to $prefix; $(wc -l < "$prefix/STAND-INS") stand-ins"
