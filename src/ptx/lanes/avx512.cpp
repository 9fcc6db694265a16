#ifndef CUPILOT_NARROW_LANES
#define CUPILOT_LANES_NAME avx512
#define CUPILOT_LANES_FUNCTION avx512_rows
#define CUPILOT_LANES_PRODUCTS avx512_products
#include "ptx/lanes/tables.inc"
#else
#include "ptx/lanes/lanes.hpp"

namespace cupilot::ptx {

RowLists avx512_rows() { return avx2_rows(); }
const ProductRow* avx512_products() { return avx2_products(); }

}  // namespace cupilot::ptx
#endif
