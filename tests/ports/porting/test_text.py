"""Bodies on text as source: what Python does to text of any kind, its port does."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.model.modules import load_file
from pyopbench.ports.arrays import as_array
from pyopbench.ports.porting.refusal import CannotPort
from pyopbench.ports.text.patterns import NotInRE2, pattern_of
from written_ports import CORPUS, line_of, run_its_test, write, write_source

TEXTS = [
    "", " ", "\x1c\x1f", "\u3000 a\u2003b", "İstanbul ıI", "Straße ẞ",
    "ΑΣ ΑΣΑ ΟΔΟΣ", "é e\u0301", "😀 a😀b", "The CAT sat",
    "a,b,,c", "  x  ", "Ünï 42", "٣ 3 ²", "x" * 50, "\n\ttab\r\n", "a\x85b\xa0c", "ǅ ǆ ﬁ", "\ufeffbom", "a.b/c.d",
    "$1 \\1 {x}", "\x0b\x0c", "cat cat concatenate", "12", "ABC", "abc", "caT.", ",",
    "/", "/a/b.tar.gz", ".bashrc", "a/.b",
    "a//", "//", "..x",
    "a/b/..c.d", "x/y.z/",
]  # fmt: skip
"""ASCII and not, with what ASCII has no notion of: letters that change length with their case, and other spaces."""

BYTES = [*(one.encode() for one in TEXTS), b"\xff\xfea", b"\x80", b"a\xe2\x28\xa1", b"a\x00b"]
LINE = "'The cat, sat é 1.'.encode()"
HEAD = "import os, re\n\nPATTERN = re.compile(r'[aeiou]', re.I)\nSTOP = {'a', 'cat', 'The'}\nIDS = {'a': 7, 'cat': 9}\n"


def loaded(text: str, folder: Path, name: str) -> ModuleType:
    """Return the module of a text, in a file, which AutoGraph reads."""
    (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return load_file(folder / f"{name}.py", name)


RAISES = object()


ERRORS = []


def called(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return outputs as arrays, text as bytes; `RAISES` where the function raises."""
    try:
        returned = function(*arguments)
    except Exception as error:  # noqa: BLE001
        ERRORS.append(error)
        return RAISES
    several = returned if isinstance(returned, tuple) else (returned,)
    found = [one.numpy() if tf.is_tensor(one) else one for one in several]
    return [as_array(np.asarray(one, object) if isinstance(one, str | bytes) else one, _dtype(one)) for one in found]


def _dtype(value: Any) -> str | None:
    return "string" if isinstance(value, str | bytes) or np.asarray(value).dtype.kind in "SUO" else None


def require_same(folder: Path, source: str, example: str, values: Sequence[Any]) -> str:
    """Check that a port does on values what its body does, as it is and in a graph; return its text."""
    made = write_source(folder, source, example)
    old = loaded(f"import numpy as np\n{source}", folder, "old_body")
    port = loaded(made.port, folder, "new_body")
    # As `Dataset.map` calls it, which knows no shape.
    example_array = as_array(values[0] if not isinstance(values[0], str | bytes) else np.asarray(values[0], object))
    is_text = isinstance(values[0], str | bytes) or example_array.dtype.kind == "O"
    spec = tf.TensorSpec([None] * example_array.ndim, tf.string if is_text else example_array.dtype)
    in_graph = tf.function(port.body, input_signature=[spec])
    for value in values:
        given = np.asarray(value, object) if is_text else value
        expected = called(old.body, value)
        for function in (in_graph, port.body):
            found = called(function, tf.constant(given))
            if RAISES in (found, expected):
                assert found is expected, (value, found, expected)
                continue
            assert len(found) == len(expected)
            for place, (one, other) in enumerate(zip(found, expected, strict=True)):
                assert one.shape == other.shape, (value, place, one, other)
                if other.size:
                    assert one.dtype == other.dtype
                np.testing.assert_array_equal(one, other, err_msg=f"{value!r} {place}")
    return made.port


OF_STR = [
    "x.lower()", "x.upper()", "x.strip()", "x.lstrip()", "x.rstrip()", "x.strip('.,x ')", "len(x)", "x[:3]", "x[2:]",
    "x[-2:]", "x[1:-1]", "x[5:2]", "x[::-1]", "x.replace('a', '\\\\1')", "x.startswith('T')",
    "x.startswith(('a', '$'))", "x.endswith('.')", "'at' in x", "'.' not in x", "x.find('a')", "x.count('a')",
    "x + '!'",
    "'<' + x", "x == 'abc'", "x != 'abc'", "f'<{x}>'", "'%s-%s' % (x, x)", "'{}:{}'.format(x, 1)", "x.isdigit()",
    "x.isalpha()", "x.isspace()", "x.isalnum()", "x.encode()", "np.array(x.split())",
    "np.array(x.split(','))", "len(x.split())", "np.array(list(x))", "' '.join(x.split())",
    "'-'.join(x.split(',')[:2])", "x.split('/')[-1]", "len(set(x.split()))", "x.partition(',')[2]",
    "'yes' if x else 'no'", "not x", "''.join(reversed(x))",
]  # fmt: skip
OF_LISTS = [
    "np.array([len(w) for w in x.split()], np.int64)", "np.array([ord(c) for c in x], np.int64)",
    "np.array([w.lower() for w in x.split() if w.isalpha()])", "sum(1 for w in x.split() if w != 'a')",
    "any(c.isdigit() for c in x)", "all(c.isalpha() for c in x)", "''.join(c for c in x if c.isalnum())",
    "np.array(x.lower().split() + ['<end>'])", "np.array([c for c in x if c not in ' .,'])",
    "np.array(x.split()[::-1])", "np.array([x[i:i + 2] for i in range(len(x) - 1)])",
    "np.array([x[i:i + n] for n in range(1, 3) for i in range(len(x) - n + 1)])",
    "np.array([w for i, w in enumerate(x.split()) if i % 2 == 0])",
    "np.array([a + b for a, b in zip(x.split(), x.split()[1:])])", "'cat' in x.split()",
    "np.array([w in STOP for w in x.split()], bool)", "' '.join(w for w in x.split() if w not in STOP)",
    "np.array([IDS.get(w, 1) for w in x.split()], np.int64)", "len(x) > 3 and x[0] == 'T'", "3 < len(x) < 6",
    "np.array(([len(w) for w in x.split()] + [0] * 5)[:5])",
    "np.array(x.split()[:3] + [''] * (3 - len(x.split())))",
]  # fmt: skip
OF_PATTERNS = [
    "re.sub(r'[^a-z ]+', ' ', x)", "re.sub(r'\\s+', ' ', x)", "re.sub(r'(\\w)\\s', r'\\1_', x)", "PATTERN.sub('#', x)",
    "re.sub(r'^\\s+|\\s+$', '', x)", "np.array(re.split(r'\\W+', x))",
    "np.array(re.findall(r'\\w+', x))", "np.array(re.findall(r'[A-Z](\\w+)', x))",
    "1 if re.match(r'[a-z]+', x) else 0", "1 if re.search(r'(?i)cat|\\d', x) else 0",
    "1 if re.fullmatch(r'[a-z ]*', x) else 0",
]  # fmt: skip
OF_PATHS = [
    "os.path.basename(x)", "os.path.dirname(x)", "os.path.splitext(x)[0]", "os.path.splitext(x)[1]",
    "os.path.join('/top', x)", "os.path.join(x, 'z')", "os.path.join(x, 'a', x)", "os.path.split(x)[1]",
    "x.split(os.sep)[-1]",
]  # fmt: skip
OF_BYTES = [
    "x.lower()", "x.upper()", "x.strip()", "x.rstrip(b'/')", "len(x)", "x[:3]", "x[1:-1]", "x.replace(b'a', b'bb')",
    "x.startswith(b'T')", "x.endswith(b'.')", "b'at' in x", "x.find(b'a')", "x + b'!'", "x == b'abc'", "x.isdigit()",
    "np.array(x.split())", "np.array(x.split(b','))", "np.frombuffer(x, np.uint8)",
    "np.array(list(x), np.int64)", "x.decode('latin-1')", "x.decode('utf-8', 'ignore')", "x.decode(errors='replace')",
    "sum(x)", "b' '.join(x.split())", "isinstance(x, bytes)", "zlib.crc32(x)",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("expressions", "begin", "values"),
    [
        (OF_STR, "x = line.decode()", BYTES[:-1]),
        (OF_LISTS, "x = line.decode()", BYTES[:-1]),
        (OF_PATTERNS, "x = line.decode('utf-8')", BYTES),
        (OF_PATHS, "x = str(line, 'utf8')", BYTES),
        (OF_BYTES, "x = line", BYTES),
    ],
    ids=["str", "lists", "patterns", "paths", "bytes"],
)
def test_what_python_does_to_text_its_port_does_to_any_text(
    expressions: list[str], begin: str, values: list[bytes], tmp_path: Path
) -> None:
    source = f"import zlib\n{HEAD}\n\ndef body(line):\n    {begin}\n    return (\n        "
    source += ",\n        ".join(expressions) + ",\n    )\n"
    require_same(tmp_path, source, LINE, values)


@pytest.mark.parametrize(
    "expression",
    ["x[0]", "x[-3]", "ord(x[1])", "x.split(',')[1]", "max(len(w) for w in x.split())", "IDS[x]", "LABELS.index(x)",
     "np.array([IDS[w] for w in x.split()])", "x.encode('ascii')"],
)  # fmt: skip
def test_a_port_raises_an_error_where_python_does(expression: str, tmp_path: Path) -> None:
    source = f"{HEAD}LABELS = ['dog', 'cat', 'a', 'cat']\n\n\ndef body(line):\n    x = line.decode()\n"
    example = "b'cat'" if "[x]" in expression or "(x)" in expression or "for w" in expression else "b'The, cat'"
    values = [*BYTES, b"cat", b"a", b"a cat a"]
    require_same(tmp_path, f"{source}    return {expression}\n", example, values)


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        ("int(x)", "5| 5 |+5|-5|1_0|0x10||5.0|-0|007|5\x1c|\t5\n\x0b|1__0|_1|a"),
        ("float(x)", "1.5|.5|5.|1e5|inf|-Infinity|0x1p3|1_0.0|1e400|1.5f|nan(1)|1e|1e1_0||a|-0.0|1e-400"),
        ("np.float32(x)", "0.1|16777217.0000001|a"),
        ("np.array([float(v) for v in x.split(',')], np.float32)", "1,2|1,,2|1.5, 2|-1,+2,1e3|1"),
        ("np.array(x.split(',')).astype(np.float64)", "1,2|1,,2|1.5, 2|1"),
        ("sum(map(float, x.split(',')))", "1,2|1,,2|0.1,0.2"),
    ],
)
def test_text_is_read_as_the_number_that_it_is(expression: str, values: str, tmp_path: Path) -> None:
    source = f"def body(line):\n    x = line.decode()\n    return {expression}\n"
    require_same(tmp_path, source, "b'12'", [one.encode() for one in values.split("|")])


@pytest.mark.parametrize("text", ["\ua7c0", "a\x00B", "\u0663"])
def test_what_tensorflow_does_otherwise_raises_an_error_and_is_not_wrong(text: str, tmp_path: Path) -> None:
    """A capital of Unicode 14, a NUL and a digit that is not of ASCII."""
    expression = "int(x)" if text.isdigit() else "x.lower()"
    made = write_source(tmp_path, f"def body(line):\n    x = line.decode()\n    return {expression}\n", "b'1'")
    assert called(loaded(made.port, tmp_path, "new_body").body, tf.constant(text.encode())) is RAISES


REFUSED = [
    "hash(x)",
    "hashlib.md5(line).hexdigest()",
    "unicodedata.normalize('NFC', x)",
    "x.title()",
    "x > 'a'",
    "sorted(x.split())[0]",
    "line == 'a'",
    "np.array([len(v) for v in [w.split('.') for w in x.split()]])",
    "x.encode('utf-16')",
    "re.sub(r'x*', '-', x)",
    "re.sub(r'(?<=a)b', '', x)",
    "re.sub('e$', '', x)",
    "re.sub(r'\\bcat\\b', '', x)",
    "re.sub('a', lambda m: 'b', x)",
    "re.sub(rb'[^a-z]', b'', line)",
    "os.path.exists(x)",
    "IDS.get(line, 1)",
    "str(line)",
    "f'{len(x)}'",
    "str(len(x) / 2)",
    "repr(x)",
    "np.char.find(np.array(x.split()), 'a')",
    "re.sub('a', 'b', string=x)",
    "set(x.split()) == set(x)",
    "x.split(maxsplit=1)[0]",
    "bytes(x, 'utf-16')",
    "{'a': 1}.get(x, 0)",
    "len({w: 1 for w in x.split()})",
]


@pytest.mark.parametrize("expression", REFUSED)
def test_what_has_no_equal_is_refused_with_the_line(expression: str, tmp_path: Path) -> None:
    source = f"import hashlib, unicodedata\n{HEAD}\n\ndef body(line):\n    x = line.decode()\n    return {expression}\n"
    with pytest.raises(CannotPort) as caught:
        write_source(tmp_path, source, LINE)
    assert line_of(caught.value) == f"return {expression}"


def test_text_is_written_to_traced_alone(tmp_path: Path) -> None:
    with pytest.raises(CannotPort) as caught:
        write_source(tmp_path, "def body(line):\n    return line.lower()\n", LINE, to="njit")
    assert caught.value.fix == "port it to traced"


@pytest.mark.parametrize(
    "pattern", [r"\w+", r"[\W_]+", r"\s", r"(?i)[i-k]s", r"(?s)a.b|a\.", r"[^\w\s]", r"(?:ab|a){2,3}"]
)
def test_a_pattern_of_re2_is_one_of_pythons(pattern: str) -> None:
    """With the pattern as it stands it would not be: RE2 has classes of ASCII."""
    text = "aB_1 İıſK é\u0301 ٣²\x1c\x85\u3000 a\nb a.ab aba"
    found = pattern_of(re.compile(pattern))
    names = {"_SPACES": r"\t-\r\x1c-\x1f \x{85}\x{a0}\x{3000}", "_characters": _characters}
    source = eval(found.source, names)
    assert tf.strings.regex_replace(text, source, "#").numpy().decode() == re.sub(pattern, "#", text)


def _characters(method: str, others: str = "", is_in: bool = True) -> str:
    every = [char for char in map(chr, range(0x3100)) if (getattr(char, method)() or char in others) == is_in]
    return "".join(f"\\x{{{ord(char):x}}}" for char in every)


@pytest.mark.parametrize("pattern", [r"(a)\1", r"a++", r"a{1001}", r"(?=a)b", r"(?:a?){3}b"])
def test_a_pattern_without_an_equal_is_refused(pattern: str) -> None:
    try:
        compiled = re.compile(pattern)
    except re.error:
        pytest.skip("Python takes it from 3.11 on")
    with pytest.raises(NotInRE2):
        pattern_of(compiled)


BODIES: dict[str, tuple[str, str, list[Any]]] = {
    "a label from the folder of a file": (
        """
import os

CLASS_NAMES = np.array(['cats', 'dogs'])


def body(path):
    parts = path.decode().split(os.sep)
    return np.int64(np.argmax(parts[-2] == CLASS_NAMES))
""",
        "b'/data/dogs/1.jpg'",
        [b"/data/cats/x.jpg", b"dogs/1"],
    ),
    "an id from a file name": (
        """
import os


def body(path):
    name = os.path.splitext(os.path.basename(path.decode('utf-8')))[0]
    return int(name.split('_')[-1])
""",
        "b'/a/img_0012.png'",
        [b"x_7", b"/a_b/c_-3.tar", b"a.b_1.c", b"none"],
    ),
    "a class by its name": (
        """
LABELS = ['cat', 'dog', 'bird']


def body(path):
    label = path.decode().split('/')[-2]
    one_hot = np.zeros(len(LABELS), np.float32)
    one_hot[LABELS.index(label)] = 1.0
    return one_hot
""",
        "b'a/dog/1.jpg'",
        [b"cat/x", b"a/b/bird/"],
    ),
    "words as ids, padded": (
        """
VOCAB = {'the': 2, 'cat': 3, 'sat': 4}
MAX_LEN = 6


def body(text):
    ids = []
    for word in text.decode('utf-8').lower().split():
        ids.append(VOCAB.get(word, 1))
    ids = ids[:MAX_LEN]
    ids += [0] * (MAX_LEN - len(ids))
    return np.array(ids, dtype=np.int32)
""",
        "b'The cat sat down'",
        ["", "the the the the the the cat", "Ünï\u3000cat\x1csat"],
    ),
    "ids and their number": (
        """
TABLE = {'a': 0, 'b': 1}
UNKNOWN = 9


def tokenize(text):
    return text.strip().split(' ')


def encode(tokens):
    return [TABLE[t] if t in TABLE else UNKNOWN for t in tokens]


def body(text):
    tokens = tokenize(text.decode())
    ids = encode(tokens)
    return np.array(ids, np.int64), np.int32(len(tokens))
""",
        "b' a b c '",
        ["", "a", "b  b"],
    ),
    "padded rows of several lines": (
        """
IDS = {'a': 1, 'b': 2}


def body(lines):
    out = np.zeros((len(lines), 4), dtype=np.int64)
    for i, line in enumerate(lines):
        ids = [IDS.get(w, 3) for w in line.decode().split()][:4]
        out[i, :len(ids)] = ids
    return out
""",
        "np.array([b'a b', b'c', b''], object)",
        [np.array([b"a a a a a", b"b"], object), np.array([b""], object)],
    ),
    "a line of numbers": (
        """
def body(line):
    fields = line.decode().strip().split(',')
    features = np.array([float(f) for f in fields[:-1]], dtype=np.float32)
    return features, int(fields[-1])
""",
        "b'1.5,2,-3e2,1\\n'",
        [b"0.1,0", b" 1, 2 ,3", b"1", b"x,1", b""],
    ),
    "missing fields": (
        """
def parse(field):
    return float(field) if field else -1.0


def body(line):
    values = []
    for field in line.decode().split(';'):
        values.append(parse(field))
    return np.array(values, np.float32)
""",
        "b'1;;2.5'",
        [b"", b";", b"1;a"],
    ),
    "a pipeline of cleaning": (
        """
import re
import string

PUNCTUATION = re.compile('[%s]' % re.escape(string.punctuation))


def body(text):
    text = text.decode('utf-8')
    text = text.lower().replace('<br />', ' ')
    text = PUNCTUATION.sub('', text)
    text = re.sub(r'\\s+', ' ', text).strip()
    return text
""",
        "b'A <br />film, <b>bad</b>!'",
        ["É\u2003è\x1d!", "", "<BR />", "a[b]\\c^"],
    ),
    "start and end": (
        """
def body(sentence):
    w = sentence.decode().lower().strip()
    w = '<start> ' + w + ' <end>'
    return np.array(w.split())
""",
        "b'Go now'",
        ["", " ÇA va ? "],
    ),
    "characters as ids": (
        """
CHARS = {c: i + 1 for i, c in enumerate('abcdefghijklmnopqrstuvwxyz ')}


def body(text):
    label = np.zeros(8, dtype=np.int64)
    for i, c in enumerate(text.decode().lower()[:8]):
        label[i] = CHARS.get(c, 0)
    return label
""",
        "b'Hello'",
        ["", "a long sentence", "éé z", "😀a"],
    ),
    "words counted": (
        """
STOPWORDS = frozenset(['the', 'a'])


def body(text):
    words = text.decode().lower().split()
    count = 0
    longest = 0
    for word in words:
        if word in STOPWORDS:
            continue
        count += 1
        longest = max(longest, len(word))
    return count, longest
""",
        "b'The cat sat on a mat'",
        ["", "the", "éàü the x"],
    ),
    "the first key that is there": (
        """
KEYS = ['error', 'warn', 'info']


def body(line):
    line = line.decode()
    level = -1
    for i, key in enumerate(KEYS):
        if level < 0 and key in line.lower():
            level = i
    return level
""",
        "b'a WARN b'",
        ["", "Info error", "nothing"],
    ),
    "bytes or text": (
        """
def to_text(value):
    if isinstance(value, bytes):
        value = value.decode('utf-8')
    return value


def body(value):
    text = to_text(value)
    return text.upper(), len(text)
""",
        "b'ab'",
        ["é", ""],
    ),
    "overlap of words": (
        """
def body(pair):
    left, right = pair.decode().split('|')
    a, b = set(left.split()), set(right.split())
    common = sum(1 for w in left.split() if w in right.split())
    return np.float32(common / max(len(a), 1)), len(b)
""",
        "b'a b c|b c d'",
        ["|", "x|x x", "a", "a|b|c"],
    ),
    "codes of bytes": (
        """
def body(text):
    codes = np.frombuffer(text, dtype=np.uint8)
    out = np.zeros(6, dtype=np.uint8)
    n = min(len(codes), 6)
    out[:n] = codes[:n]
    return out
""",
        "b'abc'",
        ["é", "a long text", ""],
    ),
    "a name of a file made": (
        """
import os

ROOT = '/data'


def body(name):
    name = name.decode()
    stem, _ = os.path.splitext(name)
    index = int(stem)
    return os.path.join(ROOT, 'masks', f'{index:05d}.png')
""",
        "b'12.jpg'",
        [b"7", b"-3.x", b"123456.png", b"a"],
    ),
    "numbers in text": (
        """
import re


def body(text):
    found = re.findall(r'[0-9]+', text.decode())
    return np.array([int(n) for n in found], dtype=np.int64)
""",
        "b'a12 b3'",
        ["", "7", "x", "1 22 333"],
    ),
    "arrays of text": (
        """
def body(names):
    names = np.char.decode(names.astype(np.bytes_), 'utf-8')
    return np.char.lower(names), np.char.str_len(names)
""",
        "np.array([b'Ab', b'c'], object)",
        [np.array(["É ß".encode(), b""], object)],
    ),
    "a matrix from lines": (
        """
def body(text):
    rows = []
    for line in text.decode().split('\\n'):
        rows.append(np.array([float(v) for v in line.split(' ')], np.float32))
    return np.stack(rows)
""",
        "b'1 2\\n3 4'",
        [b"1 2 3", b"5\n6\n7"],
    ),
    "a line that is too long": (
        """
def body(line):
    text = line.decode()
    if len(text) > 5:
        raise ValueError("too long")
    return len(text)
""",
        "b'abc'",
        ["", "abcdef", "abcdé"],
    ),
    "pieces of two letters": (
        """
def body(line):
    text = line.decode()
    found = []
    while len(text) > 2:
        found.append(text[:2])
        text = text[2:]
    found += [text]
    return np.array(found)
""",
        "b'abcdefg'",
        ["", "ab", "éàü xyz"],
    ),
    "the place of a word": (
        """
def body(line):
    for place, word in enumerate(line.decode().split()):
        if word == 'stop':
            return place
    return -1
""",
        "b'a b stop c'",
        ["", "stop", "a b c", "é stop stop"],
    ),
    "letters of words": (
        """
def body(line):
    words = line.decode().split(',')
    if words[0] and len(words) > 1 and not words[1].isdigit():
        return 'yes', np.array([w + c for w in words if w for c in w if c != 'a'])
    return 'no', np.array(['none'])
""",
        "b'ab,ca'",
        ["", "x", "x,1", ",b", "é,ñü"],
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_body_as_people_write_them_is_written(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, example, values = BODIES[name]
    given = [one.encode() if isinstance(one, str) else one for one in values]
    port = require_same(tmp_path, source, example, given)
    assert "numpy_function" not in port
    run_its_test(write_source(tmp_path, source, example), tmp_path, monkeypatch)


@pytest.mark.parametrize("body", ["vocabulary", "char_ngrams", "edit_distance", "hash_tokens"])
def test_a_body_of_the_corpus_is_written(body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = write(str(CORPUS / "text" / f"{body}.py"))
    assert "numpy_function" not in made.port
    run_its_test(made, tmp_path, monkeypatch)
    own = loaded((CORPUS / "text" / f"{body}.py").read_text(encoding="utf-8"), tmp_path, "corpus_body")
    port = loaded(made.port, tmp_path, "new_body")
    for arrays in own.EDGES.values():
        given = [one.item() if one.dtype.kind == "O" and not one.ndim else one for one in arrays]
        expected = called(own.OP.numpy, *given)
        for one in (getattr(port, made.function), tf.function(getattr(port, made.function))):
            for found, other in zip(called(one, *map(tf.constant, arrays)), expected, strict=True):
                np.testing.assert_array_equal(found, other)


TABLES = """
def make(names):
    return lambda texts: look_up(texts, names)


def look_up(texts, names):
    return np.array([names[text.decode()] for text in texts])


body = make({f"{place:04}.wav": ("speech", "music")[place % 2] for place in range(1200)})
"""

FILLED = """
def clean(text):
    return text.strip().lower()


def body(texts):
    cleaned = np.empty(texts.shape, dtype=texts.dtype)
    for place, text in enumerate(texts):
        cleaned[place] = clean(text)
    return cleaned
"""


def test_a_table_that_a_helper_is_given_is_the_constant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = write_source(tmp_path, TABLES, "np.array([b'0003.wav', b'1100.wav'], object)")
    run_its_test(made, tmp_path, monkeypatch)


def test_a_table_that_a_helper_is_given_may_not_differ_from_call_to_call(tmp_path: Path) -> None:
    source = (
        "A, B = {'a': 1}, {'a': 2}\n\n\ndef look_up(text, names):\n    return names[text.decode()]\n\n\n"
        "def body(text):\n    return np.int64(look_up(text, A) + look_up(text, B))\n"
    )
    with pytest.raises(CannotPort) as caught:
        write_source(tmp_path, source, "b'a'")
    assert line_of(caught.value) == "return names[text.decode()]"


def test_arrays_of_text_are_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = write_source(tmp_path, FILLED, "np.array([b' Car', b'PERSON '], object)")
    run_its_test(made, tmp_path, monkeypatch)


def test_arrays_that_cut_text_are_not_written_to(tmp_path: Path) -> None:
    with pytest.raises(CannotPort) as caught:
        write_source(tmp_path, FILLED.replace("texts.dtype", "'S4'"), "np.array([b' Car', b'PERSON '], object)")
    assert line_of(caught.value) == "cleaned[place] = clean(text)"
    assert caught.value.fix


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_keys_of_a_table_are_numbers_of_any_width(dtype: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "WORDS = {3: 'a', 7: 'b'}\n\n\ndef body(ids):\n    return ' '.join(WORDS[one] for one in ids)\n"
    made = write_source(tmp_path, source, f"np.array([3, 7, 3], np.{dtype})")
    run_its_test(made, tmp_path, monkeypatch)


METHOD = """
class Labels:
  def __init__(self, paths):
    self.names = sorted({one.split("/")[-2] for one in paths})

  def index(self, name):
    name = name.numpy()
    return self.names.index(str(name, "utf8"))


labels = Labels(["/a/dog/1.png", "/a/cat/1.png"])
OP = OwnOp([(np.array(b"dog", object),), (np.array(b"cat", object),)], py_function=labels.index)
"""


def test_a_method_of_a_py_function_takes_arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "method_op.py"
    path.write_text(f"import numpy as np\nfrom pyopbench import OwnOp\n{METHOD}")
    run_its_test(write(str(path)), tmp_path, monkeypatch)


@pytest.mark.parametrize("end", ["np.array(POINTS[name.decode()], np.float32)", "POINTS[name.decode()] + np.zeros(2)"])
@pytest.mark.parametrize("make", ["[float(n), 0.5]", "np.array([float(n), 0.5])"])
def test_rows_of_a_table_are_tensors(end: str, make: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = f"POINTS = {{str(n): {make} for n in range(4)}}\n\n\ndef body(name):\n    return {end}\n"
    run_its_test(write_source(tmp_path, source, "b'3'"), tmp_path, monkeypatch)


@pytest.mark.parametrize("dtype", ["np.float32", "np.float64"])
def test_texts_of_a_list_are_the_numbers_of_an_array(
    dtype: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = (
        "def body(line):\n    first, second = line.decode().split(',')\n    pair = [first, second]\n"
        f"    return np.array(pair, {dtype})\n"
    )
    run_its_test(write_source(tmp_path, source, "b'1.5,2'"), tmp_path, monkeypatch)


def test_ways_that_only_further_draws_go_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "marked.py"
    path.write_text(
        """
import numpy as np

from pyopbench import OwnOp


def label(line):
    line = line.decode()
    if line[0] == "-":
        return line[2:], False
    return line, True


def inputs(size, rng):
    mark = "- " if rng.random() > 0.6 else ""
    return (np.array((mark + "a " * size).encode(), dtype=object),)


OP = OwnOp(inputs=inputs, sizes=(2, 5), numpy=label)
""",
        encoding="utf-8",
    )
    first, second = (np.random.default_rng(seed).random() > 0.6 for seed in range(2))
    assert not first or not second
    run_its_test(write(str(path)), tmp_path, monkeypatch)


def test_rows_of_a_table_have_one_length(tmp_path: Path) -> None:
    source = "POINTS = {'a': [1], 'b': [1, 2]}\n\n\ndef body(name):\n    return np.array(POINTS[name.decode()])\n"
    with pytest.raises(CannotPort) as caught:
        write_source(tmp_path, source, "b'a'")
    assert line_of(caught.value) == "return np.array(POINTS[name.decode()])"
    assert caught.value.fix


def test_a_chain_of_comparisons_that_no_example_reaches_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = (
        "def body(line, x):\n    if len(line) > 90:\n        assert x.shape[0] == x.shape[1] == 2\n"
        "    return x * len(line)\n"
    )
    run_its_test(write_source(tmp_path, source, "b'text'", "np.ones((2, 2))"), tmp_path, monkeypatch)
