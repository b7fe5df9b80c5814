#!/bin/sh
# Compiles the programs to PTX again: nvcc/NAME.ARCH.ptx and clang/NAME.ARCH.ptx.
# NVCC and CLANG name the compilers; NVCC_FLAGS may add include paths. Programs that include CUDA's headers are for nvcc only.
cd "$(dirname "$0")" || exit 1
NVCC=${NVCC:-nvcc}
CLANG=${CLANG:-clang}
mkdir -p nvcc clang
for source in *.cu; do
    name=${source%.cu}
    [ "$name" = frames ] && continue
    for arch in 75 80 90; do
        case $name in pipeline) [ $arch -lt 80 ] && continue ;; esac
        # Products and sums are not fused, so that results are the same everywhere.
        # shellcheck disable=SC2086
        "$NVCC" $NVCC_FLAGS -std=c++17 -fmad=false -arch=compute_$arch -ptx "$source" -o nvcc/$name.sm_$arch.ptx || echo "nvcc: $source"
        case $name in groups|tiles|wmma_gemm|half_math|texture|pipeline) continue ;; esac
        "$CLANG" -x cuda --cuda-device-only --cuda-gpu-arch=sm_$arch -nocudainc -nocudalib -Wno-unknown-cuda-version -Xclang -target-feature -Xclang +ptx80 \
            -std=c++17 -O3 -ffp-contract=off -S "$source" -o clang/$name.sm_$arch.ptx || echo "clang: $source"
    done
done
# With debug information, which contains the folder of the source.
mkdir -p /tmp/programs && cp frames.cu /tmp/programs
for arch in 75 90 100; do
    # shellcheck disable=SC2086
    (cd /tmp/programs && "$NVCC" $NVCC_FLAGS -std=c++17 -G -arch=compute_$arch -ptx frames.cu -o frames.ptx) &&
        sed 's|^\(\t\.file\t1 \)".*/|\1"|' /tmp/programs/frames.ptx > nvcc/frames.sm_$arch.ptx || echo "nvcc: frames.cu"
done
