"""Small numerical kernels with loops, written from their definitions, with inputs."""

from __future__ import annotations

VECTOR, SQUARE = "rng.random(6)", "rng.random((5, 5))"
DOMINANT = "rng.random((4, 4)) + 4 * np.eye(4)"
POSITIVE = "(lambda a: a @ a.T + 4 * np.eye(4))(rng.random((4, 4)))"

KERNELS: dict[str, tuple[str, ...]] = {
    "jacobi_1d": (
        """
def sweep(n, a, b):
    for _ in range(n):
        b[1:-1] = (a[:-2] + a[1:-1] + a[2:]) / 3
        a[1:-1] = (b[:-2] + b[1:-1] + b[2:]) / 3


def body(a, b):
    sweep(3, a, b)
    return a, b
""",
        VECTOR,
        VECTOR,
    ),
    "jacobi_2d": (
        """
def sweep(a, b):
    b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])


def body(a, b):
    for _ in range(2):
        sweep(a, b)
        sweep(b, a)
    return a, b
""",
        SQUARE,
        SQUARE,
    ),
    "seidel_2d": (
        """
def body(a):
    a = a.copy()
    n = a.shape[0]
    for _ in range(2):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                a[i, j] = (a[i - 1 : i + 2, j - 1 : j + 2]).sum() / 9.0
    return a
""",
        "rng.random((4, 4))",
    ),
    "floyd_warshall": (
        """
def relax(paths, k):
    paths[:] = np.minimum(paths, paths[:, k : k + 1] + paths[k : k + 1, :])


def body(paths):
    for k in range(paths.shape[0]):
        relax(paths, k)
    return paths
""",
        SQUARE,
    ),
    "nussinov": (
        """
def pairs(a, b):
    return 1 if a + b == 3 else 0


def body(bases):
    n = len(bases)
    table = np.zeros((n, n), np.int64)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            table[i, j] = max(table[i, j - 1], table[i + 1, j])
            if i < j - 1:
                table[i, j] = max(table[i, j], table[i + 1, j - 1] + pairs(bases[i], bases[j]))
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table
""",
        "rng.integers(0, 4, 5)",
    ),
    "durbin": (
        """
def body(r):
    y = np.zeros_like(r)
    alpha, beta = -r[0], 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y
""",
        "0.1 * rng.random(5)",
    ),
    "ludcmp": (
        """
def decompose(a):
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            a[i, j] = (a[i, j] - a[i, :j] @ a[:j, j]) / a[j, j]
        for j in range(i, n):
            a[i, j] -= a[i, :i] @ a[:i, j]


def body(a, b):
    decompose(a)
    x, y = np.zeros_like(b), np.zeros_like(b)
    for i in range(a.shape[0]):
        y[i] = b[i] - a[i, :i] @ y[:i]
    for i in range(a.shape[0] - 1, -1, -1):
        x[i] = (y[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x, y
""",
        DOMINANT,
        "rng.random(4)",
    ),
    "cholesky": (
        """
def factor(a):
    a[0, 0] = np.sqrt(a[0, 0])
    for i in range(1, a.shape[0]):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] -= np.dot(a[i, :i], a[i, :i])
        a[i, i] = np.sqrt(a[i, i])


def body(a):
    factor(a)
    return np.tril(a)
""",
        POSITIVE,
    ),
    "gramschmidt": (
        """
def body(a):
    q, r = np.zeros_like(a), np.zeros((a.shape[1], a.shape[1]), a.dtype)
    a = a.copy()
    for k in range(a.shape[1]):
        r[k, k] = np.sqrt(np.dot(a[:, k], a[:, k]))
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, a.shape[1]):
            r[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * r[k, j]
    return q, r
""",
        "rng.random((5, 3))",
    ),
    "doitgen": (
        """
def multiply(a, c):
    for r in range(a.shape[0]):
        for q in range(a.shape[1]):
            a[r, q, :] = a[r, q] @ c


def body(a, c):
    multiply(a, c)
    return a
""",
        "rng.random((2, 3, 4))",
        "rng.random((4, 4))",
    ),
    "fdtd_2d": (
        """
def step(ex, ey, hz, source):
    ey[0, :] = source
    ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
    ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
    hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


def body(ex, ey, hz, sources):
    for t in range(2):
        step(ex, ey, hz, sources[t])
    return ex, ey, hz
""",
        SQUARE,
        SQUARE,
        SQUARE,
        "rng.random(2)",
    ),
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
