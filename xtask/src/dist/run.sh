#!/bin/sh
# Tests and measures the kernels on a machine with an NVIDIA GPU and its driver. Needs no Rust and no CUDA toolkit; with nvcc
# on the PATH, `bench` measures NVIDIA's libraries too.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# Once for each archive, by one process at a time: `unpacked` is newer than the archive that was unpacked.
unpack() {
    [ "$here/unpacked" -nt "$here/packed.tar.xz" ] && return
    rm -rf "$here/tests" "$here/ptx"
    tar -xJf "$here/packed.tar.xz" -C "$here"
    touch "$here/unpacked"
}
[ "$here/unpacked" -nt "$here/packed.tar.xz" ] || (flock 9; unpack) 9> "$here/.lock"
export RUSTWARP_PTX_DIR="${RUSTWARP_PTX_DIR:-$here/ptx}"

usage() {
    echo "usage: $0 test [FILTER]      every GPU test, or those whose names contain FILTER" >&2
    echo "       $0 bench [ARGS…]      the kernels' speed: arguments of 'host bench'" >&2
    echo "       $0 tune FOLDER [ARGS…]   variants of a kernel that 'cargo xtask tune FAMILY --prepare' has made: arguments of 'host tune'" >&2
    echo "       $0 host ARGS…         the command line: 'host --help' lists its subcommands" >&2
    exit 2
}

run_tests() {
    "$here/host" devices
    failed=
    for test in "$here"/tests/*; do
        echo "== ${test##*/}"
        # Tests name files relative to the folder.
        (cd "$here" && "$test" --test-threads=1 "$@") || failed="$failed ${test##*/}"
    done
    [ -z "$failed" ] || { echo "failed:$failed" >&2; exit 1; }
}

# Compiles the peer programs, and the first rungs of reduce to a cubin, if nvcc is installed, and sets `peers` to the flag for host.
build_peers() {
    peers=
    command -v nvcc > /dev/null || { echo "nvcc is not on the PATH: NVIDIA's libraries are not measured" >&2; return 0; }
    for source in "$here"/peers/*.cu; do
        case $source in
            */ladder.cu) set -- -cubin -o "${source%.cu}.cubin" ;;
            *) set -- -std=c++17 -lcublas -lcublasLt -o "${source%.cu}" ;;
        esac
        nvcc -O3 -arch=native "$source" "$@" || { echo "nvcc does not compile $source" >&2; exit 1; }
    done
    peers=--peers
}

# The first rungs as rustc and LLVM compile them, then as nvcc does, launched and timed by the same program.
ladder() {
    set -- reduce --variant interleaved,interleaved_strided,sequential --dtype i32 --n 2^22 --block 128 --warm --repeat 101 --device gpu "$@"
    echo "== the first rungs of reduce in Rust"
    "$here/host" "$@"
    [ -z "$peers" ] || { echo "== the same rungs in CUDA C++, compiled by nvcc"; "$here/host" "$@" --ptx "$here/peers/ladder.cubin"; }
}

[ $# -gt 0 ] || usage
task=$1
shift
case $task in
    test) run_tests "$@" ;;
    bench)
        build_peers
        ladder
        # `$peers` is one word or empty.
        exec "$here/host" bench $peers "$@"
        ;;
    tune) exec "$here/host" tune "$@" ;;
    host) exec "$here/host" "$@" ;;
    *) usage ;;
esac
