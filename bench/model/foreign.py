#!/usr/bin/env python3
"""Compares the estimates of `host explain` with measured times of kernels that are not ours and were not fitted.

    foreign.py compile --samples CHECKOUT --nvcc NVCC    the PTX files
    foreign.py estimate --host HOST --profile H200       estimates-H200.json, on any machine
    foreign.py measure                                   measured.json, on a machine with a GPU and Python alone
    foreign.py table                                     both beside each other

All read the folder `--work`; `measure` writes to `--out`, the others to `--work`. CHECKOUT is one of
https://github.com/NVIDIA/cuda-samples at the commit of kernels.py. Both sides use the same PTX files, shapes and
contents of buffers. The measured time is that of `host bench`: two events around the launch, a cold L2 cache, the
median of 11.
"""

import argparse
import json
import math
import pathlib
import random
import re
import struct
import subprocess
import sys
import time

import driver
from kernels import COMMIT, KERNELS

HERE = pathlib.Path(__file__).resolve().parent
REPEAT = 11
SECONDS = 120
SIZE_OF = {"f32": 4, "u32": 4, "i32": 4}
PACK = {"f32": "<f", "u32": "<I", "i32": "<i"}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("command", choices=("compile", "estimate", "measure", "table"))
    options.add_argument("--work", type=pathlib.Path, default=HERE.parent.parent / "target/model")
    options.add_argument("--samples", type=pathlib.Path, help="the checkout")
    options.add_argument("--nvcc", default="nvcc")
    options.add_argument("--host", type=pathlib.Path, default=HERE.parent.parent / "target/release/host")
    options.add_argument("--profile", default="H200", help="the device to estimate for")
    options.add_argument("--out", type=pathlib.Path, help="folder for the results [default: that of --work]")
    options.add_argument("--only", default="", help="kernels whose names contain this")
    options.add_argument("--smallest", action="store_true", help="the first size of each kernel alone")
    options = options.parse_args()
    options.out = options.out or options.work
    for folder in (options.work, options.out):
        folder.mkdir(parents=True, exist_ok=True)
    return {"compile": translate, "estimate": estimate, "measure": measure, "table": table}[options.command](options)


def chosen(options):
    """The kernels with their launches."""
    for kernel in KERNELS:
        if options.only in kernel.name:
            for launch in kernel.launches[:1] if options.smallest else kernel.launches:
                yield kernel, launch


def translate(options):
    """Compiles the files of the checkout to PTX."""
    if options.samples is None:
        sys.exit("compile needs the checkout: add --samples FOLDER")
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=options.samples, check=True, capture_output=True, text=True)
    if head.stdout.strip() != COMMIT:
        sys.exit(f"{options.samples} is at commit {head.stdout.strip()}, and the table was made for {COMMIT}")
    work = options.work.resolve()
    # A toolkit from PyPI lacks this header, which one sample uses on the host.
    (work / "include").mkdir(exist_ok=True)
    (work / "include/cuda_profiler_api.h").write_text(
        "#pragma once\n#include <cuda_runtime.h>\ncudaError_t cudaProfilerStart();\ncudaError_t cudaProfilerStop();\n")
    for file in sorted({kernel.file for kernel in KERNELS}):
        path = pathlib.Path("Samples") / file
        includes = ["Common", path.parent, path.parent.parent / "inc"]
        command = [options.nvcc, "-std=c++17", "-arch=sm_90", "-lineinfo", "-ptx", "-w"]
        command += [f"-I{folder}" for folder in includes] + ["-isystem", work / "include"]
        command += [path, "-o", work / f"{path.stem}.ptx"]
        subprocess.run(list(map(str, command)), cwd=options.samples, check=True)


def ptx(options, kernel):
    """The kernel's PTX file and the full name of its entry."""
    path = options.work / f"{pathlib.Path(kernel.file).stem}.ptx"
    entries = re.findall(r"\.entry (\w+)", path.read_text())
    found = [entry for entry in entries if entry.startswith(kernel.entry)]
    if len(found) != 1:
        sys.exit(f"{path}: {len(found)} entries start with {kernel.entry}; entries: {' '.join(entries)}")
    return path, found[0]


def content(dtype, elements, number):
    """Bytes of a generated buffer, the same on each machine: numbers of [1, 2) in f32, or 32 random bits.

    `number` is that of the argument. The words are made by operations on one long integer: Python's loops are slow.
    """
    words = random.Random(number).randbytes(4 * elements)
    if dtype != "f32":
        return words
    every = int.from_bytes(struct.pack("<I", 0x007f_ffff) * elements, "little")
    one = int.from_bytes(struct.pack("<I", 0x3f80_0000) * elements, "little")
    return (int.from_bytes(words, "little") & every | one).to_bytes(4 * elements, "little")


def generated(arg):
    """The type and the length of a buffer with generated content, else None."""
    found = re.fullmatch(r"buf:(\w+):(\d+):random", arg)
    return (found[1], int(found[2])) if found else None


def estimate(options):
    """Writes the estimates; exit code 1 if there is none for a launch."""
    rows, wrong = [], 0
    for kernel, launch in chosen(options):
        path, entry = ptx(options, kernel)
        command = [options.host, "explain", path, "--entry", entry, "--json", "--profile", options.profile]
        command += ["--grid", ",".join(map(str, launch.grid)), "--block", ",".join(map(str, launch.block))]
        command += ["--shared", launch.shared]
        for number, arg in enumerate(launch.args):
            if buffer := generated(arg):
                file = options.work / f"{buffer[0]}-{buffer[1]}-{number}.bin"
                if not file.exists():
                    file.write_bytes(content(*buffer, number))
                arg = f"buf:{buffer[0]}:@{file}"
            command += ["--arg", arg]
        row, start = {"kernel": kernel.name, "elements": launch.elements}, time.monotonic()
        try:
            result = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=SECONDS)
            error = result.stderr.strip() if result.returncode else ""
        except subprocess.TimeoutExpired:
            error = f"no estimate within {SECONDS} s"
        if error:
            wrong, row["error"] = wrong + 1, error
        else:
            page = json.loads(result.stdout)["variants"][0]
            row |= {"us": page["time_us"], "limits": page["launches"][0]["time"]["limits"]}
        rows.append(row)
        shown = error.splitlines()[0] if error else f"{row['us']:.1f} us"
        print(f"{kernel.name:16} {launch.elements:>8}  {shown}  ({time.monotonic() - start:.1f} s)", flush=True)
    page = {"profile": options.profile, "commit": COMMIT, "rows": rows}
    write(options.work / f"estimates-{options.profile}.json", page)
    return 1 if wrong else 0


def measure(options):
    """Times the launches on the first GPU."""
    gpu = driver.Driver()
    rows = []
    for kernel, launch in chosen(options):
        path, entry = ptx(options, kernel)
        args = [argument(arg, number) for number, arg in enumerate(launch.args)]
        times = gpu.time(path.read_bytes(), entry, launch.grid, launch.block, launch.shared, args, REPEAT)
        us = [1000 * times[(len(times) - 1) * quarter // 4] for quarter in (0, 2, 4)]
        rows.append({"kernel": kernel.name, "elements": launch.elements, "us": us[1], "min": us[0], "max": us[2]})
        print(f"{kernel.name:16} {launch.elements:>8}  {us[1]:.1f} us ({us[0]:.1f} to {us[2]:.1f})", flush=True)
    write(options.out / "measured.json", {"device": gpu.describe(), "commit": COMMIT, "rows": rows})
    return 0


def argument(text, number):
    """An argument for the driver."""
    if buffer := generated(text):
        return SIZE_OF[buffer[0]] * buffer[1], content(*buffer, number)
    kind, rest = text.split(":", 1)
    if kind == "buf":
        dtype, elements = rest.split(":")
        return SIZE_OF[dtype] * int(elements), None
    return struct.pack(PACK[kind], float(rest) if kind == "f32" else int(rest))


def table(options):
    """Prints measured times and estimates; exit code 1 if an estimated launch was not measured."""
    measured = json.loads((options.out / "measured.json").read_text())
    estimates = [json.loads(path.read_text()) for path in sorted(options.work.glob("estimates-*.json"))]
    estimates = next((each for each in estimates if each["profile"] in re.findall(r"\w+", measured["device"])), None)
    if estimates is None:
        sys.exit(f"{options.work} has no estimates for {measured['device']}: run `estimate` with --profile")
    times = {(row["kernel"], row["elements"]): row for row in measured["rows"]}
    of_kernel = {kernel.name: kernel.character for kernel in KERNELS}
    print(f"{measured['device']}; profile {estimates['profile']}; cuda-samples {COMMIT[:12]}\n")
    print(f"{'kernel':16} {'elements':>8} {'measured us':>12} {'estimate us':>12} {'ratio':>6}  {'limit':11} character")
    logs, missing = [], 0
    for row in estimates["rows"]:
        other = times.get((row["kernel"], row["elements"]))
        if other is None or "us" not in row:
            missing += 1
            print(f"{row['kernel']:16} {row['elements']:>8} {row.get('error', 'not measured').splitlines()[0]}")
            continue
        ratio = row["us"] / other["us"]
        logs.append(abs(math.log(ratio)))
        print(f"{row['kernel']:16} {row['elements']:>8} {other['us']:12.1f} {row['us']:12.1f} {ratio:6.2f}  "
              f"{row['limits'][0]['name']:11} {of_kernel[row['kernel']]}")
    if logs:
        near = sum(value <= math.log(1.25) for value in logs)
        print(f"\n{len(logs)} launches: mean |log(estimate / measured)| {sum(logs) / len(logs):.3f}, "
              f"within 25 %: {100 * near / len(logs):.0f} %")
    return 1 if missing or not logs else 0


def write(path, value):
    path.write_text(json.dumps(value, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
