"""Launches kernels of PTX files through the CUDA driver and times them as `host bench` does."""

import ctypes
import time

WARM_UP = 3
# Data of more than this many times the cache needs no flush, since little of it stays cached.
FITS = 4
L2_CACHE_SIZE, MULTIPROCESSORS, CLOCK_KHZ = 38, 16, 13

Pointer, Handle = ctypes.c_uint64, ctypes.c_void_p


class Driver:
    """A context on the first GPU."""

    def __init__(self, library="libcuda.so.1"):
        self.cuda = ctypes.CDLL(library)
        self.call("cuInit", ctypes.c_uint(0))
        self.device, context = ctypes.c_int(), Handle()
        self.call("cuDeviceGet", ctypes.byref(self.device), ctypes.c_int(0))
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        self.call("cuCtxSetCurrent", context)
        self.l2 = self.attribute(L2_CACHE_SIZE)
        self.flush = self.allocate(2 * max(self.l2, 1 << 20))
        self.events = [Handle(), Handle()]
        for event in self.events:
            self.call("cuEventCreate", ctypes.byref(event), ctypes.c_uint(0))
        # Clocks rise while the device works.
        start = time.monotonic()
        while time.monotonic() < start + 0.5:
            self.call("cuMemsetD8_v2", self.flush, ctypes.c_ubyte(0), ctypes.c_size_t(self.l2))
            self.call("cuCtxSynchronize")

    def call(self, name, *args):
        code = getattr(self.cuda, name)(*args)
        if code != 0:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorName(ctypes.c_int(code), ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'unknown error').decode()}")

    def attribute(self, number):
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), ctypes.c_int(number), self.device)
        return value.value

    def describe(self):
        """The device as text."""
        name, version = ctypes.create_string_buffer(100), ctypes.c_int()
        self.call("cuDeviceGetName", name, ctypes.c_int(100), self.device)
        self.call("cuDriverGetVersion", ctypes.byref(version))
        clock = self.attribute(CLOCK_KHZ) / 1000
        return (f"{name.value.decode()}, {self.attribute(MULTIPROCESSORS)} multiprocessors, at most {clock:.0f} MHz, "
                f"CUDA {version.value // 1000}.{version.value % 1000 // 10}")

    def allocate(self, size):
        address = Pointer()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address

    def time(self, ptx, entry, grid, block, shared, args, repeat):
        """Times a launch; an argument is bytes, or a pair of a buffer's size and its content or None.

        Returns milliseconds, sorted.
        """
        module, function = Handle(), Handle()
        self.call("cuModuleLoadData", ctypes.byref(module), ptx + b"\0")
        self.call("cuModuleGetFunction", ctypes.byref(function), module, entry.encode())
        params, buffers = [], []
        for arg in args:
            if isinstance(arg, bytes):
                params.append(ctypes.create_string_buffer(arg, len(arg)))
                continue
            size, content = arg
            address = self.allocate(size)
            buffers.append((address, size))
            params.append(address)
            if content is None:
                self.call("cuMemsetD8_v2", address, ctypes.c_ubyte(0), ctypes.c_size_t(size))
            else:
                self.call("cuMemcpyHtoD_v2", address, content, ctypes.c_size_t(size))
        pointers = (Handle * len(params))(*(ctypes.addressof(param) for param in params))
        shape = [ctypes.c_uint(number) for number in (*grid, *block, shared)]

        def run():
            self.call("cuLaunchKernel", function, *shape, None, pointers, None)

        for _ in range(WARM_UP):
            run()
        self.call("cuCtxSynchronize")
        flush = sum(size for _, size in buffers) <= FITS * self.l2
        times = [self.sample(run, number, flush) for number in range(repeat)]
        for address, _ in buffers:
            self.call("cuMemFree_v2", address)
        self.call("cuModuleUnload", module)
        return sorted(times)

    def sample(self, run, number, flush):
        """Time of one launch between two events, in milliseconds."""
        if flush:
            size = ctypes.c_size_t(2 * max(self.l2, 1 << 20))
            self.call("cuMemsetD8Async", self.flush, ctypes.c_ubyte(number % 256), size, None)
        start, stop = self.events
        self.call("cuEventRecord", start, None)
        run()
        self.call("cuEventRecord", stop, None)
        self.call("cuEventSynchronize", stop)
        elapsed = ctypes.c_float()
        self.call("cuEventElapsedTime", ctypes.byref(elapsed), start, stop)
        return elapsed.value
