"""Generalised advantage estimation, backwards over a rollout."""

import numpy as np

from pyopbench import OwnOp


def gae(rewards, values, dones, last_value, gamma=0.99, lam=0.95):
    advantages = np.zeros_like(rewards)
    lastgaelam = 0
    for t in reversed(range(len(rewards))):
        if t == len(rewards) - 1:
            nextnonterminal = 1.0 - dones[-1]
            nextvalues = last_value
        else:
            nextnonterminal = 1.0 - dones[t]
            nextvalues = values[t + 1]
        delta = rewards[t] + gamma * nextvalues * nextnonterminal - values[t]
        advantages[t] = lastgaelam = delta + gamma * lam * nextnonterminal * lastgaelam
    return advantages, advantages + values


def inputs(size, rng):
    dones = (rng.random((size, 4)) < 0.05).astype(np.float32)
    rewards, values = rng.normal(0, 1, (2, size, 4)).astype(np.float32)
    return rewards, values, dones, rng.normal(0, 1, 4).astype(np.float32)


OP = OwnOp(
    inputs=inputs,
    sizes=(4, 64, 512),
    size_unit="steps",
    numpy=gae,
    differentiable=(),
    source="PPO implementations, in a tf.function that collects and trains",
)
EDGES = {
    "empty": (*np.zeros((3, 0, 4), np.float32), np.ones(4, np.float32)),
    "one": (*np.ones((3, 1, 2), np.float32), np.ones(2, np.float32)),
}
