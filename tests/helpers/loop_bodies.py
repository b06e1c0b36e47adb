"""Small numerical kernels with loops beyond those of NPBench, written from their definitions, with inputs."""

from __future__ import annotations

VECTOR = "rng.random(6)"
DOMINANT = "rng.random((4, 4)) + 4 * np.eye(4)"
POSITIVE = "(lambda a: a @ a.T + 4 * np.eye(4))(rng.random((4, 4)))"

KERNELS: dict[str, tuple[str, ...]] = {
    "thomas": (
        """
def solve(lower, diagonal, upper, d):
    n = d.shape[0]
    c = np.empty_like(upper)
    c[0] = upper[0] / diagonal[0]
    d[0] /= diagonal[0]
    for i in range(1, n):
        m = 1.0 / (diagonal[i] - lower[i] * c[i - 1])
        c[i] = upper[i] * m
        d[i] = (d[i] - lower[i] * d[i - 1]) * m
    for i in range(n - 2, -1, -1):
        d[i] -= c[i] * d[i + 1]


def body(lower, diagonal, upper, d):
    solve(lower, diagonal + 3, upper, d)
    return d
""",
        VECTOR,
        VECTOR,
        VECTOR,
        VECTOR,
    ),
    "recursive_filter": (
        """
def body(x):
    forth, back = np.empty_like(x), np.empty_like(x)
    before = 0.0
    for i in range(len(x)):
        before = 0.3 * x[i] + 0.7 * before
        forth[i] = before
    behind = 0.0
    for i in reversed(range(len(x))):
        behind = 0.3 * x[i] + 0.7 * behind
        back[i] = behind
    return forth + back
""",
        VECTOR,
    ),
    "triangular_solve": (
        """
def body(a, b):
    x = b.copy()
    for i in range(len(x)):
        for j in range(i):
            x[i] -= a[i, j] * x[j]
        x[i] /= a[i, i]
    return x
""",
        DOMINANT,
        "rng.random(4)",
    ),
    "power_iteration": (
        """
def body(a):
    v = np.ones(a.shape[0])
    value, change, rounds = 0.0, 1.0, 0
    while change > 1e-8 and rounds < 200:
        w = a @ v
        new = np.sqrt(w @ w)
        change, value, v = abs(new - value), new, w / new
        rounds += 1
    return value, v
""",
        POSITIVE,
    ),
    "bisection": (
        """
def f(x, c):
    return x**3 + x - c


def body(c):
    low, high, rounds = 0.0, 10.0, 0
    while high - low > 1e-10:
        middle = (low + high) / 2
        if f(middle, c) > 0:
            high = middle
        else:
            low = middle
        rounds += 1
    return c * rounds, low > 0.3
""",
        "np.float64(rng.random())",
    ),
    "crc": (
        """
def body(data):
    crc = 0xFFFF
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            if crc & 0x8000:
                crc = ((crc << 1) ^ 0x1021) & 0xFFFF
            else:
                crc = (crc << 1) & 0xFFFF
    return crc
""",
        "rng.integers(0, 256, 4)",
    ),
    "longest_run": (
        """
def body(x):
    best, length, where = 0, 0, -1
    for i, value in enumerate(x):
        if value > 0.4:
            length += 1
            if length > best:
                best, where = length, i
        else:
            length = 0
    return best, where
""",
        "rng.random(12)",
    ),
    "peaks": (
        """
def body(x):
    found = []
    for i in range(1, len(x) - 1):
        if x[i - 1] < x[i] > x[i + 1]:
            found.append(i)
    return np.array(found)
""",
        "rng.random(15)",
    ),
    "binary_search": (
        """
def body(x, value):
    low, high = 0, len(x)
    while low < high:
        middle = (low + high) // 2
        if x[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
""",
        "np.sort(rng.random(9))",
        "np.float64(rng.random())",
    ),
}
"""By name: the source, and an expression for each input."""
