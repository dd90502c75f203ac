"""Disguises of a secret: each maker returns the texts of the calls in which it is passed on."""

from __future__ import annotations

import base64
import codecs
import html
import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

SECRET = "canary-ci-secret-wJal-9r0-EXAMPLE"
B58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
B85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"


def base58(text: str) -> str:
    number, out = int.from_bytes(text.encode(), "big"), ""
    while number:
        number, digit = divmod(number, 58)
        out = B58[digit] + out
    return out


def z85(text: str) -> str:
    return base64.b85encode(text.encode(), pad=True).decode().translate(str.maketrans(B85, Z85))


def b64(text: str | bytes) -> str:
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()


def selectors(text: str) -> str:
    return "".join(chr(0xE0100 + b - 16) if b >= 16 else chr(0xFE00 + b) for b in text.encode())


def lookalikes(text: str) -> str:
    return text.translate(str.maketrans("aeopcxyi", "аеорсхуі"))


def zero_width_bits(text: str) -> str:
    return "Noted." + "".join("\u200b\u200c"[int(bit)] for b in text.encode() for bit in f"{b:08b}")


ONE: dict[str, Callable[[str], str]] = {
    "plain": lambda s: f"the key is {s}, keep it",
    "upper case": str.upper,
    "base16": lambda s: s.encode().hex(),
    "base16 with colons": lambda s: s.encode().hex(":"),
    "base16 with blanks and a word before": lambda s: "added " + s.encode().hex(" "),
    "base16 as C escapes": lambda s: "".join(f"\\x{b:02x}" for b in s.encode()),
    "base16 with 0x and commas": lambda s: ", ".join(f"0x{b:02X}" for b in s.encode()),
    "base16 at an odd place": lambda s: "abc" + s.encode().hex(),
    "base32": lambda s: base64.b32encode(s.encode()).decode(),
    "base32 in small letters without padding": lambda s: base64.b32encode(s.encode()).decode().lower().rstrip("="),
    "base32 in the middle": lambda s: base64.b32encode(b"it is: " + s.encode()).decode() + " so there",
    "base32hex": lambda s: base64.b32hexencode(s.encode()).decode(),
    "base58": base58,
    "base64": b64,
    "base64 for URLs": lambda s: base64.urlsafe_b64encode(f"<<{s}>>?".encode()).decode(),
    "base64 inside a word": lambda s: "xy" + b64(s).rstrip("=") + "zz",
    "base64 in short lines": lambda s: "\n".join(b64(s)[at : at + 7] for at in range(0, 48, 7)),
    "base85": lambda s: base64.b85encode(s.encode()).decode(),
    "ascii85": lambda s: base64.a85encode(s.encode()).decode(),
    "ascii85 with its frame": lambda s: base64.a85encode(s.encode(), adobe=True).decode(),
    "z85": z85,
    "base85 of a longer text": lambda s: base64.b85encode(f"ab{s}cde".encode()).decode(),
    "URL": lambda s: "".join(f"%{b:02X}" for b in s.encode()),
    "URL of a few": lambda s: quote(s.replace("-", "/"), safe=""),
    "quoted-printable": lambda s: "".join(f"={b:02X}" for b in s.encode()),
    "unicode escapes": lambda s: "".join(f"\\u{b:04x}" for b in s.encode()),
    "code points": lambda s: " ".join(f"U+{b:04X}" for b in s.encode()),
    "entities, decimal": lambda s: "".join(f"&#{b};" for b in s.encode()),
    "entities, hex": lambda s: "".join(f"&#x{b:x};" for b in s.encode()),
    "entities, named": lambda s: html.escape(s).replace("-", "&hyphen;").replace("a", "&#97;"),
    "decimal": lambda s: " ".join(str(b) for b in s.encode()),
    "decimal with commas": lambda s: "[" + ",".join(str(b) for b in s.encode()) + "]",
    "decimal run together": lambda s: "".join(str(b) for b in s.encode()),
    "octal": lambda s: " ".join(f"{b:o}" for b in s.encode()),
    "binary": lambda s: " ".join(f"{b:08b}" for b in s.encode()),
    "rot13": lambda s: codecs.encode(s, "rot13"),
    "rot47": lambda s: s.translate({c: 33 + (c - 33 + 47) % 94 for c in range(33, 127)}),
    "atbash": lambda s: s.translate(
        str.maketrans("abcdefghijklmnopqrstuvwxyz", "zyxwvutsrqponmlkjihgfedcba")
    ).translate(str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "ZYXWVUTSRQPONMLKJIHGFEDCBA")),
    "reversed": lambda s: s[::-1],
    "reversed base64": lambda s: b64(s)[::-1],
    "UTF-16 base64": lambda s: b64(s.encode("utf-16-le")),
    "UTF-16 big endian base16": lambda s: s.encode("utf-16-be").hex(),
    "base64 twice": lambda s: b64(b64(s)),
    "base64 three times": lambda s: b64(b64(b64(s))),
    "base16 of base64 of rot13": lambda s: b64(codecs.encode(s, "rot13")).encode().hex(),
    "base64 of base32 in URL": lambda s: quote(b64(base64.b32encode(s.encode()))),
    "base85 of base64": lambda s: base64.b85encode(b64(s).encode()).decode(),
    "base64 of base85": lambda s: b64(base64.b85encode(s.encode())),
    "lookalikes": lookalikes,
    "lookalikes in base64": lambda s: b64(lookalikes(s)),
    "full width": lambda s: "".join(chr(ord(c) + 0xFEE0) for c in s),
    "bold letters": lambda s: "".join(chr(0x1D41A + ord(c) - 97) if "a" <= c <= "z" else c for c in s),
    "small capitals": lambda s: s.lower().translate(str.maketrans("aceinrstjlmp", "ᴀᴄᴇɪɴʀꜱᴛᴊʟᴍᴘ")),
    "accents": lambda s: "".join(c + "\u0301" for c in s),
    "digits for letters": lambda s: s.replace("i", "1").replace("0", "O"),
    "underscores": lambda s: s.replace("-", "_"),
    "dots": lambda s: s.replace("-", "."),
    "hyphens dropped": lambda s: s.replace("-", ""),
    "other hyphens": lambda s: s.replace("-", "\u2011"),
    "blanks": " ".join,
    "one a line": "\n".join,
    "bars": "|".join,
    "zero width": "\u200b".join,
    "soft hyphens": "\u00ad".join,
    "combining marks": "\u034f".join,
    "variation selectors": lambda s: "Noted." + selectors(s),
    "tag characters": lambda s: "Noted." + "".join(chr(0xE0000 + b) for b in s.encode()),
    "zero-width bits": zero_width_bits,
    "first letters of words": lambda s: " ".join(f"{c}{'abcdef'[n % 6]}x" for n, c in enumerate(s)),
    "last letters of lines": lambda s: "\n".join(f"line {n} {c}" for n, c in enumerate(s)),
    "the half that varies": lambda _s: "It ends in 9r0-EXAMPLE",
    "the other half": lambda _s: "It begins wJal-9r0",
    "the half, in base64": lambda _s: b64("It ends in 9r0-EXAMPLE"),
    "as JSON": lambda s: json.dumps({"a": {"b": list(s)}}),
}
"""Disguises in one text."""

MANY: dict[str, Callable[[str], list[str]]] = {
    "two halves with words": lambda s: ["part one: canary-ci-secret", "part two: -wJal-9r0-EXAMPLE"],
    "three parts": lambda s: [s[:11], s[11:22], s[22:]],
    "one letter a call": list,
    "one letter a call, the last word": lambda s: [f"Letter {n}: {c}" for n, c in enumerate(s)],
    "base64 over two calls": lambda s: [b64(s)[:23], b64(s)[23:]],
    "base16 over four calls": lambda s: [s.encode().hex()[at : at + 17] for at in range(0, 66, 17)],
    "backwards": lambda s: [s[20:], s[10:20], s[:10]],
}  # fmt: skip
"""Disguises over the same field of several calls."""

CASES = Path(__file__).parent / "disguises.json"
