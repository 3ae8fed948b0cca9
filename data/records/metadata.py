"""Metadata of a game in one form: komi, result, rank, date and names.

Pure functions that never raise.

Every function takes what stood between the brackets, as bytes or text. It returns a value as
`record.py` defines it, or its "unknown": NaN, `?`, 0, an empty string. Start reading with
`to_komi`: its docstring is a table of what archives write and what they mean.
"""

import re
import unicodedata
from functools import lru_cache

from data.game.coords import BLACK, WHITE

UNKNOWN_KOMI = float("nan")
MAX_KOMI = 100.0
# points; a larger margin is a typing error, and only the winner is taken from it
MAX_MARGIN = 400.0
PROFESSIONAL = 10  # added to the dan of professionals

_NUMERALS = {"初": 1} | {numeral: number for number, numeral in enumerate("〇一二三四五六七八九十")}
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?|[-+]?\.\d+")
_FRACTION = re.compile(
    r"(?:(\d+)\s*(?:又|子|and|\+|\s)\s*)?(\d+)\s*/\s*(\d+)"
)  # 3又3/4子, 2 3/4, 1/2
# hundredths of komi counted in stones of area, half of the points
_HUNDREDTHS_OF_AREA = (275, 325, 350, 375)


def to_komi(
    raw: bytes | str, *, application: str = "", rules: str = "", handicap: int = 0, event: str = ""
) -> float:
    """White's points; NaN if they are not told.

    `handicap` is HA as recorded: 0, 1 (no komi) or stones.

        written                   means     because
        6.5   6,5   7.5目  六目半  as read
        750 650 550 450           7.5 ...   hundredths (Fox, gokifu)
        375 350 325 275           7.5 7 ... hundredths of stones (Chinese): half of the points
        3.75  3又3/4子  2.75       7.5  5.5  quarters are Chinese (GoGoD), and are doubled
        50 in Fox                 0.5       hundredths; elsewhere reverse handicap of 50
        0 in Fox, HA[0]           NaN       not true: all 311 margins are halves
        0 in Fox, HA[1], HA[3]    0         true: their margins are whole, and some games are drawn
        more than 100, nothing    NaN

    Under Chinese rules "3.5" stays 3.5: unlike a quarter it can be meant.
    """
    text = _simplify(to_text(raw))
    value = _to_number(text)
    if value is None:
        return UNKNOWN_KOMI
    fox = _is_fox(application, event)
    if fox and text == "0" and handicap == 0:
        return UNKNOWN_KOMI
    if MAX_KOMI < value <= 1000 and value == int(value) and value % 25 == 0:
        value = value / 50 if value in _HUNDREDTHS_OF_AREA else value / 100
    elif fox and value == 50:
        value = 0.5
    elif "子" in text or (value * 4) % 2 == 1:
        value *= 2
    return value if abs(value) <= MAX_KOMI else UNKNOWN_KOMI


def _is_fox(application: str, event: str) -> bool:
    """Whether the record comes from Fox.

    Fox games re-saved by GNU Go 3.8 keep only its name. GNU Go itself would write `0.0`, and
    never a bare `0`.
    """
    application = application.lower()
    return "foxwq" in application or application.strip() == "gnu go:3.8" or "foxwq" in event.lower()


# --- result


def to_result(raw: bytes | str) -> tuple[str, int]:
    """The result as `B+3.5 W+R B+T W+F B+ Draw Void ?`, and the winner +1, -1 or 0.

    `B+` is won, unknown how.
    """
    answer = _read_result(to_text(raw))
    if answer[0] == "?" and isinstance(raw, bytes) and not raw.isascii():
        # much of it is GB18030, too, but means nothing there
        answer = _read_result(raw.decode("shift_jis", "replace"))
    return answer


def to_margin(result: str) -> float:
    """Black's margin in points of a normalised result; NaN if points were not counted."""
    counted = re.fullmatch(r"([BW])\+([0-9.]+)", result)
    return (1 if counted[1] == "B" else -1) * float(counted[2]) if counted else float("nan")


def to_compensation(handicap: int, rules: str) -> float:
    """Points that White has beyond komi when area is counted.

    Chinese rules give White a point for each handicap stone, AGA rules one less, New Zealand's
    none. Japanese ones count no stones, and in area Black's are one less, too: those placed and
    those played since, less White's, who moved first. (One more where Black also moved last, as it
    has one more in an even game then. Over all games both come to half a point.)
    """
    if handicap < 2:
        return 0.0
    name = rules.strip().lower().replace("_", " ").replace("-", " ")
    if name in ("nz", "new zealand", "tromp taylor"):
        return 0.0
    return float(handicap if name.startswith("chinese") else handicap - 1)


def _read_result(text: str) -> tuple[str, int]:
    text = _simplify(text).strip(" .!")
    short = _SHORT_RESULT.match(text)
    if short:
        return _won_by(BLACK if short[1] in _BLACK_WORDS else WHITE, (short[2] or "").strip())
    for word, answer in _NO_WINNER:
        if re.search(word, text):
            return answer, 0
    return _read_sentence(text)


_BLACK_WORDS = ("b", "black", "黑", "黒", "흑")
_SHORT_RESULT = re.compile(r"(b|w|black|white|黑|黒|흑|白|백)\s*(?:\+(.*)|$)", re.DOTALL)
_BLACK = re.compile(r"black|黑|黒|흑|\bb\b")
_WHITE = re.compile(r"white|白|백|\bw\b")
_NO_WINNER = (
    (
        r"^0(\.0+)?$|\b(jigo|draw|tied?)\b|^even$|持碁|ジゴ|和棋|^和$|和局|平局|무승부|引き分け",
        "Draw",
    ),
    (
        r"void|no result|無勝負|无胜负|無效|无效|打掛|打挂|打ち掛け|"
        r"suspend|adjourn|unfinished|annul|무효|三劫",
        "Void",
    ),
)
_RESIGN = re.compile(r"resign|\bres\b|中盘|中盤|中押|认输|認輸|投了|投子|불계|^r$")
_TIME = re.compile(r"time|超时|超時|时间|時間|時間切|切れ|시간")
_FORFEIT = re.compile(r"forfeit|disqualif|disconnect|弃权|棄権|棄權|不戦|반칙|反則|犯规|犯規|기권")
_LOSES = re.compile(
    r"负|負|败|敗|输|輸|认输|投了|패|"
    r"\blos[et]|resigns|resigned|overtime|runs? out|ran out|forfeits|forfeited"
)
_WINS = re.compile(r"胜|勝|贏|赢|승|\bw[io]ns?\b|wins|beats|victory")


def _won_by(winner: int, how: str) -> tuple[str, int]:
    """`how` is what stands behind the plus sign."""
    side = "B+" if winner == BLACK else "W+"
    if how == "draw":
        return "Draw", 0
    if how in ("void", "no result"):
        return "Void", 0
    if how[:1].isdigit():
        return _won_by_points(side, winner, how)
    if how.startswith("r") or _RESIGN.search(how):
        return side + "R", winner
    if how.startswith("t") or _TIME.search(how):
        return side + "T", winner
    if how.startswith("f") or _FORFEIT.search(how):
        return side + "F", winner
    return _won_by_points(side, winner, how)


def _won_by_points(side: str, winner: int, how: str) -> tuple[str, int]:
    margin = _to_number(how)
    # Fox and others write +0 where nothing was counted
    if margin is None or not 0 < margin <= MAX_MARGIN:
        return side, winner
    if "子" in how:  # Chinese counting: the margin in stones is half of the margin in points
        margin *= 2
    return f"{side}{margin:g}", winner


def _read_sentence(text: str) -> tuple[str, int]:
    """`黑中盘胜`, `White wins by 3.5`, `白负`: whoever is named first has won or lost."""
    black, white = _BLACK.search(text), _WHITE.search(text)
    if not black and not white:
        return "?", 0
    if black and white and _LOSES.search(text) and not _WINS.search(text):
        return "Void", 0  # both lose: two names and no winner
    first = BLACK if black and (not white or black.start() < white.start()) else WHITE
    wins, loses, time = _WINS.search(text), _LOSES.search(text), _TIME.search(text)
    if wins and (not loses or wins.start() < loses.start()):
        winner = first
    elif loses or (time and not wins):
        winner = -first
    elif wins or _RESIGN.search(text):
        winner = first
    else:
        return "?", 0
    return _won_by(winner, _BLACK.sub("", _WHITE.sub("", text)))


# --- rank


@lru_cache(4096)
def to_rank(raw: bytes | str) -> int:
    """Kyu -30 to -1, dan 1 to 9, professional 11 to 19, unknown 0 (so are `NR`, `-`, `?`).

    These are understood: `6d 6k 6p P6 6 dan 6 kyu`, Chinese and Japanese `9段 18级 P9段 职业九段
    十八級 初段`, Korean `9단 9급 프로9단`. `九段` alone counts as an amateur 9 dan: the word does
    not name a professional, and Fox, where both occur, marks professionals `P9段`.
    """
    rank = _read_rank(to_text(raw))
    if rank == 0 and isinstance(raw, bytes) and not raw.isascii():
        others = (
            _read_rank(raw.decode(charset, "replace")) for charset in ("cp949", "shift_jis", "big5")
        )
        rank = next(filter(None, others), 0)
    return rank


def _read_rank(text: str) -> int:
    text = _simplify(text).strip(" ?*~+.")
    match = _RANK.search(text)
    if not match:
        return 0
    written, unit = match["number"], match["unit"]
    number = int(written) if written.isdigit() else int(_from_numerals(written))
    if unit.startswith(("k", "gup", "级", "級", "급")):
        return -number if 1 <= number <= 30 and written != "初" else 0
    if not 1 <= number <= 9:
        return 0
    professional = unit.startswith("p") or _PROFESSIONAL.search(text)
    return number + PROFESSIONAL if professional else number


_RANK = re.compile(
    r"(?P<number>\d{1,2}|[初一二三四五六七八九十]+)[ -]*"
    r"(?P<unit>p(?:ro)?\b|dan|d\b|段|단|kyu|gup|k\b|级|級|급|(?<=p\d)$|(?<=p \d)$)"
)
_PROFESSIONAL = re.compile(r"^p *\d|^p[初一二三四五六七八九]|\bpro|职业|職業|专业|專業|プロ|프로")


def from_rank(rank: int) -> str:
    if rank == 0:
        return "?"
    if rank < 0:
        return f"{-rank}k"
    return f"{rank - PROFESSIONAL}p" if rank > PROFESSIONAL else f"{rank}d"


# --- date


@lru_cache(4096)
def to_date(raw: bytes | str) -> str:
    """The first day named, as YYYY-MM-DD, YYYY-MM or YYYY; '' if there is none.

    05/07/2003 gives the year only.
    """
    text = _simplify(to_text(raw))
    match = _DATE.search(text) or _YEAR.search(text)
    if not match:
        return ""
    year, month, day = (int(part) if part else 0 for part in _date_parts(match))
    if not 1 <= month <= 12:
        return f"{year:04d}"
    if not 1 <= day <= _days_in(year, month):
        return f"{year:04d}-{month:02d}"
    return f"{year:04d}-{month:02d}-{day:02d}"


_DATE = re.compile(
    r"(?<!\d)(1[0-9]{3}|20[0-9]{2})(?:\s*[-./年]\s*(\d{1,2})(?!\d)(?:\s*[-./月]\s*(\d{1,2})(?!\d))?|(\d{2})(\d{2})(?!\d))"
)
_YEAR = re.compile(r"(?<!\d)(1[0-9]{3}|20[0-9]{2})(?!\d)")


def _date_parts(match: re.Match[str]) -> tuple[str | None, str | None, str | None]:
    if match.re is _YEAR:
        return match[1], None, None
    return match[1], match[2] or match[4], match[3] or match[5]


def _days_in(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


# --- text


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


# --- helpers


def _simplify(text: str) -> str:
    """One spelling of what looks alike: full-width letters, cases, decimal commas."""
    text = (
        unicodedata.normalize("NFKC", text[:200].replace("½", " 1/2"))
        .replace("\u2044", "/")
        .strip()
        .lower()
    )
    return re.sub(r"(?<=\d),(?=\d)", ".", text)


def _to_number(text: str) -> float | None:
    """The first number: `6.5`, `3又3/4`, `2 3/4`, `7目半`, `六目半`, `半目`; None without any."""
    text = text.replace("四分之三", "3/4").replace("四分之一", "1/4")
    text = re.sub("([一二三四五六七八九])又", lambda match: f"{_NUMERALS[match[1]]}又", text)
    fraction = _FRACTION.search(text)
    if fraction and int(fraction[3]):
        return int(fraction[1] or 0) + int(fraction[2]) / int(fraction[3])
    match = _NUMBER.search(text)
    if match:
        value = float(match[0])
        return value + 0.5 if "半" in text[match.end() :] else value
    words = re.search(r"[一二三四五六七八九十]+", text)
    if words:
        return _from_numerals(words[0]) + (0.5 if "半" in text[words.end() :] else 0)
    return 0.5 if "半" in text else None


def _from_numerals(words: str) -> float:
    """Numbers below a hundred: 七, 十二, 三十五."""
    tens, ten, units = words.rpartition("十")
    return (10 * (_NUMERALS.get(tens[-1:], 1) if ten else 0)) + _NUMERALS.get(units[-1:], 0)
