"""GTP commands that tell the nets' answers and the settings."""

from data.features.evaluation import Evaluation, Positions
from data.game.coords import PASS
from mcts.play.manners import Manners
from mcts.play.player import Player
from mcts.search.fakes import FakeNet, FakePolicy, FakeValue
from mcts.search.params import SearchParams
from mcts.search.search import Search
from tests.support.gtp_talk import Searching, Talk


def test_what_the_nets_alone_say() -> None:
    """Values are White's.

    The policy net likes C4, turned or not; the value net counts stones.
    """
    search = Search(
        SearchParams(threads=1),
        policy=FakePolicy({7: 0.5}),
        value=FakeValue(lambda own, other: 0.6),
    )
    talk = Talk()
    talk.player = Player(lambda size: search, Manners(), size=5)
    talk.ask("play b A1")
    for word, count in (("0", 1), ("ALL", 8)):
        answers = talk.ask(f"kata-raw-nn {word}").split("symmetry ")[1:]
        assert len(answers) == count
        for k, answer in enumerate(answers):
            number, *words = answer.split()
            assert number == str(k)
            said = dict(zip(words[:6:2], words[1:6:2], strict=True))
            assert (
                said == {"whiteWin": "0.800000", "whiteLoss": "0.200000", "noResult": "0.000000"}
                and words[6] == "policy"
            )
            chances = words[7:]
            assert len(chances) == 25 and chances[20] == "NAN" and chances[7] == "0.500000"
    talk.ask("play w C3")
    assert "whiteWin 0.200000" in talk.ask("kata-raw-nn 3")
    for wrong in ("", "8", "-1", "0 1", "x"):
        assert "symmetry" in talk.refuse(f"kata-raw-nn {wrong}")
    search.close()


def test_what_one_net_of_several_answers_says() -> None:
    """Black is to move and is two points ahead; each player owns its stones."""
    calls = []

    class Counting(FakeNet):
        def evaluate(self, positions: Positions) -> Evaluation:
            calls.append(positions.turns)
            return super().evaluate(positions)

    net = Counting(
        {PASS: 0.1, 12: 0.5},
        lambda own, other: 0.6,
        owner=lambda own, other: own * 1.0 - other * 1.0,
        score=lambda own, other: 2.0,
    )
    search = Search(SearchParams(threads=1), net=net)
    talk = Talk()
    talk.player = Player(lambda size: search, Manners(), size=5)
    for move in ("b A5", "w B5"):
        talk.ask(f"play {move}")
    calls.clear()
    answer = talk.ask("kata-raw-nn 3")
    assert len(calls) == 1 and calls[0].tolist() == [3]
    lines = answer.splitlines()
    assert "whiteWin 0.200000" in lines and "whiteLead -2.000" in lines
    assert "policyPass 0.100000" in lines
    owners = lines[lines.index("whiteOwnership") + 1].split()
    assert [float(owner) for owner in owners] == [-1, 1, 0, 0, 0]
    search.close()
    search = Search(SearchParams(threads=1), net=FakeNet({}, obeys_turns=False))
    talk.player = Player(lambda size: search, Manners(), size=5)
    assert "policy" in talk.ask("kata-raw-nn 0")
    assert "only symmetry 0" in talk.refuse("kata-raw-nn 1")
    search.close()


def test_a_player_without_nets_says_that_it_has_none(talk: Talk) -> None:
    assert "no nets" in talk.refuse("kata-raw-nn 0")


def test_parameters_are_told() -> None:
    talk = Searching()
    names = talk.ask("kata-list-params").split()
    assert {"seconds", "simulations", "resign", "lam", "c_puct", "threads"} <= set(names)
    assert all(talk.ask(f"kata-get-param {name}") for name in names)
    assert (
        talk.ask("kata-get-param lam") == str(talk.search.params.lam)
        and talk.ask("kata-get-param ponder") == "false"
    )
    assert "kata-list-params" in talk.refuse("kata-get-param playoutDoublingAdvantage")
