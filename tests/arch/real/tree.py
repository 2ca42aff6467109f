# SPDX-License-Identifier: MIT
"""Deterministic work of many kinds for the python3 of each processor: a tree, recursion, text, and modules compiled from source."""

import json
import re


class Node:
    def __init__(self, key):
        self.key, self.left, self.right = key, None, None


def insert(node, key):
    if node is None:
        return Node(key)
    if key < node.key:
        node.left = insert(node.left, key)
    else:
        node.right = insert(node.right, key)
    return node


def keys_of(node):
    return [] if node is None else keys_of(node.left) + [node.key] + keys_of(node.right)


def main():
    root, x = None, 1
    for _ in range(2000):
        x = x * 1103515245 + 12345 & 0x7FFFFFFF
        root = insert(root, x)
    keys = keys_of(root)
    text = json.dumps({str(key): [key, str(key) * 3] for key in keys})
    print(len(keys), sum(keys), len(text), len(re.findall("[0-9]+1", text)), len(bytearray(100000)), len(json.loads(text)))


main()
