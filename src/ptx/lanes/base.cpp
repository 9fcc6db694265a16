#define CUPILOT_LANES_NAME base
#define CUPILOT_LANES_FUNCTION base_rows
#include "ptx/lanes/tables.inc"
