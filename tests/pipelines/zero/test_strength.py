"""Matches of a run: a ladder that climbs, games that are counted once, the same ones whoever plays."""

import json
import multiprocessing
import pickle
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data.build.executors import Executor, run
from data.features.evaluation import Evaluation
from data.game.board import Board
from data.game.coords import BLACK, WHITE
from data.records.load import load_record
from mcts.play.manners import Manners
from mcts.play.player import Player
from pipelines.matches.fixtures import Fixture, MatchError
from pipelines.matches.games import Counter, GameRules, play_game
from pipelines.matches.gtp_client import Refused
from pipelines.zero.strength import tasks
from pipelines.zero.strength.matches import Match, play
from pipelines.zero.strength.own_engine import NetFailed, OwnEngine
from pipelines.zero.strength.sides import NetSide, PlayoutsSide, level_of, program_side
from pipelines.zero.strength.strength import Strength, evenly
from tests.support.net_files import PLAIN_DUAL, write_net
from tests.support.players import Failing, Scripted
from tests.support.strength import ZERO, Invented, here, options, program

RULES = GameRules(size=5, komi=0.5, referee="area", max_moves=100)
GNUGO = shutil.which("gnugo") or shutil.which("gnugo", path="/usr/games")


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_net(tmp_path_factory.mktemp("nets") / "000010.json", PLAIN_DUAL)


def silent(text: str) -> None: ...


# --- the ladder


def test_the_ladder_climbs_when_all_games_were_won_and_only_then(
    tmp_path: Path, card: Path
) -> None:
    strength = Strength(options(playouts=1000, most_playouts=2500), tmp_path)

    def rung(round: int, gather: Invented) -> int:
        (report,) = strength.play(round, card, gather, silent)
        assert report.strength == gather.tasks[0].sides[1].playouts  # type: ignore[attr-defined]
        return report.strength

    games = [Invented(), Invented(lost=(2,)), Invented(drawn=(4,)), Invented(), Invented()]
    games += [Invented()]
    rungs = [rung(10 * k, gather) for k, gather in enumerate(games, 1)]
    assert rungs == [1000, 2000, 2000, 2000, 2500, 2500]


def test_a_resumed_ladder_goes_on_where_it_was(tmp_path: Path, card: Path) -> None:
    strength = Strength(options(playouts=1000), tmp_path)
    strength.play(10, card, Invented(), silent)
    state = json.loads(json.dumps(strength.state()))
    for given, rung in (({"playouts": 1000}, 2000), ({"playouts": 5000}, 5000)):
        again = Strength(options(**given), tmp_path)
        again.restore(state)
        assert again.play(20, card, Invented(), silent)[0].strength == rung
    none = Strength(options(playouts=0), tmp_path)
    none.restore(state)
    assert none.play(20, card, Invented(), silent) == []


def test_nets_are_measured_every_so_many_rounds(tmp_path: Path) -> None:
    strength = Strength(options(), tmp_path)
    assert [round for round in range(31) if strength.due(round)] == [10, 20, 30]
    assert not Strength(options(every=0), tmp_path).due(10)


# --- what is counted


def test_a_match_is_counted_by_colour(tmp_path: Path, card: Path) -> None:
    # odd games are those of Black
    gather = Invented(lost=(1, 2, 4), drawn=(3,))
    strength = Strength(options(playouts=10, games=6), tmp_path)
    (report,) = strength.play(10, card, gather, silent)
    assert (report.games, report.won, report.drawn) == (6, 2, 1)
    assert (report.as_black, report.won_as_black, report.lost_as_black) == (3, 1, 1)
    assert report.share == 2.5 / 6
    assert (report.seconds, report.different, report.faults) == (18.0, 6, 0)
    games = sorted((tmp_path / "matches/000010/playouts_10/games").glob("*.sgf"))
    assert len(games) == 6
    record = load_record(games[0])
    assert (record.black_name, record.winner) == ("net 000010, 8 simulations", WHITE)


def test_matches_are_told_as_they_go_on_and_once(tmp_path: Path, card: Path) -> None:
    told: list[tuple[int, int, str]] = []
    said: list[str] = []
    strength = Strength(options(playouts=10, games=6), tmp_path)
    strength.matching = lambda *words: told.append(words)
    strength.play(10, card, Invented(), said.append)
    assert told[0] == (0, 6, "10 playouts") and told[-1] == (6, 6, "10 playouts")
    assert [done for done, *_ in told] == sorted(done for done, *_ in told)
    # the row is told by `Teller.match_done`
    assert [line for line in said if "won" in line] == []


def test_workers_of_a_match_are_gone_when_it_is_over(tmp_path: Path) -> None:
    """Each match has workers of its own, so they would pile up over rounds."""
    two = Executor("processes", 2)
    match = Match(
        1, "playouts", 2, 2, ("a", "b"), (PlayoutsSide(2), PlayoutsSide(2)),
        GameRules(size=3, komi=0.5, referee="area", max_moves=18), 2, 0, 1,
    )  # fmt: skip
    before = set(multiprocessing.active_children())
    during: list[int] = []

    def gather(function: Any, tasks: Any) -> Any:
        for finished in run(two, function, tasks):
            during.append(len(set(multiprocessing.active_children()) - before))
            yield finished

    for round in (1, 2):
        (report,) = play([replace(match, round=round)], tmp_path, gather, silent)
        assert report.games == 2
        assert set(multiprocessing.active_children()) == before
    assert 1 <= max(during) <= 2


def test_what_an_opponent_loses_by_a_fault_is_told_and_not_counted(
    tmp_path: Path, card: Path
) -> None:
    said: list[str] = []
    strength = Strength(options(playouts=10), tmp_path)
    gather = Invented(crashed=(3, 4), lost=(4,))
    (report,) = strength.play(10, card, gather, said.append)
    # game 4 was lost by a fault of the net's own side: it counts
    assert (report.games, report.won, report.faults) == (3, 2, 1)
    assert sum("#3: B+F" in line for line in said) == 1
    assert strength.state() == {"playouts": 10}
    assert strength.play(20, card, Invented(crashed=(1, 2, 3, 4)), said.append) == []
    assert strength.state() == {"playouts": 10}


# --- going on


def test_a_match_that_was_broken_off_plays_what_is_missing(tmp_path: Path, card: Path) -> None:
    strength = Strength(options(playouts=10, games=6), tmp_path)
    with pytest.raises(KeyboardInterrupt):
        strength.play(10, card, Invented(until=4), silent)
    results = tmp_path / "matches/000010/playouts_10/results.jsonl"
    content = results.read_bytes()
    assert content.count(b"\n") == 4
    results.write_bytes(content[:-5])  # the last line was cut off
    gather = Invented(lost=(1,))
    (report,) = strength.play(10, card, gather, silent)
    assert gather.games == 3 and (report.games, report.won) == (6, 5)
    again = Invented()
    assert strength.play(10, card, again, silent)[-1].strength == 10
    assert again.games == 0


@pytest.mark.parametrize("change", ["simulations", "net", "damaged"])
def test_a_match_with_other_players_is_played_anew(tmp_path: Path, card: Path, change: str) -> None:
    given = options(playouts=10)
    Strength(given, tmp_path).play(10, card, Invented(lost=(1,)), silent)
    said: list[str] = []
    if change == "simulations":
        given.strength.simulations = 9
    elif change == "net":
        card = write_net(tmp_path / "000010.json", PLAIN_DUAL, seed=1)
    else:
        results = tmp_path / "matches/000010/playouts_10/results.jsonl"
        results.write_bytes(b"?" + results.read_bytes())
    gather = Invented()
    (report,) = Strength(given, tmp_path).play(10, card, gather, said.append)
    assert gather.games == report.won == 4
    assert any("played anew" in line for line in said)


# --- who plays


@pytest.mark.slow
def test_a_match_is_the_same_with_one_worker_and_with_two(tmp_path: Path, card: Path) -> None:
    given = options(playouts=20, games=2, gnugo=program(tmp_path / "passes.py"))
    found = []
    for workers in (1, 2):
        folder = tmp_path / str(workers)
        strength = Strength(given, folder)
        reports = strength.play(10, card, partial(run, Executor(workers=workers)), silent)
        assert [report.opponent for report in reports] == ["playouts", "gnugo"]
        lines = [
            json.loads(line)
            for file in sorted(folder.rglob("results.jsonl"))
            for line in file.read_text().splitlines()
        ]
        found.append({(one["key"], one["identity"], one["result"]) for one in lines})
    assert len(found[0]) == 4 and found[0] == found[1]


def test_one_game_depends_on_its_seed_alone(card: Path) -> None:
    sides = (NetSide(card, "", 8, ZERO, "fp32", "cpu"), PlayoutsSide(30))
    fixtures = tuple(Fixture(k, 0, 1, 0, (12, 6), f"#{k}") for k in range(2))

    def moves(some: tuple[Fixture, ...], seed: int) -> dict[int, list[tuple[int, int]]]:
        task = tasks.MatchTask("m", sides, ("net", "playouts"), RULES, some, seed)
        task = pickle.loads(pickle.dumps(task))
        finished = pickle.loads(pickle.dumps(tasks.play_apart(task)))
        return {number: played.moves for number, played in finished.games}

    both = moves(fixtures, 1)
    assert both[1] == moves(fixtures[1:], 1)[1]
    assert both[0] != both[1] and both[0] != moves(fixtures[:1], 2)[0]
    assert both[0][:2] == [(12, BLACK), (6, WHITE)]


def test_more_playouts_are_stronger() -> None:
    """On 5x5 the many playouts take the whole board as Black, and live as White."""
    task = tasks.MatchTask(
        "m",
        (PlayoutsSide(500), PlayoutsSide(5)),
        ("many", "few"),
        RULES,
        (Fixture(1, 0, 1, 0, (), "#1"), Fixture(2, 0, 1, 1, (), "#2")),
        seed=1,
    )
    first, second = (played for _, played in tasks.play_apart(task).games)
    assert first.winner == BLACK and second.winner == WHITE
    assert first.why == second.why == "" and first.result != "B+R"


def test_a_program_that_does_not_start_is_told_and_the_rest_is_played(
    tmp_path: Path, card: Path
) -> None:
    said: list[str] = []
    given = options(playouts=5, games=2, gnugo="no-such-program --level 3")
    (report,) = Strength(given, tmp_path).play(10, card, here, said.append)
    assert report.opponent == "playouts" and report.games == 2
    assert sum("not played" in line and "no-such-program" in line for line in said) == 1
    with pytest.raises(MatchError, match=r"strength\.gnugo=no-such-program"):
        Strength(given, tmp_path).check()
    given.strength.gnugo = program(tmp_path / "passes.py")
    Strength(given, tmp_path).check()


def test_gnugo_is_given_a_seed_and_its_level_is_known() -> None:
    assert level_of("gnugo --mode gtp --level 3") == 3
    assert level_of("gnugo --level=12") == 12 and level_of("gnugo --mode gtp") == 10


def test_gnugo_is_told_the_rules_by_which_the_referee_counts() -> None:
    """Else it passes while dead stones stand, which all count."""
    rules = (
        "--chinese-rules --positional-superko --capture-all-dead --play-out-aftermath "
        "--never-resign"
    )
    bare = "gnugo --mode gtp --level 10"
    assert program_side(bare).command == f"{bare} {rules}"
    assert program_side(f"nice -n 5 /usr/games/{bare}").command.endswith(rules)
    whole = f"{bare} {rules}"
    assert program_side(whole).command == whole
    japanese = program_side(f"{bare} --japanese-rules --capture-all-dead").command
    assert "--chinese-rules" not in japanese and japanese.count("--capture-all-dead") == 1
    assert program_side("pachi -t =5000").command == "pachi -t =5000"


@pytest.mark.skipif(GNUGO is None, reason="GNU Go is not installed")
def test_gnugo_takes_dead_stones_off_before_it_passes() -> None:
    """A lone stone in its territory is dead, and counts for its owner as long as it stands."""
    engine = program_side(f"{GNUGO} --mode gtp --level 1").start("gnugo", RULES, 1)
    lines = ["boardsize 5", "clear_board", "komi 0.5"]
    lines += [f"play b C{row}" for row in range(1, 6)] + ["play w E5"]
    for line in lines:
        engine.ask(line)
    moves = []
    for _ in range(6):
        moves.append(engine.ask("genmove b"))
        engine.ask("play w pass")
        if moves[-1].lower() == "pass":
            break
    stands = engine.ask("list_stones white")
    engine.close()
    assert moves[-1].lower() == "pass" and len(moves) > 1 and stands == ""


@pytest.mark.skipif(GNUGO is None, reason="GNU Go is not installed")
def test_gnugo_plays_a_game_to_its_end(tmp_path: Path, card: Path) -> None:
    given = options(games=2, gnugo=f"{GNUGO} --mode gtp --level 1")
    strength = Strength(given, tmp_path)
    strength.check()
    (report,) = strength.play(10, card, here, silent)
    assert (report.opponent, report.strength, report.games, report.faults) == ("gnugo", 1, 2, 0)
    side = program_side(given.strength.gnugo)
    engines = [side.start("a", RULES, seed) for seed in (4, 4)]
    played = [
        play_game({BLACK: engine, WHITE: PlayoutsSide(10).start("b", RULES, 1)}, RULES, (), area)
        for engine, area in zip(engines, (Counter("area"), Counter("area")), strict=True)
    ]
    for engine in engines:
        engine.close()
    assert played[0].moves == played[1].moves and played[0].area == played[0].score


# --- the gate


class Taking:
    """A net that likes all moves alike; its `view` is how much it likes the stones of the player to
    move: a net that sees the board upside down is the weaker one.
    """

    def __init__(self, view: float, face: Any):
        self.view, self.face = view, face

    def evaluate(self, positions: Any) -> Evaluation:
        rows, points = positions.packed.shape[:2]
        mine, theirs = ((positions.packed[:, :, 0] >> (7 - k)) & 1 for k in (0, 1))
        lead = (mine.sum(1).astype(int) - theirs.sum(1)) / points
        return Evaluation(
            policy=np.full((rows, points + 1), -np.log(points + 1), np.float32),
            value=(self.view * lead).astype(np.float32),
        )


@pytest.mark.parametrize(("views", "goes_on"), [((0.9, -0.9), True), ((-0.9, 0.9), False)])
def test_the_gate_lets_the_stronger_net_play(
    tmp_path: Path,
    card: Path,
    monkeypatch: pytest.MonkeyPatch,
    views: tuple[float, float],
    goes_on: bool,
) -> None:
    other = write_net(tmp_path / "000009.json", PLAIN_DUAL, seed=1)
    face = tasks.open_once(card, "", "fp32", "cpu").face
    nets = {card: Taking(views[0], face), other: Taking(views[1], face)}
    monkeypatch.setattr(tasks, "open_once", lambda path, *rest: nets[path])
    strength = Strength(options(gate_games=6), tmp_path)
    passed, report = strength.gate(10, card, (9, other), here, silent)
    assert passed is goes_on and (report.share > 0.5) is goes_on
    assert (report.opponent, report.strength, report.simulations) == ("before", 9, 4)
    assert (report.games, report.as_black) == (6, 3)
    for file in sorted(tmp_path.rglob("*.sgf")):
        record = load_record(file)
        board = Board(5, komi=0.5)
        for move, colour in zip(record.moves.tolist(), record.colours.tolist(), strict=True):
            board.play(move, colour)
        assert int(np.sign(board.score())) == record.winner


def test_tasks_of_a_gate_are_alike() -> None:
    assert evenly(100, 64) == 50 and evenly(6, 2) == 2 and evenly(10, 100) == 10


# --- an engine in this process


def engine_of(thinker: Any, **manners: Any) -> OwnEngine:
    how = Manners(seconds=None, simulations=2, agreed=False, **manners)
    return OwnEngine("own", Player(lambda size: thinker, how, size=5, komi=0.5))


def test_an_engine_in_this_process_answers_as_others_do() -> None:
    engine = engine_of(Scripted((12, 0.0)))
    assert engine.ask("name") == "own" and engine.ask("boardsize 5") == ""
    assert engine.ask("genmove b") == "C3"
    with pytest.raises(Refused, match="illegal move"):
        engine.ask("play w C3")
    engine.close()


def test_a_net_that_fails_ends_the_match_instead_of_playing_at_random() -> None:
    engines = {BLACK: engine_of(Failing()), WHITE: engine_of(Scripted())}
    with pytest.raises(NetFailed, match="own: the thinker failed"):
        play_game(engines, RULES, (), Counter("area"))
