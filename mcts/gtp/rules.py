"""GTP commands about rules, by KGS's names or as KataGo's JSON fields.

    kgs-rules, kata-set-rules NAME     the nearest rules possible; the log names differences
    kata-set-rules {...}               exactly these, or an error that names what is impossible
    kata-set-rule FIELD VALUE          one field of them
    kata-get-rules                     the rules in force, as JSON

Area is counted, without a tax and without a button, and suicide is forbidden. What can be chosen
is the ko rule, White's points for handicap stones, and whether players agree about dead stones
(`friendlyPassOk`).
"""

import json
from difflib import get_close_matches
from typing import Any

from data.records.metadata import to_compensation
from mcts.gtp.arguments import GtpError
from mcts.gtp.session import Session, command
from mcts.play.player import Player

NAMED = {  # ko rule by name; `to_compensation` has the worth of handicap stones by name
    "chinese": "positional",
    "chinese-kgs": "positional",
    "chinese-ogs": "positional",
    "japanese": "positional",
    "korean": "positional",
    "aga": "situational",
    "bga": "situational",
    "new-zealand": "situational",
    "tromp-taylor": "positional",
}
TERRITORY = ("japanese", "korean")
SUICIDE = ("new-zealand", "tromp-taylor")
BONUSES = {"N": "chinese", "N-1": "aga", "0": "new-zealand"}  # a name that means it
POSSIBLE: dict[str, tuple[Any, ...]] = {
    "ko": ("SIMPLE", "POSITIONAL", "SITUATIONAL"),
    "scoring": ("AREA",),
    "tax": ("NONE",),
    "suicide": (False,),
    "hasButton": (False,),
    "whiteHandicapBonus": tuple(BONUSES),
    "friendlyPassOk": (True, False),
}


@command("kgs-rules", "kata-set-rules")
def set_rules(session: Session, arguments: list[str]) -> str:
    text = " ".join(arguments)
    if text.startswith("{"):
        put_in_force(session.player, {**in_force(session.player), **read_fields(text)})
        return ""
    name = text.lower().replace("_", "-")
    if name not in NAMED:
        close = get_close_matches(name[:50], NAMED, 1)
        raise GtpError(
            f"rules: one of {', '.join(NAMED)}, or a JSON object"
            + (f" ({close[0]}?)" if close else "")
        )
    if name in TERRITORY:
        session.log(
            f"{name} rules were asked for; area is counted here all the same, "
            "less what handicap stones are worth"
        )
    if name in SUICIDE:
        session.log(f"{name} rules allow suicide, which is neither played nor taken here")
    session.player.set_rules(NAMED[name], counting=name, agreed=name != "tromp-taylor")
    return ""


@command("kata-get-rules")
def get_rules(session: Session, arguments: list[str]) -> str:
    return json.dumps(in_force(session.player))


@command("kata-set-rule")
def set_rule(session: Session, arguments: list[str]) -> str:
    if len(arguments) != 2:
        raise GtpError("syntax error: kata-set-rule FIELD VALUE")
    field, text = arguments
    value = {"true": True, "false": False}.get(text.lower(), text)
    put_in_force(session.player, {**in_force(session.player), **checked({field: value})})
    return ""


def read_fields(text: str) -> dict[str, Any]:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        raise GtpError("syntax error: rules are a name or a JSON object") from None
    return checked(given)


def checked(given: dict[str, Any]) -> dict[str, Any]:
    """Return the fields spelled as in `POSSIBLE`; raises GtpError for impossible values."""
    found = {}
    for field, value in given.items():
        if field not in POSSIBLE:
            raise GtpError(f"rules: there is no field {field[:30]}, only {', '.join(POSSIBLE)}")
        wanted = value.upper() if isinstance(value, str) else value
        if not any(wanted == choice and type(wanted) is type(choice) for choice in POSSIBLE[field]):
            possible = " or ".join(json.dumps(choice) for choice in POSSIBLE[field])
            raise GtpError(
                f"rules: {field} {json.dumps(value)[:30]} is not possible here, only {possible}"
            )
        found[field] = wanted
    return found


def in_force(player: Player) -> dict[str, Any]:
    counting = player.game.counting
    bonus = {3: "N", 2: "N-1", 0: "0"}[int(to_compensation(3, counting))] if counting else "0"
    return {
        "friendlyPassOk": player.agreed,
        "hasButton": False,
        "ko": player.game.ko.upper(),
        "scoring": "AREA",
        "suicide": False,
        "tax": "NONE",
        "whiteHandicapBonus": bonus,
    }


def put_in_force(player: Player, fields: dict[str, Any]) -> None:
    player.set_rules(
        fields["ko"].lower(),
        counting=BONUSES[fields["whiteHandicapBonus"]],
        agreed=fields["friendlyPassOk"],
    )
