// Faults of order, width and rounds in the PTX of proved kernels: which there are, what became of
// them, and the file that keeps it.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "campaign.hpp"
#include "ptx_operators.hpp"

namespace cupilot::mutation {

// A kernel as PTX with its task; `taken`: proved as it stands, so that mutants of it tell.
struct Subject {
  std::string name{};
  std::vector<std::string> task_words{};
  Task task{};
  KernelSource source{};
  std::string hash{};     // of the text and the plan
  bool is_large = false;  // a tensor of 2 GiB or more at a time shape
  bool taken = false;
  std::string reason{};  // it is not
};
// The subject of a kernel file, not yet judged. `root`: folder from which the task is named.
Result<Subject> subject_of(const std::string& path, const std::string& root, Backend& backend);

struct Injection {
  const Subject* subject = nullptr;
  const PtxOperator* fault = nullptr;
  int site = 0, sites = 0, line = 0;
  std::string was{};
  Site edits{};
};
// The places of every operator, or as many drawn ones as asked of each kernel (0: all), in an order
// drawn from the seed that takes kernels in turn.
std::vector<Injection> injections(const std::vector<const Subject*>& subjects, std::uint64_t seed,
                                  int draw);

// Kernels and mutants that were judged. Another run goes on from the file.
class Records {
 public:
  Records() = default;
  // An unreadable or absent file is empty records.
  static Records read(const std::string& path);
  // False: it cannot be written.
  bool write(const std::string& path) const;

  // True if the kernel of that text was judged; its row then says how.
  bool knows(Subject& subject) const;
  bool knows(const Injection& one) const;
  void add(const Subject& subject, double seconds);
  void add(const Injection& one, const Verdict& verdict);
  std::size_t mutants() const { return mutants_.size(); }
  // Lines of counts by operator and fate.
  std::string tally() const;

 private:
  std::map<std::string, nlohmann::json> kernels_{}, mutants_{};
};

}  // namespace cupilot::mutation
