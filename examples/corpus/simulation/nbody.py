"""Accelerations of bodies that attract each other, with softening."""

import numpy as np

from pyopbench import OwnOp

G = 1.0
SOFTENING = 0.1


def accelerations(pos, mass):
    x = pos[:, 0:1]
    y = pos[:, 1:2]
    z = pos[:, 2:3]
    dx = x.T - x
    dy = y.T - y
    dz = z.T - z
    inv_r3 = dx**2 + dy**2 + dz**2 + SOFTENING**2
    inv_r3[inv_r3 > 0] = inv_r3[inv_r3 > 0] ** (-1.5)
    ax = G * (dx * inv_r3) @ mass
    ay = G * (dy * inv_r3) @ mass
    az = G * (dz * inv_r3) @ mass
    return np.hstack((ax, ay, az))


def inputs(size, rng):
    return rng.normal(0, 1, (size, 3)), rng.uniform(0.5, 1.5, (size, 1))


OP = OwnOp(
    inputs=inputs,
    sizes=(4, 32, 256),
    size_unit="bodies",
    numpy=accelerations,
    source="learned simulators that step a known model inside the graph",
)
EDGES = {
    "one": (np.ones((1, 3)), np.ones((1, 1))),
    "at one place": (np.ones((3, 3)), np.ones((3, 1))),
    "nan": (np.array([[np.nan, 0, 0], [1, 0, 0]]), np.ones((2, 1))),
}
