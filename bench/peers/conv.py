"""cuDNN's convolutions, through PyTorch; arguments and output as in peer.h.

    python3 bench/peers/conv.py conv2d - f32 8192x8192 42 21 cold 0 /tmp --mask 5

cuDNN correlates with zeros around the input, as much on both sides: what a mask with an odd number of taps needs. For other masks and
borders there is nothing to compare with. A separable mask takes two convolutions. TF32 is off: the products are those of f32.
"""

import json
import sys


def skip(why):
    """Explains on standard error why nothing is measured, and exits with success."""
    print(f"cuDNN is not measured: {why}", file=sys.stderr)
    sys.exit(0)


try:
    import torch
except ImportError:
    skip("this python3 has no torch (pip install torch)")


def generated(n, seed, dtype):
    """The generator's numbers: outputs of SplitMix64, converted to floats as in crates/rustwarp/src/element.rs."""
    wrapped = lambda x: x - (1 << 64) if x >= 1 << 63 else x
    shifted = lambda z, bits: (z >> bits) & ((1 << (64 - bits)) - 1)  # torch shifts the sign in
    z = torch.arange(1, n + 1, dtype=torch.int64, device="cuda") * wrapped(0x9E3779B97F4A7C15) + seed
    z = (z ^ shifted(z, 30)) * wrapped(0xBF58476D1CE4E5B9)
    z = (z ^ shifted(z, 27)) * wrapped(0x94D049BB133111EB)
    z = z ^ shifted(z, 31)
    return (shifted(z, 40) - (1 << 23)).to(dtype) / (1 << 23)


def measured(run, nbytes, repeat, cold):
    """Sorted times in milliseconds; crates/ladders/src/bench.rs explains why data of more than four times the cache needs no flush."""
    l2 = torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size
    flush = torch.empty(2 * l2, dtype=torch.uint8, device="cuda") if cold and nbytes <= 4 * l2 else None
    for _ in range(3):
        run()
    samples = []
    for i in range(repeat):
        if flush is not None:
            flush.fill_(i % 256)
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        run()
        stop.record()
        stop.synchronize()
        samples.append(start.elapsed_time(stop))
    return sorted(samples)


def main():
    if len(sys.argv) < 10:
        sys.exit(f"usage: {sys.argv[0]} FAMILY OP DTYPE SIZE SEED REPEAT cold|warm GPU FOLDER [--SETTING VALUE]...")
    family, _, name, size, seed, repeat, cache, gpu, folder, *settings = sys.argv[1:]
    options = dict(zip(settings[::2], settings[1::2]))
    shape, seed, repeat = [int(axis) for axis in size.split("x")], int(seed), int(repeat)
    columns = int(options.get("--mask", 5))
    rows = int(options.get("--mask-rows", 0)) or columns
    if family not in ("conv1d", "conv2d", "separable"):
        skip(f"it does not support the family {family}")
    if name not in ("f32", "f64"):
        skip(f"it does not support the type {name}")
    if options.get("--border", "zero") != "zero":
        skip(f"it does not support the border '{options['--border']}'")
    taps = [columns] if family == "conv1d" else [rows, columns]
    if any(n % 2 == 0 for n in taps):
        skip("an even mask needs asymmetric padding, which it does not support")
    if not torch.cuda.is_available():
        skip("torch finds no GPU")

    torch.cuda.set_device(int(gpu))
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    # cuDNN tries its algorithms in the first call, and keeps the fastest.
    torch.backends.cudnn.benchmark = True
    dtype = torch.float32 if name == "f32" else torch.float64
    if family != "conv1d" and len(shape) == 1:
        shape = shape * 2
    count = 1
    for axis in shape:
        count *= axis
    if count == 0:
        skip("the input is empty")
    image = generated(count, seed, dtype).reshape(shape)
    if family == "separable":
        column = generated(rows, seed + 1, dtype).reshape([1, 1, rows, 1])
        row = generated(columns, seed + 2, dtype).reshape([1, 1, 1, columns])
    else:
        taps_count = columns if family == "conv1d" else rows * columns
        mask = generated(taps_count, seed + 1, dtype).reshape([1, 1] + taps)
    # The first axis is the channels, each a signal or a picture of its own.
    if family == "conv1d":
        batch = image.reshape(shape[0], -1).transpose(0, 1).contiguous().unsqueeze(1)
        convolve = torch.nn.functional.conv1d
        restored = lambda result: result.squeeze(1).transpose(0, 1).reshape(shape)
    else:
        channels = shape[2] if len(shape) == 3 else 1
        batch = image.reshape(shape[0], shape[1], channels).permute(2, 0, 1).contiguous().unsqueeze(1)
        convolve = torch.nn.functional.conv2d
        restored = lambda result: result.squeeze(1).permute(1, 2, 0).reshape(shape)
    padding = [n // 2 for n in taps]
    if family == "separable":
        run = lambda: convolve(convolve(batch, row, padding=[0, padding[1]]), column, padding=[padding[0], 0])
    else:
        run = lambda: convolve(batch, mask, padding=padding)
    with torch.no_grad():
        samples = measured(run, 2 * batch.nbytes, repeat, cache == "cold")
        result = restored(run())
    result.cpu().contiguous().numpy().tofile(f"{folder}/cuDNN.bin")
    version = torch.backends.cudnn.version()
    at = lambda quarter: samples[(len(samples) - 1) * quarter // 4]
    line = {
        "library": f"cuDNN {version // 10000}.{version // 100 % 100}.{version % 100}",
        "shape": shape,
        "dtype": name,
        "file": "cuDNN.bin",
        "time_ms": at(2),
        "min_ms": at(0),
        "max_ms": at(4),
        "spread": (at(3) - at(1)) / 2 / at(2),
    }
    print(json.dumps(line))


if __name__ == "__main__":
    main()
