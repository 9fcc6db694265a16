// Bulk copies: what a decoded form keeps, and the handlers. Internal.
#pragma once

#include "ptx/machine/memory.hpp"

namespace cupilot::ptx {

// The fields of a bulk form, as words of Step::list.
struct BulkForm {
  std::uint32_t way;  // Way
  std::uint32_t reduces, op, type;
  std::uint32_t rank;  // tensor dimensions; 0: none
  std::uint32_t prefetch;
  std::uint32_t multicast, mask;      // slot of 16 bits
  std::uint32_t masked, byte_mask;    // slot of 16 bits
  std::uint32_t size;                 // slot of 32 bits
  std::uint32_t coordinates[5];       // slots of 32 bits
  std::uint32_t shared[place_words];  // destination of a load, source of a store
  std::uint32_t other[place_words];   // global address, tensor map, or second shared place
  std::uint32_t barrier[place_words];
};
inline constexpr std::size_t bulk_form_words = sizeof(BulkForm) / 4;

// list: a BulkForm.
void run_bulk(Lanes& lanes, const Step& step);
// st.async and red.async. list: a BulkForm, then slots of the values; count, bytes, width as of a
// store.
void run_send(Lanes& lanes, const Step& step);
void run_bulk_commit(Lanes& lanes, const Step& step);
// aux: groups that may stay open; flags 1: .read.
void run_bulk_wait(Lanes& lanes, const Step& step);

}  // namespace cupilot::ptx
