// A second translation unit whose kernels have C++ names: a namespace, a template, two instances.
namespace spark {
template <int kStep>
__global__ void shift(float *x) {
  x[threadIdx.x] += static_cast<float>(kStep);
}
template __global__ void shift<1>(float *);
template __global__ void shift<2>(float *);
}  // namespace spark
