#!/usr/bin/env python3
"""Reports of compute-sanitizer's four tools on the programs of crates/ptx_sim/tests/{pass,fail}, on a GPU.

    bench/sanitizer/table.py PROGRAMS_FOLDER [COMPUTE_SANITIZER] > table.csv

PROGRAMS_FOLDER has `pass` and `fail`. COMPUTE_SANITIZER is the tool's path, by default the one on the PATH; it must know the options below (2026.4
does). One row per program: the codes that the simulator's test expects (from its `//~` and `//@ stops` lines),
how a plain launch ends, and for each tool `found` (it reported errors or hazards), `clean`, `hang` (ended by a time limit), or `failed`
(the launch failed before the tool could check it). nvcc must be on the PATH.
"""
import concurrent.futures
import csv
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

# The tools, each with the options that make it find the most.
TOOLS = {
    "memcheck": ["--padding", "256", "--check-cache-control", "--leak-check", "full"],
    "racecheck": ["--racecheck-detect-level", "info", "--racecheck-deadlock-timeout", "3000",
                  "--racecheck-continue-on-deadlock", "no"],
    "initcheck": ["--initcheck-address-space", "all"],
    "synccheck": [],
}
# Limit for a run, and for the search for a deadlock, which is run alone.
SECONDS, ALONE = 12, 40


def run(command, seconds=SECONDS):
    """Runs a command, and returns its exit code (None after the time limit) and output."""
    # The command gets a process group of its own, so that a hanging child of a tool is ended with it.
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=seconds)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return None, output


def expected(text):
    marks = re.findall(r"//~ ([\w-]+)", text) + re.findall(r"^//@ stops ([\w-]+)", text, re.M)
    return " ".join(sorted(set(marks)))


def verdict(tool, code, output):
    if tool == "racecheck":
        summary = re.search(r"RACECHECK SUMMARY: (\d+) hazards? displayed \((\d+) errors?, (\d+) warnings?\)", output)
        count = int(summary.group(2)) + int(summary.group(3)) if summary else 0
    else:
        summary = re.search(r"ERROR SUMMARY: (\d+) error", output)
        count = int(summary.group(1)) if summary else 0
    # An error that the driver reports for the module or the launch itself, which launch.cu prints, is not a finding of the tool. (A tool's
    # own list of host frames names these functions too.)
    if re.search(r"^cu(ModuleLoadData|LaunchKernelEx): ", output, re.M):
        return "failed", ""
    own = re.search(r"========= (Invalid|Barrier error|Uninitialized|Error: |Warning: |Race reported|Program hit|Fatal|Leaked|Deadlock)", output)
    if count and own:
        first = next((line for line in output.splitlines() if re.match(r"========= (Invalid|Barrier|Uninit|Error|Warning|Race|Program|Fatal|Leaked|Deadlock)", line)), "")
        return "found", first[10:].strip()
    return ("hang" if code is None else "clean"), ""


def check(sanitizer, tool, launch, path, seconds=SECONDS):
    """Runs a program under a tool, and returns what it said and the first words."""
    return verdict(tool, *run([sanitizer, "--tool", tool, *TOOLS[tool], launch, str(path)], seconds))


def row(sanitizer, launch, path):
    text = path.read_text()
    code, output = run([launch, str(path)])
    plain = "hang" if code is None else "done" if code == 0 else output.strip().splitlines()[-1] if output.strip() else "failed"
    return [path.parent.name, path.stem, expected(text), plain], {tool: check(sanitizer, tool, launch, path) for tool in TOOLS}


def main():
    folder = pathlib.Path(sys.argv[1])
    sanitizer = sys.argv[2] if len(sys.argv) > 2 else "compute-sanitizer"
    with tempfile.TemporaryDirectory() as scratch:
        launch = scratch + "/launch"
        source = pathlib.Path(__file__).with_name("launch.cu")
        subprocess.run(["nvcc", "-O1", "-std=c++17", "-arch=native", str(source), "-lcuda", "-o", launch], check=True)
        paths = [path for part in ("fail", "pass") for path in sorted((folder / part).glob("*.ptx"))]
        out = csv.writer(sys.stdout, lineterminator="\n")
        out.writerow(["folder", "program", "simulator", "launch", *TOOLS, "first words"])
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            rows = list(pool.map(lambda path: row(sanitizer, launch, path), paths))
        for path, (cells, said) in zip(paths, rows):
            if cells[-1] == "hang":
                # A hanging kernel delays those beside it, so that racecheck has no time to see that nothing moves.
                said["racecheck"] = check(sanitizer, "racecheck", launch, path, ALONE)
            words = "; ".join(f"{tool}: {what}" for tool, (_, what) in said.items() if what)
            out.writerow([*cells, *(verdict for verdict, _ in said.values()), words])
            sys.stdout.flush()


if __name__ == "__main__":
    main()
