"""When a cause is named, and when it isn't."""

from __future__ import annotations

import pytest
from tests.unit.bootlog.conftest import LOGS, DiagnoseText, ReadText, read_file

from sparkproof.bootlog.diagnosis import diagnose
from sparkproof.facts.book import signatures
from sparkproof.usecases.log.command import view_boot
from sparkproof.usecases.log.findings import describe_boot

BANNER = "(APIServer pid=1) INFO 11-29 20:41:25 [api_utils.py:345]  █ ▀▄▀ █  version 0.26.0\n"
READY = "(APIServer pid=1) INFO:     Application startup complete.\n"
ENGINE = "(EngineCore pid=9) ERROR 11-29 20:50:00 [core.py:1] "
IMA = f"{ENGINE}torch.AcceleratorError: CUDA error: an illegal memory access was encountered\n"
DEAD = "(APIServer pid=1) ERROR 11-29 20:50:01 [a.py:1] EngineDeadError: EngineCore has died\n"
ARGUMENTS = "(APIServer pid=1) INFO 11-29 20:41:25 [u.py:1] non-default args: "


@pytest.mark.parametrize(
    "name", [p.name for p in sorted(LOGS.glob("*.log")) if read_file(p.name).outcome == "stopped"]
)
def test_no_cause_is_named_on_a_healthy_boot(name: str) -> None:
    diagnosis = diagnose(read_file(name), signatures().values(), name)
    assert diagnosis.cause is None
    assert diagnosis.rivals == diagnosis.kinds == ()
    assert not diagnosis.troubled


def test_a_frightening_prompt_in_a_healthy_log_is_no_failure(diagnose_text: DiagnoseText) -> None:
    asked = "(APIServer pid=1) INFO 11-29 20:43:00 [l.py:1] Received request cmpl-1: prompt: "
    for words in ("CUDA out of memory", "no kernel image is available", "Error Internal Xid 31"):
        diagnosis = diagnose_text(f"{BANNER}{READY}{asked}'why does {words} happen?'\n")
        assert not diagnosis.troubled, words


def test_what_was_refused_before_readiness_does_not_kill_later(diagnose_text: DiagnoseText) -> None:
    early = "ModuleNotFoundError: No module named 'deep_ep'\n"
    diagnosis = diagnose_text(f"{BANNER}{early}{READY}{IMA}{DEAD}")
    assert diagnosis.cause is None
    assert [c.signature for c in diagnosis.kinds] == ["kernel/illegal-access"]


def test_speculation_changes_what_a_fault_may_be(diagnose_text: DiagnoseText) -> None:
    spec = f"{ARGUMENTS}{{'speculative_config': {{'method': 'mtp'}}}}\n"
    with_it = diagnose_text(f"{BANNER}{spec}{READY}{IMA}{DEAD}")
    without = diagnose_text(f"{BANNER}{ARGUMENTS}{{'port': 8000}}\n{READY}{IMA}{DEAD}")
    assert [c.signature for c in with_it.kinds] == ["spec/illegal-access"]
    assert [c.signature for c in without.kinds] == ["kernel/illegal-access"]
    assert with_it.cause is without.cause is None
    assert with_it.keep


def test_a_failure_without_a_signature_says_what_it_saw(diagnose_text: DiagnoseText) -> None:
    text = f"{BANNER}{ENGINE}EngineCore failed to start.\n{ENGINE}ValueError: flux inverted\n"
    diagnosis = diagnose_text(text)
    assert diagnosis.cause is None
    assert diagnosis.troubled
    assert diagnosis.saw == "ValueError: flux inverted"
    assert diagnosis.last_good == "start"
    assert diagnosis.keep


def test_two_equal_causes_are_both_said_and_none_named(diagnose_text: DiagnoseText) -> None:
    full = "OSError: [Errno 28] No space left on device: '/data/cache'\n"
    diagnosis = diagnose_text(f"{BANNER}{full}RuntimeError: Could not find nvcc\n")
    assert diagnosis.cause is None
    assert {c.signature for c in diagnosis.rivals} == {"host/disk-full", "toolchain/nvcc-missing"}


def test_an_error_that_is_often_survived_gives_way(diagnose_text: DiagnoseText) -> None:
    caught = "ModuleNotFoundError: No module named 'deep_ep'\n"
    cause = diagnose_text(f"{BANNER}{caught}RuntimeError: Could not find nvcc\n").cause
    assert cause is not None
    assert cause.signature == "toolchain/nvcc-missing"


def test_a_request_error_never_explains_a_dead_engine(diagnose_text: DiagnoseText) -> None:
    refused = f"{ENGINE}ValueError: Unexpected reasoning effort minimal\n"
    assert diagnose_text(f"{BANNER}{READY}{refused}{IMA}{DEAD}").cause is None
    assert diagnose_text(f"{BANNER}{READY}{refused}").cause is None
    assert diagnose_text(f"{READY}{refused}").cause is None


def test_something_quiet_is_no_cause_of_something_loud(diagnose_text: DiagnoseText) -> None:
    slow = "gx10:1:1 [0] NCCL INFO Using network Socket\n"
    loud = f"{BANNER}{slow}{ENGINE}EngineCore failed to start.\n{ENGINE}ValueError: flux\n"
    assert diagnose_text(loud).cause is None
    alone = diagnose_text(f"{BANNER}{slow}{READY}").cause
    assert alone is not None
    assert alone.signature == "cluster/nccl-tcp"


def test_the_last_boot_is_judged(read_text: ReadText) -> None:
    broken = f"{BANNER}{ENGINE}RuntimeError: Could not find nvcc\n"
    reading = read_text(f"{broken}{BANNER}{READY}")
    verdicts = [diagnose(b, signatures().values(), "log").troubled for b in reading.boots]
    assert verdicts == [True, False]


def test_a_refusal_of_the_configuration_is_not_repeated_beside_its_cause(
    diagnose_text: DiagnoseText,
) -> None:
    refused = "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n"
    alone = diagnose_text(f"{BANNER}{refused}  Value error, flux inverted\n")
    assert alone.cause is None
    assert [c.signature for c in alone.kinds] == ["config/refused"]
    known = "  Value error, rope_scaling should have a 'rope_type' key\n"
    named = diagnose_text(f"{BANNER}{refused}{known}")
    assert named.cause is not None
    assert named.cause.signature == "packages/transformers-mismatch"
    assert named.kinds == ()


def test_what_a_request_lacks_is_no_conflict_of_settings(diagnose_text: DiagnoseText) -> None:
    lacks = "ValueError: --one-thing requires --another-thing to be set"
    early = diagnose_text(f"{BANNER}{ENGINE}{lacks}\n").cause
    assert early is not None
    assert early.signature == "config/incompatible-settings"
    assert diagnose_text(f"{BANNER}{READY}{ENGINE}{lacks}\n").cause is None


def test_what_ray_says_of_every_lost_worker_is_no_crash(diagnose_text: DiagnoseText) -> None:
    text = (
        f"{BANNER}{ENGINE}ray.exceptions.ActorDiedError: The actor died unexpectedly before "
        f"finishing this task.\n{ENGINE}\tclass_name: RayWorkerWrapper\n{ENGINE}The actor is dead "
        "because its worker process has died. There are some potential root causes. (1) The process"
        " is killed by SIGKILL by OOM killer due to high memory usage. (3) The worker is crashed "
        "unexpectedly due to SIGSEGV or other unexpected errors.\n"
    )
    diagnosis = diagnose_text(text)
    assert [c.signature for c in diagnosis.kinds] == ["cluster/ray-actor-died"]
    assert diagnosis.saw.startswith("ERROR: The actor is dead")


def test_a_phase_without_a_stamp_has_the_one_before_it(read_text: ReadText) -> None:
    stamped = (
        "(EngineCore pid=9) INFO 11-29 20:42:25 [x.py:1] Available KV cache memory: 7.15 GiB\n"
    )
    phases = {p.phase.value: p for p in read_text(BANNER + stamped + READY).boots[-1].phases}
    assert (phases["start"].since_start_s, phases["ready"].since_start_s) == (0.0, 60.0)
    assert phases["ready"].at == "11-29 20:42:25"


def test_a_pinned_pool_is_not_blamed_on_weights(diagnose_text: DiagnoseText) -> None:
    small = (
        f"{ENGINE}ValueError: To serve at least one request with the model's max seq len (40960), "
        "(2.5 GiB KV cache is needed, which is larger than the available KV cache memory (1 GiB)\n"
    )
    pin = f"{ARGUMENTS}{{'kv_cache_memory_bytes': 1073741824}}\n"
    pinned, sized = diagnose_text(f"{BANNER}{pin}{small}"), diagnose_text(f"{BANNER}{small}")
    assert pinned.cause is not None
    assert pinned.cause.signature == "memory/kv-pin-below-one-sequence"
    assert pinned.rivals == ()
    assert not any("utilization" in item for item in pinned.cause.remedy)
    assert sized.cause is not None
    assert sized.cause.signature == "memory/kv-below-one-sequence"


@pytest.mark.parametrize("before", ["", BANNER])
def test_a_piece_does_not_tell_how_far_the_server_came(before: str, read_text: ReadText) -> None:
    text = "AssertionError: Workspace is locked but allocation from 'x.py:run' requires 12 MB\n"
    said = describe_boot(view_boot(read_text(before + text).boots[-1], "log"))
    assert ("failed to start" in said) is bool(before)
    assert "a kernel's scratch was sized at warm-up" in said
