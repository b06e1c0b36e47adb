"""Checks a port, or an arrangement in a dataset, against the body that it replaces; each test has a copy of this.

It uses only NumPy and TensorFlow, and binds one name.
"""

import dataclasses

import numpy as np
import tensorflow as tf


@dataclasses.dataclass
class PortCheck:
    """A port, the body that it replaces, and inputs on which they have to agree."""

    port: object  # the function of tensors, or of a dataset
    body: object
    make_examples: object  # returns the arguments of several calls of the body; it is called with a generator
    tolerance: float  # largest error, relative to the largest magnitude
    keywords: tuple = ()  # names of the last arguments, where they are given by name
    body_gradient: object = None  # called with inputs, outputs and gradients of the floating outputs
    differentiable: tuple = ()  # positions of the inputs that have a gradient
    floating: tuple = ()  # positions of the outputs that a gradient flows back through
    is_of_batch: bool = False  # does the port take a batch, while the body takes an example of it?
    takes_tensors: bool = False  # does the body take eager tensors?
    needs_sizes: bool = False  # do the sizes of inputs have to be known where the port is traced?
    is_random: bool = False  # does the body draw random numbers, so that only dtypes and shapes can be the same?

    SEEDS, DISTRIBUTIONS, DRAWS = 10, 2, 2000
    """Seeds with which values are compared; examples whose draws are, and how many of each."""

    ELEMENTS = 5
    """Elements of a dataset: more than one call of each process of a pool."""

    # Calls.

    def call(self, function, arguments, **options):
        """Return the outputs of a function as a tuple; it gets the last arguments by name where that is asked."""
        first = len(arguments) - len(self.keywords)
        outputs = function(*arguments[:first], **dict(zip(self.keywords, arguments[first:])), **options)
        return tuple(outputs) if isinstance(outputs, (list, tuple)) else (outputs,)

    def examples(self):
        """Return the arguments of several calls of the port; of batches two lengths, each of examples of one shape."""
        examples = self.make_examples(np.random.default_rng(0))
        if not self.is_of_batch:
            return examples
        examples = [[np.asarray(one) for one in arguments] for arguments in examples]
        if len({str([one.shape for one in arrays]) for arrays in examples}) == len(examples):
            examples = [self.vary(arrays, factor) for arrays in examples for factor in (1.0, 0.9, 0.8)]
        batches = {}
        for arrays in examples:
            batches.setdefault(str([one.shape for one in arrays]), []).append(arrays)
        return [
            [np.stack(one) for one in zip(*batch[:count])]
            for batch in batches.values()
            for count in {min(2, len(batch)), len(batch)}
        ]

    @staticmethod
    def vary(arrays, factor):
        """Return the arguments of another example: floats times a factor."""
        return [np.asarray(one * factor, one.dtype) if one.dtype.kind == "f" else one for one in arrays]

    @staticmethod
    def as_array(value):
        """Return a value as an array, text as `bytes` of UTF-8 in an array of objects, as TensorFlow has it."""
        array = np.asarray(value, object) if isinstance(value, (str, bytes)) else np.asarray(value)
        if array.dtype.kind not in "SUO":
            return array
        encoded = [one.encode() if isinstance(one, str) else one for one in array.ravel().tolist()]
        return np.array([*encoded, None], object)[:-1].reshape(array.shape)

    def tensors_of(self, arrays):
        """Return tensors with memory of their own."""
        return [tf.constant(self.as_array(one).copy()) for one in arrays]

    def expected(self, arguments):
        """Return what the body returns, as arrays; of a batch for each example, with a leading axis."""
        if not self.is_of_batch:
            return self.expected_of_one(arguments)
        return self.stacked(self.expected_of_one(row) for row in zip(*arguments))

    def expected_of_one(self, arguments):
        """Return what the body returns for an example, as arrays."""
        if self.takes_tensors:
            copies = self.tensors_of(arguments)
        else:  # what has no axis is a number or a text, as it is in a graph
            kept = (str, bytes, list, tuple)
            copies = [one if isinstance(one, kept) else np.array(one)[()] for one in arguments]
        return tuple(self.as_array(one) for one in self.call(self.body, copies))

    @staticmethod
    def stacked(rows):
        """Return the outputs of a batch, of those of each example."""
        return tuple(np.stack([np.asarray(one) for one in column]) for column in zip(*rows))

    def expected_after(self, seed, arguments):
        """Return what the body returns after NumPy's generator was seeded."""
        np.random.seed(seed)
        return self.expected(arguments)

    # Comparisons.

    def assert_same(self, outputs, expected):
        """Assert that outputs have the values of others, and their dtypes and shapes."""
        assert len(outputs) == len(expected)
        for found, wanted in zip(map(np.asarray, outputs), map(np.asarray, expected)):
            assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
            if self.is_random:
                continue
            if not wanted.dtype.name.startswith(("float", "bfloat", "complex")):
                np.testing.assert_array_equal(found, wanted)
                continue
            wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
            finite = np.abs(wanted.astype(wide)[np.isfinite(wanted.astype(wide))])
            error = self.tolerance * ((finite.max() if finite.size else 0) or 1)
            np.testing.assert_allclose(found.astype(wide), wanted.astype(wide), rtol=0, atol=error)

    @staticmethod
    def assert_unchanged(tensors, arrays, writer):
        """Assert that tensors have the values that they were made with."""
        for one, other in zip(tensors, arrays):
            np.testing.assert_array_equal(one, other, f"{writer} has written to its arguments")

    def ports(self, arguments, **options):
        """Return the port as it is, in a graph, and in one whose inputs are of unknown sizes, if it takes those."""
        in_graph = tf.function(self.port)
        if self.needs_sizes:
            return self.port, in_graph
        specs = [tf.TensorSpec([None] * np.ndim(one), tf.constant(self.as_array(one)).dtype) for one in arguments]
        first = len(specs) - len(self.keywords)
        named = dict(zip(self.keywords, specs[first:]))
        return self.port, in_graph, in_graph.get_concrete_function(*specs[:first], **named, **options)

    # Tests.

    def values(self):
        """The port returns what the body does, called as it is and in a graph, whose sizes may be unknown."""
        for arguments in self.examples():
            tensors, expected = self.tensors_of(arguments), self.expected(arguments)
            for port in self.ports(arguments):
                self.assert_same(self.call(port, tensors), expected)
                self.assert_unchanged(tensors, map(self.as_array, arguments), "the port")

    def seeded_values(self):
        """With the same seed, the port returns what the body does."""
        for arguments in self.examples():
            tensors = self.tensors_of(arguments)
            ports = self.ports(arguments, seed=tf.TensorSpec([], tf.int32))
            for seed in range(self.SEEDS):
                expected = self.expected_after(seed, arguments)
                for port in ports:
                    self.assert_same(self.call(port, tensors, seed=tf.constant(seed)), expected)
            self.assert_unchanged(tensors, map(self.as_array, arguments), "the port")

    def distribution(self):
        """The port draws other numbers than the body: their means and quantiles are compared, over many draws."""
        in_graph = tf.function(self.port)
        for arguments in self.examples()[: self.DISTRIBUTIONS]:
            tensors = self.tensors_of(arguments)
            found = [self.call(in_graph, tensors, seed=tf.constant(seed)) for seed in range(self.DRAWS)]
            expected = [self.expected_after(seed, arguments) for seed in range(self.DRAWS)]
            for one, other in zip(found, expected):
                assert [np.asarray(part).dtype for part in one] == [part.dtype for part in other]
            for place in range(len(expected[0])):
                for number in (np.size, np.mean, lambda array: np.ravel(array)[-1]):
                    both = [[float(number(np.asarray(one[place]))) for one in many] for many in (found, expected)]
                    points = np.sort(np.concatenate(both))
                    one, other = (np.searchsorted(np.sort(many), points, "right") / len(many) for many in both)
                    # As far apart as this by chance: once in a million times.
                    assert np.abs(one - other).max() < 2.7 * np.sqrt(2 / self.DRAWS)

    def draws(self):
        """Each call draws anew, also in a graph, and the same again after `tf.random.set_seed`."""
        for arguments in self.examples():
            tensors = self.tensors_of(arguments)
            many = [self.expected_after(seed, arguments) for seed in range(self.SEEDS)]
            differ = not all(np.array_equal(one, other) for one, other in zip(many[0], many[1]))
            for wrap in (lambda port: port, tf.function):
                runs = []
                for _ in range(2):
                    tf.random.set_seed(1)
                    port = wrap(self.port)
                    runs.append([self.call(port, tensors) for _ in range(self.SEEDS)])
                for one, other in zip(*runs):
                    assert all(np.array_equal(*pair) for pair in zip(one, other))
                if differ:
                    first, *others = runs[0]
                    assert any(not np.array_equal(*pair) for other in others for pair in zip(other, first))

    def dataset_of_batches(self):
        """The port returns what the body does where `Dataset.map` calls it with batches."""
        for arguments in self.examples():
            dataset = tf.data.Dataset.from_tensor_slices(tuple(arguments)).batch(len(arguments[0]), drop_remainder=True)
            (outputs,) = dataset.map(lambda *tensors: self.call(self.port, tensors))
            self.assert_same(outputs, self.expected(arguments))

    def in_a_dataset(self):
        """The arrangement returns what the body does, in order, and passes on the other components."""
        for arguments in self.examples():
            tensors = self.tensors_of(arguments)
            numbered = tf.data.Dataset.range(self.ELEMENTS)
            dataset = self.port(numbered.map(lambda number, tensors=tensors: (*tensors, number)))
            expected, places = self.expected(arguments), 0
            for place, (*outputs, number) in enumerate(dataset):
                assert np.all(number == place)
                self.assert_same(outputs, expected)
                places += 1
            assert places == self.ELEMENTS

    # The gradient.

    def gradient(self):
        """The gradient of the port is that of the body, or the slope of the body along a direction that is drawn."""
        for arguments in self.examples():
            if self.body_gradient is not None:
                self.compare_gradients(arguments)
            else:
                self.compare_slopes(arguments)

    def compare_gradients(self, arguments):
        """Assert that the gradient of the port is the body's own."""
        arrays, outputs = [np.asarray(one) for one in arguments], self.expected(arguments)
        output_gradients = self.draw_gradients(outputs, np.random.default_rng(1))
        found = self.gradient_of_port(arguments, output_gradients)
        if self.is_of_batch:
            rows = zip(zip(*arrays), zip(*outputs), zip(*output_gradients))
            expected = self.stacked(self.own_gradient(*map(list, row)) for row in rows)
        else:
            expected = self.own_gradient(arrays, outputs, output_gradients)
        if len(expected) == len(arrays):
            expected = [expected[place] for place in self.differentiable]
        assert len(found) == len(expected), f"{len(found)} gradients, and {len(expected)} of the old body"
        for one, other in zip(found, expected):
            self.assert_same([one], [other])

    def own_gradient(self, arrays, outputs, output_gradients):
        """Return the body's own gradient by several inputs, as a tuple."""
        found = self.body_gradient(arrays, outputs, output_gradients)
        return tuple(found) if isinstance(found, (list, tuple)) else (found,)

    def draw_gradients(self, expected, rng):
        """Return a gradient for each floating output."""
        outputs = [expected[place] for place in self.floating]
        return [np.asarray(rng.uniform(0.5, 1.5, one.shape), one.dtype) for one in outputs]

    def gradient_of_port(self, arguments, output_gradients):
        """Return the gradient that TensorFlow has of the port, by each input that has one."""
        tensors = self.tensors_of(arguments)
        watched = [tensors[place] for place in self.differentiable]
        with tf.GradientTape() as tape:
            tape.watch(watched)
            outputs = self.call(tf.function(self.port), tensors)
        floating = [outputs[place] for place in self.floating]
        given = self.tensors_of(output_gradients)
        found = tape.gradient(floating, watched, given, unconnected_gradients="zero")
        self.assert_unchanged([*tensors, *given], [*arguments, *output_gradients], "the gradient")
        return [tf.convert_to_tensor(one).numpy() for one in found]

    def compare_slopes(self, arguments):
        """Assert that the gradient of the port is the slope of the body."""
        rng = np.random.default_rng(1)
        arrays = [np.array(one) for one in arguments]
        outputs = self.expected(arrays)
        output_gradients = self.draw_gradients(outputs, rng)
        arrays = self.widened(arrays, outputs)
        middle = self.expected(arrays)
        # As large a step as rounding asks for: https://en.wikipedia.org/wiki/Numerical_differentiation#Step_size
        precision = max(np.finfo(middle[place].dtype).eps for place in self.floating)
        step = precision ** (1 / 3)
        directions = {place: rng.normal(size=arrays[place].shape) for place in self.differentiable}
        around = {part: self.outputs_around(arrays, directions, step / part) for part in (1, 2, 8)}
        output_gradients = self.without_jumps(middle, around, output_gradients, precision)
        gradients = dict(zip(directions, self.gradient_of_port(arguments, output_gradients)))
        slope = sum(np.sum(np.float64(gradients[place]) * directions[place]) for place in gradients)
        slopes = [self.slopes(*around[part], output_gradients, step / part) for part in around]
        # Where the body has kinks, such as those of a maximum, shorter steps have other slopes.
        expected, changes, size = slopes[0]
        spread = max(abs(other - expected) for other, _, _ in slopes)
        if np.isfinite(expected) and np.isfinite(spread):
            # A difference of outputs is rounded as they are. The gradient of a port in float32 is rounded as such a
            # number is, and a little as the outputs are, which may be far larger.
            parts = sum(np.sum(np.abs(np.float64(gradients[place]) * directions[place])) for place in gradients)
            rounding = max({"float64": 0, "float32": 1e-6}.get(one.dtype.name, 5e-5) for one in gradients.values())
            rounded = max(max(20 * precision / step, rounding) * max(size, 1e-30), 5e-5 * min(parts, size))
            tolerance = 5 * max(step, 1e-4) * changes + rounded
            np.testing.assert_allclose(slope, expected, rtol=0, atol=tolerance + 4 * spread)

    def widened(self, arrays, outputs):
        """Return the arguments in float64 where the body takes them so, and makes the same of them."""
        wide = [one.astype(np.float64) if one.dtype in (np.float16, np.float32) else one for one in arrays]
        try:
            found = self.expected(wide)
        except Exception:  # noqa: BLE001 - it may take no float64
            return arrays
        same = all(
            one.shape == other.shape and np.allclose(one, other, rtol=1e-2, atol=1e-2, equal_nan=True)
            for one, other in zip(found, outputs)
        )
        return wide if same else arrays

    def outputs_around(self, arrays, directions, step):
        """Return the outputs of the body a step before the inputs, and a step after them."""
        below, above = list(arrays), list(arrays)
        for place, direction in directions.items():
            below[place] = np.asarray(arrays[place] - step * direction, arrays[place].dtype)
            above[place] = np.asarray(arrays[place] + step * direction, arrays[place].dtype)
        return self.expected(below), self.expected(above)

    def without_jumps(self, middle, around, output_gradients, precision):
        """Return gradients that are 0 where an output jumps at these very inputs, as at a label that is exactly 0."""
        kept = []
        for place, given in zip(self.floating, output_gradients):
            here = np.float64(middle[place])
            (before, after), (nearer, behind) = ([np.float64(side[place]) for side in around[part]] for part in (1, 8))
            far, near = np.abs((before + after) / 2 - here), np.abs((nearer + behind) / 2 - here)
            # Next to a kink the gap shrinks with the step; a jump stays, and is half of the change. What rounding
            # leaves is less of it, however large the numbers are that a body subtracts from each other.
            is_jump = (near > far / 2) & (near > 100 * precision * (1 + np.abs(here)))
            kept.append(np.where(is_jump & (near > np.abs(behind - nearer) / 10), 0, given).astype(given.dtype))
        return kept

    def slopes(self, before, after, output_gradients, step):
        """Return by how much the outputs change along directions, each by how much, and how large they are."""
        slope, changes, size = 0.0, 0.0, 0.0
        for place, given in zip(self.floating, output_gradients):
            change = (np.float64(after[place]) - np.float64(before[place])) / (2 * step)
            slope += np.sum(change * given)
            changes += np.sum(np.abs(change * given))
            size += np.sqrt(np.sum(np.square(np.float64(before[place]))))
        return slope, changes, size
