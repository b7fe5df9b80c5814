"""Launches every case of micro.csv once, in order, through the driver API (no other kernel runs)."""
import csv, ctypes, os, sys
cu = ctypes.CDLL("libcuda.so.1")
def ok(code, what):
    if code: raise SystemExit(f"{what}: CUDA error {code}")
def offsets(text):
    out = []
    for item in text.split():
        start, times = (item.split("*") + ["1"])[:2]
        times = int(times)
        if start == "-": out += [-1] * times
        elif "+" in start:
            first, step = map(int, start.split("+"))
            out += [first + step * k for k in range(times)]
        else: out += [int(start)] * times
    assert len(out) == 32, text
    return out
def main(path):
    ok(cu.cuInit(0), "cuInit")
    dev = ctypes.c_int(); ok(cu.cuDeviceGet(ctypes.byref(dev), 0), "device")
    ctx = ctypes.c_void_p(); ok(cu.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), dev), "context"); ok(cu.cuCtxSetCurrent(ctx), "current")
    def alloc(n):
        p = ctypes.c_uint64(); ok(cu.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(n)), "alloc"); ok(cu.cuMemsetD8_v2(p, 0, ctypes.c_size_t(n)), "memset"); return p
    offs, data, out = alloc(128), alloc(1 << 16), alloc(512)
    modules = {}
    for row in csv.DictReader(open(path)):
        if row["file"] not in modules:
            m = ctypes.c_void_p(); ok(cu.cuModuleLoadData(ctypes.byref(m), open(row["file"], "rb").read() + b"\0"), row["file"]); modules[row["file"]] = m
        f = ctypes.c_void_p(); ok(cu.cuModuleGetFunction(ctypes.byref(f), modules[row["file"]], row["entry"].encode()), row["entry"])
        values = (ctypes.c_int32 * 32)(*offsets(row["offsets"]))
        ok(cu.cuMemcpyHtoD_v2(offs, values, ctypes.c_size_t(128)), "copy"); ok(cu.cuMemsetD8_v2(data, 0, ctypes.c_size_t(1 << 16)), "memset")
        args = (ctypes.c_void_p * 3)(*[ctypes.cast(ctypes.byref(p), ctypes.c_void_p) for p in (offs, data, out)])
        ok(cu.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 16384, None, args, None), row["case"])
        ok(cu.cuCtxSynchronize(), row["case"])
    print("launched all cases")
if __name__ == "__main__": main(sys.argv[1])
