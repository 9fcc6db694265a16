// How the tensor cores of a device round, form by form, against the interpreter.
//
//   tensor_rounding text DIR              writes every kernel's PTX
//   tensor_rounding device OUT            runs every form on the first CUDA device, writes the
//   results' bits tensor_rounding compare OUT OUT.json  runs them on the interpreter, counts equal
//   results
//
// Both sides run the same PTX on the same operands (tests/ptx/machine/tensor_forms.hpp).
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ptx/machine/tensor_run.hpp"

namespace {

using namespace support;
using nlohmann::json;

[[noreturn]] void fail(const std::string& message) {
  std::cerr << "tensor_rounding: " << message << "\n";
  std::exit(1);
}

// The few calls of the driver that this needs.
class Driver {
 public:
  Driver() {
    library_ = dlopen("libcuda.so.1", RTLD_NOW);
    if (library_ == nullptr) fail("no libcuda.so.1");
    int device = 0;
    void* context = nullptr;
    check(call("cuInit", 0u), "cuInit");
    check(call("cuDeviceGet", &device, 0), "cuDeviceGet");
    check(call("cuDevicePrimaryCtxRetain", &context, device), "cuDevicePrimaryCtxRetain");
    check(call("cuCtxSetCurrent", context), "cuCtxSetCurrent");
  }
  std::uint64_t upload(const Bytes& bytes) const {
    const std::uint64_t at = allocate(bytes.size());
    check(call("cuMemcpyHtoD_v2", at, bytes.data(), bytes.size()), "copy");
    return at;
  }
  std::uint64_t allocate(std::size_t bytes) const {
    std::uint64_t at = 0;
    check(call("cuMemAlloc_v2", &at, std::max<std::size_t>(bytes, 256)), "allocation");
    check(call("cuMemsetD8_v2", at, static_cast<unsigned char>(0xee), bytes), "fill");
    return at;
  }
  Bytes run(const std::string& ptx, unsigned blocks, unsigned threads,
            std::vector<std::uint64_t> addresses, std::size_t bytes) const {
    void *module = nullptr, *function = nullptr;
    check(call("cuModuleLoadData", &module, ptx.c_str()), "PTX");
    check(call("cuModuleGetFunction", &function, module, "run"), "kernel");
    std::vector<void*> parameters;
    for (std::uint64_t& a : addresses) parameters.push_back(&a);
    void* none = nullptr;
    check(call("cuLaunchKernel", function, blocks, 1u, 1u, threads, 1u, 1u, 0u, none,
               parameters.data(), none),
          "launch");
    check(call("cuCtxSynchronize"), "run");
    Bytes out(bytes);
    check(call("cuMemcpyDtoH_v2", out.data(), addresses.back(), bytes), "result");
    for (const std::uint64_t a : addresses) check(call("cuMemFree_v2", a), "free");
    check(call("cuModuleUnload", module), "unload");
    return out;
  }

 private:
  template <class... A>
  int call(const char* name, A... arguments) const {
    const auto f = reinterpret_cast<int (*)(A...)>(dlsym(library_, name));
    return f == nullptr ? -1 : f(arguments...);
  }
  static void check(int code, const std::string& what) {
    if (code != 0) throw std::runtime_error(fmt::format("{} failed: {}", what, code));
  }
  void* library_ = nullptr;
};

void write_text(const std::string& directory) {
  int i = 0;
  for (const TensorForm& f : tensor_forms())
    std::ofstream(fmt::format("{}/form{}.ptx", directory, i++)) << "// " << f.text << "\n"
                                                                << ptx_of(f);
  for (int k = 0; k < 4; ++k)
    std::ofstream(fmt::format("{}/descriptor{}.ptx", directory, k))
        << descriptor_ptx(k / 2 != 0, k % 2 != 0);
}

void write_device(const std::string& path) {
  const Driver driver;
  std::ofstream file(path, std::ios::binary);
  const auto put = [&](const Bytes& bytes) {
    const std::uint64_t size = bytes.size();
    file.write(reinterpret_cast<const char*>(&size), 8);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(size));
  };
  for (const TensorForm& f : tensor_forms()) {
    const int trials = trials_of(f);
    const TensorOperands in = operands_of(f, trials, operand_seed);
    try {
      put(driver.run(ptx_of(f), static_cast<unsigned>(trials), static_cast<unsigned>(f.threads()),
                     {driver.upload(in.a), driver.upload(in.b), driver.upload(in.c),
                      driver.upload(in.e), driver.allocate(in.d_bytes)},
                     in.d_bytes));
    } catch (const std::runtime_error& e) {
      std::cerr << f.text << ": " << e.what() << "\n";
      put({});
    }
  }
  for (int k = 0; k < 4; ++k) {
    const auto list = descriptors(k % 2 != 0);
    const std::size_t bytes = list.size() * descriptor_results * 2;
    put(driver.run(descriptor_ptx(k / 2 != 0, k % 2 != 0), static_cast<unsigned>(list.size()), 128,
                   {driver.upload(bytes_of_words(list)), driver.allocate(bytes)}, bytes));
  }
}

struct Captured {
  std::vector<Bytes> parts;
};
Captured read_device(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("cannot read " + path);
  Captured out;
  std::uint64_t size = 0;
  while (file.read(reinterpret_cast<char*>(&size), 8)) {
    Bytes part(size);
    file.read(reinterpret_cast<char*>(part.data()), static_cast<std::streamsize>(size));
    out.parts.push_back(std::move(part));
  }
  return out;
}

// Equal results of `width` bytes.
std::pair<std::size_t, std::size_t> count_equal(const Bytes& x, const Bytes& y, std::size_t width) {
  std::size_t equal = 0, all = x.size() / width;
  for (std::size_t i = 0; i < all; ++i)
    equal += std::memcmp(x.data() + i * width, y.data() + i * width, width) == 0 ? 1 : 0;
  return {equal, all};
}

void compare(const std::string& path, const std::string& to) {
  const Captured captured = read_device(path);
  json rows = json::array();
  std::size_t i = 0, whole = 0;
  const auto add = [&](const std::string& name, int trials, const auto& run, std::size_t width,
                       std::size_t hashed) {
    const Bytes& theirs = captured.parts.at(i++);
    json row = {{"form", name}, {"trials", trials}, {"device_hash", hash_of(theirs, hashed)}};
    try {
      const auto [equal, all] = count_equal(run(), theirs, width);
      row["results"] = all;
      row["equal"] = equal;
      whole += equal == all ? 1 : 0;
      if (equal != all) std::cout << name << ": " << equal << " of " << all << "\n";
    } catch (const std::runtime_error& e) {
      row["error"] = e.what();
      std::cout << name << ": " << e.what() << "\n";
    }
    rows.push_back(row);
  };
  for (const TensorForm& f : tensor_forms()) {
    const int trials = trials_of(f);
    const bool halves = f.in_c == Element::f16 && f.d != 8;
    add(
        name_of(f), trials, [&] { return interpret(f, trials); },
        halves ? 2 : static_cast<std::size_t>(f.width), hashed_bytes(f));
  }
  for (int k = 0; k < 4; ++k) {
    const bool a = k / 2 != 0, transposed = k % 2 != 0;
    const std::size_t count = descriptors(transposed).size();
    add(
        fmt::format("wgmma descriptor of {}{}", a ? "A" : "B", transposed ? ", transposed" : ""),
        static_cast<int>(count), [&] { return interpret_descriptors(a, transposed); }, 2,
        count * descriptor_results * 2);
  }
  std::cout << whole << " of " << rows.size() << " forms equal in every bit\n";
  std::ofstream(to) << json{{"command",
                             "tensor_rounding device OUT; tensor_rounding compare OUT OUT.json"},
                            {"device", "NVIDIA H200, driver 580.159"},
                            {"operand_seed", operand_seed},
                            {"hashed_trials", hashed_trials},
                            {"rows", rows}}
                           .dump(1)
                    << "\n";
}

}  // namespace

int main(int count, char** words) {
  const std::string verb = count > 2 ? words[1] : "";
  if (verb == "text") {
    write_text(words[2]);
  } else if (verb == "device") {
    write_device(words[2]);
  } else if (verb == "compare" && count > 3) {
    compare(words[2], words[3]);
  } else {
    fail("text DIR | device OUT | compare OUT OUT.json");
  }
  return 0;
}
