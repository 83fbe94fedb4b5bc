"""One door to a checkpoint: a folder, a config.json, or a repository on a hub."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from sparkproof.adapters.cache import ArtifactCache
from sparkproof.adapters.checkpoint_cache import CheckpointCache
from sparkproof.adapters.checkpoint_local import LocalCheckpoint, find_local
from sparkproof.core.errors import FormatError, UnreachableError
from sparkproof.core.ports import CheckpointSource, Progress
from sparkproof.core.refs import RefForm, RefKind, parse_ref
from sparkproof.formats.safetensors import ShardHeader, read_header

_CONNECTIONS = 8


def open_checkpoint(
    reference: str, *, offline: bool = False, cache: ArtifactCache | None = None
) -> CheckpointSource:
    """Open what a reference names; what lies here comes first, as with vLLM.

    Args:
        reference: a folder, a config.json, ``org/name``, ``org/name@revision`` or its page;
            a name alone is a folder.
        offline: ask nobody.

    Raises:
        UsageError: it can name no checkpoint.
        UnreachableError: there is none, or it can't be had; one line with the way out.
    """
    ref = parse_ref(reference, RefKind.CHECKPOINT)
    if ref.form is not RefForm.URL:
        found = find_local(ref)
        if found is not None:
            return found
    lies_here = ref.form is not RefForm.URL and "/" not in ref.value
    if lies_here or ref.form is RefForm.PATH or ref.value.endswith((".json", ".safetensors", "/")):
        raise UnreachableError(
            f"no checkpoint at `{ref.display}`",
            hint="name a folder with config.json, the file itself, or a repository as ORG/NAME",
        )
    # An HTTP client takes a tenth of what a command on local files does.
    from sparkproof.adapters.checkpoint_hub import open_hub, parse_hub_name  # noqa: PLC0415

    return open_hub(ref, parse_hub_name(ref), offline=offline, cache=CheckpointCache(cache))


def read_headers(
    source: CheckpointSource, names: Iterable[str], progress: Progress
) -> tuple[list[ShardHeader], list[FormatError]]:
    """The headers of these shards, in their order, and what is wrong with the others.

    Shards on a hub are read a few at a time.

    Raises:
        UnreachableError: the source went away.
    """

    def read(name: str) -> ShardHeader | FormatError:
        opened = source.open(name)
        try:
            return read_header(opened, name)
        except FormatError as error:
            return error
        finally:
            opened.close()
            progress.advance(1)

    listed = list(names)
    progress.start("reading headers", len(listed))
    try:
        if isinstance(source, LocalCheckpoint):
            found = [read(name) for name in listed]
        else:
            with ThreadPoolExecutor(_CONNECTIONS) as pool:
                found = list(pool.map(read, listed))
    finally:
        progress.finish()
    headers = [item for item in found if isinstance(item, ShardHeader)]
    return headers, [item for item in found if isinstance(item, FormatError)]
