"""Write the published JSON schemas: ``python -m sparkproof.cli.schemas FOLDER``.

Each module of `sparkproof.core.results` says in ``DOCUMENTS`` which command answers with
which payload; the envelope, receipts and deployments are added here.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from pathlib import Path
from typing import Any

import msgspec

from sparkproof.core import results
from sparkproof.core.deployment import Deployment
from sparkproof.core.receipt import RECEIPT_SCHEMA, Receipt
from sparkproof.core.report import Report, schema_name

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_ATTRIBUTE = re.compile(r"^    (?P<name>\w+): (?P<text>.*\n(?: {8,}.*\n)*)", re.MULTILINE)
_DEPLOYMENT = "sparkproof/deployment/1"


def documents() -> dict[str, Any]:
    """Payload type by command: every document that ``--json`` can give, but the bare error."""
    found: dict[str, Any] = {}
    for module in pkgutil.iter_modules(results.__path__):
        found |= importlib.import_module(f"{results.__name__}.{module.name}").DOCUMENTS
    return dict(sorted(found.items()))


def schemas() -> dict[str, dict[str, Any]]:
    """JSON Schema by name, as ``sparkproof/wheel/1``."""
    found = {schema_name(name): Report[kind] for name, kind in documents().items()}  # type: ignore[valid-type]
    kinds: dict[str, Any] = {schema_name("error"): Report[None], **found}
    made = {name: _schema(name, kind, constant=name) for name, kind in kinds.items()}
    made[RECEIPT_SCHEMA] = _schema(RECEIPT_SCHEMA, Receipt, constant=RECEIPT_SCHEMA)
    made[_DEPLOYMENT] = _schema(_DEPLOYMENT, Deployment, constant=1)
    return made


def _schema(name: str, kind: Any, *, constant: str | int) -> dict[str, Any]:
    (top,), components = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    title = top["$ref"].rsplit("/", 1)[-1]
    body = components.pop(title)
    body["properties"]["schema"] = {"const": constant}
    body.pop("title", None)
    for part in (body, *components.values()):
        _describe_properties(part)
    return {"$schema": _DIALECT, "$id": name, **body, "$defs": dict(sorted(components.items()))}


def _describe_properties(part: dict[str, Any]) -> None:
    """Move what a docstring says about the attributes to the properties."""
    text, _, attributes = part.get("description", "").partition("\n\nAttributes:\n")
    if text:
        part["description"] = " ".join(text.split())
    for found in _ATTRIBUTE.finditer(attributes + "\n"):
        if found["name"] in part.get("properties", {}):
            part["properties"][found["name"]]["description"] = " ".join(found["text"].split())


def file_name(name: str) -> str:
    """``wheel-1.json`` for ``sparkproof/wheel/1``."""
    return name.removeprefix("sparkproof/").replace("/", "-") + ".json"


def render(schema: dict[str, Any]) -> bytes:
    """The file's bytes."""
    return msgspec.json.format(msgspec.json.encode(schema), indent=1) + b"\n"


def write_schemas(folder: Path) -> None:
    """Write every schema into `folder`, and remove those that no command has any more."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {file_name(name): render(schema) for name, schema in schemas().items()}
    for old in folder.glob("*.json"):
        if old.name not in made:
            old.unlink()
    for name, data in made.items():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    write_schemas(Path(sys.argv[1] if len(sys.argv) > 1 else "schemas"))
