#!/bin/sh
# Tests and measures the kernels on a machine with an NVIDIA GPU and its driver. Needs no Rust and no CUDA toolkit; with nvcc
# on the PATH, `bench` measures NVIDIA's libraries too.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
export RUSTWARP_PTX_DIR="${RUSTWARP_PTX_DIR:-$here/ptx}"

usage() {
    echo "usage: $0 test [FILTER…]     every GPU test" >&2
    echo "       $0 bench [ARGS…]      the kernels' speed: arguments of 'host bench'" >&2
    echo "       $0 host ARGS…         the command line: 'host --help' lists its subcommands" >&2
    exit 2
}

run_tests() {
    "$here/host" devices
    failed=
    for test in "$here"/tests/*; do
        echo "== ${test##*/}"
        # Tests name files relative to the folder.
        (cd "$here" && "$test" "$@") || failed="$failed ${test##*/}"
    done
    [ -z "$failed" ] || { echo "failed:$failed" >&2; exit 1; }
}

# Sets `peers` to the flag for host when every peer program compiles.
build_peers() {
    peers=
    command -v nvcc > /dev/null || { echo "nvcc is not on the PATH: NVIDIA's libraries are not measured" >&2; return 0; }
    for source in "$here"/peers/*.cu; do
        program=${source%.cu}
        [ "$program" -nt "$source" ] || nvcc -O3 -std=c++17 -arch=native "$source" -o "$program" || {
            echo "$source does not compile: NVIDIA's libraries are not measured" >&2
            return 0
        }
    done
    peers=--peers
}

[ $# -gt 0 ] || usage
task=$1
shift
case $task in
    test) run_tests "$@" ;;
    bench)
        build_peers
        # The flag is one word or none.
        exec "$here/host" bench $peers "$@"
        ;;
    host) exec "$here/host" "$@" ;;
    *) usage ;;
esac
