"""Kernels of NVIDIA's cuda-samples that the estimates of `host explain` are compared with, and their launches.

The model was not fitted to any of them, and the list was chosen before the first estimate. An argument is written as
for `host run --arg`; a buffer whose text ends in `:random` has a generated content, any other is zeroed or written by
the kernel.
"""

import dataclasses

# The commit of https://github.com/NVIDIA/cuda-samples whose files are compiled.
COMMIT = "c94ff366aed18c797b8a85dfaac7817b0228b420"


@dataclasses.dataclass(frozen=True)
class Launch:
    """A launch as the sample's own host code makes it."""

    elements: str
    grid: tuple
    block: tuple
    shared: int
    args: tuple


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A kernel: its file below `Samples`, the start of its mangled name, and its launches."""

    name: str
    file: str
    entry: str
    character: str
    launches: tuple


def of_vectors(elements, buffers, values, block, each, shared=0):
    """A launch of one axis, of which each block handles `each` elements."""
    args = tuple(":".join(["buf", dtype, str(elements), *how]) for dtype, *how in (text.split(":") for text in buffers))
    return Launch(power(elements), (elements // each, 1, 1), (block, 1, 1), shared, args + values)


def power(elements):
    return f"2^{elements.bit_length() - 1}" if elements & (elements - 1) == 0 else str(elements)


def product(side):
    """Product of square matrices by tiles of 32 x 32."""
    buffers = ("buf:f32:{}", "buf:f32:{}:random", "buf:f32:{}:random")
    args = tuple(buffer.format(side * side) for buffer in buffers)
    return Launch(f"{side}^2", (side // 32, side // 32, 1), (32, 32, 1), 0, args + (f"i32:{side}",) * 2)


def rows(side):
    """Convolution of an image's rows with 17 weights, 8 results per thread."""
    args = (f"buf:f32:{side * side}", f"buf:f32:{side * side}:random") + (f"i32:{side}",) * 3
    return Launch(f"{side}^2", (side // 128, side // 4, 1), (16, 4, 1), 0, args)


def cosine(side):
    """Cosine transform of blocks of 8 x 8 pixels."""
    args = (f"buf:f32:{side * side}", f"buf:f32:{side * side}:random", f"i32:{side}")
    return Launch(f"{side}^2", (side // 32, side // 16, 1), (8, 4, 2), 0, args)


def stencil(side):
    """Stencil of radius 4 on a volume, which has a margin of 4 on each side."""
    volume = (side + 8) ** 3
    args = (f"buf:f32:{volume}", f"buf:f32:{volume}:random") + (f"i32:{side}",) * 3
    return Launch(f"{side}^3", (side // 32, side // 16, 1), (32, 16, 1), 0, args)


def bodies(number):
    """Forces between all pairs of bodies, whose positions pass through shared memory."""
    args = (f"buf:f32:{4 * number}", f"buf:f32:{4 * number}:random", f"buf:f32:{4 * number}:random",
            "u32:0", f"u32:{number}", "f32:0.016", "f32:1", f"i32:{number // 256}")
    return Launch(power(number), (number // 256, 1, 1), (256, 1, 1), 256 * 16, args)


def sobol(vectors, blocks, dimensions=16):
    """Quasirandom numbers; the number of blocks is what the sample computes for 132 multiprocessors."""
    args = (f"u32:{vectors}", f"u32:{dimensions}",
            f"buf:u32:{32 * dimensions}:random", f"buf:f32:{vectors * dimensions}")
    return Launch(power(vectors * dimensions), (blocks, dimensions, 1), (64, 1, 1), 0, args)


def bytes_counted(words):
    """Histogram of bytes by 240 blocks."""
    args = (f"buf:u32:{240 * 256}", f"buf:u32:{words}:random", f"u32:{words}")
    return Launch(power(words), (240, 1, 1), (192, 1, 1), 0, args)


def sort(elements, *values):
    """Sorts pieces of 1024 keys with their values, one piece per block."""
    return of_vectors(elements, ("u32", "u32", "u32:random", "u32:random"), ("u32:1024", *values), 512, 1024)


def options(elements):
    """Prices of options, two per thread."""
    buffers = ("f32", "f32", "f32:random", "f32:random", "f32:random")
    return of_vectors(elements, buffers, ("f32:0.02", "f32:0.3", f"i32:{elements}"), 128, 256)


CONCEPTS, DOMAIN = "2_Concepts_and_Techniques", "5_Domain_Specific"
SIZES = (1 << 18, 1 << 22)

KERNELS = (
    Kernel("matrixMul", "0_Introduction/matrixMul/matrixMul.cu", "_Z13MatrixMulCUDAILi32E",
           "tiles in shared memory, f32 products", (product(512), product(1024))),
    Kernel("convolutionRows", f"{CONCEPTS}/convolutionSeparable/convolutionSeparable.cu", "_Z21convolutionRowsKernel",
           "small blocks, halo in shared memory, constants", (rows(512), rows(2048))),
    Kernel("scanExclusive", f"{CONCEPTS}/scan/scan.cu", "_Z19scanExclusiveSharedP",
           "volatile shared memory, many barriers",
           tuple(of_vectors(n, ("u32", "u32:random"), ("u32:1024",), 256, 1024) for n in SIZES)),
    Kernel("histogram256", f"{CONCEPTS}/histogram/histogram256.cu", "_Z18histogram256Kernel",
           "atomics on shared memory", tuple(map(bytes_counted, SIZES))),
    Kernel("bitonicSort", f"{CONCEPTS}/sortingNetworks/bitonicSort.cu", "_Z17bitonicSortSharedP",
           "bank conflicts, 55 barriers, exchanges", tuple(sort(n, "u32:1") for n in SIZES)),
    Kernel("mergeSort", "0_Introduction/mergeSort/mergeSort.cu", "_Z21mergeSortSharedKernelILj1E",
           "binary searches in shared memory", tuple(map(sort, SIZES))),
    Kernel("dct8x8", f"{CONCEPTS}/dct8x8/dct8x8.cu", "_Z14CUDAkernel2DCT",
           "straight-line f32, three barriers", (cosine(512), cosine(2048))),
    Kernel("BlackScholes", f"{DOMAIN}/BlackScholes/BlackScholes.cu", "_Z15BlackScholesGPU",
           "special functions, streams", tuple(map(options, SIZES))),
    Kernel("fastWalsh", f"{DOMAIN}/fastWalshTransform/fastWalshTransform.cu", "_Z15fwtBatch1Kernel",
           "radix-4 stages with growing conflicts, dynamic shared memory",
           tuple(of_vectors(n, ("f32", "f32:random"), ("i32:11",), 512, 2048, 2048 * 4) for n in SIZES)),
    Kernel("FDTD3d", f"{DOMAIN}/FDTD3d/src/FDTD3dGPU.cu", "_Z23FiniteDifferencesKernel",
           "few blocks that march through planes, registers", (stencil(64), stencil(160))),
    Kernel("nbody", f"{DOMAIN}/nbody/bodysystemcuda.cu", "_Z15integrateBodiesIfE",
           "arithmetic and reciprocal roots", (bodies(4096), bodies(16384))),
    Kernel("sobol", f"{DOMAIN}/SobolQRNG/sobol_gpu.cu", "_Z15sobolGPU_kernel",
           "integer operations, streams of stores", (sobol(1 << 14, 256), sobol(1 << 18, 1024))),
)
