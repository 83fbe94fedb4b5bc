"""What was looked at, with the identity that comparisons use."""

from __future__ import annotations

import msgspec

from sparkproof.core.refs import RefKind


class Subject(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A ref with its resolved identity. Two subjects are the same if their identities are.

    Attributes:
        ref: what the user typed, without credentials.
        identity: ``sha256:<hex>`` of the file; for an installed tree ``record:<hex>`` (digest
            of its RECORD), for a checkout ``git:<commit>``, for any other folder
            ``listing:<hex>`` (digest of paths and sizes, not of contents); for a checkpoint
            ``hub:<repository>@<commit>`` or ``metadata:<hex>`` (digest of its configs and of
            its shards' names and sizes).
        name: distribution name ("" if it doesn't tell).
        version: of the distribution.
        filename: of the wheel or sdist.
        sha256: lower-case hex ("" for trees).
        verified: the hash was computed here; else it is the index's word.
        size_bytes: of the file; 0 for trees.
        build_tag: ``1`` for ``vllm-0.21.0-1-…``: another artifact of the same version.
        tags: wheel tags, e.g. ``cp38-abi3-manylinux_2_28_aarch64``.
        url: where it came from, without credentials and query ("" for local files).
        notes: what the resolution chose among, or could not tell, one line each.
    """

    kind: RefKind
    ref: str
    identity: str
    name: str = ""
    version: str = ""
    filename: str = ""
    sha256: str = ""
    verified: bool = False
    size_bytes: int = 0
    build_tag: str = ""
    tags: tuple[str, ...] = ()
    url: str = ""
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """``vllm 0.21.0 (build 1)``, or the file name, or what the user typed."""
        if not self.name:
            return self.filename or self.ref
        build = f" (build {self.build_tag})" if self.build_tag else ""
        return f"{self.name} {self.version}".rstrip() + build

    def same_as(self, other: Subject) -> bool:
        """Whether both are the same thing, however they were named."""
        return bool(self.identity) and self.identity == other.identity
