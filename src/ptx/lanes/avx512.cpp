#define CUPILOT_LANES_NAME avx512
#define CUPILOT_LANES_FUNCTION avx512_rows
#define CUPILOT_LANES_PRODUCTS avx512_products
#include "ptx/lanes/tables.inc"
