// Calls into another translation unit: needs a device link.
__device__ float twice(float x);
extern "C" __global__ void call_twice(float *x) { x[threadIdx.x] = twice(x[threadIdx.x]); }
