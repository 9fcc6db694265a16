// Gathers what report.html needs of a run's events while its journal is walked.
#pragma once

#include <string>
#include <vector>

#include <cupilot/parts/host.hpp>

#include "base/digest_table.hpp"
#include "evolution/journal/tally.hpp"
#include "evolution/report/chart.hpp"
#include "evolution/report/page_json.hpp"
#include "evolution/report/thinned.hpp"

namespace cupilot {

// A candidate without template: where models take part, one that they were asked for.
struct PageWritten {
  std::uint64_t candidate = 0;
  std::string outcome{}, strategy{};
};

class PageGatherer {
 public:
  void take(const SearchEvent& event, const FramedRecord& record);
  // Verified kernels of the run; `data().kernels` holds all or some of them.
  std::size_t verified() const { return kernels_.seen(); }
  // In the order of their results, all or some of them.
  std::vector<PageWritten> written() const { return written_.taken(); }
  Result<RooflineChart> roofline(const RunWalk& walk) const { return roofline_.chart(walk); }
  // Reads the champion's ancestors from the journal in `run_dir`.
  PageData data(Host& host, const std::string& run_dir, const RunWalk& walk) const;

 private:
  struct Bred {
    PageKernel kernel;
    std::string id;                    // strategy id
    std::vector<std::string> parents;  // strategy ids
  };
  static Bred bred_of(const ResultRecord& result, const Accepted& accepted);
  std::vector<Bred> ancestors(Host& host, const std::string& run_dir,
                              const std::string& champion) const;
  std::vector<PageRelative> lineage(Host& host, const std::string& run_dir,
                                    const std::string& champion) const;

  RooflineGatherer roofline_;
  DigestTable places_;  // strategy id -> byte of the journal where its accepted result is
  Thinned<Bred> kernels_{most_points};
  Thinned<PageWritten> written_{most_points};
  double best_ = 0;
};

}  // namespace cupilot
