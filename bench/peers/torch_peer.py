"""Shared by the peers in Python, as peer.h by the programs in CUDA C++: arguments, the generator's numbers, and measuring as `host bench` does."""

import json
import sys


class Request:
    """The arguments: FAMILY OP DTYPE SIZE SEED REPEAT cold|warm GPU FOLDER [--SETTING VALUE]..."""

    def __init__(self, library):
        if len(sys.argv) < 10:
            sys.exit(f"usage: {sys.argv[0]} FAMILY OP DTYPE SIZE SEED REPEAT cold|warm GPU FOLDER [--SETTING VALUE]...")
        self.library = library
        self.family, _, self.dtype, size, seed, repeat, cache, gpu, self.folder, *settings = sys.argv[1:]
        self.shape, self.seed, self.repeat = [int(axis) for axis in size.split("x")], int(seed), int(repeat)
        self.cold, self.gpu = cache == "cold", int(gpu)
        self.settings = dict(zip(settings[::2], settings[1::2]))

    def skip(self, why):
        """Explains on standard error why nothing is measured, and exits with success."""
        print(f"{self.library} is not measured: {why}", file=sys.stderr)
        sys.exit(0)

    def torch(self):
        """PyTorch, with the requested GPU selected."""
        try:
            import torch
        except ImportError:
            self.skip("this python3 has no torch (pip install torch)")
        if not torch.cuda.is_available():
            self.skip("torch finds no GPU")
        torch.cuda.set_device(self.gpu)
        return torch

    def random(self, n, operand=0):
        """Outputs of SplitMix64 as i64: operand k has the seed SEED + k."""
        torch = self.torch()
        wrapped = lambda x: x - (1 << 64) if x >= 1 << 63 else x
        z = torch.arange(1, n + 1, dtype=torch.int64, device="cuda") * wrapped(0x9E3779B97F4A7C15) + wrapped(self.seed + operand)
        z = (z ^ shifted(z, 30)) * wrapped(0xBF58476D1CE4E5B9)
        z = (z ^ shifted(z, 27)) * wrapped(0x94D049BB133111EB)
        return z ^ shifted(z, 31)

    def floats(self, n, operand, dtype):
        """The generator's floats in [-1, 1), as in crates/rustwarp/src/element.rs. They are exact in f32, and f16 is rounded from it."""
        wide = self.torch().promote_types(dtype, self.torch().float32)
        return ((shifted(self.random(n, operand), 40) - (1 << 23)).to(wide) / (1 << 23)).to(dtype)

    def measure(self, run, nbytes):
        """Sorted times in milliseconds; crates/ladders/src/bench.rs explains why data of more than four times the cache needs no flush."""
        torch = self.torch()
        l2 = torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size
        flush = torch.empty(2 * l2, dtype=torch.uint8, device="cuda") if self.cold and nbytes <= 4 * l2 else None
        for _ in range(3):
            run()
        samples = []
        for i in range(self.repeat):
            if flush is not None:
                flush.fill_(i % 256)
            start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            run()
            stop.record()
            stop.synchronize()
            samples.append(start.elapsed_time(stop))
        return sorted(samples)

    def report(self, version, samples, result, shape, tolerance=0.0):
        """Writes the result, and prints the line that `host` reads."""
        file = f"{self.library}.bin"
        result.cpu().contiguous().numpy().tofile(f"{self.folder}/{file}")
        at = lambda quarter: samples[(len(samples) - 1) * quarter // 4]
        line = {
            "library": f"{self.library} {version}",
            "shape": shape,
            "dtype": self.dtype,
            "file": file,
            "time_ms": at(2),
            "min_ms": at(0),
            "max_ms": at(4),
            "spread": (at(3) - at(1)) / 2 / at(2),
            "tolerance": tolerance,
        }
        print(json.dumps(line))


def shifted(z, bits):
    """A shift of unsigned numbers: torch shifts the sign in."""
    return (z >> bits) & ((1 << (64 - bits)) - 1)
