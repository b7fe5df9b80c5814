#!/usr/bin/env python3
"""Runs the own tests of foreign CUDA libraries under `host sanitize`, and prints what fails and what is found.

    python3 bench/clients/run.py numba                        numba-cuda's tests, from its package
    python3 bench/clients/run.py cudarc                       cudarc's tests and examples, from its package
    python3 bench/clients/run.py tinygrad --source FOLDER     tinygrad's operator tests, from its repository at COMMIT

Needs Python 3.11 with pip and venv, cargo, and for tinygrad clang; everything else comes from PyPI and crates.io. A fault
of a kernel ends all further work of a process, as on a GPU: a test of numba that fails is run once more alone, and after
one of tinygrad the others go on in a new process. A test that a process names and does not end has failed. Exit code 1 if
a test fails.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMIT = "a9069c177a9da9cca18593edf55acd2e6073cca6"
NVIDIA = ["nvidia-cuda-nvrtc==13.5.*", "nvidia-cuda-runtime==13.5.*", "nvidia-nvvm==13.5.*", "nvidia-cuda-nvcc==13.5.*",
          "nvidia-cuda-crt==13.5.*", "nvidia-cuda-cccl==13.*"]
# Without nvidia-nvjitlink, which would make machine code, numba hands PTX to the driver.
NUMBA = ["numba-cuda==0.30.4", "numba==0.68.1", "cuda-bindings==13.5.*", "cuda-core==1.2.2", "filecheck", "psutil", "cffi",
         "pytest", "ml_dtypes"]
# PyTorch, which the tests compare with, brings NVIDIA's compiler along.
TINYGRAD = ["numpy", "torch==2.15.0", "pytest", "hypothesis"]
CUDARC = "0.19.10"
FEATURES = "std,driver,nvrtc,dynamic-loading,cuda-13000,f16"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("client", choices=CLIENTS)
    options.add_argument("--only", default="", help="tests whose names contain this")
    options.add_argument("--source", type=pathlib.Path, help="tinygrad's repository")
    options.add_argument("--device", default="CUDA", help="tinygrad's device: CUDA or CUDA:PTX")
    options.add_argument("--work", type=pathlib.Path, default=ROOT / "target/clients", help="folder for packages and logs")
    options.add_argument("--host", type=pathlib.Path, help="the command line, with its libraries [default: builds it]")
    options = options.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    options.work = options.work.resolve()
    if not options.host:
        packages = [word for name in ("host", "cuda_sim", "cudart12_sim", "cudart13_sim") for word in ("-p", name)]
        subprocess.run(["cargo", "build", "--release", *packages], cwd=ROOT, check=True)
        options.host = ROOT / "target/release/host"
    results, findings = CLIENTS[options.client](options)
    counts = collections.Counter(results.values())
    print(f"{options.client}: " + ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    failed = sorted(name for name, result in results.items() if result == "failed")
    for name in failed:
        print(f"  failed: {name}")
    for (code, place), count in sorted(findings.items()):
        print(f"  {code} in {place[:100]}, {count} times")
    return 1 if failed or not results else 0


def environment(options, wheels):
    """Makes a virtual environment, and returns its interpreter and what programs in it need to find NVIDIA's compiler."""
    folder = options.work / options.client
    python = folder / "bin/python"
    if not (folder / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *wheels], check=True)
        (folder / "installed").touch()
    toolkit = next(folder.glob("lib/python*/site-packages/nvidia/cu13"))
    compiler = toolkit / "lib/libnvrtc.so"
    if not compiler.exists():
        compiler.symlink_to("libnvrtc.so.13")
    paths = {"LD_LIBRARY_PATH": str(toolkit / "lib"), "CUDA_HOME": str(toolkit), "CUDA_PATH": str(toolkit)}
    return python, dict(os.environ, **paths)


class Sanitizer:
    """Runs programs under `host sanitize` and collects what it finds."""

    def __init__(self, options, env, *flags):
        self.command = [options.host.resolve(), "sanitize", *flags]
        self.env, self.findings = env, collections.Counter()
        self.report = options.work / f"{options.client}.jsonl"
        self.log = (options.work / f"{options.client}.log").open("w")

    def run(self, program, folder, limit=3600):
        """Returns the program's output."""
        self.report.unlink(missing_ok=True)
        command = [*self.command, "--json", self.report, "--", *program]
        try:
            result = subprocess.run(command, cwd=folder, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                    text=True, errors="replace", timeout=limit)
            text = result.stdout
        except subprocess.TimeoutExpired as expired:
            text = (expired.stdout or b"").decode(errors="replace") + f"\nended after {limit} s\n"
        self.log.write(text)
        self.log.flush()
        for line in self.report.read_text().splitlines() if self.report.exists() else []:
            finding = json.loads(line)
            if finding["code"] != "nvidia-runtime":
                place = finding["places"][0]["function"] if finding["places"] else finding["title"]
                self.findings[finding["code"], place] += finding["count"]
        return text


def numba(options):
    python, env = environment(options, NUMBA + NVIDIA)
    tests = next(python.parents[1].glob("lib/python*/site-packages/numba_cuda")) / "numba/cuda/tests"
    sanitizer, results = Sanitizer(options, env), {}
    folders = ["core", "cudadrv", "cudapy", "nocuda", "nrt", "doc_examples"]
    for file in sorted(file for folder in folders for file in (tests / folder).rglob("test_*.py")):
        module = ".".join(["numba.cuda.tests", *file.relative_to(tests).with_suffix("").parts])
        # Files whose tests are functions need a fixture of pytest's that the package lacks.
        if options.only not in module or "class Test" not in file.read_text():
            continue
        run = lambda name: unittests(sanitizer.run([python, "-m", "numba.runtests", "-v", name], options.work))
        found = run(module)
        if not found:
            found[module] = "failed"
        for name in [name for name, result in found.items() if result == "failed"]:
            found[name] = run(name).get(name, "failed")
        print(module, dict(collections.Counter(found.values())), flush=True)
        results.update(found)
    return results, sanitizer.findings


def unittests(text):
    """Reads the results of unittest's verbose output, between which programs print. A test without a result has failed."""
    kinds = {"ok": "passed", "expected failure": "passed"}
    full = lambda test, place: place if place.endswith(test) else f"{place}.{test}"
    results, open_test = {}, None
    for line in text.splitlines():
        named = re.match(r"(\w+) \((numba[\w.]+)\)", line)
        if named:
            open_test = full(named[1], named[2])
            results.setdefault(open_test, "failed")
        end = re.search(r"\b(ok|FAIL|ERROR|expected failure|unexpected success)$", line)
        if open_test and (end or "... skipped" in line):
            results[open_test] = kinds.get(end[1], "failed") if end else "skipped"
            open_test = None
        # The summary at the end also names tests of which only a part has failed.
        failed = re.match(r"(?:FAIL|ERROR): (\w+) \((numba[\w.]+)\)", line)
        if failed:
            results[full(failed[1], failed[2])] = "failed"
    return results


def tinygrad(options):
    if not options.source:
        sys.exit(f"name the repository at {COMMIT} by --source")
    python, env = environment(options, TINYGRAD)
    sanitizer, results = Sanitizer(options, dict(env, DEV=options.device, CACHELEVEL="0", PYTHONPATH=".")), {}
    pytest = [python, "-m", "pytest", "-p", "no:cacheprovider", "--tb=line"]
    listed = subprocess.run([*pytest, "test/backend/test_ops.py", "--collect-only", "-q"], cwd=options.source, env=env,
                            capture_output=True, text=True)
    names = [line for line in listed.stdout.splitlines() if "::" in line and options.only in line]
    kinds = {"PASSED": "passed", "SKIPPED": "skipped", "XFAIL": "passed"}
    while left := [name for name in names if name not in results]:
        # The first failure ends the process, and the rest goes on in a new one.
        text = sanitizer.run([*pytest, "-v", "-x", *left], options.source)
        for name, kind in re.findall(r"^(test/\S+::\S+) .*?(PASSED|SKIPPED|XFAIL|FAILED|ERROR)", text, re.M):
            results[name] = kinds.get(kind, "failed")
        results.setdefault(left[0], "failed")
    return results, sanitizer.findings


def cudarc(options):
    _, env = environment(options, NVIDIA)
    source = options.work / f"cudarc-{CUDARC}"
    if not source.exists():
        user = options.work / "cudarc-user"
        (user / "src").mkdir(parents=True, exist_ok=True)
        (user / "src/lib.rs").touch()
        (user / "Cargo.toml").write_text('[package]\nname = "user"\nedition = "2024"\n[dependencies]\n'
                                         f'cudarc = {{ version = "={CUDARC}", features = ["cuda-13000"] }}\n[workspace]\n')
        listed = subprocess.run(["cargo", "metadata", "--format-version", "1"], cwd=user, capture_output=True, check=True)
        packages = json.loads(listed.stdout)["packages"]
        manifest = next(package["manifest_path"] for package in packages if package["name"] == "cudarc")
        shutil.copytree(pathlib.Path(manifest).parent, source)
    env["CARGO_TARGET_DIR"] = str(options.work / "cudarc-target")
    sanitizer, results = Sanitizer(options, env, "--devices", "2"), {}
    cargo = ["cargo", "--quiet"]
    features = ["--no-default-features", "--features", FEATURES]
    subprocess.run([*cargo, "test", "--lib", "--no-run", *features], cwd=source, env=env, check=True)
    text = sanitizer.run(["cargo", "test", "--lib", *features, "--", "--test-threads", "1", options.only], source)
    kinds = {"ok": "passed", "ignored": "skipped"}
    # Programs print between a name and its result; a test without a result has failed.
    for part in re.split(r"^test (?=\S+ \.\.\. )", text, flags=re.M)[1:]:
        end = re.search(r"(?:^|\.\.\. )(ok|FAILED|ignored)\b[^\n]*$", part, re.M)
        results[part.split()[0]] = kinds.get(end[1], "failed") if end else "failed"
    # The others need CUPTI or cuFile.
    for example in sorted(file.stem for file in (source / "examples").glob("*.rs")):
        if example in ("08-cupti", "cufile-copy") or options.only not in example:
            continue
        build = [*cargo, "build", "--example", example, *features]
        subprocess.run(build, cwd=source, env=env, check=True)
        text = sanitizer.run(["sh", "-c", f'"$CARGO_TARGET_DIR/debug/examples/{example}"; echo "ended with $?"'], source)
        results[f"example {example}"] = "passed" if "ended with 0" in text else "failed"
    return results, sanitizer.findings


CLIENTS = {"numba": numba, "cudarc": cudarc, "tinygrad": tinygrad}

if __name__ == "__main__":
    sys.exit(main())
