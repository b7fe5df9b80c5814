#!/usr/bin/env bash
# Measures the constants and the foreign kernels on this machine's GPU, and prints short tables.
#
#     bench/model/run.sh WORK [OUT]
#
# WORK has the PTX files of `foreign.py compile` and the estimates of `foreign.py estimate` for this GPU; the results
# go to OUT [default: WORK]. Needs nvcc and Python; takes a quarter of a minute.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$1
out=${2:-$work}
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
mkdir -p "$out"

for file in "$here"/constants/*.cu; do
    nvcc -std=c++17 -O3 -arch=native -c "$file" -o "$build/$(basename "$file" .cu).o" &
    jobs[$!]=$!
done
for job in "${jobs[@]}"; do wait "$job"; done
nvcc -arch=native "$build"/*.o -o "$build/constants"

# The results of the one are printed even where the other fails.
status=0
python3 "$here/foreign.py" measure --work "$work" --out "$out" >"$out/measure.log" 2>&1 || status=1
timeout 90 "$build/constants" >"$out/constants.txt" 2>&1 || status=1
facts=name,driver_version,clocks.sm,clocks.max.sm,clocks.mem,temperature.gpu
nvidia-smi --query-gpu=$facts --format=csv >"$out/gpu.txt" || true
cat "$out/gpu.txt" "$out/constants.txt"
if ! python3 "$here/foreign.py" table --work "$work" --out "$out" | tee "$out/foreign.txt"; then
    cat "$out/measure.log"
    status=1
fi
exit $status
