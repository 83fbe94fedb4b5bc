// Matrix instructions that exist on one architecture only, and the integer one.
// Never launched: the descriptors are whatever the caller passes.

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define HAS_WGMMA 1
#else
#define HAS_WGMMA 0
#endif

#if defined(__CUDA_ARCH_FEAT_SM100_ALL) || \
    (defined(__CUDA_ARCH_FAMILY_SPECIFIC__) && __CUDA_ARCH_FAMILY_SPECIFIC__ == 1000)
#define HAS_TCGEN05 1
#else
#define HAS_TCGEN05 0
#endif

extern "C" __global__ void mma_int8(int *d, const unsigned *ab) {
  int c[4] = {0, 0, 0, 0};
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(ab[0]), "r"(ab[1]), "r"(ab[2]), "r"(ab[3]), "r"(ab[4]), "r"(ab[5]));
  for (int i = 0; i < 4; ++i) d[4 * threadIdx.x + i] = c[i];
}

extern "C" __global__ void wgmma_half(float *d, unsigned long long a, unsigned long long b) {
#if HAS_WGMMA
  float c[4] = {0.f, 0.f, 0.f, 0.f};
  asm volatile("wgmma.fence.sync.aligned;");
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, 1, 1, 1, 0, 0;"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "l"(a), "l"(b));
  asm volatile("wgmma.commit_group.sync.aligned;");
  asm volatile("wgmma.wait_group.sync.aligned 0;");
  for (int i = 0; i < 4; ++i) d[4 * threadIdx.x + i] = c[i];
#else
  asm volatile("trap;");
#endif
}

extern "C" __global__ void wgmma_fp8(float *d, unsigned long long a, unsigned long long b) {
#if HAS_WGMMA
  float c[4] = {0.f, 0.f, 0.f, 0.f};
  asm volatile("wgmma.fence.sync.aligned;");
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {%0,%1,%2,%3}, %4, %5, 1, 1, 1;"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "l"(a), "l"(b));
  asm volatile("wgmma.commit_group.sync.aligned;");
  asm volatile("wgmma.wait_group.sync.aligned 0;");
  for (int i = 0; i < 4; ++i) d[4 * threadIdx.x + i] = c[i];
#else
  asm volatile("trap;");
#endif
}

extern "C" __global__ void tcgen05_half(unsigned tmem, unsigned long long a, unsigned long long b,
                                        unsigned idesc) {
#if HAS_TCGEN05
  asm volatile(
      "{ .reg .pred p; setp.ne.u32 p, %3, 0;\n"
      "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p; }"
      :
      : "r"(tmem), "l"(a), "l"(b), "r"(idesc));
#else
  asm volatile("trap;");
#endif
}

extern "C" __global__ void tcgen05_fp4(unsigned tmem, unsigned long long a, unsigned long long b,
                                       unsigned idesc, unsigned scale_a, unsigned scale_b) {
#if HAS_TCGEN05
  asm volatile(
      "{ .reg .pred p; setp.ne.u32 p, %3, 0;\n"
      "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16 [%0], %1, %2, %3, [%4], "
      "[%5], p; }"
      :
      : "r"(tmem), "l"(a), "l"(b), "r"(idesc), "r"(scale_a), "r"(scale_b));
#else
  asm volatile("trap;");
#endif
}
