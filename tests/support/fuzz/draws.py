"""Random texts, trees, tables and files, hostile on purpose."""

import datetime
import gzip
import json
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

_WORDS = (
    "", " ", "a", "A", "yes", "Not answerable", "12/15/88", "$1,250.00", "5.5%", "none", "nan", "ab\u00a0c", "İ", "ß",
    "\u1e9e", "ς", "Σ", "ﬁ", "e\u0301", "é", "\u200b", "\u202e", "\ufeff", "\0", "\x1b[31m", "\r", "\n", "\t", "\x85",
    "\u2028", "\U0001f44d\U0001f3fd", "\ud800", "\udfff", "\U0010ffff", "你好", "<script>", "&amp;", "=1+1", "@SUM(A1)",
    "|", "`", "[", "]", "{", "}", "['a', 'b']", '["a"]', "[1, 2]", "https://a.b", "1e400", "0x10", "１２", "½", "..",
    "%", "True", "null", "\\", "\\u0000", "'", '"', "$one_of", "$literal", "page 7", "3:30 p.m.", "2024-01-02", "1,2",
)  # fmt: skip
_NUMBERS = (
    0,
    1,
    -1,
    17,
    2**53 + 1,
    2**63,
    -(2**64),
    10**400,
    0.5,
    -0.0,
    1e308,
    1.5e-320,
    math.inf,
    -math.inf,
    math.nan,
)


def text(random: Random) -> str:
    """A text: mostly a few words of the hostile kind, now and then long."""
    kind = random.random()
    if kind < 0.02:
        return random.choice(_WORDS) * random.randrange(1, 3000)
    if kind < 0.3:
        return "".join(chr(random.randrange(1, 0x250)) for _ in range(random.randrange(12)))
    return "".join(random.choice(_WORDS) for _ in range(random.randrange(5)))


def json_value(random: Random, depth: int = 3) -> Any:
    """Any JSON value, of few keys so that two of them meet."""
    kind = random.random()
    if depth == 0 or kind < 0.5:
        return random.choice((text(random), random.choice(_WORDS), random.choice(_NUMBERS), None, True, False))
    if kind < 0.75:
        return [json_value(random, depth - 1) for _ in range(random.randrange(4))]
    keys = [random.choice(("a", "b", "total", "$one_of", "$literal", "", text(random))) for _ in range(3)]
    return {key: json_value(random, depth - 1) for key in keys[: random.randrange(4)]}


def tree(random: Random, depth: int = 3) -> Any:
    """Any tree as Python code may pass it: tuples, odd leaves and keys, nesting, shared parts and cycles."""
    kind = random.random()
    if kind < 0.02:
        return _odd(random)
    if kind < 0.025:
        wrap = random.choice((lambda inner: [inner], lambda inner: {"a": inner}, lambda inner: (inner,)))
        found: Any = text(random)
        for _ in range(random.randrange(1, 3000)):
            found = wrap(found)
        return found
    if depth == 0 or kind < 0.4:
        return json_value(random, 0)
    children = [tree(random, depth - 1) for _ in range(random.randrange(5))]
    if kind < 0.65:
        return {_key(random): child for child in children}
    if kind < 0.75:
        return tuple(children)
    if kind < 0.76:
        children.append(children)
    return children


def _key(random: Random) -> Any:
    usual = "a", "b", "c", "a", "b", "total"
    return random.choice((*usual, "$one_of", "$literal", 1, "1", None, True, 1.5, (1,), text(random)))


def _odd(random: Random) -> Any:
    moment = datetime.datetime(2024, 1, 2, 3, 4, tzinfo=datetime.timezone.utc)
    return random.choice(
        (
            b"bytes", {1, 2}, object(), Decimal("1.10"), Decimal("NaN"), Decimal("sNaN"), Fraction(1, 3), moment,
            moment.date(), 1j, np.float32(0.1), np.int64(3), np.array(["a"]), np.array([[1.0]]), np.datetime64("NaT"),
            10**5000, -(10**4300), Fraction(1, 10**5000), Decimal("1e-99999999"), Decimal("9e99999999"),
            np.str_("a"), range(3), iter([1]), str, len, NotImplemented, ..., bytearray(b"x"), memoryview(b"x"),
            pa.scalar("a"), pa.array(["a"]), np.array("a"), frozenset("a"), np.void(b"x"), np.bool_(True),
        )
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------------

_PIECES = (
    b"", b"\0", b'"', b"'", b"\n", b"\r", b"\r\n", b"{", b"}", b"[", b"]", b",", b":", b"\xff", b"\xc3",
    b"\xed\xa0\x80",
    b"\\ud800", b"\\", b"\\u0000", b"1e5", b"1e999", b"NaN", b"Infinity", b"-Infinity", b"null", b"true", b"9" * 5000,
    b"-", b"\t", b'"a":1,"a":2', b"\xef\xbb\xbf", b"\xff\xfe", b"\x1f\x8b", b"PAR1", b"PK\x03\x04", b"<", b"\x1b[2J",
    b"[" * 2000, b'{"a":' * 2000, b"questionId", b"answers", b"answer", b"data", b"paragraphs", b"qas", b"id",
    b"question_id",
)  # fmt: skip


def mutated(random: Random, content: bytes) -> bytes:
    """Damage a file in one to four ways."""
    for _ in range(random.choice((1, 1, 1, 2, 3, 4))):
        content = random.choice(_MUTATIONS)(random, content)
    return content


def _span(random: Random, content: bytes, most: int) -> tuple[int, int]:
    start = random.randrange(len(content) + 1)
    return start, min(len(content), start + random.randrange(most))


def _cut(random: Random, content: bytes) -> bytes:
    return content[: random.randrange(len(content) + 1)]


def _flip(random: Random, content: bytes) -> bytes:
    changed = bytearray(content or b"\0")
    for _ in range(random.choice((1, 1, 2, 10))):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _replace(random: Random, content: bytes) -> bytes:
    start, end = _span(random, content, random.choice((1, 1, 2, 30)))
    return content[:start] + random.choice(_PIECES) + content[end:]


def _drop(random: Random, content: bytes) -> bytes:
    start, end = _span(random, content, 200)
    return content[:start] + content[end:]


def _copy(random: Random, content: bytes) -> bytes:
    (start, end), (to, _) = _span(random, content, 500), _span(random, content, 1)
    return content[:to] + content[start:end] + content[to:]


def _line_ends(random: Random, content: bytes) -> bytes:
    return content.replace(b"\n", random.choice((b"\r", b"\r\n", b"\n\n", b" \n", b"\x0b", b"\n\r\n")))


def _encoding(random: Random, content: bytes) -> bytes:
    try:
        decoded = content.decode()
        return random.choice((b"\xef\xbb\xbf" + content, decoded.encode("utf-16"), decoded.encode("cp1252", "replace")))
    except UnicodeDecodeError:
        return b"\xef\xbb\xbf" + content


def _compressed(random: Random, content: bytes) -> bytes:
    return (
        gzip.compress(content, 1, mtime=0)
        if random.random() < 0.5
        else pa.compress(content, codec="zstd", asbytes=True)
    )


def _bomb(random: Random, content: bytes) -> bytes:
    start, end = _span(random, content, 100)
    return gzip.compress(
        content[:start] + content[start:end] * (100_000 // (end - start + 1)) + content[end:], 1, mtime=0
    )


def _retyped(random: Random, content: bytes) -> bytes:
    """Another value in place of one of a JSON document or line."""
    lines = content.splitlines()
    whole = content[:1] in b"[{" and not (len(lines) > 1 and lines[0][-1:] == b"}")
    at = 0 if whole or not lines else random.randrange(len(lines))
    try:
        document = json.loads(content if whole else lines[at])
    except (ValueError, RecursionError, IndexError):
        return _replace(random, content)
    places: list[tuple[Any, Any]] = []
    stack = [document]
    while stack and len(places) < 3000:
        own = stack.pop()
        items = own.items() if isinstance(own, dict) else enumerate(own) if isinstance(own, list) else ()
        for key, child in items:
            places.append((own, key))
            stack.append(child)
    if places:
        for _ in range(random.choice((1, 1, 3, 20))):
            holder, key = random.choice(places)
            holder[key] = json_value(random)
            if isinstance(holder, dict) and random.random() < 0.3:
                holder[text(random)] = holder.pop(key)
                break
    else:
        document = json_value(random)
    written = json.dumps(document, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")
    return written if whole else b"\n".join([*lines[:at], written, *lines[at + 1 :]])


_MUTATIONS: tuple[Callable[[Random, bytes], bytes], ...] = (
    _cut, _flip, _replace, _replace, _replace, _drop, _copy, _line_ends, _encoding, _compressed, _retyped, _retyped,
    _retyped, _retyped, _bomb,
)  # fmt: skip


def column(random: Random, rows: int) -> pa.Array:
    """An Arrow column of any type."""
    values = [None if random.random() < 0.1 else str(random.randrange(2 * rows)) for _ in range(rows)]
    simple = random.choice(_SIMPLE_TYPES)
    plain = pa.array(values).cast(pa.int32()).cast(pa.int64()) if random.random() < 0.3 else pa.array(values)
    try:
        plain = plain.cast(simple)
    except (pa.ArrowException, ValueError):
        plain = pa.nulls(rows, simple)
    kind = random.random()
    if kind < 0.5:
        return plain
    if kind < 0.52:
        return pa.ListViewArray.from_arrays([0] * rows, [1] * rows, plain)
    if kind < 0.6:
        return plain.dictionary_encode() if not pa.types.is_null(simple) else plain
    if kind < 0.8:
        ends = sorted(random.randrange(rows + 1) for _ in range(rows - 1))
        return random.choice((pa.ListArray, pa.LargeListArray)).from_arrays([0, *ends, rows], plain)
    if kind < 0.9:
        return pa.StructArray.from_arrays([plain, plain], random.choice((["a", "b"], ["text", "answer_start"])))
    return pa.array([[("a", value)] for value in values], pa.map_(pa.string(), pa.string()))


_SIMPLE_TYPES = (
    pa.string(), pa.string(), pa.string(), pa.large_string(), pa.string_view(), pa.binary_view(), pa.binary(),
    pa.large_binary(),
    pa.int8(), pa.int64(), pa.uint64(), pa.float16(), pa.float64(), pa.bool_(), pa.null(), pa.date32(),
    pa.timestamp("ns"), pa.timestamp("us", "Europe/Oslo"), pa.decimal128(20, 2), pa.decimal256(40, 3), pa.time64("us"),
    pa.duration("s"),
)  # fmt: skip


# ---------------------------------------------------------------------------------------------------
# About values
# ---------------------------------------------------------------------------------------------------


def depth(value: Any) -> int:
    """How deeply dicts and lists are nested."""
    found, level = 0, [value]
    while level:
        found += 1
        level = [
            child
            for own in level
            if isinstance(own, (dict, list, tuple))
            for child in (own.values() if isinstance(own, dict) else own)
        ]
    return found


def is_plain(value: Any) -> bool:
    """Whether a tree is one whose meaning the restatement shares: no reserved key, no missing number, few leaves."""
    stack, count = [value], 0
    while stack:
        own = stack.pop()
        count += 1
        if isinstance(own, dict):
            if not {"$one_of", "$literal"}.isdisjoint(own):
                return False
            stack += own.values()
        elif isinstance(own, list):
            if len(own) > 4:
                return False
            stack += own
        elif isinstance(own, float) or len(str(own)) > 60:
            return False
    return count < 30
