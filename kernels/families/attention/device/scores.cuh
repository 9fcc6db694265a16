// Scores of queries and keys: those of the family's words, sum / sqrt(width). Other graphs get a
// text of the same form in its place, whose scores are computed of the sum by what follows the
// product there (docs/formats/tunable.md, `weighted`).
#define SCORE_PARAMETERS
#define SCORES(WIDTH) \
  Scores { 1.0f / sqrtf(static_cast<float>(WIDTH)) }

struct Scores {
  float factor;
  static constexpr bool BY_FACTOR = true;  // a score is the sum times `factor`

  // The score of a sum; `row`: of all batches' queries.
  __device__ __forceinline__ float of(long long, int, int, float sum) const { return sum * factor; }
};
