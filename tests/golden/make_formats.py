#!/usr/bin/env python3
"""Writes tests/golden/formats/: small files of NumPy, of the safetensors package, and PNG images built by hand.

pip install numpy safetensors ml_dtypes; run it in the repository's root. Files that change show a change of format."""
import io
import struct
import zipfile
import zlib
from pathlib import Path

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

OUT = Path(__file__).parent / "formats"
TYPES = ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]


def values(dtype, shape=(2, 3)):
    """0, 1, 2, ... less 2 where the type has signs; 0, 1, 0, 1, ... for bool."""
    x = np.arange(np.prod(shape), dtype=np.int64).reshape(shape)
    return (x % 2 == 1) if dtype == "bool" else (x - (0 if dtype.startswith("u") else 2)).astype(dtype)


def arrays():
    for name in TYPES:
        np.save(OUT / f"{name}.npy", values(name))
    np.save(OUT / "bfloat16.npy", values("float32").astype(ml_dtypes.bfloat16))
    np.save(OUT / "big_endian.npy", values("float32").astype(">f4"))
    np.save(OUT / "fortran.npy", np.asfortranarray(values("int32", (2, 3, 4))))
    np.save(OUT / "scalar.npy", np.float64(2.5))
    np.save(OUT / "empty.npy", np.zeros((0, 3), np.int16))
    for version in (2, 3):
        with open(OUT / f"version{version}.npy", "wb") as file:
            np.lib.format.write_array(file, values("int32"), version=(version, 0))
    np.save(OUT / "object.npy", np.array([{}, None], dtype=object), allow_pickle=True)
    np.save(OUT / "complex.npy", np.zeros(2, np.complex64))
    np.save(OUT / "record.npy", np.zeros(2, [("a", "f4"), ("b", "i4")]))
    np.save(OUT / "text.npy", np.array(["ab", "c"]))


def archives():
    content = {"weights": values("float32"), "layer/bias": values("int64", (4,)), "zeros": np.zeros((64, 64), np.float32)}
    np.savez_compressed(OUT / "deflated.npz", **content)
    del content["zeros"]
    np.savez(OUT / "stored.npz", **content)
    with zipfile.ZipFile(OUT / "object.npz", "w") as archive:  # as np.savez, without times
        member = io.BytesIO()
        np.save(member, np.array([None], dtype=object), allow_pickle=True)
        archive.writestr(zipfile.ZipInfo("a.npy"), member.getvalue())


def tensors():
    content = {name: values(name) for name in TYPES}
    content["bfloat16"] = values("float32").astype(ml_dtypes.bfloat16)
    content["empty"] = np.zeros((0, 3), np.float32)
    content["scalar"] = np.array(2.5, np.float64)
    save_file(content, OUT / "all.safetensors", metadata={"format": "np", "note": 'quote " and \u00fc'})


def png(name, colour, depth, rows, width, channels, expected, palette=None, key=None):
    """rows: lists of samples; expected: what read_png gives."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    raw = b""
    for row in rows:
        bits = "".join(format(v, f"0{depth}b") for v in row)
        bits += "0" * (-len(bits) % 8)
        raw += b"\0" + bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, len(rows), depth, colour, 0, 0, 0))
    if palette is not None:
        data += chunk(b"PLTE", bytes(palette))
    if key is not None:
        data += chunk(b"tRNS", bytes(key))
    data += chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b"")
    (OUT / f"{name}.png").write_bytes(data)
    np.save(OUT / f"{name}.png.npy", np.array(expected, np.uint8).reshape(len(rows), width, channels))


def images():
    png("grey1", 0, 1, [[0, 1, 1], [1, 0, 1]], 3, 1, [0, 255, 255, 255, 0, 255])
    png("grey2", 0, 2, [[0, 1, 2, 3]], 4, 1, [0, 85, 170, 255])
    png("grey4", 0, 4, [[0, 1, 15]], 3, 1, [0, 17, 255])
    png("grey8", 0, 8, [[0, 7], [200, 255]], 2, 1, [0, 7, 200, 255])
    png("grey16", 0, 16, [[0x00ff, 0x1234], [0xffff, 0x8000]], 2, 1, [0, 0x12, 255, 0x80])
    png("grey8_key", 0, 8, [[0, 7]], 2, 2, [0, 255, 7, 0], key=[0, 7])
    png("grey16_key", 0, 16, [[0x1234, 0x1235]], 2, 2, [0x12, 0, 0x12, 255], key=[0x12, 0x34])
    png("rgb8", 2, 8, [[1, 2, 3, 250, 251, 252]], 2, 3, [1, 2, 3, 250, 251, 252])
    png("rgb8_key", 2, 8, [[1, 2, 3, 1, 2, 4]], 2, 4, [1, 2, 3, 0, 1, 2, 4, 255], key=[0, 1, 0, 2, 0, 3])
    png("rgb16", 2, 16, [[0x0102, 0x7fff, 0xff00]], 1, 3, [1, 0x7f, 0xff])
    png("rgb16_key", 2, 16, [[0x0102, 0x7fff, 0xff00]], 1, 4, [1, 0x7f, 0xff, 0], key=[1, 2, 0x7f, 0xff, 0xff, 0])
    png("palette2", 3, 2, [[0, 1, 2], [2, 1, 0]], 3, 3, [9, 8, 7, 1, 2, 3, 255, 0, 5, 255, 0, 5, 1, 2, 3, 9, 8, 7],
        palette=[9, 8, 7, 1, 2, 3, 255, 0, 5])
    png("palette8_key", 3, 8, [[0, 1]], 2, 4, [9, 8, 7, 128, 1, 2, 3, 255], palette=[9, 8, 7, 1, 2, 3], key=[128])
    png("grey_alpha8", 4, 8, [[5, 128, 6, 255]], 2, 2, [5, 128, 6, 255])
    png("grey_alpha16", 4, 16, [[0x0501, 0x80ff]], 1, 2, [5, 0x80])
    png("rgba8", 6, 8, [[1, 2, 3, 4], [5, 6, 7, 8]], 1, 4, [1, 2, 3, 4, 5, 6, 7, 8])
    png("rgba16", 6, 16, [[0x0101, 0x02ff, 0x0300, 0x04aa]], 1, 4, [1, 2, 3, 4])


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    arrays()
    archives()
    tensors()
    images()
