"""Which Python an image runs, and in which order it looks for packages.

Rules: CPython documentation, `site` (venv, user site, ``.pth``) and `sys.path` initialisation;
Debian Python Policy (``dist-packages``); setuptools' finders of editable installations, which are
asked last; checked 2026-11-30.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

import msgspec

from sparkproof.core.errors import FormatError
from sparkproof.formats.editable import imported_finders, parse_finder
from sparkproof.formats.layer_merge import LayerStack
from sparkproof.formats.oci import ImageConfig

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SITE = re.compile(r"(?P<root>.*/python3(?:\.\d+)?/(?:site|dist)-packages)/")
_PYTHON = re.compile(r"python(?P<version>3\.\d+)\Z")
_PYTHON_WORD = re.compile(r"python(?:3(?:\.\d+)?)?\Z")
_LIB = re.compile(r"/lib(?:64)?/python(?P<version>3\.\d+)/")
_SHELL_EXEC = re.compile(rb"'''exec' \"?(?P<path>/[^\s\"']+python[^\s\"']*)")
_SCRIPT_LIMIT = 4096
_SHELL_WORDS = ("sh", "bash", "dash", "env", "exec", "tini", "dumb-init")


class PythonView(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The interpreter, and where it looks.

    Attributes:
        path: of the interpreter as it is called, from the root; "" if it could not be told.
        version: ``major.minor``; "" if it could not be told.
        sites: folders in the order of ``sys.path``, without a leading slash.
        told_by: the script, entry point or rule that told.
        certain: False where it is only the one that the path finds first.
    """

    path: str = ""
    version: str = ""
    sites: tuple[str, ...] = ()
    told_by: str = ""
    certain: bool = False


def search_path(config: ImageConfig) -> tuple[str, ...]:
    """Folders of ``PATH``, in order, without a leading slash."""
    text = config.variable("PATH") or DEFAULT_PATH
    return tuple(item.strip("/") for item in text.split(":") if item.startswith("/"))


def look_up(stack: LayerStack, config: ImageConfig, program: str) -> str:
    """The path at which a program is found, as a shell would; "" if nowhere.

    Args:
        program: a name, or an absolute path.
    """
    if program.startswith("/"):
        return program.strip("/") if stack.find(program) else ""
    for folder in search_path(config):
        if stack.find(f"{folder}/{program}"):
            return f"{folder}/{program}"
    return ""


def package_folders(stack: LayerStack) -> tuple[str, ...]:
    """Every site-packages and dist-packages with something that matters in it."""
    found = {match["root"] for path in stack.files if (match := _SITE.match(path))}
    return tuple(sorted(found))


def find_python(stack: LayerStack, config: ImageConfig) -> PythonView:
    """The interpreter that would run vLLM, and its path of packages."""
    for program, told_by, certain in _calls(stack, config):
        path = look_up(stack, config, program)
        if path:
            version, sites = _sites(stack, config, path)
            sites = list(_with_pth(stack, _before(stack, config), sites))
            return PythonView(f"/{path}", version, tuple(sites), told_by, certain)
    roots = package_folders(stack)
    if len(roots) == 1:
        found = _LIB.search(f"/{roots[0]}/")
        version = found["version"] if found else ""
        return PythonView("", version, roots, "the only folder of packages", certain=True)
    return PythonView("", "", roots, "no interpreter on the path", certain=False)


def _calls(stack: LayerStack, config: ImageConfig) -> Iterator[tuple[str, str, bool]]:
    """Interpreters by what calls them, surest first."""
    words = [word for word in (*config.entrypoint, *config.cmd) if word]
    first = next((w for w in words if posixpath.basename(w) not in _SHELL_WORDS), "")
    if _PYTHON_WORD.match(posixpath.basename(first)):
        yield first, f"the image starts `{' '.join(words)[:80]}`", True
    script = look_up(stack, config, first if posixpath.basename(first) == "vllm" else "vllm")
    if script:
        called = _shebang(stack, script)
        if called:
            yield called, f"first line of /{script}", True
    for name in ("python3", "python"):
        yield name, f"`{name}` on the path", False


def _shebang(stack: LayerStack, script: str) -> str:
    """The interpreter of a script: a path, or a name for ``env`` to look up."""
    placed = stack.files.get(stack.find(script))
    if placed is None or placed.file.text is None:
        return ""
    data = placed.file.read()[:_SCRIPT_LIMIT]
    if not data.startswith(b"#!"):
        return ""
    line = data[2:].split(b"\n", 1)[0].decode(errors="replace").split()
    if not line:
        return ""
    if posixpath.basename(line[0]) == "env":
        return next((word for word in line[1:] if not word.startswith("-") and "=" not in word), "")
    if posixpath.basename(line[0]) in _SHELL_WORDS:
        found = _SHELL_EXEC.search(data)
        return found["path"].decode(errors="replace") if found else ""
    return line[0]


def _sites(stack: LayerStack, config: ImageConfig, python: str) -> tuple[str, list[str]]:
    """Version and folders of packages, for an interpreter as it is called."""
    prefix, venv = _virtual(stack, python)
    real = stack.find(python)
    version = _version(stack, posixpath.basename(real), prefix)
    if venv:
        sites = [f"{prefix}/lib/python{version}/site-packages"]
        if venv.get("include-system-site-packages", "").lower() == "true":
            home = venv.get("home", "/usr/bin").strip("/")
            sites += _system_sites(posixpath.dirname(home), version)
        return version, sites
    user = config.variable("HOME").strip("/") or (
        "root" if config.user in ("", "0", "root") else ""
    )
    sites = [f"{user}/.local/lib/python{version}/site-packages"] if user else []
    return version, sites + _system_sites(posixpath.dirname(posixpath.dirname(real)), version)


def _virtual(stack: LayerStack, python: str) -> tuple[str, dict[str, str]]:
    """Prefix and ``pyvenv.cfg`` of the environment that the interpreter is called in, if any."""
    folder = posixpath.dirname(python)
    prefix = stack.resolve(posixpath.dirname(folder))
    placed = stack.files.get(f"{prefix}/pyvenv.cfg")
    if placed is None or placed.file.text is None:
        return prefix, {}
    rows = placed.file.read()[:_SCRIPT_LIMIT].decode(errors="replace").splitlines()
    pairs = (row.partition("=") for row in rows)
    found = {key.strip().lower(): value.strip() for key, mark, value in pairs if mark}
    return prefix, found or {"home": ""}


def _version(stack: LayerStack, real_name: str, prefix: str) -> str:
    named = _PYTHON.match(real_name)
    if named:
        return named["version"]
    here = f"/{prefix}/" if prefix else "/"
    found = [
        match["version"]
        for root in package_folders(stack)
        if (match := _LIB.search(f"/{root}/")) and f"/{root}/".startswith(here)
    ]
    return max(found, key=_numeric, default="")


def _numeric(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _system_sites(prefix: str, version: str) -> list[str]:
    """Of an interpreter below ``prefix/bin``; Debian's own has its packages elsewhere."""
    if prefix == "usr":
        return [
            f"usr/local/lib/python{version}/dist-packages",
            "usr/lib/python3/dist-packages",
            f"usr/lib/python{version}/dist-packages",
            f"usr/lib/python{version}/site-packages",
            f"usr/lib64/python{version}/site-packages",
        ]
    base = f"{prefix}/" if prefix else ""
    return [f"{base}lib/python{version}/site-packages"]


def _before(stack: LayerStack, config: ImageConfig) -> list[str]:
    """What stands before the folders of packages: the present folder for ``-m``, PYTHONPATH."""
    here = [config.workdir] if "-m" in (*config.entrypoint, *config.cmd) else []
    named = config.variable("PYTHONPATH").split(":")
    return [stack.resolve(item) for item in (*here, *named) if item.startswith("/")]


def _with_pth(stack: LayerStack, before: list[str], sites: list[str]) -> tuple[str, ...]:
    """The folders with the lines of their ``.pth`` files, which stand behind all of them."""
    real = [stack.resolve(site) for site in sites]
    added: list[str] = []
    found: list[str] = []
    for site in real:
        files = [p for p in stack.files if posixpath.dirname(p) == site and p.endswith(".pth")]
        for path in sorted(files):
            text = _kept(stack, path).decode(errors="replace")
            added += _pth_lines(stack, site, text)
            for name in imported_finders(text):
                found += _finder_folders(stack, f"{site}/{name}")
    return tuple(dict.fromkeys(item for item in (*before, *real, *added, *found) if item))


def _kept(stack: LayerStack, path: str) -> bytes:
    placed = stack.files.get(stack.find(path))
    return placed.file.read() if placed is not None and placed.file.text is not None else b""


def _finder_folders(stack: LayerStack, path: str) -> list[str]:
    try:
        return [stack.resolve(folder) for folder in parse_finder(_kept(stack, path), path)]
    except FormatError:
        return []  # its package is then installed and found nowhere, which is told


def _pth_lines(stack: LayerStack, site: str, text: str) -> list[str]:
    rows = text.splitlines()[:1000]
    places = [row.strip() for row in rows]
    wanted = [p for p in places if p and not p.startswith(("#", "import ", "import\t"))]
    return [stack.resolve(p if p.startswith("/") else f"{site}/{p}") for p in wanted]
