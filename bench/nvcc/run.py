#!/usr/bin/env python3
"""Compiles the CUDA programs of this folder by nvcc, runs each under `host sanitize`, and prints a table.

Needs Python with pip and venv, g++, and cargo; nvcc comes from PyPI. A program is right if it ends with exit code 0 and
nothing is found; where its text has `// finds: CODE` on a line, exactly these findings are to name that line, and
`finds in a header: CODE` is one in a header of CUDA; `finds … with CUDA 12: CODE` is one with that version alone. Exit
code 1 if a program is not right.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# What is installed for each version of CUDA, and the folders of headers, libraries and tools in it.
WHEELS = {
    "13": ["nvidia-cuda-nvcc==13.5.37", "nvidia-cuda-runtime==13.5.37", "nvidia-cuda-crt==13.5.37",
           "nvidia-nvvm==13.5.37", "nvidia-cuda-cccl==13.3.5.0.6"],
    # The wheels of CUDA 12 have no nvcc: that of 13 compiles with their headers and links their library.
    "12": ["nvidia-cuda-nvcc-cu12==12.9.86", "nvidia-cuda-runtime-cu12==12.9.79", "nvidia-cuda-cccl-cu12==12.9.27"],
}

# Options of single programs, and other files that belong to them.
OPTIONS = {
    "perthread": ["--default-stream", "per-thread"],
    "separate": ["-rdc=true", "programs/separate/part.cu"],
    "cooperative": ["-rdc=true"],
    "local_arrays": ["-G"],
}

MARK = re.compile(r"finds( in a header)?( with CUDA (\d+))?: ([a-z-]+)")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--work", type=pathlib.Path, default=ROOT / "target/nvcc", help="folder for wheels and programs")
    options.add_argument("--cuda", default="13,12", help="versions of CUDA")
    options.add_argument("--only", default="", help="programs whose names contain this")
    options.add_argument("--host", type=pathlib.Path, help="the command line, with its libraries [default: builds them]")
    options.add_argument("--page", type=pathlib.Path, help="file for the table in Markdown")
    options = options.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    options.work = options.work.resolve()
    host = options.host.resolve() if options.host else build()
    programs = sorted((HERE / "programs").glob("*.cu")) + sorted((HERE / "planted").glob("*.cu"))
    programs = [program for program in programs if options.only in program.stem]
    rows, wrong = [], 0
    for version in options.cuda.split(","):
        toolkit = install(version, options.work)
        for program in programs:
            verdict, checks = judge(program, version, toolkit, host, options.work)
            wrong += verdict != "right"
            rows.append((f"{program.parent.name}/{program.stem}", version, checks, marks(program, version), verdict))
            print("{:24} CUDA {}  {:>5} checks, {} planted: {}".format(*rows[-1][:3], len(rows[-1][3]), verdict), flush=True)
    print(f"{len(rows)} runs, {sum(row[2] for row in rows)} checks, {wrong} not right")
    if options.page:
        options.page.write_text(page(rows, wrong))
    return 1 if wrong else 0


def build():
    """Builds the command line and the libraries that it hands to programs."""
    packages = ["host", "cuda_sim", "cudart12_sim", "cudart13_sim"]
    run(["cargo", "build", "--release", *(word for package in packages for word in ("-p", package))], cwd=ROOT)
    return ROOT / "target/release/host"


def install(version, work):
    """Installs nvcc and returns its command for this version of CUDA."""
    for number, wheels in WHEELS.items():
        folder = work / f"cuda{number}"
        if not (folder / "installed").exists():
            run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, *wheels])
            link(next(folder.glob("nvidia/**/libcudart.so.*")))
            (folder / "installed").touch()
    thirteen = work / "cuda13/nvidia/cu13"
    nvcc = [thirteen / "bin/nvcc", "-std=c++17", "-arch=sm_90", "-lineinfo", "-cudart", "shared"]
    if version == "13":
        return nvcc
    # nvcc's own folders of headers and libraries come first, so that it gets a tree with those of CUDA 12 in their place.
    tree, twelve = work / "cuda12/tree", work / "cuda12/nvidia"
    if not tree.exists():
        for part in ("bin", "include", "lib"):
            (tree / part).mkdir(parents=True)
        run(["cp", "-a", f"{thirteen}/bin/.", tree / "bin"])
        (tree / "nvvm").symlink_to(thirteen / "nvvm")
        for package in ("cuda_runtime", "cuda_nvcc", "cuda_cccl"):
            run(["cp", "-a", f"{twelve}/{package}/include/.", tree / "include"])
        run(["cp", "-a", f"{twelve}/cuda_runtime/lib/.", tree / "lib"])
    return [tree / "bin/nvcc", *nvcc[1:]]


def link(library):
    """Gives a library the name under which the linker looks for it."""
    name = library.parent / "libcudart.so"
    if not name.exists():
        name.symlink_to(library.name)


def judge(program, version, nvcc, host, work):
    """Compiles and runs a program; returns what is wrong with it, and its number of checks."""
    built = work / f"{program.stem}.{version}"
    extra = [HERE / word if word.endswith(".cu") else word for word in OPTIONS.get(program.stem, [])]
    sources = [program, *(HERE / "programs").glob("**/*.h"), *(HERE / "programs").glob("*/*.cu")]
    if not built.exists() or built.stat().st_mtime < max(source.stat().st_mtime for source in sources):
        compiled = subprocess.run([*nvcc, "-w", program, *extra, "-o", built], capture_output=True, text=True)
        if compiled.returncode != 0:
            return f"does not compile: {last(compiled.stderr)}", 0
    report = work / "report.jsonl"
    report.unlink(missing_ok=True)
    command = [host, "sanitize", "--json", report, "--", built]
    result = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    counted = re.search(r"^(\d+) checks, (\d+) failures$", result.stdout, re.M)
    checks = int(counted[1]) if counted else 0
    lines = report.read_text().splitlines() if report.exists() else []
    found = {place(program, json.loads(line)) for line in lines if line}
    expected = marks(program, version)
    if found != expected:
        return f"found {sorted(found - expected, key=str)}, missed {sorted(expected - found, key=str)}", checks
    if result.returncode != (1 if expected else 0):
        return f"exit code {result.returncode}: {last(result.stderr)}", checks
    if counted and counted[2] != "0" or not counted and program.parent.name == "programs":
        return f"fails: {last(result.stderr)}", checks
    return "right", checks


def place(program, finding):
    """The line and the code of a finding; no line if it is in a header of CUDA."""
    own = finding["file"] and pathlib.Path(finding["file"]).name == program.name
    return (finding["line"] if own else None, finding["code"])


def marks(program, version):
    """The findings that a program's text announces for a version of CUDA."""
    found = set()
    for number, line in enumerate(program.read_text().splitlines(), 1):
        for mark in MARK.finditer(line):
            if mark[3] in (None, version):
                found.add((None if mark[1] else number, mark[4]))
    return found


def last(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


def page(rows, wrong):
    """The table, with the versions."""
    wheels = ", ".join(wheel.replace("==", " ") for wheels in WHEELS.values() for wheel in wheels)
    text = ["# CUDA programs of nvcc on the simulated driver", "",
            "`python3 bench/nvcc/run.py --page docs/results/cpu/nvcc.md` compiles the programs of `bench/nvcc` by nvcc with",
            "`-cudart shared` and runs them under `host sanitize` with its default checkers. CUDA 12 is nvcc 13.5 with the",
            "headers of CUDA 12.9 and `libcudart.so.12`, because the wheels of CUDA 12 have no nvcc. A planted defect is right",
            "if exactly that one is found, with its file and line.", "",
            f"Packages: {wheels}.", "",
            f"{len(rows)} runs, {sum(row[2] for row in rows)} checks, {wrong} not right.", "",
            "| program | CUDA | checks | planted | result |", "|---|---|---|---|---|"]
    for name, version, checks, planted, verdict in rows:
        codes = ", ".join(sorted(code for _, code in planted)) or "none"
        text.append(f"| {name} | {version} | {checks or '-'} | {codes} | {verdict} |")
    return "\n".join(text) + "\n"


def run(command, cwd=None):
    subprocess.run(list(map(str, command)), cwd=cwd, check=True)


if __name__ == "__main__":
    sys.exit(main())
