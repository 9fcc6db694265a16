// A tensor whose blocks of neighbouring elements lie further apart than they are long. Elements are
// numbered as if they were dense.
template <class T>
struct Pitched {
  T* base;
  long long block, gap;  // elements of a block, and between one's end and the next

  // Finds an element among those of the storage.
  __device__ __forceinline__ long long place(long long at) const {
    const bool narrow = ((at | block) >> 32) == 0;
    const long long before =
        narrow ? static_cast<unsigned>(at) / static_cast<unsigned>(block) : at / block;
    return at + before * gap;
  }
  __device__ __forceinline__ T* operator+(long long at) const { return base + place(at); }
  __device__ __forceinline__ T& operator[](long long at) const { return base[place(at)]; }
  // True if neighbours may be taken as vectors of so many elements wherever a dense tensor's may.
  __device__ __forceinline__ bool aligned(int elements) const {
    return block % elements == 0 && gap % elements == 0 &&
           reinterpret_cast<unsigned long long>(base) % (elements * sizeof(T)) == 0;
  }
};
template <class T>
__device__ __forceinline__ Pitched<T> pitched(T* base, long long block, long long gap) {
  return {base, block, gap};
}
