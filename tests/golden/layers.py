#!/usr/bin/env python3
"""Vectors of layers from the real libraries.

    python tests/golden/layers.py keras    # needs keras and jax
    python tests/golden/layers.py torch    # needs torch

Writes tests/golden/layers_<library>.json beside itself; hone/nn/layers_golden_test.cpp compares Hone with it. Each entry
has a config of Hone, inputs, weights by Hone's names and in its (Keras') layouts, and a cotangent; then what the library
computes: the output, the gradients of sum(output * cotangent), and the weights after five steps of gradient descent on
that sum, step k with the inputs times 1 + k / 10. Inputs come from a fixed generator.
"""
import json
import os
import pathlib
import sys

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
import numpy as np

STEPS, RATE = 5, 0.01


def array(x):
    x = np.asarray(x)
    values = [float(str(v)) if x.dtype.kind == "f" else v.item() for v in x.ravel()]
    return {"shape": list(x.shape), "dtype": str(x.dtype), "values": values}


class Numbers:
    """Inputs of one entry."""

    def __init__(self, number):
        self.rng = np.random.default_rng(number)

    def normal(self, shape, scale=1.0):
        return (self.rng.normal(size=shape) * scale).round(3).astype(np.float32)

    def positive(self, shape):
        return self.rng.uniform(0.5, 1.5, size=shape).round(3).astype(np.float32)

    def weight(self, name, shape):
        return self.positive(shape) if "variance" in name or "gamma" in name else self.normal(shape, 0.5)


def scaled(x, step):
    return x * np.float32(1 + step / 10) if x.dtype.kind == "f" else x


def entry(config, training, inputs, weights, cotangent, output, input_gradients, gradients, after, statistics, mask=None):
    made = {"config": config, "training": training, "inputs": [array(x) for x in inputs],
            "weights": {k: array(v) for k, v in weights.items()}, "cotangent": array(cotangent), "output": array(output),
            "input_gradients": [array(g) for g in input_gradients], "gradients": {k: array(v) for k, v in gradients.items()},
            "after": {k: array(v) for k, v in after.items()},
            "statistics": [{k: array(v) for k, v in s.items()} for s in statistics]}
    if mask is not None:
        made["mask"] = array(mask)
    return made


IMAGE = (1, 6, 5, 4)
IMAGES = (2, 3, 2, 4)
SEQUENCE = (3, 5, 4)
ACTIVATIONS = ["linear", "relu", "relu6", "leaky_relu", "elu", "gelu", "silu", "hard_silu", "hard_sigmoid", "sigmoid",
               "softplus", "tanh", "exponential", "softmax", "log_softmax"]

# --- Keras ---

ATTENTION = [f"{part}_{kind}" for part in ("query", "key", "value", "output") for kind in ("kernel", "bias")]
KERAS_NAMES = {
    "Dense": ["kernel", "bias"], "Conv2D": ["kernel", "bias"], "DepthwiseConv2D": ["depthwise_kernel", "bias"],
    "SeparableConv2D": ["depthwise_kernel", "pointwise_kernel", "bias"],
    "Embedding": ["embeddings"], "LSTM": ["kernel", "recurrent_kernel", "bias"], "MultiHeadAttention": ATTENTION,
}


def keras_names(config):
    if config["type"].endswith("Normalization"):
        names = ["gamma"] * config.get("scale", True) + ["beta"] * config.get("center", True)
        return names + ["moving_mean", "moving_variance"] * (config["type"] == "BatchNormalization")
    names = KERAS_NAMES.get(config["type"], [])
    return names if config.get("use_bias", True) else [n for n in names if not n.endswith("bias")]


def keras_vectors():
    import jax
    import keras

    number = 0

    def vectors(shapes, training=False, mask=None, call=None, dtypes=None, **config):
        nonlocal number
        number += 1
        numbers = Numbers(number)
        kind = config["type"]
        options = {k: v for k, v in config.items() if k not in ("type", "use_causal_mask", "output_dim")}
        if kind == "Embedding":
            options["output_dim"] = config["output_dim"]
        elif "output_dim" in config:
            options["output_shape"] = config["output_dim"]
        layer = getattr(keras.layers, kind)(**options)
        shapes = [shapes] if isinstance(shapes[0], int) else shapes
        inputs = [numbers.normal(s) for s in shapes]
        if kind == "Embedding":
            inputs = [numbers.rng.integers(0, config["input_dim"], size=shapes[0]).astype(np.int32)]
        extra = {"training": True} if training else {}
        if kind == "MultiHeadAttention":
            extra["use_causal_mask"] = config.get("use_causal_mask", False)
            extra["return_attention_scores"] = True  # the path by einsum: the other one refuses value_dim != key_dim
            if mask is not None:
                extra["attention_mask"] = mask
        elif mask is not None:
            extra["mask"] = mask
        calls = inputs * 2 if kind == "MultiHeadAttention" and len(inputs) == 1 else inputs
        layer(*calls, **extra)
        names = keras_names(config)
        assert len(names) == len(layer.weights), (kind, [w.path for w in layer.weights])
        weights = {n: numbers.weight(n, tuple(w.shape)) for n, w in zip(names, layer.weights)}
        layer.set_weights(list(weights.values()))
        trainable = {n: weights[n] for n, w in zip(names, layer.weights) if w.trainable}
        fixed = {n: weights[n] for n in names if n not in trainable}
        floats = [x for x in inputs if x.dtype.kind == "f"]

        seeds = [v.value for v in layer.non_trainable_variables][len(fixed):]  # of dropout that is off

        def run(variables, state, xs):
            xs = xs if xs else inputs
            xs = xs * 2 if kind == "MultiHeadAttention" and len(xs) == 1 else xs
            out, new_state = layer.stateless_call([variables[n] for n in trainable], [state[n] for n in fixed] + seeds, *xs, **extra)
            return out[0] if kind == "MultiHeadAttention" else out, dict(zip(fixed, new_state))

        output, _ = run(trainable, fixed, floats)
        cotangent = numbers.normal(output.shape)

        def loss(variables, state, xs):
            out, new_state = run(variables, state, xs)
            return (out * cotangent).sum(), new_state

        grad = jax.grad(loss, argnums=(0, 2), has_aux=True)
        (gradients, input_gradients), _ = grad(trainable, fixed, floats)
        variables, state, statistics = dict(trainable), dict(fixed), []
        for step in range(STEPS):
            (g, _), state = grad(variables, state, [scaled(x, step) for x in floats])
            variables = {k: v - np.float32(RATE) * g[k] for k, v in variables.items()}
            statistics.append(dict(state))
        return entry(config, training, inputs, weights, cotangent, output, input_gradients, gradients, variables,
                     statistics if fixed and training else [], mask)

    def mask_of(rows):
        return np.array([[c == "1" for c in row] for row in rows])

    entries = [vectors((3, 5), type="Activation", activation=name) for name in ACTIVATIONS]
    entries += [
        vectors((5, 3), type="Dense", units=4, activation="tanh"),
        vectors((2, 3, 4), type="Dense", units=3, use_bias=False),
        vectors(IMAGE, type="Conv2D", filters=3, kernel_size=3, activation="relu"),
        vectors(IMAGE, type="Conv2D", filters=3, kernel_size=[3, 2], padding="same"),
        vectors(IMAGE, type="Conv2D", filters=3, kernel_size=3, strides=2, padding="same"),
        vectors(IMAGE, type="Conv2D", filters=3, kernel_size=2, strides=[2, 1], use_bias=False),
        vectors(IMAGE, type="Conv2D", filters=2, kernel_size=3, dilation_rate=2, padding="same"),
        vectors(IMAGE, type="Conv2D", filters=2, kernel_size=3, dilation_rate=[2, 1]),
        vectors(IMAGE, type="Conv2D", filters=4, kernel_size=3, groups=2, padding="same", strides=2),
        vectors(IMAGE, type="DepthwiseConv2D", kernel_size=3, padding="same"),
        vectors(IMAGE, type="DepthwiseConv2D", kernel_size=3, strides=2, depth_multiplier=2, padding="same"),
        vectors(IMAGE, type="DepthwiseConv2D", kernel_size=2, dilation_rate=2, activation="relu6"),
        vectors(IMAGE, type="SeparableConv2D", filters=3, kernel_size=3, strides=2, depth_multiplier=2, padding="same",
                activation="silu"),
        vectors(IMAGE, type="SeparableConv2D", filters=3, kernel_size=2, use_bias=False),
        vectors(IMAGE, type="MaxPooling2D", pool_size=2),
        vectors(IMAGE, type="MaxPooling2D", pool_size=[3, 2], strides=2, padding="same"),
        vectors(IMAGE, type="AveragePooling2D", pool_size=2),
        vectors(IMAGE, type="AveragePooling2D", pool_size=3, strides=2, padding="same"),
        vectors(IMAGE, type="GlobalAveragePooling2D"),
        vectors(IMAGE, type="GlobalMaxPooling2D"),
        vectors(IMAGES, type="BatchNormalization"),
        vectors(IMAGES, type="BatchNormalization", training=True),
        vectors((6, 3), type="BatchNormalization", training=True, momentum=0.8, epsilon=1e-2, scale=False),
        vectors((6, 3), type="BatchNormalization", training=True, center=False),
        vectors((2, 3, 4), type="LayerNormalization"),
        vectors((2, 3, 4), type="LayerNormalization", epsilon=1e-2, center=False),
        vectors((3, 4), type="Embedding", input_dim=6, output_dim=3),
        vectors(SEQUENCE, type="MultiHeadAttention", num_heads=2, key_dim=3),
        vectors(SEQUENCE, type="MultiHeadAttention", num_heads=2, key_dim=3, value_dim=2, use_bias=False,
                use_causal_mask=True),
        vectors([(2, 3, 4), (2, 5, 3), (2, 5, 2)], type="MultiHeadAttention", num_heads=2, key_dim=2, output_dim=3,
                mask=np.array([[[1, 0, 1, 1, 1], [1, 1, 0, 0, 0], [0, 0, 0, 0, 1]]] * 2, bool)),
        vectors(SEQUENCE, type="LSTM", units=3),
        vectors(SEQUENCE, type="LSTM", units=3, return_sequences=True, use_bias=False),
        vectors(SEQUENCE, type="LSTM", units=2, return_sequences=True, go_backwards=True),
        vectors(SEQUENCE, type="LSTM", units=2, return_sequences=True, mask=mask_of(["11111", "11100", "01011"])),
    ]
    return {"library": f"keras {keras.__version__}", "rate": RATE, "entries": entries}


# --- PyTorch ---

def torch_vectors():
    import torch
    from torch import nn

    number = 100

    def to_torch(x):
        return x.transpose(0, 3, 1, 2) if x.ndim == 4 else x

    def to_hone(x):
        return x.transpose(0, 2, 3, 1) if x.ndim == 4 else x

    def vectors(module, shape, config, to_weights, training=False, call=None, ids=0):
        """to_weights: Hone's name -> (parameter's name, array of the parameter -> array in Hone's layout)."""
        nonlocal number
        number += 1
        numbers = Numbers(number)
        x = numbers.rng.integers(0, ids, size=shape).astype(np.int64) if ids else numbers.normal(shape)
        call = call or (lambda module, x: module(x))
        module.train(training)
        state = {}
        for name, parameter in list(module.named_parameters()) + list(module.named_buffers()):
            if parameter.dtype.is_floating_point:
                state[name] = numbers.weight("variance" if name == "running_var" else name, tuple(parameter.shape))
        if isinstance(module, nn.LSTM):
            state["bias_hh_l0"] *= 0  # Keras has one bias
            module.bias_hh_l0.requires_grad = False
        module.load_state_dict({k: torch.tensor(v) for k, v in state.items()}, strict=False)

        def hone(values):
            return {name: f(values[of]) for name, (of, f) in to_weights.items() if of in values}

        def run(x):
            t = torch.tensor(to_torch(x).copy())
            t.requires_grad = not ids
            return t, call(module, t)

        statistics = {k: v.clone() for k, v in module.state_dict().items()}
        t, out = run(x)
        output = to_hone(out.detach().numpy())
        cotangent = numbers.normal(output.shape)
        (out * torch.tensor(to_torch(cotangent).copy())).sum().backward()
        parameters = {k: p for k, p in module.named_parameters() if p.requires_grad}
        gradients = hone({k: p.grad.numpy().copy() for k, p in parameters.items()})
        input_gradients = [] if ids else [to_hone(t.grad.numpy())]
        module.load_state_dict(statistics)
        made = torch.optim.SGD(parameters.values(), RATE) if parameters else None
        for step in range(STEPS):
            _, out = run(scaled(x, step))
            if made:
                made.zero_grad()
                (out * torch.tensor(to_torch(cotangent).copy())).sum().backward()
                made.step()
        after = hone({k: p.detach().numpy().copy() for k, p in parameters.items()})
        x = x.astype(np.int32) if ids else x
        return entry(config, training, [x], hone(state), cotangent, output, input_gradients, gradients, after, [])

    plain = lambda w: w
    kernel = lambda w: w.transpose(2, 3, 1, 0)  # [out, in, h, w] -> [h, w, in, out]
    conv = {"kernel": ("weight", kernel), "bias": ("bias", plain)}

    def depthwise(multiplier):  # [in * multiplier, 1, h, w] -> [h, w, in, multiplier]
        return {"depthwise_kernel": ("weight", lambda w: w.transpose(2, 3, 0, 1).reshape(
            w.shape[2], w.shape[3], -1, multiplier)), "bias": ("bias", plain)}

    def heads(part):  # in_proj [3 heads dim, d] -> [d, heads, dim]
        return lambda w: np.split(w, 3)[part].T.reshape(4, 2, 2)

    norm = {"gamma": ("weight", plain), "beta": ("bias", plain)}
    moving = {"moving_mean": ("running_mean", plain), "moving_variance": ("running_var", plain)}
    attention = {"output_kernel": ("out_proj.weight", lambda w: w.T.reshape(2, 2, 4)),
                 "output_bias": ("out_proj.bias", plain)}
    for i, part in enumerate(("query", "key", "value")):
        attention[part + "_kernel"] = ("in_proj_weight", heads(i))
        attention[part + "_bias"] = ("in_proj_bias", lambda b, i=i: np.split(b, 3)[i].reshape(2, 2))
    # torch's gates i f g o are Keras' i f c o.
    lstm = {"kernel": ("weight_ih_l0", lambda w: w.T), "recurrent_kernel": ("weight_hh_l0", lambda w: w.T),
            "bias": ("bias_ih_l0", plain)}
    attend = lambda m, x: m(x, x, x, need_weights=False)[0]
    mask = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)  # true = may not attend
    causal = lambda m, x: m(x, x, x, need_weights=False, attn_mask=mask)[0]
    entries = [
        vectors(nn.Linear(3, 4), (5, 3), {"type": "Dense", "units": 4},
                {"kernel": ("weight", lambda w: w.T), "bias": ("bias", plain)}),
        vectors(nn.Conv2d(4, 3, 3), IMAGE, {"type": "Conv2D", "filters": 3, "kernel_size": 3}, conv),
        vectors(nn.Conv2d(4, 3, 3, padding="same"), IMAGE,
                {"type": "Conv2D", "filters": 3, "kernel_size": 3, "padding": "same"}, conv),
        vectors(nn.Conv2d(4, 3, (3, 2), stride=(1, 2), bias=False), IMAGE,
                {"type": "Conv2D", "filters": 3, "kernel_size": [3, 2], "strides": [1, 2], "use_bias": False}, conv),
        vectors(nn.Conv2d(4, 4, 3, dilation=2, groups=2, padding="same"), IMAGE,
                {"type": "Conv2D", "filters": 4, "kernel_size": 3, "dilation_rate": 2, "groups": 2, "padding": "same"}, conv),
        vectors(nn.Conv2d(4, 8, 3, stride=2, groups=4), IMAGE,
                {"type": "DepthwiseConv2D", "kernel_size": 3, "strides": 2, "depth_multiplier": 2}, depthwise(2)),
        vectors(nn.MaxPool2d(2), IMAGE, {"type": "MaxPooling2D", "pool_size": 2}, {}),
        vectors(nn.MaxPool2d(3, stride=2), IMAGE, {"type": "MaxPooling2D", "pool_size": 3, "strides": 2}, {}),
        vectors(nn.AvgPool2d((2, 3), stride=1), IMAGE, {"type": "AveragePooling2D", "pool_size": [2, 3], "strides": 1}, {}),
        vectors(nn.BatchNorm2d(4), IMAGES, {"type": "BatchNormalization", "momentum": 0.9, "epsilon": 1e-5},
                {**norm, **moving}),
        vectors(nn.BatchNorm2d(4), IMAGES, {"type": "BatchNormalization", "momentum": 0.9, "epsilon": 1e-5},
                {**norm, **moving}, training=True),
        vectors(nn.LayerNorm(4), (2, 3, 4), {"type": "LayerNormalization", "epsilon": 1e-5}, norm),
        vectors(nn.Embedding(6, 3), (3, 4), {"type": "Embedding", "input_dim": 6, "output_dim": 3},
                {"embeddings": ("weight", plain)}, ids=6),
        vectors(nn.MultiheadAttention(4, 2, batch_first=True), SEQUENCE,
                {"type": "MultiHeadAttention", "num_heads": 2, "key_dim": 2}, attention, call=attend),
        vectors(nn.MultiheadAttention(4, 2, batch_first=True), SEQUENCE,
                {"type": "MultiHeadAttention", "num_heads": 2, "key_dim": 2, "use_causal_mask": True}, attention, call=causal),
        vectors(nn.LSTM(4, 3, batch_first=True), SEQUENCE, {"type": "LSTM", "units": 3, "return_sequences": True}, lstm,
                call=lambda m, x: m(x)[0]),
        vectors(nn.LSTM(4, 3, batch_first=True), SEQUENCE, {"type": "LSTM", "units": 3}, lstm,
                call=lambda m, x: m(x)[1][0][0]),
    ]
    return {"library": f"torch {torch.__version__.split('+')[0]}", "rate": RATE, "entries": entries}


if __name__ == "__main__":
    library = sys.argv[1]
    vectors = {"keras": keras_vectors, "torch": torch_vectors}[library]()
    path = pathlib.Path(__file__).with_name(f"layers_{library}.json")
    path.write_text(json.dumps(vectors, separators=(",", ":")).replace('{"config"', '\n{"config"') + "\n")
    print(path, path.stat().st_size, "bytes", vectors["library"])
