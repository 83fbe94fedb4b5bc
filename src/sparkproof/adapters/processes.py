"""Inference servers that run on this box, by their command lines."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

_HERE = Path("/proc")
_MOST = 20_000
"""Processes that are looked at."""
_PROGRAMS = frozenset({"llama-server", "ollama", "trtllm-serve", "tritonserver"})
_MODULES = ("vllm.entrypoints", "sglang.launch_server")


def find_servers(proc: Path = _HERE) -> tuple[str, ...]:
    """What stands for each server, ``vllm serve /models/x``; none where nothing can be seen.

    Command lines hold keys, so that no more than program and model is ever told.
    """
    found: list[str] = []
    try:
        folders = sorted(item for item in proc.iterdir() if item.name.isdigit())[:_MOST]
    except OSError:
        return ()
    for folder in folders:
        try:
            words = (folder / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        except OSError:  # it ended meanwhile, or belongs to somebody else
            continue
        told = _server(words)
        if told:
            found.append(told)
    return tuple(dict.fromkeys(found))


def _server(words: list[str]) -> str:
    names = [PurePosixPath(word).name for word in words[:4]]
    for place, name in enumerate(names[:2]):
        if name == "vllm" and names[place + 1 : place + 2] == ["serve"]:
            model = words[place + 2] if len(words) > place + 2 else ""
            return f"vllm serve {model}" if model and not model.startswith("-") else "vllm serve"
        if name in _PROGRAMS:
            return name
    for word in words[1:4]:
        if word.startswith(_MODULES):
            return word
    return ""
