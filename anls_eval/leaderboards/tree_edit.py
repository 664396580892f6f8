"""The exact edit distance of ordered labelled trees (Zhang and Shasha), with arrays in place of loops over nodes.

Source: K. Zhang, D. Shasha, Simple Fast Algorithms for the Editing Distance between Trees and Related Problems, 1989.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

_SMALL = 500  # nodes of a tree whose subtrees are grouped by depth alone
_MAX_CELLS = 1 << 20  # of the tables that are computed at once


class Tree(NamedTuple):
    """An ordered tree in postorder."""

    labels: list[str]
    leftmost: list[int]  # of each node, the first node of its subtree


class _Keyroots(NamedTuple):
    """Subtrees that are computed at once: none is inside another."""

    roots: Integers  # shape (k,)
    nodes: Integers  # shape (k, longest): the nodes of each subtree; the last one is repeated where it is shorter
    is_spine: npt.NDArray[np.bool_]  # shape (k, longest): starts with the same leaf as the subtree
    before: Integers  # shape (k, longest): how many nodes of the subtree stand before that of the node


def tree_distance(one: Tree, other: Tree, removals: Integers, insertions: Integers, changes: Integers) -> int:
    """Return the least cost of removals (n,), insertions (m,) and changes (n, m) that turn one tree into the other."""
    distances = np.zeros((len(removals), len(insertions)), dtype=np.int64)
    others = list(_keyroots(other))
    for own in _keyroots(one):
        for theirs in others:
            for part in _parts(own, theirs):
                _fill(distances, part, theirs, removals, insertions, changes)
    return int(distances[-1, -1])


def _keyroots(tree: Tree) -> Iterator[_Keyroots]:
    """Yield the nodes with a sibling to the left, and the root, from the innermost on, in groups."""
    leftmost = tree.leftmost
    roots = sorted({start: node for node, start in enumerate(leftmost)}.values())
    groups: dict[tuple[int, int], list[int]] = collections.defaultdict(list)
    depth_at: list[tuple[int, int]] = []  # the outermost subtrees so far, and how many are nested in each
    for root in roots:
        depth = 0
        while depth_at and depth_at[-1][0] >= leftmost[root]:
            depth = max(depth, depth_at.pop()[1] + 1)
        depth_at.append((root, depth))
        # In large trees, subtrees of like size: a group takes the room of its largest one for each.
        like = (root - leftmost[root]).bit_length() if len(leftmost) > _SMALL else 0
        groups[depth, like].append(root)
    starts = np.array(leftmost, dtype=np.int64)
    for key in sorted(groups):
        own = np.array(groups[key], dtype=np.int64)
        first = starts[own][:, None]
        nodes = np.minimum(first + np.arange(int((own[:, None] - first).max()) + 1), own[:, None])
        yield _Keyroots(own, nodes, starts[nodes] == first, starts[nodes] - first)


def _parts(own: _Keyroots, theirs: _Keyroots) -> Iterable[_Keyroots]:
    """Cut a group so that its tables have a bounded size."""
    cells = (own.nodes.shape[1] + 1) * theirs.nodes.size
    step = max(1, _MAX_CELLS // cells)
    for start in range(0, len(own.roots), step):
        cut = slice(start, start + step)
        yield _Keyroots(own.roots[cut], own.nodes[cut], own.is_spine[cut], own.before[cut])


def _fill(
    distances: Integers,
    own: _Keyroots,
    theirs: _Keyroots,
    removals: Integers,
    insertions: Integers,
    changes: Integers,
) -> None:
    """Fill in the distances of all subtrees that begin with the first leaf of these ones."""
    k, longest = own.nodes.shape
    count, width = theirs.nodes.shape
    inserted = np.zeros((count, width + 1), dtype=np.int64)
    np.cumsum(insertions[theirs.nodes], axis=1, out=inserted[:, 1:])
    # Row r holds the distances of the first r nodes of each subtree to the first nodes of each of theirs, less what
    # inserting those costs: then inserting from left to right is the minimum so far.
    tables = np.zeros((longest + 1, k, count, width + 1), dtype=np.int64)
    # A node is changed into one that starts with the same leaf, or its whole subtree into another.
    of_changes = own.is_spine.T[:, :, None, None] & theirs.is_spine
    nodes = own.nodes.T[:, :, None, None], theirs.nodes
    rows = np.where(of_changes, np.arange(longest)[:, None, None, None], own.before.T[:, :, None, None])
    columns = np.where(of_changes, np.arange(width), theirs.before)
    costs = np.where(of_changes, changes[nodes], distances[nodes])
    costs += inserted[np.arange(count)[:, None], columns] - inserted[:, 1:]
    before = ((rows * k + np.arange(k)[:, None, None]) * count + np.arange(count)[:, None]) * (width + 1) + columns
    removed = removals[own.nodes.T][:, :, None, None]
    for row in range(longest):
        current = tables[row + 1]
        np.add(tables[row], removed[row], out=current)
        kept = tables.take(before[row])
        kept += costs[row]
        np.minimum(current[:, :, 1:], kept, out=current[:, :, 1:])
        np.minimum.accumulate(current, axis=2, out=current)
    mine, their = np.nonzero(own.is_spine & _is_first(own)), np.nonzero(theirs.is_spine & _is_first(theirs))
    values = tables[mine[1][:, None] + 1, mine[0][:, None], their[0], their[1] + 1] + inserted[their[0], their[1] + 1]
    distances[own.nodes[mine][:, None], theirs.nodes[their]] = values


def _is_first(group: _Keyroots) -> npt.NDArray[np.bool_]:
    """Return where a node stands for the first time, and not as a filler of a shorter subtree."""
    return np.diff(group.nodes, axis=1, prepend=-1) > 0
