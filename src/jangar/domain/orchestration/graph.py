"""The dependency graph of steps: order, reachability, cycles."""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """An acyclic graph of steps, by their index in the list. Ties are broken by list order."""

    names: tuple[str, ...]
    needs: tuple[tuple[int, ...], ...]
    dependents: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]
    """Indexes in topological order, the smallest index first among equals."""
    position: tuple[int, ...]
    """Position of each index in `order`."""

    def ancestors(self, index: int) -> frozenset[int]:
        """The direct and indirect dependencies of `index`."""
        return self._reachable(index, self.needs)

    def descendants(self, index: int) -> frozenset[int]:
        """The direct and indirect dependents of `index`."""
        return self._reachable(index, self.dependents)

    @staticmethod
    def _reachable(index: int, edges: tuple[tuple[int, ...], ...]) -> frozenset[int]:
        found: set[int] = set()
        stack = list(edges[index])
        while stack:
            node = stack.pop()
            if node not in found:
                found.add(node)
                stack.extend(edges[node])
        return frozenset(found)


def sequential_needs(count: int) -> tuple[tuple[int, ...], ...]:
    """The edges of a list in which each step depends on the previous one."""
    return tuple((index - 1,) if index else () for index in range(count))


def graph_of(names: Sequence[str], needs: Sequence[Sequence[int]]) -> Graph | None:
    """The graph over these edges, or None if they form a cycle. A dependency named twice counts once."""
    count = len(names)
    edges = tuple(tuple(dict.fromkeys(item)) for item in needs)
    dependents: list[list[int]] = [[] for _ in range(count)]
    for index, item in enumerate(edges):
        for need in item:
            dependents[need].append(index)
    missing = [len(edge) for edge in edges]
    ready = [index for index in range(count) if not missing[index]]
    heapify(ready)
    order: list[int] = []
    while ready:
        index = heappop(ready)
        order.append(index)
        for dependent in dependents[index]:
            missing[dependent] -= 1
            if not missing[dependent]:
                heappush(ready, dependent)
    if len(order) < count:
        return None
    position = [0] * count
    for place, index in enumerate(order):
        position[index] = place
    return Graph(
        names=tuple(names),
        needs=edges,
        dependents=tuple(tuple(item) for item in dependents),
        order=tuple(order),
        position=tuple(position),
    )


def cycles(needs: Sequence[Sequence[int]]) -> list[list[int]]:
    """For each strongly connected component, a shortest cycle through its smallest index, such as `[a, b, a]`."""
    found: list[list[int]] = []
    for component in connected_components(needs):
        start = min(component)
        if len(component) > 1 or start in needs[start]:
            found.append([start, *shortest_path(start, start, needs, within=frozenset(component))])
    return sorted(found)


def shortest_path(
    start: int, end: int, edges: Sequence[Sequence[int]], *, within: frozenset[int]
) -> list[int]:
    """The nodes after `start` on a shortest path to `end`: never empty, even from a node to itself."""
    came_from = {start: start}
    level = [start]
    while level:
        following: list[int] = []
        for node in level:
            for step in edges[node]:
                if step == end:
                    return [*_path_from_start(node, came_from), end]
                if step in within and step not in came_from:
                    came_from[step] = node
                    following.append(step)
        level = following
    raise AssertionError(f"{end} cannot be reached from {start}")


def _path_from_start(node: int, came_from: dict[int, int]) -> list[int]:
    """The path to `node`, without its start."""
    way: list[int] = []
    while came_from[node] != node:
        way.append(node)
        node = came_from[node]
    return way[::-1]


def ancestor_bits(needs: Sequence[Sequence[int]]) -> list[int]:
    """The ancestors of each step as a number, bit by index. Steps of a cycle are each other's ancestors."""
    bits = [0] * len(needs)
    for component in connected_components(needs):
        together = 0
        for index in component:
            for need in needs[index]:
                together |= bits[need] | 1 << need
        for index in component:
            bits[index] = together
    return bits


def connected_components(needs: Sequence[Sequence[int]]) -> list[list[int]]:
    """Strongly connected components, each after the components that it depends on.

    Tarjan's algorithm without recursion: a chain of ten thousand steps must not exhaust the stack.
    """
    found: list[list[int]] = []
    number: dict[int, int] = {}
    lowest: dict[int, int] = {}
    open_: list[int] = []
    placed = [False] * len(needs)
    for root in range(len(needs)):
        if root in number:
            continue
        walk = [(root, iter(needs[root]))]
        number[root] = lowest[root] = len(number)
        open_.append(root)
        while walk:
            index, branches = walk[-1]
            step = next((branch for branch in branches if not placed[branch]), None)
            if step is None:
                walk.pop()
                if walk:
                    above = walk[-1][0]
                    lowest[above] = min(lowest[above], lowest[index])
                if lowest[index] == number[index]:
                    found.append(_close(index, open_, placed))
            elif step in number:
                lowest[index] = min(lowest[index], number[step])
            else:
                number[step] = lowest[step] = len(number)
                open_.append(step)
                walk.append((step, iter(needs[step])))
    return found


def _close(index: int, open_: list[int], placed: list[bool]) -> list[int]:
    """Remove the component that starts at `index` from the open steps."""
    component: list[int] = []
    while not placed[index]:
        component.append(open_.pop())
        placed[component[-1]] = True
    return sorted(component)
