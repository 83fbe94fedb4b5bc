"""A proof beside a boot log: exact where the log is exact, silent where it is."""

from __future__ import annotations

import pytest

from sparkproof.bootlog.compare import Expectation, ExpectedBackend, compare_boot
from sparkproof.core.observations.boot_log import (
    Argument,
    BackendSeen,
    BootLog,
    Outcome,
    Phase,
    Seen,
)
from sparkproof.core.results.proof import Agreement, LogComparison
from sparkproof.core.verdict import Verdict
from sparkproof.usecases.prove_log import flags_with_values, judge_comparison


def _boot(
    *seen: Seen,
    backends: tuple[BackendSeen, ...] = (),
    version: str = "",
    arguments: dict[str, str] | None = None,
) -> BootLog:
    return BootLog(
        number=1,
        first_line=1,
        last_line=9,
        whole=True,
        version=version,
        outcome=next(iter(Outcome)),
        reached=next(iter(Phase)),
        seen=seen,
        backends=backends,
        arguments=tuple(Argument(name, value) for name, value in (arguments or {}).items()),
    )


def _row(rows: tuple[Agreement, ...], name: str) -> Agreement:
    return next(row for row in rows if row.name == name)


def test_tokens_are_compared_to_the_token() -> None:
    boot = _boot(Seen("kv_tokens", 604070, 3))
    rows = compare_boot(Expectation(kv_tokens=617494), boot)
    row = _row(rows, "KV tokens")
    assert (row.agrees, row.predicted, row.observed) == (False, "617,494", "604,070")
    assert row.likely


def test_concurrency_is_compared_to_the_printed_digit() -> None:
    boot = _boot(Seen("max_concurrency_x", 2.36, 3))
    close = compare_boot(Expectation(max_concurrency=2.3556), boot)
    far = compare_boot(Expectation(max_concurrency=2.3), boot)
    assert _row(close, "maximum concurrency").agrees is True
    assert _row(far, "maximum concurrency").agrees is False


def test_dense_layers_of_another_scheme_do_not_contradict() -> None:
    seen = BackendSeen("linear", "nvfp4", "FlashInferCutlassNvFp4LinearKernel", 4)
    expected = Expectation(
        backends=(
            ExpectedBackend("linear", "CutlassFP8ScaledMMLinearKernel"),
            ExpectedBackend("linear", "FlashInferCutlassNvFp4LinearKernel", "nvfp4"),
        )
    )
    fp8, nvfp4 = compare_boot(expected, _boot(backends=(seen,)))
    assert fp8.agrees is None
    assert nvfp4.agrees is True


def test_flags_are_read_as_the_user_wrote_them() -> None:
    words = ("--max-model-len", "4096", "--moe-backend=marlin", "--enable-lora", "--trust")
    assert flags_with_values(()) == {}
    assert flags_with_values(words) == {"--max-model-len": "4096", "--moe-backend": "marlin"}
    more = ("--served-model-name", "a", "b", "--max-model-len=32k", "--dtype", "8k", "-tp", "2")
    assert flags_with_values(more) == {
        "--served-model-name": "a b",
        "--max-model-len": "32000",
        "--dtype": "8k",
    }


@pytest.mark.parametrize(
    ("wanted", "agrees"), [("tiny", True), ("tiny big", False), ("big", False), ("", False)]
)
def test_a_flag_of_several_values_is_logged_as_a_list(wanted: str, agrees: bool) -> None:
    boot = _boot(arguments={"served_model_name": "['tiny']"})
    rows = compare_boot(Expectation(flags={"--served-model-name": wanted}), boot)
    assert _row(rows, "--served-model-name").agrees is agrees


def test_a_silent_log_proves_nothing() -> None:
    silent = LogComparison("a.log", 1, (Agreement("version", "0.33.0", "", None),))
    criterion, findings = judge_comparison(silent)
    assert criterion.verdict is Verdict.INCONCLUSIVE
    assert findings == ()


def test_a_difference_fails_and_names_its_cause() -> None:
    row = Agreement("experts nvfp4", "MARLIN", "VLLM_CUTLASS", False, "other flags", 7)
    criterion, findings = judge_comparison(LogComparison("a.log", 1, (row,)))
    assert criterion.verdict is Verdict.FAIL
    assert findings[0].evidence[0].line == 7
    assert "other flags" in findings[0].message


def test_a_difference_is_filed_under_its_cause() -> None:
    rows = (
        Agreement("block size", "16", "32", False, "other flags"),
        Agreement("KV tokens", "1,000", "900", False, "the pool differs"),
        Agreement("weights GiB", "20.00", "30.00", False, "other weights"),
    )
    criterion, findings = judge_comparison(LogComparison("a.log", 1, rows))
    assert [item.subject for item in findings] == ["block size", "weights GiB"]
    assert findings[0].message.endswith("; with it differ KV tokens")
    assert criterion.reason == "the log differs in block size, weights GiB"


def test_another_release_explains_what_it_brings() -> None:
    rows = (
        Agreement("version", "0.33.0", "0.31.0", False, "another build"),
        Agreement("experts", "MARLIN", "TRITON", False, "another release: its order differs"),
        Agreement("--max-num-seqs", "8", "16", False, "the server was started with others"),
    )
    _, findings = judge_comparison(LogComparison("a.log", 1, rows))
    assert [item.subject for item in findings] == ["version", "--max-num-seqs"]
    assert findings[0].message.endswith("; with it differ experts")
