"""Runge-Kutta steps of predators and prey."""

import numpy as np

from pyopbench import OwnOp

STEPS = 20
DT = 0.05


def derivative(state, params):
    x, y = state[..., 0], state[..., 1]
    a, b, c, d = params
    return np.stack([a * x - b * x * y, d * x * y - c * y], axis=-1)


def simulate(state, params):
    trajectory = [state]
    for _ in range(STEPS):
        k1 = derivative(state, params)
        k2 = derivative(state + 0.5 * DT * k1, params)
        k3 = derivative(state + 0.5 * DT * k2, params)
        k4 = derivative(state + DT * k3, params)
        state = state + DT / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)
        trajectory.append(state)
    return np.array(trajectory)


def inputs(size, rng):
    return rng.uniform(0.5, 2, (size, 2)), np.array([1.1, 0.4, 0.4, 0.1])


OP = OwnOp(
    inputs=inputs,
    sizes=(2, 64, 2048),
    size_unit="runs",
    numpy=simulate,
    source="simulation-based inference: the simulator is a numpy_function",
)
EDGES = {
    "empty": (np.zeros((0, 2)), np.array([1.1, 0.4, 0.4, 0.1])),
    "one": (np.ones((1, 2)), np.array([1.1, 0.4, 0.4, 0.1])),
}
