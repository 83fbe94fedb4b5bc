"""Words that name some package of an index, and no release of vLLM."""

from __future__ import annotations

from packaging.utils import canonicalize_name

from sparkproof.core.errors import UsageError
from sparkproof.core.refs import RefForm, parse_ref, requirement_parts

_PACKAGE = "vllm"


def refuse_bare_word(reference: str) -> None:
    """Refuse ``latest``, ``nightly`` and the like, before a stranger's package is fetched for it.

    A fork's package is taken with its version, or by its kind: ``wheel:NAME``.

    Raises:
        UsageError: a bare word that is not vLLM's package.
    """
    ref = parse_ref(reference)
    if ref.explicit or ref.form is not RefForm.REQUIREMENT:
        return
    name, specifier = requirement_parts(ref.value)
    if specifier or canonicalize_name(name) == _PACKAGE:
        return
    raise UsageError(
        f"`{reference}` names no release of vLLM",
        hint=f"a version (vllm==0.33.0), vllm for the newest on pip's indexes, an image "
        f"(image:vllm/vllm-openai:{name}), a wheel or a folder",
    )
