"""What a tree says of its edges: visits, means, most visited lines, the leading moves."""

import numpy as np

from mcts.tree import reading_kernels
from mcts.tree.store_kernels import ROOT, Store

LINE = 64  # moves of a principal line at most
WELL_VISITED = 0.25  # of the visits of the most visited move


def moves_of(store: Store, node: int) -> np.ndarray:
    """MOVE records of a node; the first `opened` have edges."""
    record = store.nodes[node]
    return store.moves[int(record["first"]) : int(record["first"]) + int(record["count"])]


def children(store: Store, node: int) -> list[int]:
    """Edges of the moves that were tried."""
    opened = int(store.nodes["opened"][node])
    edges: list[int] = moves_of(store, node)["edge"][:opened].tolist()
    return edges


def visits_field(store: Store) -> str:
    """The field of an edge that counts its visits."""
    return "n_v" if store.head[0].by_values else "n_r"


def means(store: Store, edges: np.ndarray) -> np.ndarray:
    """Q of edges uint32 from Black's view; NaN if nothing is known."""
    found = np.empty(len(edges))
    reading_kernels.means(store, edges, found)
    return found


def lines(store: Store, edges: np.ndarray) -> list[tuple[int, ...]]:
    """The moves most visited from behind edges uint32 on."""
    moves, lengths = np.empty((len(edges), LINE), np.uint16), np.empty(len(edges), np.uint16)
    reading_kernels.follow(store, edges, moves, lengths)
    return [
        tuple(line[:length]) for line, length in zip(moves.tolist(), lengths.tolist(), strict=True)
    ]


def leaders(store: Store) -> tuple[int, int, bool]:
    """Visits of the two most visited moves of the root, and whether another move is worth more.

    The other move has to be well visited, too.
    """
    head = store.head[0]
    edges = store.edges.view(np.ndarray)[children(store, ROOT)]
    visits = edges[visits_field(store)]
    if not len(visits):
        return 0, 0, False
    first, second = np.sort(np.append(visits, 0))[:-3:-1].tolist()
    well_visited = visits >= max(1, WELL_VISITED * first)
    known = edges[well_visited]
    if not len(known):
        return first, second, False
    colour = int(store.nodes["to_play"][ROOT])
    lam = 0.0 if head.by_values else float(head.lam)
    rolled, valued = (
        colour * known[w] / np.maximum(known[n], 1) for w, n in (("w_r", "n_r"), ("w_v", "n_v"))
    )
    if lam > 0:
        valued = np.where(known["n_v"] > 0, valued, rolled)
    worth = (1 - lam) * valued + lam * rolled
    most_visited = np.flatnonzero(visits[well_visited] == first)
    return first, second, bool(worth.max() > worth[most_visited].max())
