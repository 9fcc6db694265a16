// The fake worker under the name of a behaviour (fake_worker.cpp says what names mean).
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

#include "backend/cuda/device.hpp"
#include "catch.hpp"

namespace cupilot {

struct FakeWorker {
  std::filesystem::path folder;
  BackendOptions options;
  explicit FakeWorker(const std::string& behaviour) {
    static int made = 0;
    folder = std::filesystem::temp_directory_path() /
             ("cupilot_fake_" + std::to_string(getpid()) + "_" + std::to_string(made++));
    std::filesystem::create_directories(folder);
    std::filesystem::create_symlink(CUPILOT_FAKE_WORKER, folder / behaviour);
    options.worker_path = (folder / behaviour).string();
  }
  FakeWorker(const FakeWorker&) = delete;
  FakeWorker& operator=(const FakeWorker&) = delete;
  ~FakeWorker() { std::filesystem::remove_all(folder); }
  std::unique_ptr<CudaDevice> open(const DeviceDeadlines& deadlines = {}) const {
    auto opened = CudaDevice::open(0, options, deadlines);
    if (!opened) FAIL(opened.error().message);
    return std::move(*opened);
  }
};

}  // namespace cupilot
