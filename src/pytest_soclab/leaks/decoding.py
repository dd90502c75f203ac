"""Undoes the encodings in which a secret is passed on: each reader takes a text and yields what may stand behind it.

A reader knows neither the secret nor where the encoded part begins: it reads every stretch of its alphabet at every
alignment. What it yields is mostly noise, in which only what is looked for will be found. Times are linear in the text,
but for base 58, whose stretches are bounded.
"""

from __future__ import annotations

import binascii
import codecs
import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from pytest_soclab.leaks.folding import shown

Reader = Callable[[str], Iterator[str]]

_SHORTEST = 8  # characters of an encoded stretch
_LONGEST_58 = 4_096  # characters of a base 58 stretch: its reading takes quadratic time
_DENSE = 14  # characters without a blank from which a word may be base 85


def _text(data: bytes) -> str:
    return data.decode("utf-8", "ignore") if b"\0" not in data else data.replace(b"\0", b"").decode("utf-8", "ignore")


def _stretches(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    """Yield the stretches of an alphabet as they stand, and once more with line breaks and blanks taken out."""
    yield from pattern.findall(text)
    packed = "".join(text.split())
    if packed != text:
        yield from pattern.findall(packed)


_HEX = re.compile(rf"[0-9A-Fa-f]{{{_SHORTEST},}}")
_HEX_MARKS = re.compile(r"0[xX]|\\x|[^0-9A-Za-z]+")


def base16(text: str) -> Iterator[str]:
    """Yield what pairs of hex digits spell, whatever separates them."""
    for run in _HEX.findall(text) + _HEX.findall(_HEX_MARKS.sub("", text)):
        for start in (0, 1):
            yield _text(bytes.fromhex(run[start : start + (len(run) - start) // 2 * 2]))


_B32 = re.compile(rf"[A-Za-z2-7]{{{_SHORTEST},}}")
_B32HEX = re.compile(rf"[0-9A-Va-v]{{{_SHORTEST},}}")
_TO_DIGITS = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "0123456789abcdefghijklmnopqrstuv")


def base32(text: str) -> Iterator[str]:
    """Yield what base 32 spells, in the usual and in the extended-hex alphabet."""
    runs = [run.upper().translate(_TO_DIGITS) for run in _stretches(_B32, text)]
    runs += [run for run in _stretches(_B32HEX, text) if not run.isdecimal()]
    for run in dict.fromkeys(runs):
        yield from _shifted(int(run, 32), 5 * len(run))


def _shifted(bits: int, length: int) -> Iterator[str]:
    """Yield the text in a string of bits at each of the eight places where its first byte may begin."""
    for spare in range(8):
        size = (length - spare + 7) // 8
        yield _text((bits >> spare).to_bytes(size, "big"))


_B58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_B58_RUN = re.compile(rf"[{_B58}]{{{_SHORTEST + 3},{_LONGEST_58}}}")
_B58_VALUE = {char: value for value, char in enumerate(_B58)}


def base58(text: str) -> Iterator[str]:
    """Yield what base 58 spells; it has no alignment, so each word is read whole."""
    for run in dict.fromkeys(_stretches(_B58_RUN, text)):
        number = 0
        for char in run:
            number = number * 58 + _B58_VALUE[char]
        yield _text(number.to_bytes((number.bit_length() + 7) // 8, "big"))


_B64 = re.compile(rf"[A-Za-z0-9+/_-]{{{_SHORTEST},}}")
_FROM_URL = str.maketrans("-_", "+/")


def base64s(text: str) -> Iterator[str]:
    """Yield what base 64 spells, in the usual and in the URL alphabet."""
    for run in dict.fromkeys(_stretches(_B64, text)):
        plain = run.translate(_FROM_URL)
        for start in range(4):
            cut = plain[start:]
            cut = cut[: len(cut) - (len(cut) % 4 == 1)]
            yield _text(binascii.a2b_base64(cut + "=" * (-len(cut) % 4)))


_A85 = "".join(map(chr, range(33, 118)))
_B85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_VALUES_85 = tuple({char: value for value, char in enumerate(alphabet)} for alphabet in (_A85, _B85, _Z85))
_DENSE_RUN = re.compile(rf"\S{{{_DENSE},}}(?:\s+\S{{{_DENSE},}})*(?:\s+\S+$)?")
_GROUP, _LARGEST = 5, 1 << 32
_MARKS = 14  # a quarter of the alphabet are marks: one character in so many must be one


def base85(text: str) -> Iterator[str]:
    """Yield what base 85 spells in the alphabets of Ascii85, RFC 1924 and ZeroMQ; only where words are dense."""
    for run in _DENSE_RUN.findall(text):
        packed = "".join(run.split())
        if sum(not char.isalnum() for char in packed) * _MARKS < len(packed):
            continue
        for values in _VALUES_85:
            digits = [values.get(char, 0) for char in packed]
            for start in range(_GROUP):
                yield _text(_b85(digits[start:]))


def _b85(digits: list[int]) -> bytes:
    spare = -len(digits) % _GROUP
    padded = [*digits, *[84] * spare]
    groups = zip(*[iter(padded)] * _GROUP, strict=True)
    numbers = ((((a * 85 + b) * 85 + c) * 85 + d) * 85 + e for a, b, c, d, e in groups)
    data = b"".join((n if n < _LARGEST else 0).to_bytes(4, "big") for n in numbers)
    return data[: len(data) - spare]


_ESCAPE = re.compile(r"\\u\{?([0-9A-Fa-f]{4,6})\}?|\\x([0-9A-Fa-f]{2})|=([0-9A-Fa-f]{2})|[uU]\+([0-9A-Fa-f]{4,6})")


def escapes(text: str) -> Iterator[str]:
    """Yield a text with its percent, HTML, backslash and quoted-printable escapes undone."""
    if "%" in text:
        yield unquote(text)
    if "&" in text:
        yield html.unescape(text)
    if _ESCAPE.search(text):
        yield _ESCAPE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    code = int(next(filter(None, match.groups())), 16)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else ""


_NUMBERS = re.compile(r"[0-9]+")
_DIGITS = re.compile(r"[0-9]{16,}")
_BITS = re.compile(r"[01]{32,}")


def numbers(text: str) -> Iterator[str]:
    """Yield what a list of decimal, octal or binary codes spells, with or without something between them."""
    found = _NUMBERS.findall(text)
    for base in (10, 8):
        yield "".join(filter(None, (_code(number, base) for number in found)))
    for run in _stretches(_DIGITS, text):
        for start in range(3):
            yield "".join(chr(int(code)) for code in re.findall(r"1[0-9]{2}|[2-9][0-9]", run[start:]))
    for run in _BITS.findall(re.sub(r"[^0-9A-Za-z]+", "", text)):
        yield from _shifted(int(run, 2), len(run))


def _code(number: str, base: int) -> str:
    try:
        code = int(number[:7], base)
    except ValueError:
        return ""
    return chr(code) if 32 <= code < 0x3000 else ""


_ATBASH = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPONMLKJIHGFEDCBA"
)
_ROT47 = {code: 33 + (code - 33 + 47) % 94 for code in range(33, 127)}


def ciphers(text: str) -> Iterator[str]:
    """Yield a text behind the alphabets that are only shifted or turned: rot13, rot47, atbash, and read backwards."""
    yield codecs.decode(text, "rot13")
    yield text.translate(_ROT47)
    yield text.translate(_ATBASH)
    yield text[::-1]


_TAGS, _LOW, _HIGH = 0xE0000, 0xFE00, 0xE0100
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\u00ad\u180e]")


def invisible(text: str) -> Iterator[str]:
    """Yield what characters that nobody sees spell: tags, variation selectors, two kinds of them as bits."""
    if text.isascii():
        return
    tags = "".join(chr(ord(c) - _TAGS) for c in text if _TAGS + 32 <= ord(c) < _TAGS + 127)
    selectors = [_selector(ord(c)) for c in text]
    yield tags
    yield _text(bytes(value for value in selectors if value is not None))
    marks = _INVISIBLE.findall(text)
    kinds = list(dict.fromkeys(marks))
    if len(marks) >= 32 and len(kinds) >= 2:
        for zero, one in (kinds[:2], kinds[1::-1]):
            bits = "".join("0" if c == zero else "1" for c in marks if c in (zero, one))
            yield from _shifted(int(bits, 2), len(bits))


def _selector(code: int) -> int | None:
    if _LOW <= code < _LOW + 16:
        return code - _LOW
    return code - _HIGH + 16 if _HIGH <= code < _HIGH + 240 else None


_WORD = re.compile(r"\w")


def initials(text: str) -> Iterator[str]:
    """Yield what the first and the last characters of words and lines spell."""
    for parts in (text.split(), text.splitlines()):
        words = [part.strip() for part in parts if part.strip()]
        if len(words) >= _SHORTEST:
            yield "".join(word[0] for word in words)
            yield "".join(word[-1] for word in words)


READERS: tuple[Reader, ...] = (
    invisible, escapes, base16, base32, base58, base64s, base85, numbers, ciphers, initials,
)  # fmt: skip
"""Every reader; a text is read by each of them, and what they yield again, to a depth of three."""

DEPTH = 3
MOST = 3_000_000
"""Characters that are read at most: what is wrapped so that more would be needed counts as not searchable."""

_READABLE = re.compile(r"[!-~][ -~\s]{8,}[!-~]")


class TooMuchError(Exception):
    """A text is so long, or wrapped so often, that it cannot be searched to the end."""


@dataclass(frozen=True, slots=True)
class _Layer:
    """A text to read, and whether it was turned by a cipher already: turning it twice leads back or nowhere."""

    text: str
    turned: bool = False


def readings(text: str) -> Iterator[str]:
    """Yield a text and everything that can be read out of it, nested encodings to a depth of three.

    Raises:
        TooMuchError: when more than `MOST` characters would have to be read.
    """
    level, seen, left = [_Layer(text)], {text}, MOST
    yield text
    for depth in range(DEPTH):
        below: list[_Layer] = []
        for layer in level:
            for reader, found in _read(layer, depth):
                left -= len(found) + 8
                if left < 0:
                    raise TooMuchError(f"more than {MOST} characters to read")
                yield found
                if depth + 1 < DEPTH:
                    below += [_Layer(run, layer.turned or reader is ciphers) for run in _worth_reading(found, seen)]
        level = below


def _read(layer: _Layer, depth: int) -> Iterator[tuple[Reader, str]]:
    plain = shown(layer.text)
    for reader in READERS:
        if not (reader is ciphers and layer.turned) and not (reader is initials and depth):
            yield from ((reader, found) for found in reader(layer.text if reader is invisible else plain))


def _worth_reading(found: str, seen: set[str]) -> list[str]:
    """Return what of a reading can hold another encoding: its readable stretches, noise left out."""
    new = [run for run in _READABLE.findall(found if found.isascii() else shown(found)) if run not in seen]
    seen.update(new)
    return new
