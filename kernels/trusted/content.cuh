// Input content as a recipe: the value of element `index` of a tensor is a function of (key,
// index), made by an integer hash and exact conversions, so that host, device and interpreter get
// the same bits. One text for host C++ and CUDA.
#ifndef CUPILOT_TRUSTED_CONTENT_CUH
#define CUPILOT_TRUSTED_CONTENT_CUH

#include "storage.cuh"

namespace cupilot {

// The order of FillKind.
enum FillCode : int {
  fill_normal,
  fill_uniform,
  fill_integers,
  fill_labels,
  fill_boolean,
  fill_signs,
  fill_one_hot_rows,
  fill_unit_sum_rows,
  fill_zeros,
  fill_ones,
  fill_file
};
// The order of Structure.
enum StructureCode : int {
  structure_dense,
  structure_upper,
  structure_lower,
  structure_symmetric,
  structure_diagonal
};
// The order of ContentKind.
enum ContentCode : int {
  content_ordinary,
  content_probe,
  content_zeros,
  content_huge_element,
  content_alternating,
  content_special,
  content_constant_rows,
  content_range_rows,
  content_sparse,
  content_hard_line,
  content_mixed,
  content_denormals,
  content_integers,
  content_scales,
  content_infinite_lines
};

constexpr int max_rank = 8;
constexpr double largest_half = 65504.0;
constexpr long long meetings = 25;  // pairs of the five values of content special

// A tensor's recipe as plain numbers; goes by value to kernels.
struct FillParams {
  unsigned long long key;  // of (seed, tensor)
  int type, kind, structure, content;
  double offset, scale;  // normal: mean, sigma / deviation of the raw sum; uniform: low, high - low
  long long below;       // integers, labels, file: values in [0, below); file: 0: any
  int rank;
  int leads;  // the first floating input: some contents change only this one
  long long extents[max_rank], strides[max_rank];  // strides in elements of storage
  long long elements, span;
  // The dimension summed over (the innermost where none is), in dense numbering: a line is the
  // elements along it.
  long long line, line_stride;
  long long spot;      // content huge_element: the element
  double huge, swing;  // content huge_element: its value; alternating, range_rows: the magnitude
  double far;          // content scales: from where to the end of a narrow type; 0: a multiple
  long long largest_integer,
      integer_share;  // content integers: below 65536 of as many, so that long sums stay exact
  double unit;        // content integers: what they are multiples of, a power of two
  int wide;           // content integers: this one has full significands
  int first;          // content constant_rows of whole numbers: the turn of the first line
  double held;        // content ordinary: the value of one element in sixteen; 0: none.
                      // infinite_lines: the infinity
  // Content special: where inputs are read together, their values meet at 25 neighbouring elements
  // from `meeting` on. The number of this one among those inputs, from 1; 0: it meets none.
  int meets;
  long long meeting;
  // Variations: a factor on every value; line i of an axis exchanged with i + 8 of its 16 (extent
  // 0: none).
  double factor;
  long long swap_stride, swap_extent;  // dense numbering
  // file: its values, in the memory of whoever reads them. `given_whole`: they are the storage.
  const void* given;
  long long given_count;
  unsigned long long given_key;  // of the bytes' digest; 0: no file
  int given_whole;
};

// Offset of linear (dense) element `index` in storage, in elements.
CUPILOT_HD long long storage_offset(const FillParams& p, long long index) {
  long long offset = 0;
  for (int d = p.rank - 1; d >= 0; --d) {
    offset += index % p.extents[d] * p.strides[d];
    index /= p.extents[d];
  }
  return offset;
}

// The finalizer of SplitMix64 (Steele, Lea, Flood 2014).
CUPILOT_HD unsigned long long mix64(unsigned long long x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}
// Hash of a counter under a key; `stream` separates uses.
CUPILOT_HD unsigned long long hash_of(unsigned long long key, unsigned long long index,
                                      unsigned long long stream) {
  return mix64(mix64(key + stream * 0xD1342543DE82EF95ull) ^ (index * 0x9E3779B97F4A7C15ull));
}

// [0, 1) with 53 bits, exact.
CUPILOT_HD double unit_of(unsigned long long hash) {
  return static_cast<double>(hash >> 11) * 0x1.0p-53;
}

// Irwin-Hall: the sum of four 32-bit draws, centred, with 18 lower bits so that fp64 fills up too.
// Its deviation is 2^50 * sqrt(4 / 12); tails end at 3.46 sigma. Exact: |sum| < 2^51.
CUPILOT_HD double normal_raw(unsigned long long key, unsigned long long index) {
  const unsigned long long a = hash_of(key, index, 1);
  const unsigned long long b = mix64(a ^ 0xA0761D6478BD642Full);
  const unsigned long long sum = (a >> 32) + (a & 0xFFFFFFFFull) + (b >> 32) + (b & 0xFFFFFFFFull);
  const unsigned long long low = mix64(b) >> 46;
  const long long centred = static_cast<long long>((sum << 18) | low) - (1ll << 51);
  return static_cast<double>(centred);
}

// Row and column in the last two dimensions, and the number with both exchanged.
struct Place {
  long long row, column, mirrored;
};
CUPILOT_HD Place place_of(const FillParams& p, long long index) {
  const long long columns = p.rank >= 1 ? p.extents[p.rank - 1] : 1;
  const long long rows = p.rank >= 2 ? p.extents[p.rank - 2] : 1;
  const long long column = index % columns;
  const long long row = index / columns % rows;
  return Place{row, column, index + (column - row) * columns + (row - column)};
}

// The place in a file of its value for an element.
CUPILOT_HD long long given_place(const FillParams& p, long long index) {
  if (p.given_whole != 0) return storage_offset(p, index);
  return static_cast<long long>(hash_of(p.key, static_cast<unsigned long long>(index), 18) %
                                static_cast<unsigned long long>(p.given_count));
}

CUPILOT_HD double ordinary_float(const FillParams& p, long long index) {
  const unsigned long long i = static_cast<unsigned long long>(index);
  const long long width = p.rank >= 1 ? p.extents[p.rank - 1] : 1;
  const unsigned long long row = static_cast<unsigned long long>(index / width);
  switch (p.kind) {
    case fill_normal:
      return add_rn(mul_rn(normal_raw(p.key, i), p.scale), p.offset);
    case fill_uniform:
      return add_rn(mul_rn(unit_of(hash_of(p.key, i, 1)), p.scale), p.offset);
    case fill_integers:
    case fill_labels:
      return static_cast<double>(hash_of(p.key, i, 1) % static_cast<unsigned long long>(p.below));
    case fill_boolean:
      return static_cast<double>(hash_of(p.key, i, 1) >> 63);
    case fill_signs:
      return (hash_of(p.key, i, 1) >> 63) != 0 ? -1.0 : 1.0;
    case fill_one_hot_rows:
      return index % width == static_cast<long long>(hash_of(p.key, row, 2) %
                                                     static_cast<unsigned long long>(width))
                 ? 1.0
                 : 0.0;
    case fill_unit_sum_rows: {
      // Neighbours deviate from the mean in opposite directions, so that a row sums to one without
      // summing it.
      const long long column = index % width;
      if (column == width - 1 && width % 2 == 1) return 1.0 / static_cast<double>(width);
      const double deviation =
          unit_of(hash_of(p.key, i - static_cast<unsigned long long>(column & 1), 1));
      return add_rn(1.0, (column & 1) != 0 ? -deviation : deviation) / static_cast<double>(width);
    }
    case fill_ones:
      return 1.0;
    case fill_file:
      return decode(load_bits(p.given, given_place(p, index), p.type), p.type);
    default:
      return 0.0;
  }
}

// Position of an element on its line, and the line's first element.
struct OnLine {
  long long at;
  unsigned long long line;
  long long number;  // of the line
};
CUPILOT_HD OnLine on_line(const FillParams& p, long long index) {
  const long long at = index / p.line_stride % p.line;
  const long long number = index / p.line_stride / p.line * p.line_stride + index % p.line_stride;
  return OnLine{at, static_cast<unsigned long long>(index - at * p.line_stride), number};
}
// The line's place in a repeating pattern that starts anywhere: every class of line occurs where
// there are `period` lines.
CUPILOT_HD int turn_of(const FillParams& p, const OnLine& on, unsigned long long stream,
                       int period) {
  const unsigned long long start = hash_of(p.key, 0, stream) >> 8;
  return static_cast<int>((start + static_cast<unsigned long long>(on.number)) %
                          static_cast<unsigned long long>(period));
}
// Is turn_of() for lines that differ in magnitude. Lines of a symmetric matrix have elements of all
// others, and so take one turn: beside few large terms honest sums lose many small ones, all in one
// direction, which no bound of random rounding allows for.
CUPILOT_HD int scale_turn_of(const FillParams& p, OnLine on, unsigned long long stream,
                             int period) {
  if (p.structure == structure_symmetric) on.number = 0;
  return turn_of(p, on, stream, period);
}

// Four elements of a line keep their value.
CUPILOT_HD bool among_four(const FillParams& p, const OnLine& on, unsigned long long draw) {
  for (unsigned long long j = 0; j < 4; ++j) {
    if (static_cast<unsigned long long>(on.at) ==
        mix64(draw + j) % static_cast<unsigned long long>(p.line))
      return true;
  }
  return false;
}

// probe: of every four lines one holds a single 1 or a single full-significand value, one holds
// four: there a sum has few terms, and lost operand bits stand out of the bound. The rest stays
// ordinary; of many lines most do.
CUPILOT_HD double probe_float(const FillParams& p, long long index, double ordinary) {
  const OnLine on = on_line(p, index);
  const bool many = p.elements / p.line > 256;
  if (many && turn_of(p, on, 14, 64) >= 4) return ordinary;
  const unsigned long long draw = hash_of(p.key, on.line, 3);
  switch (turn_of(p, on, 12, 4)) {
    case 0:
      if (static_cast<unsigned long long>(on.at) !=
          (draw >> 8) % static_cast<unsigned long long>(p.line))
        return 0.0;
      return (draw & 1u) != 0 ? 1.0 : ordinary;
    case 1:
      return among_four(p, on, draw) ? ordinary : 0.0;
    default:
      return ordinary;
  }
}

// A denormal of the storage type; of fp32 where the type has more range.
CUPILOT_HD double denormal_of(int type) {
  return type == storage_f16    ? 0x1.8p-18
         : type == storage_e4m3 ? 0x1.8p-8
         : type == storage_e5m2 ? 0x1.0p-16
                                : 0x1.8p-130;
}

// special: an infinity of each sign, a NaN, a negative zero and a denormal, each on one line of
// every forty, and each at least once where the tensor has room; of one element, an infinity.
// Values of inputs that are read together meet in all pairs but of two denormals.
CUPILOT_HD double special_float(const FillParams& p, long long index, double ordinary) {
  const OnLine on = on_line(p, index);
  const long long lines = p.elements / p.line;
  const int period = lines < 40 ? static_cast<int>(lines) : 40;
  const int step = period < 5 ? 1 : period / 5;
  const int turn = turn_of(p, on, 4, period);
  const unsigned long long draw = hash_of(p.key, on.line, 4) >> 16;
  const double infinity = double_of(0x7FF0000000000000ull);
  if (p.elements == 1) return (draw & 1u) != 0 ? -infinity : infinity;
  const double values[5] = {infinity, -infinity, double_of(0x7FF8000000000000ull), -0.0,
                            denormal_of(p.type)};
  const long long met = index - p.meeting;
  if (p.meets > 0 && met >= 0 && met < meetings) {
    const long long slow = met / 5, fast = met % 5;
    const long long which = p.meets == 1 ? slow : (fast + slow * (p.meets - 2)) % 5;
    // No arithmetic has to keep a product of two denormals.
    const bool another = p.meets > 1 && (slow == 4 || (fast == 4 && p.meets > 2));
    return which == 4 && another ? ordinary : values[which];
  }
  for (int j = 0; j < 5; ++j) {
    const unsigned long long place =
        (draw + static_cast<unsigned long long>(j)) % static_cast<unsigned long long>(p.line);
    if (turn == j * step % period && static_cast<unsigned long long>(on.at) == place)
      return values[j];
  }
  return ordinary;
}

// A recipe that says "not negative" keeps its word in contents that leave its range.
CUPILOT_HD double in_domain(const FillParams& p, double value) {
  return p.kind == fill_uniform && p.offset >= 0.0 ? magnitude(value) : value;
}

// Neighbours along a line cancel.
CUPILOT_HD double alternating_float(const FillParams& p, long long index) {
  const OnLine on = on_line(p, index);
  const unsigned long long pair =
      static_cast<unsigned long long>(index - (on.at & 1) * p.line_stride);
  const double size = mul_rn(add_rn(1.0, unit_of(hash_of(p.key, pair, 5))), p.swing);
  return (on.at & 1) != 0 ? -size : size;
}

// constant_rows: quarters of small integers, whose sums are exact, so that no order of summation
// drifts.
CUPILOT_HD double constant_float(const FillParams& p, long long index) {
  const long long quarters =
      static_cast<long long>(hash_of(p.key, on_line(p, index).line, 11) % 31u) - 15;
  return in_domain(p, 0.25 * static_cast<double>(quarters));
}

// range_rows: exponentials overflow, squares lose what a shift by the mean would have kept, one
// peak decides a line. Of each seven lines one has it at the line's end, the next seven an element
// before, and so on through the line; another has it anywhere, and its least element there.
CUPILOT_HD double range_float(const FillParams& p, long long index, double ordinary) {
  const OnLine on = on_line(p, index);
  const double near = p.swing < 80.0 ? p.swing : 80.0;
  const bool ends = on.at == p.line - 1 - on.number / 7 % p.line;
  const bool peak = static_cast<unsigned long long>(on.at) ==
                    (hash_of(p.key, on.line, 7) >> 8) % static_cast<unsigned long long>(p.line);
  const double high = mul_rn(2.0, near);
  const double shifts[7] = {near,
                            -near,
                            p.swing,
                            -p.swing,
                            mul_rn(100.0, p.swing),
                            ends ? high : 0.0,
                            peak   ? high
                            : ends ? -high
                                   : 0.0};
  return in_domain(p, add_rn(shifts[scale_turn_of(p, on, 7, 7)], ordinary));
}

// sparse: one element of each 16 x 16 block of the last two dimensions.
CUPILOT_HD double sparse_float(const FillParams& p, long long index, double ordinary) {
  const Place place = place_of(p, index);
  const long long columns = p.rank >= 1 ? p.extents[p.rank - 1] : 1;
  const long long rows = p.rank >= 2 ? p.extents[p.rank - 2] : 1;
  const long long row = place.row % 16, column = place.column % 16;
  const long long height = rows - (place.row - row) < 16 ? rows - (place.row - row) : 16;
  const long long width =
      columns - (place.column - column) < 16 ? columns - (place.column - column) : 16;
  const unsigned long long first = static_cast<unsigned long long>(index - row * columns - column);
  const unsigned long long chosen =
      hash_of(p.key, first, 8) % static_cast<unsigned long long>(height * width);
  return chosen == static_cast<unsigned long long>(row * width + column) ? ordinary : 0.0;
}

// hard_line: what a sample of the content would call easy, exact in every type, but for one line.
CUPILOT_HD double hard_float(const FillParams& p, long long index, double ordinary) {
  const OnLine on = on_line(p, index);
  if (p.leads != 0 && on.line == on_line(p, p.spot).line)
    return among_four(p, on, p.key) ? ordinary : 0.0;
  return in_domain(
      p, (hash_of(p.key, static_cast<unsigned long long>(index), 1) >> 63) != 0 ? -1.0 : 1.0);
}

// Two elements of four become multiples of 2^-1 to 2^-16, one of them of a coarse one rather: some
// lie half way between two numbers that a kernel rounds to, whole ones or those of a 16-bit type,
// and tell which way it rounds.
CUPILOT_HD double some_on_grid(const FillParams& p, long long index, double value) {
  const unsigned long long draw = hash_of(p.key, static_cast<unsigned long long>(index), 15);
  if ((draw & 1u) != 0) return value;
  unsigned halvings = static_cast<unsigned>((draw >> 2) & 15u);
  if ((draw & 2u) != 0) {
    halvings = 0;
    while (halvings < 15 && ((draw >> (6 + halvings)) & 1u) != 0) ++halvings;
  }
  const double magic = 0x1.8p52 / static_cast<double>(2ull << halvings);
  return add_rn(add_rn(value, magic), -magic);
}

// mixed: outermost slices differ in scale and kind, so that one says nothing of the next.
CUPILOT_HD double mixed_float(const FillParams& p, long long index, double ordinary) {
  const unsigned long long slice =
      static_cast<unsigned long long>(index / (p.elements / p.extents[0]));
  switch ((hash_of(p.key, 0, 9) + slice) % 5u) {
    case 0:
      return some_on_grid(p, index, mul_rn(ordinary, 16.0));
    case 1:
      return probe_float(p, index, ordinary);
    case 2:
      return mul_rn(ordinary, 0x1p-10);
    case 3:
      return p.leads != 0 ? in_domain(p, alternating_float(p, index)) : ordinary;
    default:
      return some_on_grid(p, index, ordinary);
  }
}

// integers: full significands in one operand times signed threes in the others, sums of which are
// exact, so that no bound has to allow for a long one. No zero and no one among them, which sparse
// and easy data has; the operands of a product are scaled, so that they do not look like integers.
CUPILOT_HD double integer_float(const FillParams& p, long long index) {
  const unsigned long long draw = hash_of(p.key, static_cast<unsigned long long>(index), 13);
  const double sign = in_domain(p, (draw >> 63) != 0 ? -p.unit : p.unit);
  const bool wide =
      p.wide != 0 && ((draw >> 40) & 0xFFFFu) < static_cast<unsigned long long>(p.integer_share);
  return mul_rn(sign, wide ? static_cast<double>(
                                 2 + draw % static_cast<unsigned long long>(p.largest_integer - 1))
                           : 3.0);
}

// scales: lines of magnitudes from 1e-30 to 1e30, lines far below zero, lines far beyond any number
// that a search for the largest or the least may begin with, and lines of long runs of one value.
// Types of less range have less of each.
CUPILOT_HD double scales_float(const FillParams& p, long long index, double ordinary) {
  const OnLine on = on_line(p, index);
  const bool wide = p.swing >= 1e4;
  const long long run = on.at / 64 * 64;
  switch (scale_turn_of(p, on, 17, 9)) {
    case 0:
      return mul_rn(ordinary, wide ? 0x1p-100 : 0x1p-10);
    case 1:
      return in_domain(p, add_rn(ordinary, mul_rn(-10.0, p.swing)));
    case 2:
      return mul_rn(ordinary, wide ? 0x1p100 : 0x1p3);
    case 3:
      return in_domain(p, add_rn(ordinary, mul_rn(wide ? -1000.0 : -20.0, p.swing)));
    case 4:
      return mul_rn(ordinary, wide ? 0x1p-40 : 0x1p-5);
    case 5:
      return ordinary_float(p, static_cast<long long>(on.line) + run * p.line_stride);
    case 6:
      return mul_rn(ordinary, wide ? 0x1p40 : 0x1p5);
    case 7: {
      const double beyond = add_rn(p.far, mul_rn(0x1p10, magnitude(ordinary)));
      const double far = p.far > 0.0 ? (beyond < largest_half ? beyond : largest_half)
                                     : mul_rn(magnitude(ordinary), wide ? 0x1p118 : 0x1p5);
      return in_domain(p, (on.number & 1) != 0 ? far : -far);
    }
    default:
      return ordinary;
  }
}

// infinite_lines: nothing but one infinity on even lines and in even outermost slices; of the rest
// one element in 64 stays.
CUPILOT_HD double infinite_float(const FillParams& p, long long index, double ordinary) {
  const long long slice = p.rank > 1 ? index / (p.elements / p.extents[0]) : 0;
  const bool whole = (on_line(p, index).number & slice & 1) == 0;
  return whole || hash_of(p.key, static_cast<unsigned long long>(index), 19) % 64 != 0 ? p.held
                                                                                       : ordinary;
}

CUPILOT_HD double denormal_float(const FillParams& p, long long index, double ordinary) {
  const OnLine on = on_line(p, index);
  const unsigned long long draw = hash_of(p.key, on.line, 10);
  if (among_four(p, on, draw)) return denormal_of(p.type);
  return (draw & 1u) != 0 ? ordinary : 0.0;
}

CUPILOT_HD double float_content(const FillParams& p, long long index, double ordinary) {
  switch (p.content) {
    case content_probe:
      return probe_float(p, index, ordinary);
    case content_zeros:
      return 0.0;
    case content_huge_element:
      return index == p.spot ? p.huge : ordinary;
    case content_alternating:
      return p.leads != 0 ? alternating_float(p, index) : ordinary;
    case content_special:
      return special_float(p, index, ordinary);
    case content_constant_rows:
      return constant_float(p, index);
    case content_range_rows:
      return p.leads != 0 ? range_float(p, index, ordinary) : ordinary;
    case content_sparse:
      return p.leads != 0 ? sparse_float(p, index, ordinary) : ordinary;
    case content_hard_line:
      return hard_float(p, index, ordinary);
    case content_mixed:
      return mixed_float(p, index, ordinary);
    case content_denormals:
      return denormal_float(p, index, ordinary);
    case content_integers:
      return integer_float(p, index);
    case content_scales:
      return p.leads != 0 ? scales_float(p, index, ordinary) : ordinary;
    case content_infinite_lines:
      return p.leads != 0 ? infinite_float(p, index, ordinary) : ordinary;
    default: {
      const bool holds = p.held != 0.0 && hash_of(p.key, index, 17) % 16 == 0;
      return holds ? p.held : ordinary;
    }
  }
}

CUPILOT_HD unsigned long long ordinary_count(const FillParams& p, long long index) {
  if (p.kind == fill_file) {
    return static_cast<unsigned long long>(load_integer(p.given, given_place(p, index), p.type)) %
           static_cast<unsigned long long>(p.below);
  }
  const unsigned long long draw = hash_of(p.key, static_cast<unsigned long long>(index), 1);
  return p.kind == fill_boolean ? draw >> 63 : draw % static_cast<unsigned long long>(p.below);
}

// Integers, labels and flags in [0, below). constant_rows: lines of one value, the ends among them,
// so that equal values meet in tables, atomics and masks. range_rows: nothing but the ends, element
// by element or in runs of 32. sparse and zeros: mostly the low end.
CUPILOT_HD unsigned long long count_content(const FillParams& p, long long index) {
  const unsigned long long last =
      p.kind == fill_boolean ? 1 : static_cast<unsigned long long>(p.below) - 1;
  const OnLine on = on_line(p, index);
  switch (p.content) {
    case content_zeros:
      return 0;
    case content_constant_rows: {
      const int turn = static_cast<int>((p.first + on.number) % 3);
      return turn == 0 ? last : turn == 1 ? 0 : ordinary_count(p, static_cast<long long>(on.line));
    }
    case content_range_rows: {
      const unsigned long long at =
          static_cast<unsigned long long>(turn_of(p, on, 15, 2) == 0 ? on.at : on.at / 32);
      const bool ends = index + 1 == p.elements;  // the far end is met at least once
      return ends || (hash_of(p.key, on.line + (at << 40), 16) >> 63) != 0 ? last : 0;
    }
    case content_sparse:
      return sparse_float(p, index, 1.0) != 0.0 ? ordinary_count(p, index) : 0;
    case content_scales:  // long runs of one value
      return ordinary_count(p, static_cast<long long>(on.line) + on.at / 64 * 64 * p.line_stride);
    default:
      return ordinary_count(p, index);
  }
}

// The element whose content stands at `index` when lines are exchanged.
CUPILOT_HD long long swapped_index(const FillParams& p, long long index) {
  if (p.swap_extent == 0) return index;
  const long long at = index / p.swap_stride % p.swap_extent;
  const long long other = at ^ 8;
  return other < p.swap_extent ? index + (other - at) * p.swap_stride : index;
}

// A float's NaN as hosts have it, or, of every other one, with all bits set that devices set where
// arithmetic makes one: rounded by an addition to its bits that becomes a zero. Narrower types have
// no other.
CUPILOT_HD unsigned long long some_nan(const FillParams& p, long long index,
                                       unsigned long long bits) {
  const bool device = (hash_of(p.key, static_cast<unsigned long long>(index), 17) & 1u) != 0;
  return device && p.type == storage_f32 ? 0x7FFFFFFFull : bits;
}

// Storage bits of element `index` (dense numbering).
CUPILOT_HD unsigned long long fill_bits(const FillParams& p, long long index) {
  index = swapped_index(p, index);
  long long source = index;
  if (p.structure != structure_dense) {
    const Place place = place_of(p, index);
    if (p.structure == structure_upper && place.column < place.row) return encode(0.0, p.type);
    if (p.structure == structure_lower && place.column > place.row) return encode(0.0, p.type);
    if (p.structure == structure_diagonal && place.column != place.row) return encode(0.0, p.type);
    if (p.structure == structure_symmetric && place.column < place.row) source = place.mirrored;
  }
  const bool counts = p.kind == fill_integers || p.kind == fill_labels || p.kind == fill_boolean ||
                      (p.kind == fill_file && p.below > 0);
  const bool as_given =
      is_float_type(p.type) ? p.content == content_ordinary && p.factor == 1.0 : !counts;
  if (p.kind == fill_file && as_given) return load_bits(p.given, given_place(p, source), p.type);
  if (is_float_type(p.type)) {
    const double value = mul_rn(p.factor, float_content(p, source, ordinary_float(p, source)));
    const unsigned long long bits = encode(value, p.type);
    return value != value ? some_nan(p, source, bits) : bits;
  }
  if (counts) return count_content(p, source);
  return encode(ordinary_float(p, source), p.type);
}

}  // namespace cupilot

#endif
