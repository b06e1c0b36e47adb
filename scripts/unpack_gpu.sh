#!/usr/bin/env bash
# Unpacks what scripts/pack_gpu.sh made: `scripts/unpack_gpu.sh PARTS PREFIX`; then `. PREFIX/env.sh`.
# TensorFlow shows a GPU only if it finds all of its CUDA libraries. Those that the host has of a later CUDA (in the
# packages of its own Python, or in CUDA_HOME) are used under the names that TensorFlow asks for: PREFIX/FORWARDED names
# them. The others get an empty stand-in, and PREFIX/STAND-INS names them: what calls one fails, and has no number.
set -euo pipefail

if [ $# -ne 2 ]; then
    sed -n '2,6s/^# //p' "$0" >&2
    exit 2
fi
parts=$(realpath "$1") prefix=$2
(cd "$parts" && sha256sum -c --quiet SHA256SUMS)
mkdir -p "$prefix/lib" "$prefix/tools"
prefix=$(realpath "$prefix")
tar -C "$prefix/tools" -xf "$parts/tools.tar"
cat "$parts"/part-* | LD_LIBRARY_PATH=$prefix/tools "$prefix/tools/zstd" -dc --long=27 | tar -C "$prefix" -x

# What Python needs and this host has not got.
for library in "$prefix"/fallback/*; do
    ldconfig -p | grep -qF "$(basename "$library") " || ln -sf "$library" "$prefix/lib/"
done

ln -sf "$prefix"/site/nvidia/*/lib/lib*.so.* "$prefix/lib/"
folders=("${CUDA_HOME:-/usr/local/cuda}/lib64")
if command -v python3 > /dev/null; then
    packages=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
    folders+=("$packages"/nvidia/*/lib)
fi
for folder in "${folders[@]}"; do
    for library in "$folder"/lib*.so.*; do
        name=$(basename "$library")
        case $name in libcudart.* | libcupti.* | 'lib*.so.*') continue ;; esac
        [ -e "$prefix/lib/$name" ] || ln -sf "$library" "$prefix/lib/"
    done
done

: > "$prefix/STAND-INS"
: > "$prefix/FORWARDED"
cd "$prefix/lib"
for name in libcublas.so.12 libcublasLt.so.12 libcufft.so.11 libcusolver.so.11 libcusparse.so.12 libcudnn.so.9 \
    libnccl.so.2 libnvJitLink.so.12 libcurand.so.10; do
    [ -e "$name" ] && continue
    later=$(find . -maxdepth 1 -name "${name%.*}.[0-9]*" ! -name '*.*.*.*' -printf '%f\n' | sort -V | tail -n 1)
    if [ -n "$later" ]; then
        # dlsym also looks at the libraries that a library names.
        gcc -shared -o "$name" "-Wl,-soname,$name" -Wl,--no-as-needed -Wl,--allow-shlib-undefined -L. "-l:$later" \
            "-Wl,-rpath,$prefix/lib"
        echo "$name $later" >> "$prefix/FORWARDED"
    else
        echo | gcc -shared -fPIC -x c - -o "$name" "-Wl,-soname,$name"
        echo "$name" >> "$prefix/STAND-INS"
    fi
done

cat > "$prefix/env.sh" << ENV
export PATH=$prefix/python/bin:\$PATH
export PYTHONHOME=$prefix/python PYTHONPATH=$prefix/site\${PYTHONPATH:+:\$PYTHONPATH}
export LD_LIBRARY_PATH=$prefix/python/lib:$prefix/lib\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
export CUDA_HOME=\${CUDA_HOME:-/usr/local/cuda}
export XLA_FLAGS=--xla_gpu_cuda_data_dir=\$CUDA_HOME
ENV
echo "unpacked to $prefix: $(wc -l < "$prefix/FORWARDED") of a later CUDA, $(wc -l < "$prefix/STAND-INS") stand-ins"
