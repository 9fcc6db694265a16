#define CUPILOT_LANES_NAME base
#define CUPILOT_LANES_FUNCTION base_rows
#define CUPILOT_LANES_PRODUCTS base_products
#include "ptx/lanes/tables.inc"
