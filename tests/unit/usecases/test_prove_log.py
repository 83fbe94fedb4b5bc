"""A proof beside a boot log: exact where the log is exact, silent where it is."""

from __future__ import annotations

import msgspec
import pytest

from sparkproof.bootlog.compare import Expectation, ExpectedBackend, compare_boot
from sparkproof.bootlog.compare_device import ExpectedDevice
from sparkproof.core.finding import Confidence
from sparkproof.core.observations.boot_log import (
    Argument,
    BackendSeen,
    BootLog,
    Outcome,
    Phase,
    Seen,
)
from sparkproof.core.prediction import How, Prediction
from sparkproof.core.results.proof import Agreement, LayerProof, LogComparison
from sparkproof.core.verdict import Verdict
from sparkproof.usecases.prove.log import expected_backends, flags_with_values, judge_comparison


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


TARGET = ExpectedBackend("experts", "MARLIN", "nvfp4")
DRAFTER = ExpectedBackend("experts", "TRITON", "unquantized", draft=True)


@pytest.mark.parametrize(
    ("seen", "agrees"),
    [
        (BackendSeen("experts", "unquantized", "TRITON", 4), True),
        (BackendSeen("experts", "unquantized", "TRITON", 4, draft=True), True),
        (BackendSeen("experts", "unquantized", "FLASHINFER_CUTLASS", 4), None),
        (BackendSeen("experts", "unquantized", "FLASHINFER_CUTLASS", 4, draft=True), False),
        (BackendSeen("linear", "", "TRITON", 4), None),
    ],
)
def test_a_drafters_backend_differs_only_from_a_drafters_line(
    seen: BackendSeen, agrees: bool | None
) -> None:
    """A log that is cut short does not say where the drafter begins."""
    target = BackendSeen("experts", "nvfp4", "MARLIN", 3)
    rows = compare_boot(Expectation(backends=(TARGET, DRAFTER)), _boot(backends=(target, seen)))
    assert _row(rows, "experts nvfp4").agrees is True
    assert _row(rows, "experts unquantized (draft)").agrees is agrees


def test_the_targets_line_is_not_taken_for_the_drafters() -> None:
    same = msgspec.structs.replace(TARGET, draft=True)
    boot = _boot(backends=(BackendSeen("experts", "nvfp4", "MARLIN", 3),))
    rows = compare_boot(Expectation(backends=(TARGET, same)), boot)
    assert [row.agrees for row in rows] == [True, None]


@pytest.mark.parametrize(
    ("subject", "oracle", "expected"),
    [
        ("experts", "moe/nvfp4", ExpectedBackend("experts", "X", "nvfp4")),
        ("draft-experts", "moe/nvfp4", ExpectedBackend("experts", "X", "nvfp4", draft=True)),
        ("draft-attention", "attention/backend", ExpectedBackend("attention", "X", draft=True)),
        ("attention-kernel", "attention/mla", ExpectedBackend("attention", "X")),
        ("draft", "dense/nvfp4", ExpectedBackend("linear", "X", "nvfp4", draft=True)),
        ("shared-expert", "dense/fp8", ExpectedBackend("linear", "X")),
    ],
)
def test_what_a_log_calls_a_pick_hangs_on_the_oracle(
    subject: str, oracle: str, expected: ExpectedBackend
) -> None:
    pick = Prediction(subject, "", oracle, (), "X", How.AUTO, "", Confidence.INFERRED)
    layer = LayerProof(subject, "", Verdict.PASS, "", (), prediction=pick)
    assert list(expected_backends((layer, layer))) == [expected]


def test_a_backend_passed_over_may_have_been_forced_by_what_the_proof_lacks() -> None:
    seen = BackendSeen("experts", "fp8", "MARLIN", 2, passed_over=("DEEPGEMM", "TRITON"))
    wanted = Expectation(backends=(ExpectedBackend("experts", "DEEPGEMM", "fp8"),))
    (silent,) = compare_boot(wanted, _boot(backends=(seen,)))
    (told,) = compare_boot(wanted, _boot(backends=(seen,), arguments={"model": "m"}))
    assert "a flag or variable that was not proven forces MARLIN" in silent.likely
    assert "a variable that was not proven forces MARLIN" in told.likely


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


GB10 = ExpectedDevice("NVIDIA GB10 (DGX Spark)", "12.1", 121.69)
CPU = {"device_config": "cpu"}
CUDA = {"device_config": "device(type='cuda')"}


@pytest.mark.parametrize(
    ("boot", "agrees", "observed"),
    [
        (_boot(arguments=CPU), False, "cpu"),
        (_boot(Seen("platform", "rocm", 1)), False, "rocm"),
        (_boot(Seen("device_total_gib", 139.8, 3), arguments=CUDA), False, "cuda, 139.80 GiB"),
        (_boot(Seen("device_total_gib", 121.63, 3), arguments=CUDA), True, "cuda, 121.63 GiB"),
        (_boot(Seen("refused_total_gib", 119.6, 3), arguments=CUDA), True, "cuda, 119.60 GiB"),
        (_boot(Seen("device_capability", "12.1", 3)), True, "12.1"),
        (_boot(Seen("device_capability", "12.0", 3), arguments=CUDA), False, "cuda, 12.0"),
        (_boot(arguments=CUDA), None, "cuda"),
        (_boot(arguments={"device_config": "auto"}), None, ""),
    ],
)
def test_a_log_of_another_device_differs(boot: BootLog, agrees: bool | None, observed: str) -> None:
    row = _row(compare_boot(Expectation(device=GB10), boot), "device")
    assert (row.agrees, row.observed) == (agrees, observed)
    assert ("another device" in row.likely) is (agrees is False)


def test_where_no_boot_has_shown_the_memory_of_a_device_none_is_compared() -> None:
    device = ExpectedDevice("NVIDIA Thor", "11.0")
    boot = _boot(Seen("device_total_gib", 122.8, 3), arguments=CUDA)
    assert _row(compare_boot(Expectation(device=device), boot), "device").agrees is None


def test_another_device_explains_its_kernels_and_no_weights() -> None:
    boot = _boot(
        Seen("load_gib", 30.0, 3),
        backends=(BackendSeen("experts", "", "TRITON", 7),),
        arguments=CPU,
    )
    expected = Expectation(
        device=GB10, backends=(ExpectedBackend("experts", "MARLIN"),), weights_gib=20.0
    )
    _, findings = judge_comparison(LogComparison("a.log", 1, compare_boot(expected, boot)))
    assert [item.subject for item in findings] == ["device", "weights GiB"]
    assert findings[0].message.endswith("; with it differ experts")


@pytest.mark.parametrize(
    ("loaded", "agrees"), [(1.35, False), (20.0, True), (24.9, True), (25.2, False), (14.0, False)]
)
def test_weights_agree_but_for_what_loading_does_to_them(loaded: float, agrees: bool) -> None:
    rows = compare_boot(Expectation(weights_gib=20.0), _boot(Seen("load_gib", loaded, 3)))
    assert _row(rows, "weights GiB").agrees is agrees


def test_what_the_log_tells_and_nobody_predicted_is_listed_and_decides_nothing() -> None:
    boot = _boot(Seen("kv_tokens", 604070, 3), Seen("max_concurrency_x", 2.36, 3), version="0.33.0")
    rows = compare_boot(Expectation(version="0.33.0"), boot)
    unproven = [row for row in rows if not row.predicted]
    assert [(row.name, row.observed, row.agrees) for row in unproven] == [
        ("KV tokens", "604,070", None),
        ("maximum concurrency", "2.36", None),
    ]
    criterion, findings = judge_comparison(LogComparison("a.log", 1, rows))
    assert criterion.verdict is Verdict.PASS
    assert criterion.reason.endswith("of its KV tokens, maximum concurrency")
    assert findings == ()
