"""What pip is asked, and what its answers and failures mean."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from sparkproof.adapters import pip as pip_module
from sparkproof.adapters.credentials import Credentials
from sparkproof.adapters.markers import check_marker
from sparkproof.adapters.open_artifact import open_artifact
from sparkproof.adapters.pip import download, resolve, resolve_filename, run_pip
from sparkproof.adapters.pip_errors import PipResult
from sparkproof.core.errors import ExitCode, UnreachableError, UsageError
from sparkproof.core.target import Target

URL = "https://files.example/p/vllm-0.21.0-1-cp38-abi3-manylinux_2_24_aarch64.whl"
OTHER = "https://files.example/q/vllm-0.21.0-cp38-abi3-manylinux_2_24_aarch64.whl"
SHA = "dc" * 32


def report(url: str = URL, sha256: str = SHA) -> str:
    info = {"url": url, "archive_info": {"hashes": {"sha256": sha256} if sha256 else {}}}
    metadata = {"name": "vllm", "version": "0.21.0", "summary": "x"}
    return json.dumps({"version": "1", "install": [{"download_info": info, "metadata": metadata}]})


def found(*urls: str) -> str:
    lines = [f"T   Found link {u} (from https://i.example/vllm/), version: 0.21.0" for u in urls]
    return "\n".join(lines) + "\n"


class FakePip:
    def __init__(self, *results: PipResult) -> None:
        self.results = list(results)
        self.calls: list[list[str]] = []

    def __call__(self, arguments: Sequence[str], timeout_s: float) -> PipResult:
        self.calls.append(list(arguments))
        return self.results.pop(0)


def failing(log: str = "", stderr: str = "", returncode: int = 1) -> FakePip:
    return FakePip(PipResult(returncode, log=log, stderr=stderr))


def test_nothing_can_be_built_or_installed() -> None:
    pip = FakePip(PipResult(0, report=report()))
    resolve("vllm==0.21.0", Target(), pip)
    (call,) = pip.calls
    assert call[-2:] == ["--", "vllm==0.21.0"]
    for flag in ("--dry-run", "--no-deps", "--target", "--ignore-installed"):
        assert flag in call
    assert call[call.index("--only-binary") + 1] == ":all:"


def test_the_target_is_the_box() -> None:
    pip = FakePip(PipResult(0, report=report()))
    resolve("vllm", Target("x86_64", "3.11", 28), pip)
    platforms = [
        b for a, b in zip(pip.calls[0], pip.calls[0][1:], strict=False) if a == "--platform"
    ]
    assert platforms[0] == "manylinux_2_28_x86_64"
    assert platforms[-2:] == ["manylinux2014_x86_64", "linux_x86_64"]
    assert "manylinux_2_39_x86_64" not in platforms
    with pytest.raises(UsageError):
        resolve("vllm", Target(python="three"), pip)


def test_what_pip_chose_and_what_it_passed_over() -> None:
    pip = FakePip(PipResult(0, report=report(), log=found(URL, OTHER)))
    resolution = resolve("vllm==0.21.0", Target(), pip)
    assert (resolution.url, resolution.sha256) == (URL, SHA)
    assert resolution.filename == URL.rsplit("/", 1)[-1]
    assert resolution.others == (OTHER.rsplit("/", 1)[-1],)


def test_credentials_in_pips_answer_are_dropped() -> None:
    secret = URL.replace("https://", "https://me:hunter2@")
    pip = FakePip(PipResult(0, report=report(secret), log=found(secret)))
    assert "hunter2" not in repr(resolve("vllm", Target(), pip))


def test_a_build_can_be_named_by_its_file_name() -> None:
    name = OTHER.rsplit("/", 1)[-1]
    pip = FakePip(PipResult(0, report=report(), log=found(URL, OTHER)))
    resolution = resolve_filename(name, Target(), pip)
    assert (resolution.url, resolution.sha256) == (OTHER, "")
    pip = FakePip(PipResult(0, report=report(), log=found(URL)))
    with pytest.raises(UnreachableError, match="have no vllm"):
        resolve_filename(name, Target(), pip)
    with pytest.raises(UsageError):
        resolve_filename("x.whl", Target(), pip)


@pytest.mark.parametrize("marker", ['platform_machine=="x86_64"', 'python_version < "3.10"'])
def test_a_marker_that_leaves_the_box_out(marker: str) -> None:
    with pytest.raises(UsageError, match="is not for this box: aarch64") as caught:
        open_artifact(f"vllm==0.21.0; {marker}", run=FakePip())
    assert "leave out" in caught.value.hint


def test_a_marker_that_means_the_box_and_one_that_is_none() -> None:
    check_marker('vllm==0.21.0 ; platform_machine == "aarch64"', Target())
    check_marker('vllm ; platform_machine == "x86_64"', Target(platform="x86_64"))
    check_marker("vllm==0.21.0", Target())
    with pytest.raises(UsageError, match="`soon` is no environment marker"):
        check_marker("vllm==0.21.0; soon", Target())


def test_what_lies_here_is_named_where_there_is_no_such_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd").mkdir()
    with pytest.raises(UnreachableError) as caught:
        open_artifact("odd", run=failing())
    assert caught.value.hint.startswith("./odd or tree:odd for what lies in this folder")
    with pytest.raises(UnreachableError) as caught:
        open_artifact("wheel:odd", run=failing())
    assert "./odd" not in caught.value.hint


def test_a_pip_without_fast_deps_is_asked_again_without() -> None:
    refusal = PipResult(2, stderr="option --use-feature: invalid choice: 'fast-deps'")
    pip = FakePip(refusal, PipResult(0, report=report()))
    resolve("vllm", Target(), pip)
    assert not any("fast-deps" in argument for argument in pip.calls[1])


@pytest.mark.parametrize(
    ("pip", "message", "hint"),
    [
        (failing(stderr="/x/python: No module named pip"), "has no pip", "uv pip install pip"),
        (failing(stderr="no such option: --report", returncode=2), "too old", "--upgrade pip"),
        (
            failing("T Could not fetch URL https://me:hunter2@i.example/simple/vllm/: connection "
                    "error: [Errno 111] Connection refused - skipping\n"),
            "index https://i.example/simple can't be reached: connection error",
            "--offline",
        ),
        (
            failing("T Could not fetch URL https://i.example/simple/vllm/: 401 Client Error: "
                    "Unauthorized for url: https://me:hunter2@i.example/ - skipping\n"),
            "index https://i.example/simple refuses us (401)",
            "netrc",
        ),
        (
            failing("T Could not fetch URL https://i/simple/vllm/: 404 Client Error: - skipping\n"),
            "there is no wheel of vllm==0.21.0 for aarch64, Python 3.12",
            "spelling",
        ),
        (
            failing("T Found link https://i/vllm-0.33.0-py3-none-any.whl (i), version: 0.33.0\n"),
            "no version of vllm for aarch64, Python 3.12 matches `==0.21.0`",
            "0.33.0",
        ),
        (
            failing("T   Skipping link: none of the wheel's tags (cp38-abi3-manylinux1_x86_64) are "
                    "compatible (run pip debug --verbose to show compatible tags): "
                    "https://i/vllm-0.21.0-cp38-abi3-manylinux1_x86_64.whl (from https://i/)\n"),
            "no wheel of vllm==0.21.0 for aarch64",
            "cp38-manylinux1_x86_64",
        ),
        (
            failing("T   Skipping link: No sources permitted for vllm: "
                    "https://i/vllm-0.21.0.tar.gz (from https://i/simple/vllm/)\n"),
            "vllm==0.21.0 is on pip's indexes as source alone",
            "tree:SITE-PACKAGES",
        ),
        (
            failing("T   Skipping link: No sources permitted for vllm: "
                    "https://i/vllm-0.20.0.tar.gz (from https://i/simple/vllm/)\n"),
            "there is no wheel of vllm==0.21.0",
            "spelling",
        ),
        (
            failing(found(URL) + "T   The user requested (constraint) vllm==0.20.0\n"),
            "constraint vllm==0.20.0 rules out vllm==0.21.0",
            "pip config list",
        ),
        (
            failing(found(URL), "WARNING: x\nERROR: odd thing at https://me:hunter2@h/x\n"),
            "odd thing at https://h/x",
            "",
        ),
    ],
)  # fmt: skip
def test_failures_in_one_line_with_the_way_out(pip: FakePip, message: str, hint: str) -> None:
    with pytest.raises(UnreachableError) as caught:
        resolve("vllm==0.21.0", Target(), pip)
    error = caught.value
    assert message in error.message
    assert hint in error.hint
    assert "hunter2" not in error.message + error.hint
    assert "\n" not in error.message
    assert error.exit_code is ExitCode.COULD_NOT_LOOK


def test_a_report_that_is_none() -> None:
    with pytest.raises(UnreachableError, match="report"):
        resolve("vllm", Target(), FakePip(PipResult(0, report="{}")))
    with pytest.raises(UnreachableError, match="0 files"):
        resolve("vllm", Target(), FakePip(PipResult(0, report='{"install": []}')))


def test_download_by_pip_passes_the_hash(tmp_path: Path) -> None:
    pip = FakePip(PipResult(1, stderr="ERROR: nope"))
    with pytest.raises(UnreachableError, match="can't be fetched: nope"):
        download(URL, SHA, Target(), tmp_path, pip)
    assert pip.calls[0][-2:] == ["--", f"{URL}#sha256={SHA}"]


def test_pip_is_not_taken_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pip.py").write_text("raise SystemExit(99)")
    monkeypatch.chdir(tmp_path)
    result = run_pip(["--version"], 60)
    assert result.returncode == 0
    assert result.stdout.startswith("pip ")


def test_pip_runs_out_of_memory_before_the_machine_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "hog.py"
    module.write_text("import resource; print(resource.getrlimit(resource.RLIMIT_AS)[0])")
    bounded = pip_module._BOUNDED.replace('"pip"', '"hog"')
    monkeypatch.setattr(
        pip_module, "_BOUNDED", f"import sys; sys.path.append({str(tmp_path)!r}){bounded}"
    )
    assert 0 < int(run_pip(["--version"], 60).stdout) <= 4 << 30


def test_pip_that_hangs_or_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnreachableError, match="no answer"):
        run_pip(["--version"], 0.001)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(UnreachableError, match="can't be started"):
        run_pip(["--version"], 10)


CONFIG = """global.extra-index-url='http://127.0.0.1/a https://me:p%40ss@private.example:8443/simple'
global.index-url='https://public.example/simple'
:env:.find-links='/opt/wheels'
broken
"""


def test_credentials_go_only_to_the_host_that_they_are_for(tmp_path: Path) -> None:
    pip = FakePip(PipResult(0, stdout=CONFIG))
    known = Credentials(pip, netrc_file=str(tmp_path / "none"))
    assert known.for_url("https://private.example:8443/files/a.whl") == ("me", "p@ss")
    for other in ("https://private.example/a", "http://private.example:8443/a", "https://e/a"):
        assert known.for_url(other) is None
    assert pip.calls == [["config", "list"]], "asked once"


def test_credentials_from_netrc(tmp_path: Path) -> None:
    path = tmp_path / "netrc"
    path.write_text("machine h.example login me password hunter2\n")
    path.chmod(0o600)
    known = Credentials(FakePip(PipResult(0)), netrc_file=str(path))
    assert known.for_url("https://h.example/a.whl") == ("me", "hunter2")
    path.write_text("machine\n")
    assert known.for_url("https://h.example/a.whl") is None
