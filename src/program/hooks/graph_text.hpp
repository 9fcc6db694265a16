// The functions that a template with hooks calls, as CUDA text (docs/formats/tunable.md, `anchor`).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <cupilot/task.hpp>

#include "program/hooks/graph_site.hpp"

namespace cupilot {

// Outputs with a value for each element, and for each row.
struct SiteOutputs {
  std::vector<std::string> full{}, per_row{};
};
SiteOutputs outputs_of(const Task& task, const GraphSite& site);

// `struct Graph` of a graph laid out in rows.
std::string graph_text(const Task& task, const GraphSite& site);

// A graph whose one fold finds its terms by coordinates: its results in tiles.
struct SiteTiles {
  Expr lane = 1;    // extent of the last coordinate of results
  Expr second = 1;  // extent of another: of one that some operand does not depend on, else the last
                    // but one; 1: there is none
};
std::optional<SiteTiles> tiles_of(const Task& task, const GraphSite& site);

// `struct Graph` of such a graph.
std::string tile_text(const Task& task, const GraphSite& site);

// A side of a patch: extent of places, within a phase, and how far neighbours lie apart; the most
// taps of a phase and how far they reach; phases, and taps and reach of them all.
struct SiteWindowSide {
  Expr extent = 1;
  std::int64_t step = 1, taps = 1, reach = 0, phases = 1, all_taps = 1, all_reach = 0;
};

// A contraction whose left factor is read in patches of a plane, at channels; taps along the sides
// before the plane: the most of a phase, and all.
struct SiteWindow {
  Expr outer = 1, channels = 1;
  std::int64_t outer_taps = 1, outer_all_taps = 1;
  SiteWindowSide rows{}, columns{};
};

// A sum of products of two factors that are found by coordinates: extents of what both depend on,
// each alone, and of the sum.
struct SiteContraction {
  Expr batch = 1, m = 1, n = 1, k = 1;
  std::int64_t phases = 1;  // kinds of places whose terms are others; m is of one of them
  std::int64_t planes = 1;  // parts of an operand on tensor cores; 2: the class is an emulation
  std::optional<SiteWindow> window{};
};
std::optional<SiteContraction> contraction_of(const Task& task, const GraphSite& site);

// `struct Graph` of such a graph.
std::string contraction_text(const Task& task, const GraphSite& site);

// A fold over windows that slide over one tensor, along a side of a patch: extent of places, how
// far they lie apart and how far a window's elements reach, how many there are; how many places lie
// between two that share elements; where the first window begins.
struct SiteSlideSide {
  Expr extent = 1;
  std::int64_t step = 1, taps = 1, reach = 0, apart = 1, begin = 0;
};
struct SiteSlide {
  Expr outer = 1;
  SiteSlideSide planes{}, rows{}, columns{};
  bool weighted = false;  // elements are multiplied by a factor of the plane and the tap
};
std::optional<SiteSlide> slide_of(const Task& task, const GraphSite& site);

// `struct Graph` of such a graph.
std::string slide_text(const Task& task, const GraphSite& site);

// A graph that falls into rows: how many, and what a row keeps and computes.
struct SiteLocal {
  Expr rows = 1, kept = 1, terms = 1;
};
std::optional<SiteLocal> local_of(const Task& task);
std::string local_text(const Task& task);

// `struct Graph` of what follows a product; stages name the finished sum `acc`. Its first full
// output is the product's. `spans` says which operands are triangles: GraphProduct::spans.
// `left_pitch`: elements between rows of the left operand, of which `k` are its own.
std::string product_text(const Task& task, const GraphSite& site, int spans,
                         const std::string& left_pitch = "k");

}  // namespace cupilot
