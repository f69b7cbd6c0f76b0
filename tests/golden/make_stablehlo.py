#!/usr/bin/env python3
"""Writes tests/golden/stablehlo.npz: small JAX programs as StableHLO text, with inputs and what XLA computes.

    python tests/golden/make_stablehlo.py           writes the archive (pip install jax; run it in the repository's root)
    python tests/golden/make_stablehlo.py --check DIR
                                                    the reverse proof, over texts that Hone printed into DIR (see below)

Arrays of program P are P/text (UTF-8 bytes), P/arg0, ..., P/out0, ... The text's first line says how results compare:
"// exact", or "// close" (within the tolerance of the dtype that stablehlo_test.cpp states).

--check reads NAME.mlir, which StableHLO's parser and verifier must accept, and where NAME.npz is there (arg0, ...,
out0, ...) StableHLO's own interpreter must give the same outputs."""
import os
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")  # compiles faster
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

OUT = Path(__file__).parent / "stablehlo.npz"
FLOATS = ["float32", "float64", "float16", "bfloat16"]
bfloat16 = ml_dtypes.bfloat16
arrays = {}
refused = []
random = np.random.RandomState(7)


def case(name, f, *arguments, exact=False):
    """Traces f, keeps text, inputs and XLA's outputs."""
    assert name + "/text" not in arrays, name
    try:
        lowered = jax.jit(f, keep_unused=True).lower(*arguments)
        outputs = jax.tree_util.tree_leaves(lowered.compile()(*arguments))
    except Exception as error:  # noqa: BLE001: all that JAX refuses is listed at the end
        refused.append(f"{name}: {error}")
        return
    text = ("// exact\n" if exact else "// close\n") + lowered.as_text()
    arrays[name + "/text"] = np.frombuffer(text.encode(), np.uint8)
    for kind, values in (("arg", jax.tree_util.tree_leaves(arguments)), ("out", outputs)):
        for i, value in enumerate(values):
            arrays[f"{name}/{kind}{i}"] = np.asarray(value)


def dtype_of(name):
    return np.dtype(bfloat16) if name == "bfloat16" else np.dtype(name)


def floats(shape, dtype="float32", low=-2.0, high=2.0):
    return random.uniform(low, high, shape).astype(dtype_of(dtype))


def integers(shape, dtype="int32", low=None, high=None):
    info = np.iinfo(dtype)
    low = max(info.min, -100) if low is None else low
    high = min(info.max, 100) if high is None else high
    return random.randint(low, high + 1, shape).astype(dtype)


def values(shape, dtype, **limits):
    if dtype == "bool":
        return random.randint(0, 2, shape).astype(bool)
    return floats(shape, dtype, **limits) if dtype in FLOATS else integers(shape, dtype, **limits)


def specials(dtype):
    return np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 2.5, -2.5, 0.5, -0.5, 1.5], dtype_of(dtype))


# ---- elementwise


def elementwise():
    exact = dict(abs=lax.abs, negate=lax.neg, sign=lax.sign, floor=lax.floor, ceil=lax.ceil, is_finite=lax.is_finite,
                 round_even=lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
                 round_afz=lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), sqrt=lax.sqrt)
    close = dict(exp=lax.exp, expm1=lax.expm1, log=lax.log, log1p=lax.log1p, logistic=lax.logistic, tanh=lax.tanh, tan=lax.tan,
                 sin=lax.sin, cos=lax.cos, rsqrt=lax.rsqrt, cbrt=lax.cbrt, erf=lax.erf, erf_inv=lax.erf_inv)
    positive = {"sqrt", "log", "log1p", "rsqrt"}
    shapes = [(), (1,), (7,), (3, 5), (2, 1, 9)]
    for i, (name, f) in enumerate({**exact, **close}.items()):
        for j, dtype in enumerate(FLOATS):
            low, high = (0.01, 3) if name in positive else (-0.95, 0.95) if name == "erf_inv" else (-3, 3)
            case(f"unary_{name}_{dtype}", f, floats(shapes[(i + j) % 5], dtype, low, high), exact=name in exact)
        if name not in ("tan", "erf_inv", "sin", "cos"):
            case(f"special_{name}", f, specials("float32"), exact=name in exact)
    for dtype in ["int8", "int32", "int64", "uint8", "uint32"]:
        for name, f in dict(abs=lax.abs, sign=lax.sign, negate=lax.neg, not_=lax.bitwise_not).items():
            if dtype.startswith("u") and name in ("abs", "negate"):
                continue
            case(f"unary_{name}_{dtype}", f, integers((5,), dtype), exact=True)
    case("unary_not_bool", lax.bitwise_not, values((6,), "bool"), exact=True)
    for name, f in dict(popcnt=lax.population_count, clz=lax.clz).items():
        case(f"unary_{name}", f, integers((9,), "uint32", 0, 2**31 - 1), exact=True)

    binary = dict(add=lax.add, subtract=lax.sub, multiply=lax.mul, divide=lax.div, maximum=lax.max, minimum=lax.min)
    inexact = dict(remainder=lax.rem, power=lax.pow, atan2=lax.atan2)
    for i, (name, f) in enumerate({**binary, **inexact}.items()):
        for j, dtype in enumerate(FLOATS):
            shape = shapes[(i + j) % 5]
            a = floats(shape, dtype, 0.1, 3) if name == "power" else floats(shape, dtype)
            case(f"binary_{name}_{dtype}", f, a, floats(shape, dtype, 0.5, 2), exact=name in binary)
    special = specials("float32")
    left, right = [m.reshape(-1) for m in np.meshgrid(special, special)]
    for name, f in binary.items():
        case(f"special2_{name}", f, left, right, exact=True)
    ints = dict(add=lax.add, subtract=lax.sub, multiply=lax.mul, divide=lax.div, remainder=lax.rem, maximum=lax.max,
                minimum=lax.min, and_=lax.bitwise_and, or_=lax.bitwise_or, xor=lax.bitwise_xor, shift_left=lax.shift_left,
                shift_right_logical=lax.shift_right_logical, shift_right_arithmetic=lax.shift_right_arithmetic)
    for name, f in ints.items():
        for dtype in ["int32", "uint8", "int64"]:
            shift = name.startswith("shift")
            b = integers((3, 5), dtype, 0, np.iinfo(dtype).bits + 1) if shift else integers((3, 5), dtype, 1, 7)
            case(f"binary_{name}_{dtype}", f, integers((3, 5), dtype), b, exact=True)
    for name, f in dict(and_=lax.bitwise_and, or_=lax.bitwise_or, xor=lax.bitwise_xor).items():
        case(f"binary_{name}_bool", f, values((9,), "bool"), values((9,), "bool"), exact=True)
    for name, f in dict(eq=lax.eq, ne=lax.ne, lt=lax.lt, le=lax.le, gt=lax.gt, ge=lax.ge).items():
        for dtype in ["float32", "int32", "uint8", "bfloat16"]:
            x = values((17,), dtype)
            case(f"compare_{name}_{dtype}", f, x, np.where(np.arange(17) % 3 == 0, x, values((17,), dtype)).astype(x.dtype), exact=True)
        case(f"compare_{name}_special", f, left, right, exact=True)
    for dtype in ["float32", "int8", "bool", "bfloat16"]:
        case(f"select_{dtype}", lax.select, values((4, 3), "bool"), values((4, 3), dtype), values((4, 3), dtype), exact=True)
    case("select_scalar", lambda p, a, b: lax.select(p[0] > 0, a, b), floats((1,)), floats((3, 2)), floats((3, 2)), exact=True)
    case("clamp", lax.clamp, np.float32(-1), floats((9,)), np.float32(1), exact=True)
    case("clamp_wide", lax.clamp, floats((9,), low=-2, high=-1), floats((9,)), floats((9,), low=1), exact=True)
    case("clamp_int", lax.clamp, np.int32(-10), integers((9,)), np.int32(20), exact=True)
    for e, m in [(5, 10), (8, 7), (4, 3)]:
        case(f"reduce_precision_{e}_{m}", lambda x: lax.reduce_precision(x, e, m), floats((11,), high=100), exact=True)
    for name in ["square", "sinh", "cosh", "asinh", "acosh", "atan", "asin", "acos", "atanh", "erfc"]:
        low, high = (1.1, 3) if name == "acosh" else (-0.9, 0.9)
        case(f"chlo_{name}", getattr(lax, name), floats((7,), low=low, high=high))
    case("empty", lambda x, y: lax.exp(x) + y, floats((0, 3)), floats((0, 3)), exact=True)


def conversion():
    types = ["float32", "float64", "float16", "bfloat16", "int8", "int32", "int64", "uint8", "uint32", "bool"]
    for i, source in enumerate(types):
        for target in types[i % 2::2]:
            x = values((9,), source) if source in FLOATS or source == "bool" else integers((9,), source, 0, 100)
            if source in FLOATS and target.startswith("u"):
                x = np.abs(x)
            case(f"convert_{source}_{target}", lambda x: lax.convert_element_type(x, dtype_of(target)), x, exact=True)
    for source, target in [("float32", "int32"), ("float64", "uint64"), ("int8", "uint8"), ("bfloat16", "int16"), ("float32", "uint8"),
                           ("int64", "float64")]:
        x = values((3, 2), source)
        case(f"bitcast_{source}_{target}", lambda x: lax.bitcast_convert_type(x, dtype_of(target)), x, exact=True)
    case("bitcast_join", lambda x: lax.bitcast_convert_type(x, np.uint32), integers((3, 4), "uint8"), exact=True)
    for dtype in ["float32", "int32", "uint8", "bfloat16", "int64"]:
        case(f"iota_{dtype}", lambda: lax.broadcasted_iota(dtype_of(dtype), (3, 5), 1), exact=True)


# ---- movement and indexing


def movement():
    for dtype in ["float32", "int64", "bool", "bfloat16", "uint8"]:
        x = values((3, 4, 5), dtype)
        case(f"reshape_{dtype}", lambda x: lax.reshape(x, (5, 12)), x, exact=True)
        case(f"transpose_{dtype}", lambda x: lax.transpose(x, (2, 0, 1)), x, exact=True)
        case(f"broadcast_{dtype}", lambda x: lax.broadcast_in_dim(x, (2, 3, 7, 4, 5), (1, 3, 4)), x, exact=True)
        case(f"concatenate_{dtype}", lambda x, y: lax.concatenate([x, y, x], 1), x, values((3, 1, 5), dtype), exact=True)
        case(f"slice_{dtype}", lambda x: lax.slice(x, (0, 1, 0), (3, 4, 5), (2, 1, 3)), x, exact=True)
        case(f"reverse_{dtype}", lambda x: lax.rev(x, (0, 2)), x, exact=True)
        case(f"dynamic_slice_{dtype}", lambda x, i, j: lax.dynamic_slice(x, (i, j, np.int32(0)), (2, 3, 5)), x, np.int32(2), np.int32(-1), exact=True)
        case(f"update_slice_{dtype}", lambda x, u, i: lax.dynamic_update_slice(x, u, (i, np.int32(1), i)), x, values((1, 2, 3), dtype), np.int32(7),
             exact=True)
        if dtype != "bool":
            case(f"pad_{dtype}", lambda x, v: lax.pad(x, v, [(1, 2, 0), (-1, 3, 1), (0, -2, 2)]), x, values((), dtype), exact=True)
    for shape in [(), (0,), (1,), (0, 4)]:
        name = "x".join(map(str, shape)) or "scalar"
        case(f"reshape_{name}", lambda x: jnp.expand_dims(x, 0), floats(shape), exact=True)
        case(f"broadcast_{name}", lambda x: jnp.broadcast_to(x, (3, *shape)), floats(shape), exact=True)
    case("barrier", lambda x, y: lax.optimization_barrier((x, y)), floats((3,)), integers((2,)), exact=True)
    case("split", lambda x: jnp.split(x, [2, 5], 1), floats((2, 7)), exact=True)
    case("roll", lambda x: jnp.roll(x, 2, 1), floats((3, 5)), exact=True)
    case("tril", jnp.tril, floats((5, 5)), exact=True)
    case("repeat", lambda x: jnp.repeat(x, 3, axis=1), floats((2, 4)), exact=True)
    table = np.arange(24, dtype=np.float32).reshape(4, 6)
    case("constants", lambda x: x * table[:, :3] + np.float32(np.inf), np.ones((4, 3), np.float32), exact=True)
    case("constant_large", lambda x: x + np.arange(3000, dtype=np.int32).reshape(30, 100), integers((100,)), exact=True)
    case("constant_large_f32", lambda x: x + np.linspace(0, 1, 2000).astype(np.float32), np.float32(1), exact=True)
    case("constant_bool", lambda x: x & (np.arange(300) % 3 == 0), values((300,), "bool"), exact=True)
    case("constant_nan", lambda x: jnp.stack([x, jnp.float32(np.nan), jnp.float32(-np.inf)]), np.float32(1), exact=True)
    case("constant_bf16", lambda x: x + np.array([1.5, np.inf, 3], bfloat16), np.ones((3,), bfloat16), exact=True)


def indexing():
    x, rows = floats((5, 3)), np.array([4, -1, 0, 2], np.int32)
    case("gather_rows", lambda x, i: x[i], x, rows, exact=True)
    case("gather_clip", lambda x, i: x.at[i].get(mode="clip"), x, np.array([7, -9, 1], np.int32), exact=True)
    case("gather_fill", lambda x, i: x.at[i].get(mode="fill", fill_value=7), x, np.array([7, -9, 1], np.int32), exact=True)
    case("gather_elements", lambda x, i, j: x[i, j], x, rows, np.array([0, 1, 2, 0], np.int32), exact=True)
    case("gather_columns", lambda x, i: x[:, i], x, np.array([[0, 2], [1, 1]], np.int32), exact=True)
    case("gather_u8", lambda x, i: jnp.take(x, i, axis=0), integers((5, 3), "int8"), np.array([1, 4], np.uint8), exact=True)
    case("take_along_axis", lambda x, i: jnp.take_along_axis(x, i, 1), x, integers((5, 2), low=0, high=2), exact=True)
    case("vmap_gather", jax.vmap(lambda x, i: x[i]), floats((4, 6)), integers((4, 3), low=0, high=5), exact=True)
    case("vmap_vmap_gather", jax.vmap(jax.vmap(lambda x, i: x[i])), floats((2, 4, 6)), integers((2, 4, 3), low=0, high=5), exact=True)
    case("vmap_dynamic_slice", jax.vmap(lambda x, i: lax.dynamic_slice(x, (i,), (3,))), floats((4, 6)), integers((4,), low=0, high=5),
         exact=True)
    case("vmap_update_slice", jax.vmap(lambda x, u, i: lax.dynamic_update_slice(x, u, (i,))), floats((4, 6)), floats((4, 2)),
         integers((4,), low=0, high=5), exact=True)
    for name in ["add", "multiply", "min", "max", "set"]:
        for dtype in ["float32", "int32"]:
            updates = values((4, 3), dtype)
            exact = name != "multiply" and not (name == "add" and dtype == "float32")
            at = np.array([3, 1, 0, 4], np.int32) if name == "set" else rows
            case(f"scatter_{name}_{dtype}", lambda x, i, u: getattr(x.at[i], name)(u), values((5, 3), dtype), at, updates, exact=exact)
    case("scatter_elements", lambda x, i, j, u: x.at[i, j].add(u), x, rows, np.array([0, 1, 2, 0], np.int32), floats((4,)))
    case("scatter_drop", lambda x, i, u: x.at[i].set(u, mode="drop"), x, np.array([9, 1], np.int32), floats((2, 3)), exact=True)
    case("scatter_subtract", lambda x, i, u: x.at[i].subtract(u), x, rows, floats((4, 3)))
    case("vmap_scatter", jax.vmap(lambda x, i, u: x.at[i].add(u)), floats((3, 6)), integers((3, 2), low=0, high=5), floats((3, 2)))
    case("grad_gather", jax.grad(lambda x, i: (x[i] ** 2).sum()), x, rows)
    case("one_hot", lambda i: jax.nn.one_hot(i, 5), np.array([0, 4, 2], np.int32), exact=True)
    case("embedding_grad", jax.grad(lambda e, i: jnp.tanh(e[i]).sum()), floats((7, 4)), integers((2, 3), low=0, high=6))


# ---- reductions and sorting


def reductions():
    ops = dict(sum=lax.reduce_sum, prod=lax.reduce_prod, max=lax.reduce_max, min=lax.reduce_min)
    for name, f in ops.items():
        for i, dtype in enumerate(["float32", "float64", "int32", "uint8", "bfloat16", "int64"]):
            x = values((3, 4, 5), dtype) if dtype in FLOATS else integers((3, 4, 5), dtype, 0, 3)
            axes = [(1,), (0, 2), (0, 1, 2)][i % 3]
            case(f"reduce_{name}_{dtype}", lambda x: f(x, axes), x, exact=name in ("max", "min") or dtype not in FLOATS)
    for name, f in dict(and_=jnp.all, or_=jnp.any).items():
        case(f"reduce_{name}", lambda x: f(x, 1), values((4, 3), "bool"), exact=True)
        g = lax.reduce_and if name == "and_" else lax.reduce_or
        case(f"reduce_{name}_int", lambda x: g(x, (0,)), integers((4, 3)), exact=True)
    case("reduce_init", lambda x, i: lax.reduce(x, i, lax.add, (0,)), floats((4, 3)), np.float32(10))
    case("reduce_empty", lambda x: jnp.sum(x, 0), floats((0, 3)), exact=True)
    case("reduce_nan", lambda x: (jnp.max(x), jnp.min(x)), specials("float32"), exact=True)
    for name, f in dict(argmax=jnp.argmax, argmin=jnp.argmin).items():
        for dtype in ["float32", "int32", "bfloat16", "uint8"]:
            case(f"{name}_{dtype}", lambda x: f(x, 1), values((3, 9), dtype), exact=True)
        case(f"{name}_nan", lambda x: f(x), specials("float32"), exact=True)
        case(f"{name}_flat", lambda x: f(x), floats((3, 4)), exact=True)
    windows = dict(sum=(0.0, lax.add), max=(-np.inf, lax.max), min=(np.inf, lax.min), prod=(1.0, lax.mul))
    for name, (init, f) in windows.items():
        x = floats((2, 6, 7, 3))
        exact = name in ("max", "min")
        case(f"window_{name}_valid", lambda x: lax.reduce_window(x, np.float32(init), f, (1, 2, 3, 1), (1, 2, 2, 1), "VALID"), x, exact=exact)
        case(f"window_{name}_same", lambda x: lax.reduce_window(x, np.float32(init), f, (1, 3, 3, 1), (1, 1, 2, 1), "SAME"), x, exact=exact)
        case(f"window_{name}_dilated", lambda x: lax.reduce_window(x, np.float32(init), f, (2, 2), (1, 2), [(1, 0), (0, 2)], (2, 1), (1, 2)),
             floats((5, 6)), exact=exact)
    case("window_int", lambda x: lax.reduce_window(x, np.int32(0), lax.add, (3,), (1,), "SAME"), integers((9,)), exact=True)
    case("grad_max_pool", jax.grad(lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") ** 2).sum()),
         floats((2, 6, 6, 2)))
    case("grad_max_pool_same", jax.grad(lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME") ** 2).sum()),
         floats((1, 7, 6, 2)))
    case("grad_avg_pool", jax.grad(lambda x: (lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 1, 1, 1), "VALID") ** 2).sum()),
         floats((1, 5, 5, 2)))
    for name, f in dict(cumsum=lax.cumsum, cumprod=lax.cumprod, cummax=lax.cummax, cummin=lax.cummin).items():
        case(f"{name}", lambda x: f(x, axis=1), floats((3, 7)), exact=name in ("cummax", "cummin"))
        case(f"{name}_reverse", lambda x: f(x, axis=0, reverse=True), floats((5, 2)), exact=name in ("cummax", "cummin"))
    case("cumsum_int", lambda x: lax.cumsum(x, axis=0), integers((9,)), exact=True)
    case("mean_var", lambda x: (x.mean(1), x.var(1), x.std()), floats((3, 9)))
    case("logsumexp", lambda x: jax.nn.logsumexp(x, 1), floats((3, 9)))
    case("norm", jnp.linalg.norm, floats((3, 4)))
    case("median", lambda x: jnp.median(x, 1), floats((3, 5)), exact=True)


def sorting():
    for dtype in ["float32", "int32", "uint8", "bfloat16", "float64"]:
        case(f"sort_{dtype}", lambda x: jnp.sort(x, axis=1), values((3, 11), dtype), exact=True)
        case(f"argsort_{dtype}", lambda x: jnp.argsort(x, axis=0), values((9, 2), dtype), exact=True)
    case("sort_special", jnp.sort, specials("float32"), exact=True)
    case("sort_descending", lambda x: jnp.sort(x, descending=True), floats((9,)), exact=True)
    case("sort_pair", lambda k, v: lax.sort((k, v), dimension=0, num_keys=1), integers((9,), low=0, high=3), floats((9,)), exact=True)
    case("argsort_stable", lambda x: jnp.argsort(x, stable=True), integers((17,), low=0, high=3), exact=True)
    case("unique_counts", lambda x: jnp.searchsorted(jnp.sort(x), x), integers((9,), low=0, high=9), exact=True)
    for k in [1, 3]:
        case(f"top_k_{k}", lambda x: lax.top_k(x, k), floats((2, 9)), exact=True)
    case("top_k_int", lambda x: lax.top_k(x, 4), integers((9,)), exact=True)
    case("grad_sort", jax.grad(lambda x: (jnp.sort(x) * jnp.arange(5.0)).sum()), floats((5,)))


# ---- contraction


def contraction():
    for dtype in ["float32", "float64", "float16", "bfloat16", "int32"]:
        case(f"matmul_{dtype}", jnp.matmul, values((3, 7), dtype), values((7, 5), dtype), exact=dtype == "int32")
        case(f"batch_matmul_{dtype}", jnp.matmul, values((2, 3, 4), dtype), values((2, 4, 5), dtype), exact=dtype == "int32")
    for name, equation, a, b in [("outer", "i,j->ij", (3,), (4,)), ("inner", "i,i->", (9,), (9,)), ("attention", "bqhd,bkhd->bhqk", (2, 3, 2, 4), (2, 5, 2, 4)),
                                 ("transposed", "ki,jk->ji", (4, 3), (5, 4)), ("two", "ijk,kjl->il", (2, 3, 4), (4, 3, 5)), ("batch", "bij,bjk->bik", (3, 1, 4), (3, 4, 2))]:
        case(f"einsum_{name}", lambda a, b: jnp.einsum(equation, a, b), floats(a), floats(b))
    case("dot_widened", lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=np.float32), floats((3, 8), "bfloat16"),
         floats((8, 2), "bfloat16"))
    case("dot_int8", lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=np.int32), integers((3, 8), "int8"),
         integers((8, 2), "int8"), exact=True)
    case("grad_matmul", jax.grad(lambda a, b: jnp.tanh(a @ b).sum(), (0, 1)), floats((3, 4)), floats((4, 2)))
    nhwc = ("NHWC", "HWIO", "NHWC")
    settings = dict(valid=dict(window_strides=(1, 1), padding="VALID"), same=dict(window_strides=(1, 1), padding="SAME"),
                    strided=dict(window_strides=(2, 1), padding="SAME"), padded=dict(window_strides=(1, 2), padding=[(2, 1), (0, 3)]),
                    dilated=dict(window_strides=(1, 1), padding="SAME", rhs_dilation=(2, 1)),
                    transposed=dict(window_strides=(1, 1), padding=[(1, 1), (2, 1)], lhs_dilation=(2, 3)),
                    negative=dict(window_strides=(1, 1), padding=[(-1, 0), (0, -1)]))
    x, w = floats((2, 7, 6, 3)), floats((3, 2, 3, 4))
    for name, options in settings.items():
        f = lambda x, w: lax.conv_general_dilated(x, w, dimension_numbers=nhwc, **options)  # noqa: E731
        case(f"conv_{name}", f, x, w)
        if name not in ("negative",):
            case(f"conv_{name}_grad", jax.grad(lambda x, w: (f(x, w) ** 2).sum(), (0, 1)), x, w)
    nchw = lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))  # noqa: E731
    case("conv_nchw", nchw, floats((2, 3, 6, 5)), floats((4, 3, 3, 3)))
    case("conv_nchw_grad", jax.grad(lambda x, w: (nchw(x, w) ** 2).sum(), (0, 1)), floats((2, 3, 6, 5)), floats((4, 3, 3, 3)))
    for groups, out in [(2, 4), (4, 8)]:
        f = lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=nhwc, feature_group_count=groups)  # noqa: E731
        case(f"conv_groups_{groups}", f, floats((2, 5, 5, 4)), floats((3, 3, 4 // groups, out)))
        case(f"conv_groups_{groups}_grad", jax.grad(lambda x, w: (f(x, w) ** 2).sum(), (0, 1)), floats((2, 5, 5, 4)), floats((3, 3, 4 // groups, out)))
    case("conv_1d", lambda x, w: lax.conv_general_dilated(x, w, (2,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")), floats((2, 9, 3)), floats((3, 3, 2)))
    case("conv_3d", lambda x, w: lax.conv_general_dilated(x, w, (1, 1, 1), "VALID", dimension_numbers=("NDHWC", "DHWIO", "NDHWC")),
         floats((1, 4, 4, 5, 2)), floats((2, 2, 2, 2, 3)))
    case("conv_transpose", lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=nhwc), floats((1, 4, 5, 3)), floats((3, 3, 3, 2)))
    case("conv_f64", lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=nhwc), floats((1, 5, 5, 2), "float64"),
         floats((3, 3, 2, 2), "float64"))


# ---- functions of neural networks, their gradients and vmaps


def functions():
    one = dict(relu=jax.nn.relu, relu6=jax.nn.relu6, gelu=lambda x: jax.nn.gelu(x, approximate=False), gelu_tanh=jax.nn.gelu, silu=jax.nn.silu,
               softplus=jax.nn.softplus, elu=jax.nn.elu, leaky_relu=jax.nn.leaky_relu, hard_swish=jax.nn.hard_swish, selu=jax.nn.selu,
               softmax=jax.nn.softmax, log_softmax=jax.nn.log_softmax, sigmoid=jax.nn.sigmoid, log_sigmoid=jax.nn.log_sigmoid,
               standardize=lambda x: jax.nn.standardize(x), mish=jax.nn.mish, glu=jax.nn.glu, sinc=jnp.sinc, logcumsum=lambda x: jnp.log(jnp.cumsum(jnp.exp(x), 1)))
    for name, f in one.items():
        x = floats((3, 6), low=-4, high=4)
        case(f"nn_{name}", f, x)
        case(f"grad_nn_{name}", jax.grad(lambda x: (f(x) * jnp.cos(jnp.arange(f(x).size).reshape(f(x).shape))).sum()), x)
        case(f"vmap_nn_{name}", jax.vmap(f, 1, 1) if name in ("relu", "silu", "elu", "softplus") else jax.vmap(f), floats((3, 4, 6)))

    def layer_norm(x, scale, offset):
        mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + offset

    def batch_norm(x, scale, offset):
        mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
        return (x - mean) * lax.rsqrt(variance + 1e-3) * scale + offset, mean, variance

    def cross_entropy(logits, labels):
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()

    case("layer_norm", layer_norm, floats((3, 8)), floats((8,)), floats((8,)))
    case("grad_layer_norm", jax.grad(lambda *a: jnp.sin(layer_norm(*a)).sum(), (0, 1, 2)), floats((3, 8)), floats((8,)), floats((8,)))
    case("batch_norm", batch_norm, floats((2, 3, 4, 5)), floats((5,)), floats((5,)))
    case("grad_batch_norm", jax.grad(lambda *a: jnp.sin(batch_norm(*a)[0]).sum(), (0, 1, 2)), floats((2, 3, 4, 5)), floats((5,)), floats((5,)))
    case("cross_entropy", cross_entropy, floats((5, 7)), integers((5,), low=0, high=6))
    case("grad_cross_entropy", jax.grad(cross_entropy), floats((5, 7)), integers((5,), low=0, high=6))
    case("second_derivative", jax.grad(jax.grad(lambda x: jnp.tanh(x) * jnp.sin(x))), np.float32(0.3))
    case("hessian", jax.hessian(lambda x: jnp.prod(jnp.tanh(x)) + (x**3).sum()), floats((4,)))
    case("jacfwd", jax.jacfwd(lambda x: jnp.sin(x) * x.sum()), floats((3,)))
    case("jvp", lambda x, t: jax.jvp(lambda x: jnp.exp(jnp.sin(x)), (x,), (t,)), floats((3,)), floats((3,)))
    case("vmap_grad", jax.vmap(jax.grad(lambda w, x: jnp.tanh(w @ x).sum()), (None, 0)), floats((3, 4)), floats((5, 4)))
    case("custom_vjp", jax.grad(lambda x: jax.nn.relu(x * 2).sum()), floats((4,)))
    case("checkpoint", jax.grad(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)).sum())), floats((4,)))
    case("dropout", lambda x: jnp.where(jax.random.bernoulli(jax.random.PRNGKey(1), 0.5, x.shape), x / 0.5, 0), floats((3, 8)), exact=True)
    for name, f in dict(uniform=jax.random.uniform, normal=jax.random.normal, bits=jax.random.bits).items():
        case(f"random_{name}", lambda seed: f(jax.random.PRNGKey(seed), (3, 5)), np.int32(5), exact=name != "normal")
    case("random_split", lambda seed: jax.random.split(jax.random.PRNGKey(seed), 3), np.int32(8), exact=True)
    case("random_randint", lambda seed: jax.random.randint(jax.random.PRNGKey(seed), (9,), 0, 10), np.int32(8), exact=True)
    case("random_permutation", lambda seed: jax.random.permutation(jax.random.PRNGKey(seed), 9), np.int32(8), exact=True)
    case("random_categorical", lambda seed, x: jax.random.categorical(jax.random.PRNGKey(seed), x), np.int32(2), floats((4, 5)), exact=True)


def control():
    case("scan", lambda x: lax.scan(lambda c, y: (c + y, c * y), jnp.zeros(3), x), floats((5, 3)))
    case("scan_reverse", lambda x: lax.scan(lambda c, y: (c * 0.5 + y, c), jnp.zeros(3), x, reverse=True), floats((5, 3)))
    case("scan_grad", jax.grad(lambda w, x: lax.scan(lambda c, y: (jnp.tanh(w * c + y), c), jnp.zeros(3), x)[0].sum()), floats((3,)), floats((5, 3)))
    case("scan_unroll", lambda x: lax.scan(lambda c, y: (c + y, ()), jnp.zeros(3), x, unroll=2)[0], floats((6, 3)))
    case("scan_nested", lambda x: lax.scan(lambda c, y: (lax.scan(lambda d, z: (d + z, d), c, y)[0], c), 0.0, x), floats((3, 4)))
    case("vmap_scan", jax.vmap(lambda x: lax.scan(lambda c, y: (c + y, c), 0.0, x)), floats((2, 5)))
    case("while", lambda x: lax.while_loop(lambda v: v < 100, lambda v: v * 2 + 1, x), np.int32(1), exact=True)
    case("while_tuple", lambda x, n: lax.while_loop(lambda v: v[0] < n, lambda v: (v[0] + 1, v[1] * x), (0, jnp.ones(3))), floats((3,)), np.int32(4))
    case("while_never", lambda x: lax.while_loop(lambda v: v < 0, lambda v: v - 1, x), np.int32(1), exact=True)
    case("vmap_while", jax.vmap(lambda x: lax.while_loop(lambda v: v < 50, lambda v: v * 2 + 1, x)), np.array([1, 7, 60], np.int32), exact=True)
    case("fori", lambda x: lax.fori_loop(0, 5, lambda i, v: v + i * x, jnp.zeros_like(x)), floats((3,)))
    case("fori_dynamic", lambda n, x: lax.fori_loop(0, n, lambda i, v: v + x[i], 0.0), np.int32(3), floats((5,)))
    for value in [1.0, -1.0]:
        name = "true" if value > 0 else "false"
        case(f"cond_{name}", lambda p, x: lax.cond(p > 0, lambda x: x * 2, lambda x: jnp.sin(x) + p, x), np.float32(value), floats((3,)))
        case(f"cond_grad_{name}", jax.grad(lambda x, p: lax.cond(p > 0, lambda x: x**2, jnp.sin, x).sum()), floats((3,)), np.float32(value))
    for index in [-3, 0, 1, 2, 9]:
        case(f"switch_{index}", lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, lambda x: x * x], x), np.int32(index), floats((4,)))
    case("vmap_cond", jax.vmap(lambda p, x: lax.cond(p > 0, jnp.sin, jnp.cos, x)), floats((5,)), floats((5,)))
    case("cond_captures", lambda p, x, y: lax.cond(p, lambda: (x, y + 1), lambda: (x * y, y)), np.bool_(True), floats((3,)), floats((3,)))
    case("cond_nested", lambda x: lax.cond(x > 0, lambda: lax.cond(x > 1, lambda: x * 3, lambda: x * 2), lambda: -x), np.float32(0.5))
    case("associative_scan", lambda x: lax.associative_scan(jnp.add, x), floats((9,)))
    case("map", lambda x: lax.map(lambda r: jnp.sort(r), x), floats((3, 5)), exact=True)
    case("call_twice", lambda x: jax.jit(lambda v: v * 2 + 1)(x) + jax.jit(lambda v: v * 2 + 1)(x + 1), floats((3,)))
    case("newton", lambda a: lax.while_loop(lambda v: jnp.abs(v * v - a) > 1e-5, lambda v: 0.5 * (v + a / v), a), np.float32(2))
    case("several_results", lambda x: (x, x + 1, (x.sum(), {"a": x * 2})), floats((3,)))


# ---- models with their training steps


def models():
    def sgd(loss):
        def step(params, *batch):
            value, gradient = jax.value_and_grad(loss)(params, *batch)
            return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, gradient), value
        return step

    def adam(loss):
        def step(params, m, v, count, *batch):
            value, gradient = jax.value_and_grad(loss)(params, *batch)
            m = jax.tree_util.tree_map(lambda m, g: 0.9 * m + 0.1 * g, m, gradient)
            v = jax.tree_util.tree_map(lambda v, g: 0.999 * v + 0.001 * g * g, v, gradient)
            rate = 1e-2 * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
            return jax.tree_util.tree_map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-7), params, m, v), m, v, value
        return step

    def log_loss(logits, labels):
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()

    def mlp(params, x):
        return jax.nn.relu(x @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]

    def cnn(params, x):
        x = lax.conv_general_dilated(x, params["c"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")) + params["cb"]
        x = lax.reduce_window(jax.nn.relu(x), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return x.reshape(x.shape[0], -1) @ params["w"] + params["b"]

    def block(params, x):
        def norm(x, scale):
            return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale
        y = norm(x, params["n1"])
        q, k, v = [(y @ params[n]).reshape(*x.shape[:2], 2, 4) for n in "qkv"]
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 2.0
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9)
        x = x + jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(x.shape) @ params["o"]
        return x + jax.nn.gelu(norm(x, params["n2"]) @ params["u"]) @ params["d"]

    def lstm(params, x):
        def cell(state, xt):
            h, c = state
            i, f, g, o = jnp.split(xt @ params["wx"] + h @ params["wh"] + params["b"], 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h
        zeros = jnp.zeros((x.shape[0], params["wh"].shape[0]))
        (h, _), _ = lax.scan(cell, (zeros, zeros), jnp.swapaxes(x, 0, 1))
        return h @ params["w"]

    def draw(**shapes):
        return {name: floats(shape, low=-0.5, high=0.5) for name, shape in shapes.items()}

    labels = integers((4,), low=0, high=4)
    examples = {
        "mlp": (mlp, draw(w1=(6, 8), b1=(8,), w2=(8, 5), b2=(5,)), floats((4, 6)), labels),
        "cnn": (cnn, draw(c=(3, 3, 1, 4), cb=(4,), w=(64, 5), b=(5,)), floats((4, 8, 8, 1)), labels),
        "lstm": (lstm, draw(wx=(3, 24), wh=(6, 24), b=(24,), w=(6, 5)), floats((4, 5, 3)), labels),
    }
    for name, (model, params, x, y) in examples.items():
        loss = lambda p, x, y: log_loss(model(p, x), y)  # noqa: E731
        zeros = jax.tree_util.tree_map(np.zeros_like, params)
        case(f"model_{name}", model, params, x)
        case(f"model_{name}_sgd", sgd(loss), params, x, y)
        case(f"model_{name}_adam", adam(loss), params, zeros, zeros, np.float32(1), x, y)
    params = draw(n1=(8,), n2=(8,), q=(8, 8), k=(8, 8), v=(8, 8), o=(8, 8), u=(8, 16), d=(16, 8))
    x = floats((2, 5, 8))
    loss = lambda p, x: (block(p, x) ** 2).mean()  # noqa: E731
    zeros = jax.tree_util.tree_map(np.zeros_like, params)
    case("model_transformer", block, params, x)
    case("model_transformer_sgd", sgd(loss), params, x)
    case("model_transformer_adam", adam(loss), params, zeros, zeros, np.float32(3), x)
    case("model_transformer_bf16", lambda p, x: block(jax.tree_util.tree_map(lambda v: v.astype(bfloat16), p), x.astype(bfloat16)), params, x)


def write():
    with jax.enable_x64(True):
        for family in (elementwise, conversion, movement, indexing, reductions, sorting, contraction):
            family()
    with jax.enable_x64(False):
        functions()
        control()
        models()
    if refused:
        sys.exit("\n".join(refused))
    np.savez_compressed(OUT, **arrays)
    count = sum(name.endswith("/text") for name in arrays)
    print(f"{count} programs, {OUT.stat().st_size / 2**20:.2f} MiB")


# ---- the reverse proof


PASSES = "builtin.module(func.func(stablehlo-legalize-composite-to-call),inline,func.func(chlo-legalize-to-stablehlo))"


def check(folder):
    """Some mistakes end the interpreter's process, so a worker goes through the texts and is started anew behind them."""
    files = sorted(Path(folder).glob("*.mlir"))
    counts, wrong, at = {"parsed": 0, "evaluated": 0}, [], 0
    while at < len(files):
        worker = subprocess.Popen([sys.executable, __file__, "--worker", *map(str, files[at:])], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        output, errors = worker.communicate()
        for line in output.splitlines():
            if line == "next":
                at += 1
            elif line in counts:
                counts[line] += 1
            else:
                wrong.append(f"{files[at].name}: {line}")
        if worker.returncode:
            wrong.append(f"{files[at].name}: {errors.strip().splitlines()[-1:]}")
            at += 1
    print("\n".join(wrong))
    print(f"{len(files)} texts: {counts['parsed']} parsed and verified, {counts['evaluated']} evaluated, {len(wrong)} wrong")
    return 1 if wrong or not files else 0


def work(files):
    from jax._src.interpreters import mlir as jax_mlir
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    stablehlo.register_stablehlo_passes()
    for file in map(Path, files):
        with jax_mlir.make_ir_context(), ir.Location.unknown():
            try:
                check_text(ir, stablehlo, file)
            except Exception as error:  # noqa: BLE001: whatever StableHLO says is the finding
                print(" ".join(str(error).split())[:400])
        print("next", flush=True)


def check_text(ir, stablehlo, file):
    from jaxlib.mlir import passmanager

    module = ir.Module.parse(file.read_text())
    module.operation.verify()
    print("parsed", flush=True)
    if not file.with_suffix(".npz").exists():
        return
    stored = np.load(file.with_suffix(".npz"))
    if "stablehlo.dot_general" in file.read_text() and any(stored[name].size == 0 for name in stored):
        return  # the interpreter aborts on products over an empty axis (jaxlib 0.10.2)
    passmanager.PassManager.parse(PASSES).run(module.operation)
    main = next(f for f in module.body if str(f.attributes["sym_name"]) == '"main"')
    types = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value).inputs
    inputs = [elements(ir, stored[f"arg{i}"], kind) for i, kind in enumerate(types)]
    outputs = [numbers(ir, value) for value in stablehlo.eval_module(module, inputs)]
    print("evaluated")
    for i, got in enumerate(outputs):
        expected = stored[f"out{i}"]
        narrow = expected.dtype.kind == "V" or expected.dtype == np.float16
        expected = (expected.view(bfloat16) if expected.dtype.kind == "V" else expected).astype(np.float64).reshape(-1)
        finite = expected[np.isfinite(expected)]
        bound = (2e-2 if narrow else 1e-4) * max(1.0, np.abs(finite).max() if finite.size else 0.0)
        if got.shape != expected.shape or not np.allclose(got, expected, rtol=0, atol=bound, equal_nan=True):
            print(f"out{i} is {got[:6]}, Hone says {expected[:6]}".replace("\n", " "))


def elements(ir, array, kind):
    kind = ir.RankedTensorType(kind)
    array = np.ascontiguousarray(array)
    if array.dtype == np.bool_:
        listed = str(array.reshape(kind.shape).tolist()).lower()
        return ir.Attribute.parse(f"dense<{listed if array.size else ''}> : {kind}")
    if array.dtype.kind == "V":
        array = array.view(np.uint16)
    if array.size == 0:
        return ir.Attribute.parse(f"dense<> : {kind}")
    return ir.Attribute.parse(f'dense<"0x{array.tobytes().hex().upper()}"> : {kind}')


def numbers(ir, attribute):
    attribute = ir.DenseElementsAttr(attribute)
    if attribute.is_splat:
        count = int(np.prod(ir.RankedTensorType(attribute.type).shape))
        value = attribute.get_splat_value()
        return np.full(count, float(value.value), np.float64)
    element = str(ir.RankedTensorType(attribute.type).element_type)
    if element in ("f16", "bf16"):  # the bindings do not read these
        kind = np.dtype(np.float16 if element == "f16" else bfloat16)
        text = str(attribute).split("<", 1)[1].rsplit(">", 2)[0]
        if text.startswith('"0x'):
            return np.frombuffer(bytes.fromhex(text[3:-1]), kind).astype(np.float64)
        words = [word for word in text.replace("[", " ").replace("]", " ").replace(",", " ").split()]
        return np.array([np.frombuffer(bytes.fromhex(w[2:])[::-1], kind)[0] if w.startswith("0x") else w for w in words], np.float64)
    if element.startswith("f"):
        return np.array([float(v) for v in ir.DenseFPElementsAttr(attribute)], np.float64)
    return np.array([float(v) for v in ir.DenseIntElementsAttr(attribute)], np.float64)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--check"]:
        sys.exit(check(sys.argv[2]))
    if sys.argv[1:2] == ["--worker"]:
        sys.exit(work(sys.argv[2:]))
    write()
