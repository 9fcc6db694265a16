// A matrix turned about its diagonal, for units that want both operands' lines along K: a step of
// its own before the product. `from` holds `lines` lines of `length` elements; `to` gets `length`
// lines of `lines` elements, each `pitch` elements after the one before (a multiple of 16 bytes;
// what lies between becomes zero, since tensor maps may read it).
//
// A block of TURN_THREADS turns a square of SIDE by SIDE elements. It moves words of 4 bytes, so
// that elements of one byte travel four at a time. In shared memory word w of a line stands at w ^
// line / PER_WORD: then neither the threads that write down a column of lines nor those that read
// along one meet in a bank.
constexpr int TURN_THREADS = 256;

template <class T>
struct Turn {
  static constexpr int PER_WORD = 4 / static_cast<int>(sizeof(T));
  static constexpr int WORDS = 32;  // of a square's line
  static constexpr int SIDE = WORDS * PER_WORD;
  static_assert(sizeof(T) == 4 || sizeof(T) == 1);

  const T* from;
  T* to;
  int lines, length, pitch;

  // Word `word` of a line; zero outside.
  __device__ __forceinline__ unsigned load(int line, int word) const {
    const int first = word * PER_WORD;
    if (line >= lines || first >= length) return 0;
    const T* at = from + static_cast<long long>(line) * length + first;
    if (PER_WORD == 1 ||
        (length % PER_WORD == 0 && reinterpret_cast<unsigned long long>(from) % 4 == 0)) {
      return *reinterpret_cast<const unsigned*>(at);
    }
    unsigned bits = 0;
#pragma unroll
    for (int i = 0; i < PER_WORD; ++i) {
      if (first + i < length)
        bits |= static_cast<unsigned>(reinterpret_cast<const unsigned char*>(at)[i]) << 8 * i;
    }
    return bits;
  }

  // Four lines' words, each of four bytes, become four columns'.
  static __device__ __forceinline__ void turn_bytes(unsigned (&w)[4]) {
    const unsigned low01 = __byte_perm(w[0], w[1], 0x5140),
                   high01 = __byte_perm(w[0], w[1], 0x7362);
    const unsigned low23 = __byte_perm(w[2], w[3], 0x5140),
                   high23 = __byte_perm(w[2], w[3], 0x7362);
    w[0] = __byte_perm(low01, low23, 0x5410);
    w[1] = __byte_perm(low01, low23, 0x7632);
    w[2] = __byte_perm(high01, high23, 0x5410);
    w[3] = __byte_perm(high01, high23, 0x7632);
  }

  // The square whose first element is element `left` of line `top`.
  __device__ __forceinline__ void square(int top, int left) const {
    __shared__ unsigned turned[SIDE][WORDS];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    for (int row = static_cast<int>(threadIdx.x) / 32; row < WORDS; row += TURN_THREADS / 32) {
      unsigned words[PER_WORD];
#pragma unroll
      for (int i = 0; i < PER_WORD; ++i)
        words[i] = load(top + row * PER_WORD + i, left / PER_WORD + lane);
      if constexpr (PER_WORD == 4) turn_bytes(words);
#pragma unroll
      for (int i = 0; i < PER_WORD; ++i) turned[lane * PER_WORD + i][row ^ lane] = words[i];
    }
    __syncthreads();
    for (int line = static_cast<int>(threadIdx.x) / 32; line < SIDE; line += TURN_THREADS / 32) {
      const int first = top + lane * PER_WORD;
      if (left + line >= length || first >= pitch) continue;
      const unsigned word = turned[line][lane ^ line / PER_WORD];
      *reinterpret_cast<unsigned*>(to + static_cast<long long>(left + line) * pitch + first) = word;
    }
  }
};
