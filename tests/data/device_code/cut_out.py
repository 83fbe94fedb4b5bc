"""Cuts single entries and heads of cubins out of public wheels, for headers nvcc 13 can't make.

Usage: ``python tests/data/device_code/cut_out.py FOLDER...`` where the folders hold the wheels
named below. Each piece is at most 1 KB and is not a file of its own: ``.entry`` is one whole entry
of a fat binary (header and payload) without its container, ``.head`` the first bytes of an entry
or cubin. The manifest says which wheel, member and offset they come from.
"""

from __future__ import annotations

import datetime
import hashlib
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import tomli_w

HERE = Path(__file__).parent
MANIFEST = HERE.parent / "MANIFEST.toml"
MADE_BY = "tests/data/device_code/cut_out.py"
LIMIT_BYTES = 1024

BNB = "bitsandbytes-0.50.2-py3-none-manylinux_2_24_aarch64.whl"
VLLM_0_11 = "vllm-0.11.0-cp38-abi3-manylinux2014_aarch64.whl"
VLLM_0_19 = "vllm-0.19.1-cp38-abi3-manylinux_2_31_aarch64.whl"
SGL = "sgl_kernel-0.3.21-cp310-abi3-manylinux2014_aarch64.whl"
FLASHINFER = "flashinfer_cubin-0.6.13-py3-none-any.whl"
MOE_CUBINS = (
    "flashinfer_cubin/cubins/d2c5915bf45ae64308a947824c14966c2718a292/batched_gemm-91e0ba0-896b90b"
)


class CutOut(NamedTuple):
    """Where to cut, and what the piece shows."""

    name: str
    covers: str
    wheel: str
    member: str
    offset: int
    length: int = LIMIT_BYTES


def bnb(name: str, covers: str, cuda: int, offset: int, length: int) -> CutOut:
    """A whole entry of bitsandbytes, which ships one library for each CUDA line."""
    return CutOut(name, covers, BNB, f"bitsandbytes/libbitsandbytes_cuda{cuda}.so", offset, length)


CUT_OUTS = (
    bnb("cuda118_cubin_75_lz4.entry", "cubin ABI 1.7, header of 64 bytes", 118, 225896, 336),
    bnb("cuda118_ptx_90_lz4.entry", "PTX 7.8, header of 96 bytes with options", 118, 226568, 152),
    bnb("cuda124_cubin_75_lz4.entry", "CUDA 12.4: header of 72 bytes", 124, 231736, 352),
    bnb("cuda124_ptx_90_lz4.entry", "CUDA 12.4: PTX header of 104 bytes", 124, 232440, 168),
    bnb("cuda128_cubin_100_lz4.entry", "CUDA 12.8: header of 96 bytes", 128, 258200, 840),
    bnb("cuda128_ptx_120_lz4.entry", "PTX 8.7", 128, 259040, 160),
    bnb("cuda130_cubin_75_zstd.entry", "CUDA 13.0, old chip: ABI 1.8, 64 bytes", 130, 251664, 472),
    bnb("cuda130_cubin_120_zstd.entry", "CUDA 13.0: header of 112 bytes", 130, 254728, 712),
    bnb("cuda132_cubin_121_zstd.entry", "CUDA 13.2: header of 104 bytes", 132, 262728, 696),
    bnb("cuda132_ptx_121_zstd.entry", "PTX 9.2", 132, 262568, 160),
    CutOut(
        "cuda128_cubin_87_raw.entry",
        "a whole cubin of the old ABI (OSABI 0x33), without a kernel",
        VLLM_0_11,
        "vllm/_C.abi3.so",
        119621392,
    ),
    CutOut(
        "cuda128_ptx_52_lz4.entry",
        "PTX header of 80 bytes; the device-link stub",
        VLLM_0_11,
        "vllm/_C.abi3.so",
        256126272,
        608,
    ),
    CutOut(
        "cuda128_cubin_90a_raw.head",
        "sm_90a in the old ABI: e_flags 0x5A0D5A",
        VLLM_0_11,
        "vllm/_C.abi3.so",
        215936272,
    ),
    CutOut(
        "cuda128_cubin_120_raw.head",
        "plain sm_120 as CUDA 12.8 marks it in e_flags",
        VLLM_0_11,
        "vllm/_C.abi3.so",
        119625664,
    ),
    CutOut(
        "cuda128_cubin_120a_raw.head",
        "sm_120a as CUDA 12.8 marks it in e_flags",
        VLLM_0_11,
        "vllm/_C.abi3.so",
        217626896,
    ),
    CutOut(
        "cuda129_cubin_100f_raw.head",
        "sm_100f made by CUDA 12.9",
        VLLM_0_19,
        "vllm/_flashmla_C.abi3.so",
        1889704,
    ),
    CutOut(
        "cuda128_cubin_101a_raw.head",
        "sm_101a, which CUDA 13 renamed to sm_110a",
        SGL,
        "sgl_kernel/sm100/common_ops.abi3.so",
        56056888,
    ),
    CutOut(
        "loose_cubin_103a.head",
        "a loose cubin made by another generator: top byte of e_flags is 0x0F",
        FLASHINFER,
        f"{MOE_CUBINS}/Bmm_Bfloat16_MxE2m1Bfloat16_castBfloat16_patch_Fp32_Ab32_t128x8x256_s3_"
        "et128x8_m128x8x16_c1x1x1_rM_TN_transOut_schedS_biasFp32M_bN_ldgsts_ldgstsSf_rgTma_clmp_"
        "swiGlu_dynB_sm103a.cubin",
        0,
    ),
    CutOut(
        "loose_cubin_100f.head",
        "a loose cubin made by another generator: top byte of e_flags is 0x0F",
        FLASHINFER,
        f"{MOE_CUBINS}/Bmm_Bfloat16_MxE2m1Bfloat16_castBfloat16_patch_Fp32_Ab32_t128x8x256_s3_"
        "et128x8_m128x8x16_c1x1x1_rM_TN_transOut_schedS_biasFp32M_bN_ldgsts_ldgstsSf_rgTma_clmp_"
        "swiGlu_dynB_sm100f.cubin",
        0,
    ),
)


def read_at(wheel: Path, cut: CutOut) -> bytes:
    """The bytes of one cut-out."""
    with zipfile.ZipFile(wheel) as archive, archive.open(cut.member) as member:
        member.seek(cut.offset)
        data = member.read(cut.length)
    if len(data) != cut.length or cut.length > LIMIT_BYTES:
        raise SystemExit(f"{cut.name}: {len(data)} of {cut.length} bytes")
    return data


def sha256_of(path: Path) -> str:
    """Hash of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def certificate(cut: CutOut, data: bytes, wheel_sha256: str, date: datetime.date) -> dict[str, Any]:
    """The manifest entry of a cut-out."""
    return {
        "path": f"device_code/{cut.name}",
        "covers": cut.covers,
        "made_by": MADE_BY,
        "wheel": cut.wheel,
        "wheel_sha256": wheel_sha256,
        "member": cut.member,
        "offset": cut.offset,
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "date": date,
    }


def main(folders: list[str]) -> None:
    """Cut everything anew; other makers' entries stay."""
    wheels = {p.name: p for folder in folders for p in Path(folder).glob("*.whl")}
    hashes = {name: sha256_of(wheels[name]) for name in {cut.wheel for cut in CUT_OUTS}}
    old = tomllib.loads(MANIFEST.read_text())["fixture"]
    dates = {(e["path"], e["sha256"]): e["date"] for e in old}
    entries = [e for e in old if e["made_by"] != MADE_BY]
    for cut in CUT_OUTS:
        data = read_at(wheels[cut.wheel], cut)
        (HERE / cut.name).write_bytes(data)
        today = datetime.datetime.now(datetime.UTC).date()
        entry = certificate(cut, data, hashes[cut.wheel], today)
        entry["date"] = dates.get((entry["path"], entry["sha256"]), today)
        entries.append(entry)
    entries.sort(key=lambda e: str(e["path"]))
    MANIFEST.write_text(tomli_w.dumps({"fixture": entries}))


if __name__ == "__main__":
    main(sys.argv[1:])
