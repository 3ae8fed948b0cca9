"""Metadata of a game in one form: komi, result, rank, date, server and names.

Every function takes what stood between the brackets, as bytes or text. It returns a value as
`record.py` defines it, or its "unknown": NaN, `?`, 0, an empty string. None of them raises.
Start reading with `komi.py`.
"""

from data.records.metadata.date import to_date
from data.records.metadata.komi import to_komi
from data.records.metadata.rank import PROFESSIONAL, from_rank, to_rank
from data.records.metadata.result import to_compensation, to_margin, to_result
from data.records.metadata.server import PROGRAM, SERVERS, TOURNAMENT, find_server
from data.records.metadata.words import to_text

__all__ = [
    "PROFESSIONAL",
    "PROGRAM",
    "SERVERS",
    "TOURNAMENT",
    "find_server",
    "from_rank",
    "to_compensation",
    "to_date",
    "to_komi",
    "to_margin",
    "to_rank",
    "to_result",
    "to_text",
]
