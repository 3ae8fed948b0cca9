"""Options of everything that thinks: the engine, the analysis of a game, own players of a match.

    options = read_options(GtpOptions, plain(cfg))

`ThinkerOptions` are the ones that all share; their defaults and explanations are in
`conf/play_gtp.yaml`.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeVar

from data.base.cores import available_cores
from data.base.errors import Mistake
from data.features.uniform import FIRST_YEAR, SOURCES
from data.records.metadata import to_rank
from mcts.search.params import SearchParams
from pipelines.shell.options import Above, AtLeast, Between, OptionError, make, read


@dataclass(frozen=True)
class ThinkerOptions:
    net: str | None  # a file, `none`, or None for the net that ships; so are the next four
    policy: str | None
    value: str | None
    rollout: str | None
    tree: str | None
    engine: str
    device: str
    threads: Annotated[int, AtLeast(0)]  # 0 becomes the number of cores in `read_options`
    symmetries: Literal[1, 2, 4, 8]
    rank: str | None  # what nets are told of both players; None: unknown
    year: Annotated[int, Between(FIRST_YEAR + 1, FIRST_YEAR + 255)] | None
    source: str | None
    rollout_temperature: Annotated[float, Above(0)]
    reply_share: Annotated[float, Between(0, 1)]
    mercy: Annotated[int, AtLeast(0)]
    temperature: Annotated[float, AtLeast(0)]
    seed: Annotated[int, AtLeast(0)]
    seconds: Annotated[float, AtLeast(0)] | None
    simulations: Annotated[int, AtLeast(1)] | None
    search: SearchParams

    def __post_init__(self) -> None:
        check_engine(self.engine, self.device)
        check_conditions(self.rank, self.source)
        if self.search.deterministic and self.simulations is None:
            raise OptionError(
                "search.deterministic=true wants simulations=, "
                "as what fits into seconds differs each time"
            )
        if self.seconds is None and self.simulations is None:
            raise OptionError(
                "seconds and simulations are null: thinking about a move would never end"
            )


@dataclass(frozen=True)
class GtpOptions(ThinkerOptions):
    """Options of `play_gtp.py`."""

    resign: Annotated[float, Between(-1, 1)] | None
    resign_turns: Annotated[int, AtLeast(1)]
    lag: Annotated[float, AtLeast(0)]
    agreed: bool
    ponder: bool
    boardsize: Annotated[int, Between(2, 19)]
    komi: float
    name: str
    log: str | None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ponder and not self.search.keep_tree:
            raise OptionError(
                "ponder=true with search.keep_tree=false: what was thought on the opponent's time "
                "would be forgotten; leave one of the two out"
            )


T = TypeVar("T", bound=ThinkerOptions)


def read_options(kind: type[T], values: dict[str, Any]) -> T:
    """Return the options of a script from its whole configuration.

    - `threads` 0 becomes the number of cores.
    - The search takes the script's threads and seed, unless it has its own.
    - A deterministic search ends by its simulations, so `seconds` becomes None.

    Raises `OptionError`; no file is looked for yet.
    """
    options = read(kind, {**values, "search": SearchParams()})
    threads = options.threads or available_cores()
    search = search_params(values.get("search") or {}, threads, options.seed)
    seconds = None if search.deterministic else options.seconds
    return replace(options, threads=threads, search=search, seconds=seconds)


def search_params(group: Any, threads: int, seed: int) -> SearchParams:
    """Return the parameters of a group of conf/search; raises `OptionError`."""
    if isinstance(group, dict):
        group = {"threads": threads, "seed": seed, **group}
        group.pop("_target_", None)
    try:
        return make(SearchParams, group, "search")
    except Mistake as error:  # of the parameters' own checks
        raise OptionError(str(error)) from None


def check_conditions(rank: str | None, source: str | None) -> None:
    """Raise `OptionError` for what is no rank and no place where games are played."""
    if rank is not None and to_rank(rank) == 0:
        raise OptionError(f"rank={rank}: a rank is expected, such as 3k, 6d or 2p")
    if source is not None and source not in SOURCES:
        raise OptionError(f"source={source}: one of {', '.join(SOURCES)}")


def check_engine(engine: str, device: str) -> None:
    """Raise `OptionError` for an unknown engine or device of nets."""
    if (engine, device) == ("auto", "auto"):
        return  # importing the names takes a second
    from models.answering.engines import DEVICES, ENGINES

    if engine not in ENGINES:
        raise OptionError(f"engine={engine}: one of {', '.join(ENGINES)}")
    if not DEVICES.fullmatch(device):
        raise OptionError(f"device={device}: auto, cpu, cuda, cuda:1 or mps")
