"""Trees of source with one file damaged, as hypothesis draws it."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st


def flipped_or_cut(tree: Mapping[str, bytes], path: str, data: st.DataObject) -> dict[str, bytes]:
    """One bit of the file is another, or its end is missing."""
    original = tree[path]
    position = data.draw(st.integers(0, len(original) - 1))
    changed = bytearray(original)
    if data.draw(st.booleans()):
        del changed[position:]
    else:
        changed[position] ^= 1 << data.draw(st.integers(0, 7))
    return {**tree, path: bytes(changed)}


def reordered(tree: Mapping[str, bytes], path: str, data: st.DataObject) -> dict[str, bytes]:
    """One line of the file is moved, doubled or dropped."""
    lines = tree[path].splitlines(keepends=True)
    first = data.draw(st.integers(0, len(lines) - 1))
    second = data.draw(st.integers(0, len(lines) - 1))
    kind = data.draw(st.sampled_from(["swap", "drop", "double"]))
    if kind == "swap":
        lines[first], lines[second] = lines[second], lines[first]
    elif kind == "drop":
        del lines[first]
    else:
        lines.insert(first, lines[second])
    return {**tree, path: b"".join(lines)}
