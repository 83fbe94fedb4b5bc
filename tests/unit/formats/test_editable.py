"""Finders of editable installations, and the stamp of a package."""

from __future__ import annotations

import pytest

from sparkproof.core.errors import FormatError
from sparkproof.formats.editable import FINDER, imported_finders, parse_finder
from sparkproof.formats.package_stamp import stamped_commit, stamped_version

PTH = "import __editable___vllm_0_33_0_finder; __editable___vllm_0_33_0_finder.install()\n"


def test_the_finder_that_a_path_file_imports() -> None:
    assert imported_finders(PTH) == ("__editable___vllm_0_33_0_finder.py",)
    assert imported_finders("/workspace/vllm\nimport distutils-precedence\n") == ()
    assert FINDER.match("__editable___vllm_0_33_0_finder.py")
    assert FINDER.match("__editable___vllm_0_1_dev1_g1a2b_finder.py")
    assert not FINDER.match("_editable_loader.py")


@pytest.mark.parametrize(
    ("text", "folders"),
    [
        ("MAPPING = {'vllm': '/w/vllm'}", ("/w",)),
        ("x = 1\nMAPPING: dict[str, str] = {'vllm': '/w/vllm', 'tools': '/w/tools'}", ("/w",)),
        ("MAPPING = {'vllm': '/w/src/other'}", ()),
        ("MAPPING = {'vllm': 'w/vllm', 3: '/a/3'}", ()),
        ("MAPPING = {}", ()),
        ("MAPPING = []", ()),
        ("MAPPING: dict", ()),
    ],
)
def test_folders_of_a_finder(text: str, folders: tuple[str, ...]) -> None:
    assert parse_finder(text.encode(), "f") == folders


@pytest.mark.parametrize("text", ["", "MAPPING = f()", "(", "OTHER = {}", "\0"])
def test_no_finder_is_one_error(text: str) -> None:
    with pytest.raises(FormatError):
        parse_finder(text.encode(), "f")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("version: str\n__version__ = version = '0.33.0'\n", "0.33.0"),
        ("version = '0.33.0'\n", "0.33.0"),
        ('__version__ = "0.33.0+cu130"\n', "0.33.0+cu130"),
        ("__version_tuple__ = version_tuple = (0, 33, 0)\n", ""),
        ("", ""),
    ],
)
def test_the_stamp(text: str, version: str) -> None:
    assert stamped_version(text) == version


def test_the_commit_of_the_stamp() -> None:
    assert stamped_commit("__commit_id__ = commit_id = 'g4ba787ec9'\n") == "g4ba787ec9"
    assert stamped_commit("commit_id: str | None\n") == ""
