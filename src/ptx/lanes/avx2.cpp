#define CUPILOT_LANES_NAME avx2
#define CUPILOT_LANES_FUNCTION avx2_rows
#define CUPILOT_LANES_PRODUCTS avx2_products
#include "ptx/lanes/tables.inc"
