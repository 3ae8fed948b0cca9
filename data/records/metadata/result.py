"""Results: who won and how, by how much, and what handicap stones add."""

import re

from data.game.coords import BLACK, WHITE
from data.records.metadata.words import simplify, to_number, to_text

# points; a larger margin is a typing error, and only the winner is taken from it
MAX_MARGIN = 400.0


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
    text = simplify(text).strip(" .!")
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
    margin = to_number(how)
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
