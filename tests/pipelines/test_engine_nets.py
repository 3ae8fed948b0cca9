"""Which nets an engine plays with: one for moves and values or two, and what they are told."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hydra import compose, initialize_config_dir

from data.base.errors import Mistake
from data.features.evaluation import Positions
from data.features.uniform import Conditions, Known
from data.game.board import Board
from data.game.coords import BLACK, WHITE
from mcts.search.params import SearchParams
from mcts.search.protocols import Limits
from models.answering import open as door
from models.files.card import read_card, write_card
from pipelines.engine import net_files
from pipelines.engine.conditions import conditions_of
from pipelines.engine.net_files import NetFiles, NoSuchNet, find_nets
from pipelines.engine.options import GtpOptions, ThinkerOptions, read_options
from pipelines.engine.player import make_player
from pipelines.engine.thinkers import ThinkerMaker, open_search, options_of
from pipelines.matches.contestants import own_settings, short_name
from pipelines.shell.configuration import CONF, plain
from pipelines.shell.options import OptionError
from tests.support.net_files import DUAL, write_net, write_nets
from tests.support.tiny_nets import SIZE, random_positions, tiny_net, write_checkpoint

WITHOUT = {"rollout": "none", "tree": "none", "engine": "fp32", "threads": 1}


@pytest.fixture(scope="module")
def nets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_nets(tmp_path_factory.mktemp("nets"))


@pytest.fixture
def shipped(nets: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with nets that ship: policy and value; tests add a net for both."""
    for name in ("policy", "value"):
        (tmp_path / f"{name}.json").write_bytes(nets[name].read_bytes())
    monkeypatch.setattr(net_files, "PRETRAINED", tmp_path)
    return tmp_path


def options(**given: Any) -> ThinkerOptions:
    return options_of({**WITHOUT, **given})


def policy_only(**given: Any) -> ThinkerOptions:
    return options(search="policy_only", **given)


# --- which file


@pytest.mark.parametrize(
    ("given", "with_both", "expected"),
    [
        ({}, False, ("policy", "value")),
        ({}, True, ("net", "net")),
        ({"policy": "policy"}, True, ("policy", "net")),
        ({"value": "none"}, True, ("net", None)),
        ({"policy": "dual"}, False, ("dual", "value")),
        ({"net": "dual"}, False, ("dual", "dual")),
        ({"net": "dual"}, True, ("dual", "dual")),
        ({"net": "dual", "value": "value"}, True, ("dual", "value")),
        ({"net": "dual", "policy": "none"}, False, (None, "dual")),
        ({"net": "none"}, True, (None, None)),
        ({"net": "none", "policy": "policy"}, True, ("policy", None)),
    ],
)
def test_a_file_of_its_own_wins_then_net_then_what_ships(
    given: dict[str, str],
    with_both: bool,
    expected: tuple[str | None, ...],
    nets: dict[str, Path],
    shipped: Path,
) -> None:
    if with_both:
        (shipped / "net.json").write_bytes(nets["dual"].read_bytes())
    chosen = {key: str(nets.get(name, name)) for key, name in given.items()}
    files = find_nets(options(**chosen))
    found = tuple(path and path.stem for path in (files.policy, files.value))
    assert found == expected
    assert isinstance(files, NetFiles) and files.rollout is None


@pytest.mark.parametrize(
    ("key", "kind", "message"),
    [
        ("net", "value", r"net=.*value\.json: a value net, which answers with no policy; name it "),
        (
            "net",
            "policy",
            r"net=.*policy\.json: a policy net, which answers with no value; name it ",
        ),
        ("policy", "value", "a value net, where a policy net is wanted"),
        ("value", "policy", "a policy net, where a value net is wanted"),
    ],
)
def test_a_net_without_the_answer_is_refused_before_it_is_opened(
    key: str, kind: str, message: str, nets: dict[str, Path]
) -> None:
    with pytest.raises(NoSuchNet, match=message) as error:
        find_nets(options(**{key: str(nets[kind])}))
    assert "\n" not in str(error.value)


def test_net_beside_two_others_that_take_its_places_is_refused(nets: dict[str, Path]) -> None:
    given = {name: str(nets[name]) for name in ("policy", "value")}
    with pytest.raises(NoSuchNet, match=r"net=\S+ would not be used beside policy=\S+ and value="):
        find_nets(options(net=str(nets["dual"]), **given))
    find_nets(options(**given))


@pytest.mark.parametrize("search", ["zero", "notes", "value_only"])
@pytest.mark.parametrize(
    "given",
    [
        {"value": "none"},
        {"net": "none"},
        {"policy": "none", "value": "none"},
        {"net": "none", "policy": "policy"},
    ],
)
def test_a_search_without_any_value_is_refused(
    search: str, given: dict[str, str], nets: dict[str, Path]
) -> None:
    chosen = {key: str(nets.get(name, name)) for key, name in given.items()}
    words = [f"search={search}", *(f"{key}={name}" for key, name in chosen.items())]
    for refused in (
        lambda: find_nets(options(search=search, **chosen)),
        lambda: open_search(SIZE, search=search, **WITHOUT, **chosen),
        lambda: own_settings(words, "a"),
    ):
        with pytest.raises(Mistake, match="no rollouts and no value net") as error:
            refused()
        assert "\n" not in str(error.value)


def test_searches_that_need_no_value_net_go_without(nets: dict[str, Path]) -> None:
    for search in ("policy_only", "default", "uct", "rollouts_only", "puct_rollouts"):
        find_nets(options(search=search, policy=str(nets["policy"]), value="none"))
        find_nets(options(search=search, net="none"))


# --- opened


def test_a_net_for_both_is_opened_once(
    nets: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []
    truly = door.open_net
    monkeypatch.setattr(
        door, "open_net", lambda path, **how: (opened.append(path), truly(path, **how))[1]
    )
    said: list[str] = []
    makes = ThinkerMaker(options(net=str(nets["dual"])), said.append)
    assert makes.open_net("policy") is makes.open_net("value")
    assert opened == [nets["dual"]] and len(said) == 1
    assert said[0].startswith("policy and value net: ")
    opened_net = makes.open_net("policy")
    assert opened_net is not None and opened_net.face.name == f"dual ({opened_net.name})"
    makes = ThinkerMaker(options(net=str(nets["dual"]), value=str(nets["value"])), said.append)
    assert makes.open_net("policy") is not makes.open_net("value") and len(opened) == 3
    assert [text.partition(":")[0] for text in said[1:]] == ["policy net", "value net"]


def test_a_net_of_several_answers_may_serve_for_one(nets: dict[str, Path]) -> None:
    makes = ThinkerMaker(policy_only(policy=str(nets["dual"]), value="none"), print)
    thinker = makes(SIZE)
    report = thinker.think(Board(SIZE), Limits())
    assert report.best.prior > 0 and np.isnan(report.best.net_value)


def test_a_checkpoint_without_the_answer_is_refused_when_it_is_opened(tmp_path: Path) -> None:
    only = {**DUAL, "heads": ("policy",)}
    path = write_checkpoint(tmp_path / "a.ckpt", tiny_net(only)[0], only)
    makes = ThinkerMaker(options(net=str(path)), print)
    with pytest.raises(NoSuchNet, match="a policy net, where a value net is wanted"):
        makes(SIZE)


# --- what nets are told


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rank": "strong"}, "rank=strong: a rank is expected, such as 3k"),
        ({"rank": "31k"}, "rank=31k"),
        ({"source": "home"}, "source=home: one of kgs, fox"),
        ({"year": 1700}, "year=1700: from 1,800 to 2,054"),
        ({"year": "soon"}, "year=soon"),
    ],
)
def test_what_is_no_rank_source_or_year_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        options(**wrong)


def test_nets_that_take_no_ranks_are_named(nets: dict[str, Path]) -> None:
    for given, message in (
        (
            {"net": "plain", "rank": "3d"},
            r"rank=3d: \S+plain\.json takes no rank as input; nets th",
        ),
        (
            {"policy": "policy", "value": "value", "year": 2015},
            r"policy\.json and \S+ take no year",
        ),
        ({"net": "none", "rank": "3d"}, "there is no net that could be told"),
    ):
        chosen = {
            key: str(nets.get(str(name), name)) for key, name in given.items() if key != "year"
        }
        with pytest.raises(NoSuchNet, match=message):
            find_nets(options(**{**chosen, **{k: v for k, v in given.items() if k == "year"}}))
    # one of two is enough
    find_nets(options(policy=str(nets["dual"]), value=str(nets["value"]), rank="3d"))


def test_a_checkpoint_that_takes_no_ranks_is_named_when_it_is_opened(tmp_path: Path) -> None:
    plain = {**DUAL, "uniform": ()}
    path = write_checkpoint(tmp_path / "a.ckpt", tiny_net(plain)[0], plain)
    makes = ThinkerMaker(policy_only(policy=str(path), rank="5k"), print)
    with pytest.raises(NoSuchNet, match=r"rank=5k: \S+a\.ckpt takes no rank"):
        makes(SIZE)


def test_options_replace_only_what_they_say_of_what_a_card_assumes(tmp_path: Path) -> None:
    card = Conditions(own_rank=9, opponent_rank=8, source=2, year=2020)
    assert conditions_of(options(), card) == card
    assert conditions_of(options(rank="5k"), card) == Conditions(-5, -5, 2, 2020)
    assert conditions_of(options(year=1990), card) == Conditions(9, 8, 2, 1990)
    assert conditions_of(options(source="kgs"), card) == Conditions(9, 8, 1, 2020)
    path = write_net(tmp_path / "assuming.json", DUAL)
    write_card(replace(read_card(path), assume={"own_rank": "9d", "source": "kgs"}), path)
    makes = ThinkerMaker(policy_only(net=str(path), year=2015), print)
    assert makes.open_net("policy").conditions == Conditions(own_rank=9, source=1, year=2015)


def test_a_net_is_told_the_rank_of_both_players_and_says_so(nets: dict[str, Path]) -> None:
    said: list[str] = []
    told = {"rank": "2p", "year": 2015, "source": "tygem"}
    makes = ThinkerMaker(policy_only(net=str(nets["dual"]), **told), said.append)
    net = makes.open_net("policy")
    assert net.conditions == Conditions(12, 12, 3, 2015)
    assert said[0].endswith("plays as 2p, tygem, 2015)")
    packed, to_play = random_positions(5)
    komi = np.full(5, 7.5, np.float32)
    ranks = np.full(5, 12, np.int8)
    known = Known(komi, ranks, ranks, np.full(5, 3, np.uint8), np.full(5, 2015, np.int16))
    silent = ThinkerMaker(policy_only(net=str(nets["dual"])), said.append).open_net("policy")
    expected = silent.evaluate(Positions(packed, to_play, known)).policy
    unknown = silent.evaluate(Positions(packed, to_play, Known(komi))).policy
    found = net.evaluate(Positions(packed, to_play, Known(komi))).policy
    assert np.allclose(found, expected) and not np.allclose(found, unknown, atol=1e-3)


def test_a_player_of_some_rank_draws_its_moves_all_game_long(nets: dict[str, Path]) -> None:
    ranked = policy_only(net=str(nets["dual"]), rank="3d", temperature=1.0, seed=1)
    thinker: Any = ThinkerMaker(ranked, print)(SIZE)
    board = Board(SIZE)
    for point in np.random.default_rng(1).permutation(SIZE * SIZE)[:34]:
        if board.is_legal(int(point)):
            board.play(int(point))
    assert board.ply > 30
    first = {thinker.think(board, Limits()).best.move for _ in range(30)}
    assert len(first) > 2
    others: Any = ThinkerMaker(replace(ranked, rank=None), print)(SIZE)
    assert len({others.think(board, Limits()).best.move for _ in range(30)}) == 1


# --- others who play


def test_a_match_keeps_which_net_plays_and_what_it_is_told(nets: dict[str, Path]) -> None:
    given = [f"net={nets['dual']}", "rank=3d", "search=policy_only"]
    settings = own_settings(given, "a")
    assert settings["nets"]["policy"] == settings["nets"]["value"]
    assert settings["nets"]["policy"].startswith("dual.json ")
    assert settings["manners"]["rank"] == "3d" and "net" not in settings["manners"]
    assert short_name(" ".join(given)) == "dual.json 3d policy_only"


def test_a_search_is_opened_with_one_net(nets: dict[str, Path]) -> None:
    search = open_search(SIZE, net=nets["dual"], search="value_only", **WITHOUT)
    assert search.params.policy_net and isinstance(search.params, SearchParams)
    report = search.think(Board(SIZE, komi=7.5), Limits(simulations=20))
    assert report.simulations >= 20 and not report.errors
    search.close()


def test_rank_noise_and_temperature_go_with_a_search_of_nets_alone(nets: dict[str, Path]) -> None:
    """A seed repeats the moves of `play_gtp.py search=zero`; another plays others only if told."""
    given = [
        "search=zero", f"net={nets['dual']}", "rank=3d", f"boardsize={SIZE}", "simulations=16",
        "search.deterministic=true", "search.symmetry=none", "threads=1", "engine=fp32",
        "rollout=none",
    ]  # fmt: skip

    def played(*more: str) -> list[int]:
        with initialize_config_dir(str(CONF), version_base="1.3"):
            chosen = read_options(GtpOptions, plain(compose("play_gtp", [*given, *more])))
        said: list[str] = []
        player = make_player(chosen, ThinkerMaker(chosen, said.append), said.append)
        for turn in range(4):
            player.genmove(WHITE if turn % 2 else BLACK)
        player.close()
        assert any(text.endswith("plays as 3d)") for text in said)
        return [move for move, _ in player.board.moves]

    assert played("seed=1") == played("seed=2")
    for varied in (["search.noise=1"], ["temperature=1"]):
        assert played(*varied, "seed=1") == played(*varied, "seed=1") != played(*varied, "seed=2")
