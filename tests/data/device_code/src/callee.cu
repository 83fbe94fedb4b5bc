// Called across translation units: needs a device link.
__device__ float twice(float x) { return x + x; }
