"""GTP commands about rules: by name, as JSON, and what they change."""

import json

from data.game.coords import BLACK, WHITE
from tests.support.gtp_talk import Talk


def test_rules_that_were_told_say_what_handicap_stones_are_worth() -> None:
    """Black's four stones own the board: 81 points less komi and less their compensation."""
    talk = Talk(9)
    talk.ask("komi 0.5")
    talk.ask("fixed_handicap 4")
    assert talk.ask("final_score") == "B+80.5"
    for rules, score in (
        ("chinese", "B+76.5"),
        ("japanese", "B+77.5"),
        ("aga", "B+77.5"),
        ("new_zealand", "B+80.5"),
    ):
        talk.ask(f"kgs-rules {rules}")
        assert talk.ask("final_score") == score, rules
    talk.ask("kgs-rules chinese")
    assert talk.player.game.position(WHITE).komi == 4.5 and talk.ask("get_komi") == "0.5"
    talk.ask("clear_board")
    assert talk.player.game.position(BLACK).komi == 0.5


def test_rules_do_not_make_a_player_agree_who_was_told_not_to() -> None:
    """Two white stones are dead in Black's area."""
    scores = []
    for agreed in (True, False):
        talk = Talk(5, agreed=agreed)
        talk.ask("komi 7.5")
        for move in ("b c5", "b c4", "b c3", "b c2", "b c1", "w a1", "w a2", "b e2"):
            talk.ask(f"play {move}")
        scores.append(talk.ask("final_score"))
        talk.ask("kgs-rules chinese")
        assert talk.ask("final_score") == scores[-1]
    assert scores == ["B+17.5", "B+5.5"]  # 25 points; 15, and two for White


FULL = {
    "friendlyPassOk": True, "hasButton": False, "ko": "POSITIONAL", "scoring": "AREA", "suicide": False, "tax": "NONE",
    "whiteHandicapBonus": "0",
}  # fmt: skip


def test_rules_as_json(talk: Talk) -> None:
    rules = lambda: json.loads(talk.ask("kata-get-rules"))  # noqa: E731
    assert rules() == FULL
    for name, ko, bonus in (
        ("chinese", "POSITIONAL", "N"), ("chinese-ogs", "POSITIONAL", "N"), ("aga", "SITUATIONAL", "N-1"),
        ("new-zealand", "SITUATIONAL", "0"), ("new_zealand", "SITUATIONAL", "0"), ("Japanese", "POSITIONAL", "N-1"),
    ):  # fmt: skip
        talk.ask(f"kata-set-rules {name}")
        assert rules() == {**FULL, "ko": ko, "whiteHandicapBonus": bonus}, name
    talk.ask("kata-set-rules tromp-taylor")
    assert rules() == {**FULL, "friendlyPassOk": False}
    talk.ask('kata-set-rules {"ko": "simple", "whiteHandicapBonus": "N"}')  # the others stay
    assert rules() == {**FULL, "friendlyPassOk": False, "ko": "SIMPLE", "whiteHandicapBonus": "N"}
    assert talk.player.board.ko_rule == "simple"
    talk.ask(f"kata-set-rules {json.dumps(FULL)}")
    assert rules() == FULL
    talk.ask("kata-set-rule ko SITUATIONAL")
    talk.ask("kata-set-rule friendlyPassOk false")
    assert rules() == {**FULL, "ko": "SITUATIONAL", "friendlyPassOk": False}


def test_rules_that_are_not_played_here_are_refused_by_name(talk: Talk) -> None:
    before = talk.ask("kata-get-rules")
    for given, why in (
        ('{"scoring":"TERRITORY"}', 'rules: scoring "TERRITORY" is not possible here, only "AREA"'),
        ('{"suicide":true}', "rules: suicide true is not possible here, only false"),
        ('{"tax":"ALL"}', 'only "NONE"'),
        ('{"suicide":0}', "suicide 0 is not possible"),
        ('{"hasButton":true,"ko":"SIMPLE"}', "hasButton true"),
        ('{"gravity":1}', "there is no field gravity"),
        ('{"ko":' + "[" * 100_000, "a name or a JSON object"),
        ("{", "a name or a JSON object"),
        ("stone-scoring", "one of chinese"),
        ("chines", "(chinese?)"),
        ("", "one of chinese"),
    ):
        assert why in talk.refuse(f"kata-set-rules {given}"), given
    assert "is not possible here" in talk.refuse("kata-set-rule tax SEKI")
    assert "FIELD VALUE" in talk.refuse("kata-set-rule ko")
    assert talk.ask("kata-get-rules") == before
