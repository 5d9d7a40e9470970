"""Linear maps that follow one another, as one map."""

from __future__ import annotations

import dataclasses

import numpy as np

from ._graph import Affine, Graph, Linear, Node, Numbers, Reshaped

MOST_WEIGHTS = 2**24
"""Larger layers are left as they are."""


def merged(graph: Graph) -> tuple[Graph, list[int]]:
    """The graph with dense layers that have the linear map before them in their weights, such as a
    pooling, which takes a map and a level less; and which of its nodes are left.

    A map is merged if nothing else takes its result, and if the layer has no more rows than it and
    its operand have values: then the map that results has as many diagonals as the layer.
    """
    users = graph.users()
    nodes: list[Node | None] = list(graph.nodes)
    for number, node in enumerate(graph.nodes):
        if not isinstance(node, Linear):
            continue
        between = [number]
        while isinstance(graph.nodes[first := graph.nodes[between[-1]].inputs[0]], Reshaped):
            between.append(first)
        before = nodes[first]
        alone = all(len(users[graph.nodes[i].inputs[0]]) == 1 for i in between)
        if not isinstance(before, Affine) or not alone:
            continue
        operand = graph.nodes[before.inputs[0]].size
        if node.size > min(before.size, operand) or node.size * operand > MOST_WEIGHTS:
            continue
        entries, bias = before.entries(), node.bias
        weight: Numbers = np.zeros((node.size, operand))
        np.add.at(weight.T, entries.columns, (node.weight[:, entries.rows] * entries.values).T)
        if before.bias is not None:
            moved = node.weight @ before.bias.reshape(-1)
            bias = moved if bias is None else bias + moved
        nodes[number] = dataclasses.replace(node, inputs=before.inputs, weight=weight, bias=bias)
        for i in (*between[1:], first):
            nodes[i] = None
    return _without_gaps(nodes)


def _without_gaps(nodes: list[Node | None]) -> tuple[Graph, list[int]]:
    """A graph of the nodes that are left, with new numbers, and their old ones."""
    number_of: dict[int, int] = {}
    out: list[Node] = []
    for number, node in enumerate(nodes):
        if node is not None:
            number_of[number] = len(out)
            inputs = tuple(number_of[i] for i in node.inputs)
            out.append(dataclasses.replace(node, inputs=inputs))
    return Graph(tuple(out)), list(number_of)
