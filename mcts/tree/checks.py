"""Invariants of a tree after a search; a broken one is a bug and raises AssertionError."""

from typing import Any

import numpy as np

from data.game.coords import PASS
from mcts.tree.reading import moves_of
from mcts.tree.store_kernels import ASKED, AWAITED, ROOT, Store


def check_finished(store: Store, *, restricted: bool) -> None:
    """Check that everything begun is finished, visits and results add up, values are in range.

    `restricted`: the root has not all of its moves.
    """
    head: Any = store.head[0]
    nodes, edges = store.nodes[: head.n_nodes], store.edges[: head.n_edges]
    assert head.started == head.finished, "simulations are in flight"
    assert not edges["virtual"].any() and not nodes["virtual"].any(), "virtual loss is left"
    assert not edges["waiting"].any() and not (edges["state"] == ASKED).any(), "a value is awaited"
    assert not (nodes["priors"] == AWAITED).any(), "priors are awaited"
    assert not edges["growing"].any(), "a leaf was to grow and did not"
    assert head.n_wants == 0, "something is wanted that nobody asked a net for"
    for n, w in (("n_r", "w_r"), ("n_v", "w_v")):
        assert (np.abs(edges[w]) <= edges[n] * (1 + 1e-6)).all(), f"{w} is out of range"
    assert (np.abs(edges["value"]) <= 1).all(), "a value is out of range"
    check_structure(store, nodes, edges, restricted)
    for kind in "rv":
        count, total = np.zeros(len(nodes), np.int64), np.zeros(len(nodes))
        np.add.at(count, edges["node"][1:], edges[f"n_{kind}"][1:])
        np.add.at(total, edges["node"][1:], edges[f"w_{kind}"][1:])
        into = edges[nodes["parent"]]
        assert (count + nodes[f"own_{kind}"] == into[f"n_{kind}"]).all(), (
            f"n_{kind} does not add up"
        )
        assert np.allclose(total + nodes[f"own_w{kind}"], into[f"w_{kind}"], atol=1e-3), (
            f"w_{kind} does not add up"
        )
        if (kind == "v") == head.by_values:
            assert (count == nodes["visits"]).all(), (
                "visits of nodes are not those of their children"
            )


def check_structure(store: Store, nodes: np.ndarray, edges: np.ndarray, restricted: bool) -> None:
    """Check that each edge belongs to one move, and that nodes and edges agree on their parents."""
    used = np.zeros(len(edges), np.int64)
    for n in range(len(nodes)):
        moves, opened = moves_of(store, n), int(nodes["opened"][n])
        own = moves["edge"][:opened]
        np.add.at(used, own, 1)
        assert (edges["node"][own] == n).all() and (
            edges["move"][own] == moves["move"][:opened]
        ).all(), "an edge is lost"
        assert not moves["edge"][opened:].any(), "a move that was not tried has an edge"
        assert len(set(moves["move"].tolist())) == len(moves), "a node has a move twice"
        assert (restricted and n == ROOT) or PASS in moves["move"], "a node has no pass"
        assert abs(float(moves["prior"].sum()) - 1) < 1e-3 and (moves["prior"] >= 0).all(), (
            "priors do not sum to 1"
        )
        child = edges["child"][own]
        assert (nodes["parent"][child[child > 0]] == own[child > 0]).all(), (
            "a child does not know its parent"
        )
    assert (used[1:] == 1).all() and used[:1].sum() == 0, "an edge belongs to no move, or to two"
