"""Where a vLLM release keeps what selects its kernels: hints, dated, as data."""

from __future__ import annotations

from datetime import date
from functools import cache
from importlib.resources import files

import msgspec


class OracleLayout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One selection function.

    Attributes:
        places: ``module:function``, tried in order.
        enum: name of the backend enumeration in the function's module ("" for none).
        dispatch: function there that maps a member to its classes.
        cli: function or dict there that maps the flag's values.
        listed: dict or list there that holds the order.
        ask: what candidate classes are asked first.
        needs_list: the function means this oracle only in releases that bind `listed`.
        assume: settings that are fixed while the function is read.
        assume_none: settings that are taken as not given.
        callers: modules whose call of the function fixes arguments, by quantization method.
        stands_for: backend names to the class that other releases have for the same.
        shared_enum: the enumeration serves other oracles too; only what is listed or named by
            a flag belongs to this one.
        token: younger than the oldest release: where neither the place nor a module beside it
            mentions this word, the release has no such oracle.
    """

    id: str
    flag: str
    places: tuple[str, ...]
    ask: str
    enum: str = ""
    dispatch: str = ""
    cli: str = ""
    listed: str = ""
    needs_list: bool = False
    assume: dict[str, bool] = {}
    assume_none: tuple[str, ...] = ()
    stands_for: dict[str, str] = {}
    callers: dict[str, tuple[str, ...]] = {}
    shared_enum: bool = False
    token: str = ""


class PinnedLayout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A loader class that names its kernel itself.

    Attributes:
        quant_method: the checkpoint's method, or how its name begins.
        place: ``module:Class``.
        marks: names whose use in the class tells the kernel, and the kernel's class.
        asks: selection functions; a class that calls one of them names no kernel itself.
    """

    oracle: str
    scheme: str
    quant_method: str
    place: str
    marks: dict[str, str]
    asks: tuple[str, ...] = ()


class AttentionLayout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How attention backends are ordered and asked; places as ``module:symbol``."""

    priorities: str
    enums: tuple[str, ...]
    ask: str
    raises: str


class OptionLayout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the values of one option stand.

    Attributes:
        literal: ``module:Name`` of the type that lists them.
        field: ``module:Class.field`` that holds the default.
        open: other values are taken too.
    """

    flag: str
    literal: str
    field: str
    open: bool = False


class ReleaseLayout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All hints, with where they were taken from and when."""

    source: str
    checked: date
    oracle: tuple[OracleLayout, ...]
    pinned: tuple[PinnedLayout, ...]
    attention: AttentionLayout
    option: tuple[OptionLayout, ...]
    serve_arguments: tuple[str, ...]
    """Functions that register every option of ``vllm serve``, newest first."""
    server_application: tuple[str, ...]
    """Functions that build the server's application, newest first."""
    quant_keys: str
    """``module:Class`` of the constants that name quantization schemes."""
    argument_checks: tuple[str, ...]
    """Folders and files of the package whose errors are about arguments."""
    routing: str
    """``module:function`` that names the method of a router."""


@cache
def load_release_layout() -> ReleaseLayout:
    """The hints as shipped."""
    data = files("sparkproof.facts").joinpath("data/release/layout.toml").read_bytes()
    return msgspec.toml.decode(data, type=ReleaseLayout)


class ForeignConstants(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Constants of other packages by dotted name, with what they hold."""

    source: str
    checked: date
    constants: dict[str, str | int | bool]


@cache
def foreign_constants() -> dict[str, str | int | bool]:
    """The constants as shipped."""
    data = files("sparkproof.facts").joinpath("data/release/foreign.toml").read_bytes()
    return msgspec.toml.decode(data, type=ForeignConstants).constants
