"""Searches for so many seconds with few nodes, six times, and prints what the process holds after
each, in megabytes.

python tests/support/long_search.py 60
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from data.game.board import Board
from mcts.search.fakes import FakePolicy, FakeValue
from mcts.search.params import SearchParams
from mcts.search.protocols import Limits
from mcts.search.search import Search

NODES, ANSWERS, PARTS = 2000, 500, 6


def held() -> float:
    """Linux: pages in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    value = FakeValue(lambda own, other: float(own.sum() - other.sum()) / len(own))
    search = Search(
        SearchParams(nodes=NODES, n_thr=2, cache=ANSWERS), policy=FakePolicy(), value=value
    )
    for _ in range(PARTS):
        report = search.think(Board(19), Limits(seconds=float(sys.argv[1]) / PARTS))
        assert search.tree is not None
        search.tree.check_finished()
        assert search.tree.head.n_nodes <= NODES and report.simulations > 1000
        assert all(len(cache) <= ANSWERS for cache in search.parts.caches.values())
        print(f"{held():.1f}", flush=True)
    search.close()


if __name__ == "__main__":
    main()
