// The order in which stages of a reference combine terms: 512 terms one after the other, 512 such
// sums one after the other, and so on. Any block may be computed alone, by another thread, and
// gives the same bits. One text for host C++ and CUDA.
#ifndef CUPILOT_TRUSTED_TREE_CUH
#define CUPILOT_TRUSTED_TREE_CUH

#include "tracked.cuh"

// Number of terms that are combined one after the other.
#if !defined(CUPILOT_TREE_BLOCK)
#define CUPILOT_TREE_BLOCK 512
#endif

namespace cupilot {

constexpr long long tree_block = CUPILOT_TREE_BLOCK;

template <class Combine, class Real>
struct Tree {
  static constexpr int levels = 3;
  // A sum begins with zero, another combination with its first item.
  Real sums[levels] = {Real(0.0), Real(0.0), Real(0.0)};
  bool held[levels] = {false, false, false};
  long long blocks[levels] = {0, 0, 0};  // items that a level holds

  CUPILOT_HD void add(Real item) {
    put(0, item);
    if (blocks[0] < tree_block) return;
    put(1, sums[0]);
    clear(0);
    if (blocks[1] < tree_block) return;
    put(2, sums[1]);
    clear(1);
  }
  // Combines all items so far, of which there is at least one.
  CUPILOT_HD Real total() const {
    Real sum = sums[0];
    bool any = held[0];
    for (int level = 1; level < levels; ++level) {
      if (!held[level]) continue;
      sum = any ? Combine::of(sums[level], sum) : sums[level];
      any = true;
    }
    return Combine::whole(sum);
  }

 private:
  CUPILOT_HD void put(int level, Real item) {
    sums[level] = Combine::begins_with_zero || held[level] ? Combine::of(sums[level], item) : item;
    held[level] = true;
    ++blocks[level];
  }
  CUPILOT_HD void clear(int level) {
    sums[level] = Real(0.0);
    held[level] = false;
    blocks[level] = 0;
  }
};

// Keeps the combination of all items as it is.
struct CombineAny {
  static constexpr bool begins_with_zero = false;
  template <class Real>
  CUPILOT_HD static Real whole(Real a) {
    return a;
  }
};
struct CombineSum {
  // Zero changes nothing but the sign of a zero, which `whole` takes away.
  static constexpr bool begins_with_zero = true;
  // A sum begins with 0: of negative zeros it is 0.
  template <class Real>
  CUPILOT_HD static Real whole(Real a) {
    return a + Real(0.0);
  }
  template <class Real>
  CUPILOT_HD static Real of(Real a, Real b) {
    return a + b;
  }
};
struct CombineProd : CombineAny {
  template <class Real>
  CUPILOT_HD static Real of(Real a, Real b) {
    return a * b;
  }
};
struct CombineMax : CombineAny {
  template <class Real>
  CUPILOT_HD static Real of(Real a, Real b) {
    return max_(a, b);
  }
};
struct CombineMin : CombineAny {
  template <class Real>
  CUPILOT_HD static Real of(Real a, Real b) {
    return min_(a, b);
  }
};
struct CombineMaxn : CombineAny {
  template <class Real>
  CUPILOT_HD static Real of(Real a, Real b) {
    return maxn_(a, b);
  }
};
struct CombineMinn : CombineAny {
  template <class Real>
  CUPILOT_HD static Real of(Real a, Real b) {
    return minn_(a, b);
  }
};

// Stands for an optional input that is absent: every element is zero.
struct Absent {
  template <class... At>
  CUPILOT_HD double operator()(At...) const {
    return 0.0;
  }
};

// A number as stages are stored.
struct StoredTracked {
  double value, sum;  // sum_of
};
CUPILOT_HD StoredTracked stored(tracked x) { return StoredTracked{x.value, sum_of(x)}; }
CUPILOT_HD tracked restored(StoredTracked x) {
  const double within = kept_of_nan(x.sum);
  if (is_nan(x.sum) && is_finite(within) && is_finite(x.value))
    return tracked(x.value, within, false, true);
  return tracked(x.value, fabs(x.sum), (bits_of(x.sum) >> 63) != 0);
}
CUPILOT_HD double stored(double x) { return x; }
CUPILOT_HD double restored(double x) { return x; }
CUPILOT_HD float stored(float x) { return x; }
CUPILOT_HD float restored(float x) { return x; }

}  // namespace cupilot

#endif
