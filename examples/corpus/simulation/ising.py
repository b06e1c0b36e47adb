"""Energy and magnetisation of Ising configurations on a torus."""

import numpy as np

from pyopbench import OwnOp

J = 1.0


def ising_energy(spins):
    n_configs, length = spins.shape[0], spins.shape[1]
    energy = np.zeros(n_configs)
    for c in range(n_configs):
        config = spins[c]
        for i in range(length):
            for j in range(length):
                s = config[i, j]
                nb = config[(i + 1) % length, j] + config[i, (j + 1) % length]
                energy[c] += -J * s * nb
    return energy, np.abs(spins.mean(axis=(1, 2)))


def inputs(size, rng):
    return (rng.choice(np.array([-1, 1], np.int32), (4, size, size)),)


OP = OwnOp(
    inputs=inputs,
    sizes=(4, 12, 32),
    size_unit="spins a side",
    numpy=ising_energy,
    source="variational Monte Carlo and Boltzmann machines",
)
EDGES = {
    "one": (np.ones((1, 1, 1), np.int32),),
    "none": (np.ones((0, 2, 2), np.int32),),
    "even": (np.ones((2, 4, 4), np.int32),),
}
