#!/usr/bin/env python3
"""Vectors of optimizers, schedules, losses and metrics from the real libraries.

    python tests/golden/training.py keras    # needs keras and jax
    python tests/golden/training.py torch    # needs torch

Writes tests/golden/training_<library>.json beside itself; hone/nn/training_golden_test.cpp compares Hone
with it. Inputs come from a fixed generator, so that a new run changes only what the library changed.
"""
import json
import os
import pathlib
import sys

os.environ.setdefault("KERAS_BACKEND", "jax")
import numpy as np

STEPS = 5
SHAPES = [[3, 4], [5]]


def array(x, dtype=np.float32):
    x = np.asarray(x, dtype)
    values = [float(str(v)) if x.dtype.kind == "f" else v.item() for v in x.ravel()]
    return {"shape": list(x.shape), "dtype": str(x.dtype), "values": values}


def starts():
    rng = np.random.default_rng(1)
    return [rng.normal(size=s).astype(np.float32) for s in SHAPES]


def gradients():
    rng = np.random.default_rng(2)
    steps = [[(rng.normal(size=s) * 3).astype(np.float32) for s in SHAPES] for _ in range(STEPS)]
    steps[2][1][:] = 0  # a gradient of norm 0
    return steps


def optimizer_entry(config, after):
    return {"config": config, "after": [[array(v)["values"] for v in vs] for vs in after]}


def shared():
    """What all optimizers start from."""
    return {"start": [array(v) for v in starts()], "gradients": [[array(g) for g in gs] for gs in gradients()]}


def predictions():
    rng = np.random.default_rng(3)
    logits = rng.normal(size=(4, 5)).astype(np.float32) * 2
    soft = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    certain = np.array([[0, 1, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0.5, 0.5, 0], [0.2, 0.2, 0.2, 0.2, 0.2]], np.float32)
    labels = np.array([1, 4, 2, 0], np.int32)
    one_hot = np.eye(5, dtype=np.float32)[labels]
    binary = rng.uniform(size=(4, 5)).astype(np.float32)
    binary[0, :2] = [0, 1]
    bits = (rng.uniform(size=(4, 5)) > 0.5).astype(np.float32)
    weight = np.array([1, 0.5, 2, 0], np.float32)
    sequence = rng.normal(size=(2, 3, 5)).astype(np.float32)
    sequence_labels = np.array([[0, 4, 2], [1, 1, 3]], np.int32)
    return locals()


# --- Keras ---

KERAS_OPTIMIZERS = [
    {"type": "SGD", "learning_rate": 0.1},
    {"type": "SGD", "learning_rate": 0.1, "weight_decay": 0.05},
    {"type": "SGD", "learning_rate": 0.1, "momentum": 0.9},
    {"type": "SGD", "learning_rate": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
    {"type": "SGD", "learning_rate": 0.1, "momentum": 0.5, "clipnorm": 1.0},
    {"type": "SGD", "learning_rate": 0.1, "clipvalue": 0.5},
    {"type": "SGD", "learning_rate": 0.1, "global_clipnorm": 2.0},
    {"type": "Adam", "learning_rate": 0.01},
    {"type": "Adam", "learning_rate": 0.01, "beta_1": 0.8, "beta_2": 0.95, "epsilon": 1e-3, "weight_decay": 0.02},
    {"type": "AdamW", "learning_rate": 0.01},
    {"type": "AdamW", "learning_rate": {"type": "CosineDecay", "initial_learning_rate": 0.1, "decay_steps": 4},
     "weight_decay": 0.1},
]
SCHEDULES = [
    {"initial_learning_rate": 0.1, "decay_steps": 10},
    {"initial_learning_rate": 0.05, "decay_steps": 7, "alpha": 0.2},
    {"initial_learning_rate": 0.0, "decay_steps": 10, "alpha": 0.1, "warmup_target": 0.4, "warmup_steps": 5},
    {"initial_learning_rate": 0.02, "decay_steps": 1000000, "warmup_target": 0.01, "warmup_steps": 3},
]


def keras_vectors():
    import jax
    import keras

    def optimizer(config):
        def without_type(table):
            return {k: v for k, v in table.items() if k != "type"}

        options = without_type(config)
        if isinstance(options["learning_rate"], dict):
            options["learning_rate"] = keras.optimizers.schedules.CosineDecay(**without_type(options["learning_rate"]))
        made = getattr(keras.optimizers, config["type"])(**options)
        variables = [keras.Variable(v) for v in starts()]
        after = []
        for step in gradients():
            made.apply_gradients([(keras.ops.convert_to_tensor(g), v) for g, v in zip(step, variables)])
            after.append([np.asarray(v.value) for v in variables])
        return optimizer_entry(config, after)

    def schedule(options):
        steps = [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 15, 16, 100, 123456]
        made = keras.optimizers.schedules.CosineDecay(**options)
        return {"config": {"type": "CosineDecay", **options}, "steps": steps, "rates": [float(made(s)) for s in steps]}

    p = predictions()

    def loss(kind, y_true, y_pred, weight=None, **options):
        made = getattr(keras.losses, kind)(**options)
        value = made(y_true, y_pred, weight)
        entry = {"config": {"type": kind, **options}, "y_true": array(y_true, y_true.dtype), "y_pred": array(y_pred),
                 "value": array(value), "gradient": array(jax.grad(lambda x: made(y_true, x, weight).sum())(y_pred))}
        if weight is not None:
            entry["sample_weight"] = array(weight)
        return entry

    sparse, dense, binary = "SparseCategoricalCrossentropy", "CategoricalCrossentropy", "BinaryCrossentropy"
    losses = []
    for reduction in ["sum_over_batch_size", "sum", "none", "mean_with_sample_weight"]:
        losses.append(loss("MeanSquaredError", p["bits"], p["logits"], p["weight"], reduction=reduction))
        losses.append(loss(sparse, p["labels"], p["logits"], p["weight"], from_logits=True, reduction=reduction))
    losses += [
        loss("MeanSquaredError", p["bits"], p["logits"]),
        loss("MeanAbsoluteError", p["bits"], p["logits"]),
        loss("MeanAbsoluteError", p["bits"][:, :1], p["logits"][:, 0]),
        loss(binary, p["bits"], p["binary"]),
        loss(binary, p["bits"], p["logits"], from_logits=True),
        loss(binary, p["bits"], p["logits"], p["weight"], from_logits=True, label_smoothing=0.2),
        loss(dense, p["one_hot"], p["soft"]),
        loss(dense, p["one_hot"], p["certain"]),
        loss(dense, p["one_hot"], p["binary"], label_smoothing=0.1),
        loss(dense, p["one_hot"], p["logits"], from_logits=True, label_smoothing=0.1),
        loss(sparse, p["labels"], p["soft"]),
        loss(sparse, p["labels"], p["certain"]),
        loss(sparse, p["labels"].reshape(4, 1).astype(np.uint8), p["logits"], from_logits=True),
        loss(sparse, p["labels"].astype(np.float32), p["binary"]),
        loss(sparse, p["sequence_labels"], p["sequence"], from_logits=True),
        loss(sparse, p["sequence_labels"], p["sequence"], from_logits=True, ignore_class=1),
        loss(sparse, p["labels"], p["soft"], p["weight"], ignore_class=4),
    ]

    def metric(kind, y_true, y_pred, weight=None, **options):
        made = getattr(keras.metrics, kind)(**options)
        results = []
        for _ in range(2):
            made.update_state(y_true, y_pred, weight)
            results.append(float(made.result()))
            weight = None
        return {"config": {"type": kind, **options}, "y_true": array(y_true, y_true.dtype), "y_pred": array(y_pred),
                "results": results}

    metrics = [
        metric("SparseCategoricalAccuracy", p["labels"], p["logits"]),
        metric("SparseCategoricalAccuracy", p["labels"].reshape(4, 1), p["soft"]),
        metric("SparseCategoricalAccuracy", p["sequence_labels"], p["sequence"]),
        metric("CategoricalAccuracy", p["one_hot"], p["logits"]),
        metric("BinaryAccuracy", p["bits"], p["binary"]),
        metric("BinaryAccuracy", p["bits"], p["logits"], threshold=0.0),
        metric("SparseTopKCategoricalAccuracy", p["labels"], p["logits"], k=2),
        metric("SparseTopKCategoricalAccuracy", p["labels"], p["certain"], k=3),
        metric("MeanSquaredError", p["bits"], p["logits"]),
        metric("MeanAbsoluteError", p["bits"], p["logits"]),
    ]
    weighted = [metric("SparseCategoricalAccuracy", p["labels"], p["logits"], p["weight"]),
                metric("MeanSquaredError", p["bits"], p["logits"], p["weight"])]
    for entry in weighted:
        entry["first_weight"] = array(p["weight"])
    return {"library": f"keras {keras.__version__}", **shared(), "optimizers": [optimizer(c) for c in KERAS_OPTIMIZERS],
            "schedules": [schedule(s) for s in SCHEDULES], "losses": losses, "metrics": metrics + weighted}


# --- PyTorch ---

def torch_vectors():
    import torch
    import torch.nn.functional as functional

    def optimizer(make, config):
        variables = [torch.tensor(v, requires_grad=True) for v in starts()]
        made, after = make(variables), []
        for step in gradients():
            for v, g in zip(variables, step):
                v.grad = torch.tensor(g)
            made.step()
            after.append([v.detach().numpy().copy() for v in variables])
        return optimizer_entry(config, after)

    p = predictions()

    def loss(function, config, y_true, y_pred):
        x = torch.tensor(y_pred, requires_grad=True)
        value = function(x, torch.tensor(y_true))
        value.backward()
        return {"config": config, "y_true": array(y_true, y_true.dtype), "y_pred": array(y_pred), "value": array(value.item()),
                "gradient": array(x.grad)}

    labels = p["labels"].astype(np.int64)
    return {
        "library": f"torch {torch.__version__.split('+')[0]}", **shared(),
        "optimizers": [
            optimizer(lambda v: torch.optim.SGD(v, 0.1), {"type": "SGD", "learning_rate": 0.1}),
            optimizer(lambda v: torch.optim.SGD(v, 0.1, momentum=0.9), {"type": "SGD", "learning_rate": 0.1, "momentum": 0.9}),
            optimizer(lambda v: torch.optim.SGD(v, 0.1, momentum=0.9, nesterov=True),
                      {"type": "SGD", "learning_rate": 0.1, "momentum": 0.9, "nesterov": True}),
            optimizer(lambda v: torch.optim.Adam(v, 0.01), {"type": "Adam", "learning_rate": 0.01, "epsilon": 1e-8}),
            optimizer(lambda v: torch.optim.AdamW(v, 0.01),
                      {"type": "AdamW", "learning_rate": 0.01, "epsilon": 1e-8, "weight_decay": 0.01}),
        ],
        "losses": [
            loss(functional.mse_loss, {"type": "MeanSquaredError"}, p["bits"], p["logits"]),
            loss(functional.l1_loss, {"type": "MeanAbsoluteError"}, p["bits"], p["logits"]),
            loss(functional.binary_cross_entropy_with_logits, {"type": "BinaryCrossentropy", "from_logits": True},
                 p["bits"], p["logits"]),
            loss(functional.cross_entropy, {"type": "SparseCategoricalCrossentropy", "from_logits": True},
                 labels, p["logits"]),
            loss(lambda x, y: functional.cross_entropy(x, y, label_smoothing=0.1),
                 {"type": "CategoricalCrossentropy", "from_logits": True, "label_smoothing": 0.1},
                 p["one_hot"], p["logits"]),
        ],
    }


if __name__ == "__main__":
    library = sys.argv[1]
    vectors = {"keras": keras_vectors, "torch": torch_vectors}[library]()
    path = pathlib.Path(__file__).with_name(f"training_{library}.json")
    path.write_text(json.dumps(vectors, separators=(",", ":")).replace('{"config"', '\n{"config"') + "\n")
    print(path, path.stat().st_size, "bytes", vectors["library"])
