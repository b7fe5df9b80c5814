"""Turns the lines of `host bench --json` into the CSV of this folder, on standard output.

    python3 to_csv.py "against CUB=best_cold.jsonl" "against CUB=best_warm.jsonl" "note=ours.jsonl" "note,nvcc=theirs.jsonl"

Each argument is a comparison, then, where the kernels are not ours, who compiled them (`--ptx ladder.cubin`), then a file.
"""

import csv
import json
import sys

COLUMNS = (
    "comparison family variant compiler op dtype n shape settings cache block grid median_us min_us spread gbps tflops verified".split()
)
OURS = "rustc+llc"


def record(line, comparison, compiler):
    timing = line["timing"]
    # A library chooses the launch shape itself and does not report it.
    library = line["grid"] == 0
    return {
        "comparison": comparison,
        "family": line["family"],
        "variant": line["variant"],
        "compiler": "nvcc" if library else compiler,
        "op": line["op"] or "",
        "dtype": line["dtype"],
        "n": line["n"],
        "shape": "x".join(map(str, line["shape"] or [])),
        "settings": line["settings"] or "",
        "cache": timing["cache"],
        "block": "" if library else line["block"],
        "grid": "" if library else line["grid"],
        "median_us": f"{timing['median_ms'] * 1000:.2f}",
        "min_us": f"{timing['min_ms'] * 1000:.2f}",
        "spread": f"{timing['spread']:.4f}",
        "gbps": f"{line['gbps']:.0f}",
        "tflops": f"{line['tflops']:.3f}" if line["tflops"] else "",
        "verified": str(line["verified"]).lower(),
    }


def main(arguments):
    if not arguments or not all("=" in argument for argument in arguments):
        sys.exit(__doc__)
    writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for argument in arguments:
        what, _, path = argument.partition("=")
        comparison, _, compiler = what.partition(",")
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                writer.writerow(record(json.loads(line), comparison, compiler or OURS))


if __name__ == "__main__":
    main(sys.argv[1:])
