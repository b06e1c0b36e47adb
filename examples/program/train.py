"""Trains a small model that predicts quantiles. Two of its functions are Python callbacks.

python train.py --epochs 3
"""

import argparse

import numpy as np
import tensorflow as tf

QUANTILES = np.linspace(0.05, 0.95, 19)


def quantile_error(y_true, y_pred):
    """Return the pinball loss of each quantile, `(19,)` float32."""
    errors = []
    for i, q in enumerate(QUANTILES):
        e = y_true - y_pred[:, i]
        errors.append(np.mean(np.maximum(q * e, (q - 1) * e)))
    return np.array(errors, np.float32)


def spread(y_pred):
    """Return the mean width of the interval between the outermost quantiles, a float32."""
    return np.mean(y_pred[:, -1] - y_pred[:, 0], dtype=np.float32)


def make_data(examples):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(examples, 8)).astype(np.float32)
    y = (x @ np.arange(8, dtype=np.float32) + rng.normal(size=examples)).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(256).cache()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=60)
    epochs = parser.parse_args().epochs
    tf.random.set_seed(0)
    weights = tf.Variable(tf.random.normal([8, 19], stddev=0.1))
    optimizer = tf.keras.optimizers.Adam(0.05)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            predicted = x @ weights
            error = y[:, None] - predicted
            q = tf.constant(QUANTILES, tf.float32)
            loss = tf.reduce_mean(tf.maximum(q * error, (q - 1) * error))
        optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
        by_quantile = tf.numpy_function(quantile_error, [y, predicted], tf.float32)
        return loss, by_quantile

    dataset = make_data(16_384)
    for epoch in range(epochs):
        for x, y in dataset:
            loss, by_quantile = train_step(x, y)
        width = tf.numpy_function(spread, [x @ weights], tf.float32)
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: loss {loss:.4f}, worst {tf.reduce_max(by_quantile):.4f}, width {width:.4f}")


if __name__ == "__main__":
    main()
