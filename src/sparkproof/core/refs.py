"""References: what a user types to name a wheel, tree, image, checkpoint, server, host, recipe.

Parsing looks at the text only, never at the disk: ``vllm`` is a requirement and ``./vllm``
a path, whatever lies in the current folder.
"""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

from sparkproof.core.errors import UsageError

_SCHEME = re.compile(r"([a-z]+):(?!//)(.*)\Z", re.DOTALL)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://")
_USERINFO = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,30}://)[^/?#\s]*@")
_QUERY = re.compile(r"[?#].*", re.DOTALL)
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_REQUIREMENT = re.compile(
    rf"(?P<name>{_NAME})\s*(?:\[[^\]]*\])?\s*"
    r"(?P<spec>\(?(?:(?:===|~=|==|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+\s*,?\s*)*\)?)\s*"
    r"(?:;(?P<marker>.*))?\Z",
    re.DOTALL,
)
_DIRECT = re.compile(rf"(?P<name>{_NAME})\s*(?:\[[^\]]*\])?\s*@\s*(?P<url>\S+)\s*(?:;.*)?\Z")
_SDIST_SUFFIXES = (".tar.gz", ".tgz")
_FILE_ENDING = re.compile(
    r".*\.(?:md|rst|txt|json|toml|log|html|pdf|zip|tar|xz|bz2|zst|so|ptx|cubin|fatbin|safetensors"
    r"|gguf|bin|pt|pth)\Z",
    re.DOTALL | re.IGNORECASE,
)
"""Of bare words that are hardly ever a package, as ``ruamel.yaml`` and ``discord.py`` are."""
_VERSION = re.compile(r"v?(?P<number>\d+(?:\.\d+)*(?:\.?(?:a|b|rc|post|dev)\d+)*)\Z")
_MAX_CHARS = 4096
CONTAINER = "container:"
"""Before the name of a container: stands for the image that it was made from."""


class RefKind(StrEnum):
    """What sort of thing a ref names."""

    WHEEL = "wheel"
    TREE = "tree"
    IMAGE = "image"
    CHECKPOINT = "checkpoint"
    SERVER = "server"
    HOST = "host"
    RECIPE = "recipe"


class RefForm(StrEnum):
    """How it names it."""

    PATH = "path"
    URL = "url"
    REQUIREMENT = "requirement"
    FILENAME = "filename"
    """A full wheel file name, without a folder: one artifact among those of its version."""
    NAME = "name"
    """An image, checkpoint or host name, for the adapter of its kind to understand."""


class Ref(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A parsed reference.

    Attributes:
        value: path, URL, requirement or name without the kind's prefix. A URL keeps its
            credentials: never print or store it, take `display`.
        explicit: the user wrote the kind's prefix.
    """

    kind: RefKind
    form: RefForm
    value: str
    explicit: bool = False

    @property
    def display(self) -> str:
        """What the user typed, without credentials."""
        text = redact_url(self.value)
        return f"{self.kind}:{text}" if self.explicit else text

    def __repr__(self) -> str:
        return f"Ref({self.kind.value}, {self.form.value}, {self.display!r})"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        return [("ref", self.display)]


def redact_url(text: str) -> str:
    """The text with every URL in it stripped of user, password, query and fragment."""
    return re.sub(r"\S+", _without_query, _USERINFO.sub(r"\1", text))


def _without_query(word: re.Match[str]) -> str:
    before, mark, address = word[0].partition("://")
    return before + mark + _QUERY.sub("", address) if mark else word[0]


def parse_ref(text: str, default: RefKind = RefKind.WHEEL) -> Ref:
    """Parse a reference.

    Args:
        text: ``wheel:vllm==0.33.0``, ``tree:/opt/venv``, ``./x.whl``, a URL …
        default: kind of a bare text whose form does not tell.

    Raises:
        UsageError: empty, too long, or not what its kind takes.
    """
    text = text.strip()
    if not text or len(text) > _MAX_CHARS or "\0" in text:
        raise UsageError("the reference is empty or too long", hint="e.g. vllm==0.33.0")
    if text.startswith(CONTAINER):
        return Ref(RefKind.IMAGE, RefForm.NAME, text)
    prefix = _SCHEME.match(text)
    if prefix and prefix[1] in RefKind._value2member_map_:
        kind, value, explicit = RefKind(prefix[1]), prefix[2].strip(), True
    else:
        kind, value, explicit = default, text, False
    if not value:
        raise UsageError(f"`{text}` names nothing", hint=f"write {kind}: and what it is")
    if kind in (RefKind.WHEEL, RefKind.TREE):
        return _artifact_ref(kind, value, explicit=explicit)
    return Ref(kind, _loose_form(value), value, explicit)


def requirement_parts(value: str) -> tuple[str, str]:
    """Name and version specifiers of a requirement: ``("vllm", "==0.33.0")``.

    Raises:
        UsageError: it is none.
    """
    match = _REQUIREMENT.match(value)
    if not match:
        raise UsageError(
            f"`{redact_url(value)}` is no requirement, path or URL", hint="e.g. vllm==0.33.0"
        )
    spec = re.sub(r"[\s()]", "", match["spec"]).rstrip(",")
    return match["name"], spec


def requirement_marker(value: str) -> str:
    """What stands behind ``;`` in a requirement ("" for nothing).

    Raises:
        UsageError: it is none.
    """
    requirement_parts(value)
    match = _REQUIREMENT.match(value)
    return (match["marker"] or "").strip() if match else ""


def _artifact_ref(kind: RefKind, value: str, *, explicit: bool) -> Ref:
    direct = _DIRECT.match(value)
    if direct and (_URL.match(direct["url"]) or direct["url"].startswith("file:")):
        value = direct["url"]
    if _URL.match(value) or value.startswith("file:"):
        return _url_ref(kind, value, explicit=explicit)
    lowered = value.lower()
    if lowered.endswith(_SDIST_SUFFIXES) and not explicit:
        kind = RefKind.TREE
    if lowered.endswith(".whl") and "/" not in value and kind is RefKind.WHEEL:
        return Ref(kind, RefForm.FILENAME, value, explicit)
    if kind is RefKind.TREE or _looks_like_path(value):
        return Ref(kind, RefForm.PATH, value, explicit)
    requirement_parts(value)
    if (version := _VERSION.match(value)) and not explicit:
        raise UsageError(
            f"`{value}` is a version, and the package is not named",
            hint=f"vllm=={version['number']}",
        )
    if _FILE_ENDING.match(value) and not explicit:
        raise UsageError(
            f"`{value}` looks like a file, and files are named with their folder",
            hint=f"./{value}, or wheel:{value} for a package of that name",
        )
    return Ref(kind, RefForm.REQUIREMENT, value, explicit)


def _url_ref(kind: RefKind, value: str, *, explicit: bool) -> Ref:
    scheme = value.split(":", 1)[0].lower()
    shown = redact_url(value)
    if scheme not in ("http", "https", "file"):
        raise UsageError(
            f"`{shown}`: {scheme} addresses can't be read without running other programs",
            hint="give an http, https or file address of a wheel or .tar.gz",
        )
    path = re.split(r"[?#]", value, maxsplit=1)[0].lower()
    if path.endswith(_SDIST_SUFFIXES):
        kind = RefKind.TREE
    elif scheme != "file" and not path.endswith(".whl"):
        raise UsageError(
            f"`{shown}` is the address of neither a wheel nor a .tar.gz",
            hint="an index address belongs in pip's configuration; name the package here",
        )
    return Ref(kind, RefForm.URL, value, explicit)


def _looks_like_path(value: str) -> bool:
    return value.startswith((".", "/", "~")) or "/" in value or value.endswith((".whl", ".tar.gz"))


def _loose_form(value: str) -> RefForm:
    if _URL.match(value):
        return RefForm.URL
    return RefForm.PATH if value.startswith((".", "/", "~")) else RefForm.NAME
