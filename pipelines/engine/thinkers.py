"""From configuration to a thinker: nets opened, the search that group `search` names made around
them.

    search = open_search(19)      for programs: as strong as the engine
    Thinkers(options, log)        for scripts: a function of the board's size

A net that does not fit the board's size is done without, and where nothing is left to think with,
moves are random but sensible; either is told once.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data.base.cores import available_cores
from data.base.errors import Mistake
from mcts.search.params import SearchParams
from pipelines.shell.configuration import CONF, plain
from pipelines.shell.environment import ROOT
from pipelines.shell.options import OptionError, convert, make

if TYPE_CHECKING:
    from mcts.search.search import Search

PRETRAINED = ROOT / "models" / "pretrained"

NETS = ("policy", "value", "rollout", "tree")
TAKEN = (
    "engine",
    "device",
    "threads",
    "symmetries",
    "temperature",
    "rollout_temperature",
    "reply_share",
    "mercy",
    "seed",
)


class NoSuchNet(Mistake):
    """A net that was named is not there."""


@dataclass(frozen=True)
class ThinkerOptions:
    policy: Path | None = None
    value: Path | None = None
    rollout: Path | None = None
    tree: Path | None = None
    search: SearchParams = field(default_factory=SearchParams)
    engine: str = "auto"
    device: str = "auto"
    threads: int = 1
    symmetries: int = 1
    temperature: float = 0.0
    rollout_temperature: float = 1.0
    reply_share: float = 0.0
    mercy: int = 0
    seed: int = 0


def net_path(given: Any, default: str) -> Path | None:
    """Null means the net that ships if it is there, `none` no net."""
    if given is None:
        path = PRETRAINED / default
        return path if path.exists() else None
    if str(given).lower() == "none":
        return None
    path = Path(str(given)).expanduser().absolute()
    if not path.exists():
        raise NoSuchNet(f"{path}: there is no such file")
    return path


def check_kinds(options: dict[str, Any], found: "ThinkerOptions") -> None:
    """Of what was named and will be used, as far as that can be told without opening a net: no
    game begins with what is none.
    """
    search = found.search
    thinks = (found.policy and search.policy_net) or (found.value and search.value_net)
    used = {
        "policy": search.policy_net,
        "value": search.value_net,
        "rollout": search.rollouts or thinks,  # they tell what is dead at the end, too
        "tree": search.tree_policy,
    }
    for kind, path in (
        (kind, getattr(found, kind)) for kind in used if used[kind] and options[kind] is not None
    ):
        if path is not None:
            check_kind(path, kind)


def check_kind(path: Path, kind: str) -> None:
    if kind in ("policy", "value"):
        from models.files.card import find_card, read_card

        if path.suffix in (".json", ".safetensors", ".onnx"):
            check_same(path, read_card(find_card(path)).kind, kind)
        elif path.suffix != ".ckpt":
            raise NoSuchNet(
                f"{path}: no net; a .ckpt is wanted, or a .json card, or a .safetensors or .onnx beside one"
            )
    else:
        from data.patterns.files import read_patterns

        there = read_patterns(path).kind
        # which names moves as well, if not as well as a tree policy
        if kind != "tree" or there != "rollout":
            check_same(path, there, kind)


def check_same(path: Path, kind: str, wanted: str) -> None:
    if kind != wanted:
        raise NoSuchNet(f"{path}: a {kind} net, where a {wanted} net is wanted")


def thinker_options(options: dict[str, Any]) -> ThinkerOptions:
    """Raises `NoSuchNet` for files that are not there, `OptionError` for numbers that can't be;
    nothing is opened yet.
    """
    if options["symmetries"] not in (1, 2, 4, 8):
        raise OptionError(f"symmetries={options['symmetries']}: 1, 2, 4 or 8")
    for key, fits, range_ in (
        ("temperature", options["temperature"] >= 0, "from 0 up"),
        ("rollout_temperature", options["rollout_temperature"] > 0, "more than 0"),
        ("reply_share", 0 <= options["reply_share"] <= 1, "from 0 to 1"),
        ("mercy", options["mercy"] >= 0, "from 0 up"),
    ):
        if not fits:
            raise OptionError(f"{key}={options[key]}: {range_}")
    check_engine(options["engine"], options["device"])
    found = ThinkerOptions(
        policy=net_path(options["policy"], "policy.json"),
        value=net_path(options["value"], "value.json"),
        rollout=net_path(options["rollout"], "rollout.safetensors"),
        tree=net_path(options["tree"], "tree.safetensors"),
        search=search_params(options),
        **{key: options[key] for key in TAKEN},
    )
    check_kinds(options, found)
    return found


def check_engine(engine: str, device: str) -> None:
    if (engine, device) == ("auto", "auto"):
        return
    from models.answering.engines import DEVICES, ENGINES

    if engine not in ENGINES:
        raise OptionError(f"engine={engine}: one of {', '.join(ENGINES)}")
    if not DEVICES.fullmatch(device):
        raise OptionError(f"device={device}: auto, cpu, cuda, cuda:1 or mps")


def checked_numbers(options: dict[str, Any], kinds: dict[str, Any], least: dict[str, int]) -> None:
    """In place: each of its kind, numbers that end, and from so much up; thinking must end, too."""
    for key, kind in kinds.items():
        options[key] = convert(options[key], kind, key)
        if isinstance(options[key], float) and not math.isfinite(options[key]):
            raise OptionError(f"{key}={options[key]}: a number that ends is expected")
    for key, low in least.items():
        if options[key] is not None and options[key] < low:
            raise OptionError(f"{key}={options[key]}: from {low} up")
    if options["seconds"] is None and options["simulations"] is None:
        raise OptionError("seconds and simulations are null: thinking about a move would never end")


def counted(options: dict[str, Any]) -> None:
    """A search that is to be repeatable ends by its simulations: how many fit into `seconds`
    differs from run to run.
    """
    if (options.get("search") or {}).get("deterministic"):
        if options["simulations"] is None:
            raise OptionError(
                "search.deterministic=true wants simulations=, as what fits into seconds differs each time"
            )
        options["seconds"] = None


def search_params(options: dict[str, Any]) -> SearchParams:
    """What a group of conf/search says, with the script's threads and seed; raises `OptionError`."""
    given = {
        "threads": options["threads"],
        "seed": options["seed"],
        **(options.get("search") or {}),
    }
    given.pop("_target_", None)
    try:
        return make(SearchParams, given, "search")
    except OptionError:
        raise
    except ValueError as error:
        raise OptionError(str(error)) from None


def open_search(
    size: int = 19, *, log: Callable[[str], None] = lambda text: None, **options: Any
) -> "Search":
    """A search as strong as the engine's: the nets that ship, with the numbers of
    conf/search/default.yaml.

    `options` are keys of conf/play_gtp.yaml and have the same meaning: `policy`, `value`,
    `rollout`, `tree` (files), `threads`, `engine`, `device`, `seed`; `search` names another file
    of conf/search/. Compiles or loads what the first search needs, so that it begins at once.
    Raises `NoSuchNet` and `OptionError`. Call `close` at the end.
    """
    given = read_options(options)
    thinker = Thinkers(thinker_options(given), log)(size)
    from mcts.search.search import Search

    if not isinstance(thinker, Search):
        raise OptionError(f"search={options.get('search')}: that thinks without a search")
    return thinker


def read_options(given: dict[str, Any]) -> dict[str, Any]:
    """The options of a thinker as play_gtp.yaml and a file of conf/search/ have them, without
    Hydra; `given` wins.
    """
    from omegaconf import OmegaConf

    name = given.get("search", "default")
    files = {path.stem: path for path in (CONF / "search").glob("*.yaml")}
    if name not in files:
        raise OptionError(f"search={name}: one of {', '.join(sorted(files))}")
    known = plain(OmegaConf.load(CONF / "play_gtp.yaml"))
    if unknown := sorted(given.keys() - {*NETS, *TAKEN, "search"}):
        raise OptionError(f"{unknown[0]}: there is no such option of a search")
    search = {**plain(OmegaConf.load(files["default"])), **plain(OmegaConf.load(files[name]))}
    search.pop("defaults", None)
    known = {**known, **given, "search": search}
    return {**known, "threads": known["threads"] or available_cores()}


@cache
def shipped_rollouts(size: int) -> Any:
    """Those of the policy that ships, which know best what is dead; None where none ships."""
    from mcts.rollouts.policy import PolicyRollouts, RolloutPolicy

    path = net_path(None, "rollout.safetensors")
    return PolicyRollouts(RolloutPolicy.load(path, size)) if path else None


class Thinkers:
    """A function of the board's size, as `Player` wants it; each net is opened once."""

    def __init__(self, options: ThinkerOptions, log: Callable[[str], None]):
        self.options = options
        self.log = log
        self.nets: dict[str, Any] = {}

    def __call__(self, size: int) -> Any:
        from mcts.play.policy_player import PolicyPlayer, RandomPlayer

        options = self.options
        params = options.search
        wanted = {"policy": params.policy_net, "value": params.value_net}
        nets = {kind: net for kind, net in self.open(wanted).items() if self.fits(kind, net, size)}
        if params.rollouts or "value" in nets:
            return warm(self.make_search(params, nets, size), size)
        if "policy" not in nets:
            self.log(f"there is no policy net for {size}x{size}: moves are random")
            return warm(RandomPlayer(seed=options.seed), size)
        policy = turned(nets["policy"], options.symmetries)
        return warm(
            PolicyPlayer(
                policy,
                temperature=options.temperature,
                seed=options.seed,
                rollouts=self.rollouts(size),
            ),
            size,
        )

    def rollouts(self, size: int) -> Any:
        """Trained ones; None where there are none."""
        from mcts.rollouts.policy import PolicyRollouts, RolloutPolicy

        options = self.options
        if options.rollout is None:
            return None
        policy = RolloutPolicy.load(
            options.rollout,
            size,
            temperature=options.rollout_temperature,
            reply_share=options.reply_share,
        )
        return PolicyRollouts(policy, mercy=options.mercy)

    def make_search(self, params: SearchParams, nets: dict[str, Any], size: int) -> Any:
        """With trained rollouts and placeholders where there are such, else uniform ones."""
        from mcts.rollouts.replies_kernels import NO_REPLIES
        from mcts.rollouts.tree_policy import PatternPriors
        from mcts.search.search import Search

        rollouts, priors = self.rollouts(size), None
        if self.options.tree is not None:
            priors = PatternPriors.load(
                self.options.tree, size, replies=rollouts.replies if rollouts else NO_REPLIES
            )
        nets = {kind: nets.get(kind) for kind in ("policy", "value")}
        return Search(
            params,
            policy=nets["policy"],
            value=nets["value"],
            rollouts=rollouts,
            tree_policy=priors,
        )

    def open(self, wanted: dict[str, bool]) -> dict[str, Any]:
        """The nets that are wanted and there, by kind."""
        paths = {"policy": self.options.policy, "value": self.options.value}
        for kind, path in paths.items():
            if path is not None and wanted[kind] and kind not in self.nets:
                self.nets[kind] = self.open_one(kind, path)
        return {kind: net for kind, net in self.nets.items() if wanted[kind]}

    def open_one(self, kind: str, path: Path) -> Any:
        from models.answering.open import open_net

        options = self.options
        net = open_net(path, engine=options.engine, device=options.device, threads=options.threads)
        check_same(path, net.card.kind, kind)
        self.log(f"{kind} net: {path} ({net.name})")
        return net

    def fits(self, kind: str, net: Any, size: int) -> bool:
        if not net.fits(size):
            self.log(
                f"the {kind} net is for {net.card.sizes()}, so {size}x{size} is played without it"
            )
        return bool(net.fits(size))


def turned(net: Any, symmetries: int) -> Any:
    """The mean over so many orientations; a search has a parameter of its own for that."""
    from models.answering.ensemble import SymmetryEnsemble

    return SymmetryEnsemble(net, symmetries) if symmetries != 1 else net


def warm(thinker: Any, size: int) -> Any:
    """Let it think once, and do what a `Player` does beside, so that no move of a game pays for
    compilation.
    """
    from data.game.board import Board
    from mcts.play.dead_stones import judge
    from mcts.play.policy_player import sensible_moves
    from mcts.search.protocols import Limits

    # however long it takes: with a time it would end before all has run
    thinker.think(Board(size), Limits(simulations=8))
    thinker.forget()
    sensible_moves(Board(size))
    judge(Board(size), getattr(thinker, "rollouts", None), count=2)
    return thinker
