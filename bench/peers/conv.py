"""cuDNN's convolutions, through PyTorch; see torch_peer.py.

    python3 bench/peers/conv.py conv2d - f32 8192x8192 42 21 cold 0 FOLDER --mask 5

cuDNN correlates with zeros around the input, as much on both sides: what a mask with an odd number of taps needs. For other masks and
borders there is nothing to compare with. A separable mask takes two convolutions. TF32 is off: the products are those of f32.

Images of f16 have taps of f16 here, since cuDNN has no others, and sums of f32; ours have taps of f32. A rounding to f16 is off by 2^-11 of a
number, so the results pass up to that much of the largest sum of the taps' absolute values for every rounding: of the taps, of the result, and
for a separable mask also of the sums between its two convolutions.
"""

from torch_peer import Request


def main():
    request = Request("cuDNN")
    options, shape, skip = request.settings, request.shape, request.skip
    columns = int(options.get("--mask", 5))
    rows = int(options.get("--mask-rows", 0)) or columns
    if request.family not in ("conv1d", "conv2d", "separable"):
        skip(f"it does not support the family {request.family}")
    if request.dtype not in ("f32", "f64", "f16"):
        skip(f"it does not support the type {request.dtype}")
    if options.get("--border", "zero") != "zero":
        skip(f"it does not support the border '{options['--border']}'")
    taps = [columns] if request.family == "conv1d" else [rows, columns]
    if any(n % 2 == 0 for n in taps):
        skip("an even mask needs asymmetric padding, which it does not support")
    torch = request.torch()
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    # cuDNN tries its algorithms in the first call, and keeps the fastest.
    torch.backends.cudnn.benchmark = True
    dtype = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16}[request.dtype]
    if request.family != "conv1d" and len(shape) == 1:
        shape = shape * 2
    count = 1
    for axis in shape:
        count *= axis
    if count == 0:
        skip("the input is empty")
    image = request.floats(count, 0, dtype).reshape(shape)
    if request.family == "separable":
        column = request.floats(rows, 1, dtype).reshape([1, 1, rows, 1])
        row = request.floats(columns, 2, dtype).reshape([1, 1, 1, columns])
        largest, roundings = float(column.abs().sum() * row.abs().sum()), 4
    else:
        taps_count = columns if request.family == "conv1d" else rows * columns
        mask = request.floats(taps_count, 1, dtype).reshape([1, 1] + taps)
        largest, roundings = float(mask.abs().sum()), 2
    # The first axis is the channels, each a signal or a picture of its own.
    if request.family == "conv1d":
        batch = image.reshape(shape[0], -1).transpose(0, 1).contiguous().unsqueeze(1)
        convolve = torch.nn.functional.conv1d
        restored = lambda result: result.squeeze(1).transpose(0, 1).reshape(shape)
    else:
        channels = shape[2] if len(shape) == 3 else 1
        batch = image.reshape(shape[0], shape[1], channels).permute(2, 0, 1).contiguous().unsqueeze(1)
        convolve = torch.nn.functional.conv2d
        restored = lambda result: result.squeeze(1).permute(1, 2, 0).reshape(shape)
    padding = [n // 2 for n in taps]
    if request.family == "separable":
        run = lambda: convolve(convolve(batch, row, padding=[0, padding[1]]), column, padding=[padding[0], 0])
    else:
        run = lambda: convolve(batch, mask, padding=padding)
    with torch.no_grad():
        samples = request.measure(run, 2 * batch.nbytes)
        result = restored(run())
    version = torch.backends.cudnn.version()
    tolerance = roundings * 2.0**-11 * largest if request.dtype == "f16" else 0.0
    request.report(f"{version // 10000}.{version // 100 % 100}.{version % 100}", samples, result, shape, tolerance)


if __name__ == "__main__":
    main()
