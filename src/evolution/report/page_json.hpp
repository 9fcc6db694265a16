// The JSON block of report.html, from which its charts are drawn (docs/formats/run-directory.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <cupilot/evolve.hpp>
#include <cupilot/parts/roofline_chart.hpp>

namespace cupilot {

struct PageKernel {
  std::uint64_t candidate = 0;
  int generation = 0;
  double time_us = 0;
  Provenance provenance = Provenance::modelled;
  double intensity = 0;    // operations a DRAM byte
  double flops_per_s = 0;  // operations a second
  std::string strategy;    // describe()
};

// A kernel of the lineage: the champion, an ancestor of it, or a child of either.
struct PageRelative {
  PageKernel kernel;
  std::vector<std::uint64_t> parents;  // candidates
  bool ancestor = false;               // also of the champion itself
};

struct PageData {
  std::string task, device;
  std::int64_t proposed = 0;
  std::vector<PageKernel> kernels;  // verified ones by candidate, of many some
  std::optional<PageKernel> champion;
  std::vector<Baseline> baselines;
  std::optional<RooflineChart> roofline;  // its ceilings and floor; its kernels are not written
  std::vector<PageRelative> lineage;      // by candidate
  std::map<std::string, std::int64_t> rejections;  // by code
  std::map<std::string, double> phases;            // seconds by path
};

// One line of JSON without '<', so that no text in it ends a script element. Numbers have six
// digits; one that is not finite is null.
std::string page_json(const PageData& data);

}  // namespace cupilot
