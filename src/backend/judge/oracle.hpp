// Reference values on the device: computed once a key, kept in memory that is never shared, the
// least used given up first.
#pragma once

#include <map>
#include <string>

#include "backend/worker/session.hpp"

namespace cupilot {

class OracleStore {
 public:
  struct Entry {
    CUdeviceptr values = 0, sums = 0, begins = 0;
    std::int64_t slice = 0, elements = 0;
    std::int64_t bytes = 0;
    std::uint64_t used = 0;
  };
  explicit OracleStore(CudaSession& session) : session_(session) {}
  OracleStore(const OracleStore&) = delete;
  OracleStore& operator=(const OracleStore&) = delete;
  ~OracleStore();
  // Computes the values when the key is not there. Throws CudaFailure.
  void ensure(const OracleOrder& order);
  const Entry& at(const std::string& key);

 private:
  void make_room(std::int64_t bytes);
  CudaSession& session_;
  std::map<std::string, Entry> entries_;
  std::int64_t held_ = 0;
  std::uint64_t uses_ = 0;
};

}  // namespace cupilot
