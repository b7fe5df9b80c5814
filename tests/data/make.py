"""Writes the .npy files of this folder with numpy and ml_dtypes: one per type, and one per kind of file that must be rejected."""
import ml_dtypes
import numpy as np

rng = np.random.default_rng(7)
for name in ["f4", "f8", "i4", "u4", "i8", "u8"]:
    kind, size = name[0], int(name[1])
    rust = {"f": "f", "i": "i", "u": "u"}[kind] + str(8 * size)
    if kind == "f":
        values = rng.normal(size=1003)
    else:
        info = np.iinfo(name)
        values = rng.integers(info.min // 4, info.max // 4, size=1003, dtype=name)
    np.save(f"{rust}.npy", values.astype("<" + name))

np.save("u8.npy", rng.integers(0, 256, size=100, dtype="u1"))
np.save("f16.npy", rng.normal(size=100).astype("<f2"))
np.save("empty.npy", np.zeros(0, dtype="<f4"))
np.save("nan.npy", np.array([1, np.nan, -2, np.inf], dtype="<f4"))
np.save("matrix.npy", np.arange(12, dtype="<f4").reshape(3, 4))
np.save("big_endian.npy", np.arange(4, dtype=">f4"))
np.save("fortran.npy", np.asfortranarray(np.arange(12, dtype="<f4").reshape(3, 4)))
np.save("i16.npy", np.arange(4, dtype="<i2"))
np.save("i8.npy", np.array([-128, -1, 127], dtype="i1"))
np.save("u16.npy", np.array([0, 1, 65535], dtype="<u2"))
np.save("bool.npy", np.array([True, False, True]))
np.save("bf16.npy", np.array([1, -2, 3], dtype=ml_dtypes.bfloat16))
np.save("c8.npy", np.zeros(3, dtype="<c8"))
np.savez_compressed("two.npz", a=np.array([1, 2, 3], dtype="<f4"), b=np.array([4, 5, 6], dtype="<i4"))
np.save("object.npy", np.array([1, "two"], dtype=object), allow_pickle=True)
np.save("structured.npy", np.zeros(2, dtype=[("x", "<f4"), ("y", "<i4")]))
with open("version2.npy", "wb") as file:
    np.lib.format.write_array(file, np.arange(4, dtype="<f4"), version=(2, 0))
whole = open("f32.npy", "rb").read()
open("truncated.npy", "wb").write(whole[:-10])
open("not_npy.npy", "wb").write(b"this is no array\n")
