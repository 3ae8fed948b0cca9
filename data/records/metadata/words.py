"""Text and numbers as archives write them: charsets, look-alike letters, numerals."""

import re
import unicodedata

NUMERALS = {"初": 1} | {numeral: number for number, numeral in enumerate("〇一二三四五六七八九十")}
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?|[-+]?\.\d+")
_FRACTION = re.compile(
    r"(?:(\d+)\s*(?:又|子|and|\+|\s)\s*)?(\d+)\s*/\s*(\d+)"
)  # 3又3/4子, 2 3/4, 1/2


def to_text(raw: bytes | str, charset: str = "") -> str:
    """The bytes as text in the first charset that fits.

    These are tried: UTF-8, what the file declares, GB18030, Shift-JIS, Latin-1.

    What comes out can be written as UTF-8 and holds no NUL, whatever charset a hostile record
    names.
    """
    text = raw if isinstance(raw, str) else _decode(raw, charset)
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")


def _decode(raw: bytes, charset: str) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        pass
    if _looks_like_damaged_utf8(raw):
        return _LOST_BYTE.sub("\ufffd".encode(), raw).decode("utf-8", "replace")
    for name in (charset, "latin-1" if _ACCENTED.fullmatch(raw) else "gb18030", "shift_jis"):
        try:
            return raw.decode(name)
        except (LookupError, ValueError, TypeError):
            # unknown or unfit; ValueError also where the name holds a NUL
            continue
    return raw.decode("latin-1")


# single letters among ASCII: Latin, not Chinese
_ACCENTED = re.compile(rb"(?:[\x00-\x7f]|[\xc0-\xff](?![\x80-\xff]))*")
_UTF8_CHARACTER = re.compile(
    rb"[\xc3-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_LOST_BYTE = re.compile(rb"[\xe0-\xef](?:\?[\x80-\xbf]|[\x80-\xbf]?\?)")


def _looks_like_damaged_utf8(raw: bytes) -> bool:
    """Whether a code page has turned some bytes of UTF-8 into `?`, as in records of Fox.

    GB18030 would read the rest as other words.
    """
    high = len(raw) - len(raw.translate(None, _HIGH_BYTES))
    whole = sum(map(len, _UTF8_CHARACTER.findall(raw)))
    lost = sum(len(found.replace(b"?", b"")) for found in _LOST_BYTE.findall(raw))
    return b"?" in raw and lost > 0 and whole + lost == high


_HIGH_BYTES = bytes(range(128, 256))


def simplify(text: str) -> str:
    """One spelling of what looks alike: full-width letters, cases, decimal commas."""
    text = (
        unicodedata.normalize("NFKC", text[:200].replace("½", " 1/2"))
        .replace("\u2044", "/")
        .strip()
        .lower()
    )
    return re.sub(r"(?<=\d),(?=\d)", ".", text)


def to_number(text: str) -> float | None:
    """The first number: `6.5`, `3又3/4`, `2 3/4`, `7目半`, `六目半`, `半目`; None without any."""
    text = text.replace("四分之三", "3/4").replace("四分之一", "1/4")
    text = re.sub("([一二三四五六七八九])又", lambda match: f"{NUMERALS[match[1]]}又", text)
    fraction = _FRACTION.search(text)
    if fraction and int(fraction[3]):
        return int(fraction[1] or 0) + int(fraction[2]) / int(fraction[3])
    match = _NUMBER.search(text)
    if match:
        value = float(match[0])
        return value + 0.5 if "半" in text[match.end() :] else value
    words = re.search(r"[一二三四五六七八九十]+", text)
    if words:
        return from_numerals(words[0]) + (0.5 if "半" in text[words.end() :] else 0)
    return 0.5 if "半" in text else None


def from_numerals(words: str) -> float:
    """Numbers below a hundred: 七, 十二, 三十五."""
    tens, ten, units = words.rpartition("十")
    return (10 * (NUMERALS.get(tens[-1:], 1) if ten else 0)) + NUMERALS.get(units[-1:], 0)
