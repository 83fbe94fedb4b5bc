// One matrix multiply-accumulate of each width that the target has, each in its own kernel.
// Where a target lacks it the body only traps: the symbol is there, the code is dead.

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 890
#define HAS_FP8 1
#else
#define HAS_FP8 0
#endif

#if defined(__CUDA_ARCH_FEAT_SM120_ALL) || defined(__CUDA_ARCH_FEAT_SM121_ALL) || \
    (defined(__CUDA_ARCH_FAMILY_SPECIFIC__) && __CUDA_ARCH_FAMILY_SPECIFIC__ == 1200)
#define HAS_FP4 1
#else
#define HAS_FP4 0
#endif

extern "C" __global__ void mma_half(float *d, const unsigned *ab) {
  float c[4] = {0.f, 0.f, 0.f, 0.f};
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(ab[0]), "r"(ab[1]), "r"(ab[2]), "r"(ab[3]), "r"(ab[4]), "r"(ab[5]));
  for (int i = 0; i < 4; ++i) d[4 * threadIdx.x + i] = c[i];
}

extern "C" __global__ void mma_fp8(float *d, const unsigned *ab) {
#if HAS_FP8
  float c[4] = {0.f, 0.f, 0.f, 0.f};
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
      "{%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(ab[0]), "r"(ab[1]), "r"(ab[2]), "r"(ab[3]), "r"(ab[4]), "r"(ab[5]));
  for (int i = 0; i < 4; ++i) d[4 * threadIdx.x + i] = c[i];
#else
  asm volatile("trap;");
#endif
}

extern "C" __global__ void mma_fp4(float *d, const unsigned *ab) {
#if HAS_FP4
  float c[4] = {0.f, 0.f, 0.f, 0.f};
  const unsigned short zero = 0;
  asm volatile(
      "mma.sync.aligned.kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k64.row.col.f32.e2m1.e2m1."
      "f32.ue4m3 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3}, {%10}, {%12,%12}, {%11}, "
      "{%12,%12};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(ab[0]), "r"(ab[1]), "r"(ab[2]), "r"(ab[3]), "r"(ab[4]), "r"(ab[5]), "r"(ab[6]),
        "r"(ab[7]), "h"(zero));
  for (int i = 0; i < 4; ++i) d[4 * threadIdx.x + i] = c[i];
#else
  asm volatile("trap;");
#endif
}
