#!/usr/bin/env python3
"""Suite rt, blocks of 64 samples through a stateful LSTM 1 -> 40 and Dense 1, call by call. Modes: ort (ONNX Runtime, state bound
to fixed memory, two bindings in turn), litert (LiteRT with XNNPACK, unrolled, state passed by the caller). Environment: runtime; the
TFLite file is built by the environment tensorflow. p9999 is the 99.99th percentile."""
import os
import subprocess
import sys
import time

from common import Report, arguments, limit_threads

HOME = os.environ.get("HONE_PEERS") or os.path.expanduser("~/.cache/hone-peers")
BLOCK, UNITS = 64, 40

TFLITE = f"""
import sys, numpy as np, tensorflow as tf
rng = np.random.default_rng(0)
drawn = lambda *shape: tf.constant(rng.standard_normal(shape).astype(np.float32) * 0.2)
kernel, recurrent, bias, head = drawn(1, {4 * UNITS}), drawn({UNITS}, {4 * UNITS}), drawn({4 * UNITS}), drawn({UNITS}, 1)
@tf.function(input_signature=[tf.TensorSpec([{BLOCK}, 1]), tf.TensorSpec([1, {UNITS}]), tf.TensorSpec([1, {UNITS}])])
def step(x, h, c):
    gates, rows = tf.split(x @ kernel + bias, {BLOCK}), []
    for each in gates:
        i, f, g, o = tf.split(each + h @ recurrent, 4, 1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        rows.append(h)
    return {{"y": tf.concat(rows, 0) @ head, "h_next": h, "c_next": c}}
module = tf.Module()
module.step = step  # without it the file has no signature
converter = tf.lite.TFLiteConverter.from_concrete_functions([step.get_concrete_function()], module)
open(sys.argv[1], "wb").write(converter.convert())
"""


def ort():
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
    rng = np.random.default_rng(0)
    shapes = {"W": (1, 4 * UNITS, 1), "R": (1, 4 * UNITS, UNITS), "B": (1, 8 * UNITS), "D": (UNITS, 1), "b": (1,)}
    weights = [numpy_helper.from_array(rng.standard_normal(s).astype(np.float32) * 0.2, n) for n, s in shapes.items()]
    weights.append(numpy_helper.from_array(np.array([BLOCK, UNITS], np.int64), "rows"))
    nodes = [helper.make_node("LSTM", ["x", "W", "R", "B", "", "h", "c"], ["ys", "h_next", "c_next"], hidden_size=UNITS),
             helper.make_node("Reshape", ["ys", "rows"], ["flat"]), helper.make_node("Gemm", ["flat", "D", "b"], ["y"])]
    info = lambda name, *shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "rt", [info("x", BLOCK, 1, 1), info("h", 1, 1, UNITS), info("c", 1, 1, UNITS)],
                              [info("y", BLOCK, 1), info("h_next", 1, 1, UNITS), info("c_next", 1, 1, UNITS)], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    value = onnxruntime.OrtValue.ortvalue_from_numpy
    x, y = value(rng.standard_normal((BLOCK, 1, 1)).astype(np.float32)), value(np.zeros((BLOCK, 1), np.float32))
    state = [{n: value(np.zeros((1, 1, UNITS), np.float32)) for n in "hc"} for _ in range(2)]
    bindings = []
    for i in range(2):
        binding = session.io_binding()
        binding.bind_ortvalue_input("x", x)
        binding.bind_ortvalue_output("y", y)
        for n in "hc":
            binding.bind_ortvalue_input(n, state[i][n])
            binding.bind_ortvalue_output(f"{n}_next", state[1 - i][n])
        bindings.append(binding)
    turn = 0

    def call():
        nonlocal turn
        session.run_with_iobinding(bindings[turn])
        turn = 1 - turn
    return call, onnxruntime.__version__


def litert():
    from importlib.metadata import version

    from ai_edge_litert.interpreter import Interpreter
    path = os.path.join(HOME, "models", "rt.b64.tflite")
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        done = subprocess.run([os.path.join(HOME, "tensorflow", "bin", "python"), "-c", TFLITE, path], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"cannot build {path}:\n{done.stderr[-2000:]}")
    runner = Interpreter(path, num_threads=1).get_signature_runner()
    x = np.random.default_rng(0).standard_normal((BLOCK, 1)).astype(np.float32)
    state = {"h": np.zeros((1, UNITS), np.float32), "c": np.zeros((1, UNITS), np.float32)}

    def call():
        out = runner(x=x, **state)
        state["h"], state["c"] = out["h_next"], out["c_next"]
    return call, version("ai-edge-litert")


args = arguments(("ort", "litert"), ("rt",), ("f32",))
args.threads = 1
limit_threads(1)
import numpy as np

start = time.perf_counter()
call, version = ort() if args.mode == "ort" else litert()
call()
first = time.perf_counter() - start
report = Report(args.mode, version, args)
if report.wants("rt.lstm.b64"):
    for _ in range(100):
        call()
    times, end = [], time.perf_counter() + args.seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        times.append((time.perf_counter() - begin) * 1e6)
    report.add("rt.lstm.b64", "us", times, p9999=float(np.percentile(times, 99.99)), first_ms=first * 1e3)
report.print()
