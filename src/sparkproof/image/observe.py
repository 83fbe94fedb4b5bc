"""From the merged layers of an image to what is in it."""

from __future__ import annotations

import csv
import fnmatch
import io
import re
from collections.abc import Iterator

from packaging.utils import canonicalize_name

from sparkproof.core.observations.image import (
    ImageObservation,
    LayerSeen,
    PackageSeen,
    ReplacedSeen,
    ToolSeen,
    VllmSeen,
)
from sparkproof.core.redaction import redact_arguments, redact_environment, redact_text
from sparkproof.facts.image_contents import ImageTool, image_contents
from sparkproof.formats.core_metadata import parse_core_metadata
from sparkproof.formats.image_parts import ImageContents
from sparkproof.formats.layer_plan import DATABASE
from sparkproof.formats.package_stamp import stamped_commit, stamped_version
from sparkproof.formats.python_sites import look_up, package_folders

PACKAGE = "vllm"
_METADATA = re.compile(r"(?P<info>[^/]+\.(?:dist|egg)-info)/(?:METADATA|PKG-INFO)\Z")
_TORCH_CUDA = re.compile(r"^cuda\b[^=\n]*=\s*['\"](?P<value>[0-9.]{1,10})['\"]", re.MULTILINE)
_CUDA_FOLDER = re.compile(r"/(?:cuda-|cu)(?P<value>\d+(?:\.\d+)?)/")
_MAX_COMMAND = 300
_MAX_REPLACED = 200


def observe_image(contents: ImageContents, name: str) -> ImageObservation:
    """Read the merged layers; nothing of the image runs."""
    parts, python = contents.parts, contents.python
    config = parts.config
    packages = tuple(_packages(contents))
    known = {name: number for number, name in enumerate(image_contents().packages)}
    shown = sorted(
        (p for p in packages if p.name in known), key=lambda p: (known[p.name], not p.judged)
    )
    return ImageObservation(
        name=name,
        architecture=config.architecture,
        os=config.os,
        config_digest=parts.config_digest,
        manifest_digest=parts.manifest_digest,
        index_digest=parts.index_digest,
        tags=parts.tags,
        created=config.created,
        env=redact_environment(dict(config.env)),
        labels={key: redact_text(value) for key, value in config.labels},
        entrypoint=redact_arguments(config.entrypoint),
        cmd=redact_arguments(config.cmd),
        workdir=config.workdir,
        distribution=_distribution(contents),
        layers=tuple(_layers(contents)),
        python=python.path,
        python_version=python.version,
        python_told_by=python.told_by,
        python_certain=python.certain,
        sites=python.sites,
        vllms=tuple(_copies(contents, packages)),
        packages=tuple(shown),
        installed={p.name: p.version for p in packages if p.judged},
        tools=tuple(_tools(contents)),
        replaced=tuple(_replaced(contents)),
        torch_cuda=_torch_cuda(contents),
    )


def _layers(contents: ImageContents) -> Iterator[LayerSeen]:
    parts = contents.parts
    for number, fate in enumerate(contents.fates):
        yield LayerSeen(
            digest=parts.config.diff_ids[number],
            stored_bytes=parts.stored_bytes[number],
            size_bytes=fate.size_bytes,
            command=redact_text(" ".join(parts.config.commands[number].split()))[:_MAX_COMMAND],
            skipped=fate.skipped,
        )


def _distribution(contents: ImageContents) -> str:
    text = contents.text("etc/os-release") or contents.text("usr/lib/os-release")
    found = re.search(r'^PRETTY_NAME="?([^"\n]{1,100})', text, re.MULTILINE)
    return found[1] if found else ""


def _packages(contents: ImageContents) -> Iterator[PackageSeen]:
    folders = {*package_folders(contents.stack), *contents.python.sites}
    judged = {item.path for item in contents.site.values()}
    for path in sorted(contents.stack.files):
        match = _METADATA.search(path)
        folder = path[: match.start()].rstrip("/") if match else ""
        if not match or folder not in folders:
            continue
        told = parse_core_metadata(contents.text(path).encode())
        stem = match["info"].rsplit(".", 1)[0].split("-")
        yield PackageSeen(
            name=canonicalize_name(told.name or stem[0]),
            version=told.version or (stem[1] if len(stem) > 1 else ""),
            folder=folder,
            layer=contents.stack.files[path].layer,
            judged=path in judged,
        )


def _copies(contents: ImageContents, packages: tuple[PackageSeen, ...]) -> Iterator[VllmSeen]:
    folders = dict.fromkeys((*contents.python.sites, *package_folders(contents.stack)))
    mine = contents.site.get(f"{PACKAGE}/__init__.py")
    for folder in folders:
        root = f"{folder}/{PACKAGE}/__init__.py"
        if root not in contents.stack.files:
            continue
        stamp = contents.text(f"{folder}/{PACKAGE}/_version.py")
        judged = mine is not None and mine.path == root
        stamped = stamped_version(stamp)
        versions = _versions(packages, folder, judged=judged)
        yield VllmSeen(
            folder=folder,
            version=next((v for v in versions if v == stamped), next(iter(versions), "")),
            stamped=stamped,
            commit=stamped_commit(stamp),
            judged=judged,
            stated=tuple(versions),
        )


def _versions(packages: tuple[PackageSeen, ...], folder: str, *, judged: bool) -> list[str]:
    """What METADATA says of the copy in a folder; of an editable one, METADATA lies elsewhere."""
    found = [p for p in packages if p.name == PACKAGE]
    beside = [p.version for p in found if p.folder == folder]
    return beside or [p.version for p in found if p.judged and judged]


def _tools(contents: ImageContents) -> Iterator[ToolSeen]:
    database = _database(contents) if any(fate.skipped for fate in contents.fates) else {}
    for tool in image_contents().tools:
        found = _tool(contents, tool) or _tool_by_package(contents, tool, database)
        if found:
            yield found


def _tool(contents: ImageContents, tool: ImageTool) -> ToolSeen | None:
    stack, config = contents.stack, contents.parts.config
    homes = [config.variable(name) for name in tool.homes]
    places = [f"{home.strip('/')}/bin/{tool.name}" for home in homes if home]
    places.append(look_up(stack, config, tool.name))
    if tool.default_home:
        places.append(f"{tool.default_home.strip('/')}/bin/{tool.name}")
    for place in filter(None, places):
        if real := stack.find(place):
            return ToolSeen(tool.name, f"/{place}", reachable=True, version=_cuda_of(real))
    ending = f"/bin/{tool.name}"
    for path in sorted(stack.files):
        if f"/{path}".endswith(ending):
            return ToolSeen(tool.name, f"/{path}", reachable=False, version=_cuda_of(path))
    return None


def _tool_by_package(
    contents: ImageContents, tool: ImageTool, database: dict[str, str]
) -> ToolSeen | None:
    for name, version in sorted(database.items()):
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in tool.dpkg):
            path = contents.parts.config.variable("PATH")
            home = tool.default_home or "/usr"
            reachable = bool(tool.homes) or f"{home}/bin" in path.split(":") or not path
            return ToolSeen(tool.name, "", reachable, version, "package database")
    return None


def _database(contents: ImageContents) -> dict[str, str]:
    """Installed packages of the distribution, by the database of dpkg."""
    found = {}
    for block in contents.text(DATABASE).split("\n\n"):
        rows = (row.partition(": ") for row in block.splitlines() if not row.startswith(" "))
        fields = {key: value for key, mark, value in rows if mark}
        if fields.get("Status", "").endswith(" installed"):
            found[fields.get("Package", "")] = fields.get("Version", "")
    return found


def _cuda_of(path: str) -> str:
    return _found(_CUDA_FOLDER, f"/{path}")


def _replaced(contents: ImageContents) -> Iterator[ReplacedSeen]:
    """Files of the judged vLLM that stand in several layers, against its RECORD."""
    records = [p for p in contents.site if re.fullmatch(rf"{PACKAGE}-[^/]+\.dist-info/RECORD", p)]
    if not records:
        return
    record = contents.site[records[0]]
    sizes = _recorded(contents.text(record.path))
    count = 0
    for path, item in contents.site.items():
        below = contents.stack.replaced.get(item.path)
        if not below or not path.startswith(f"{PACKAGE}/") or record.placed.layer not in below:
            continue
        count += 1
        if count > _MAX_REPLACED:
            return
        yield ReplacedSeen(
            path=path,
            layer=item.placed.layer,
            installed=record.placed.layer,
            size_bytes=item.placed.file.size_bytes,
            recorded_bytes=sizes.get(path, 0),
        )


def _recorded(text: str) -> dict[str, int]:
    try:
        rows = list(csv.reader(io.StringIO(text)))
    except csv.Error:
        return {}
    return {row[0]: int(row[2]) for row in rows if len(row) == 3 and row[2].isdecimal()}


def _torch_cuda(contents: ImageContents) -> str:
    item = contents.site.get("torch/version.py")
    return _found(_TORCH_CUDA, contents.text(item.path)) if item else ""


def _found(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match["value"] if match else ""
