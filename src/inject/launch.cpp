#include "inject/launch.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "inject/driver.hpp"
#include "inject/images.hpp"
#include "inject/memory.hpp"
#include "inject/record.hpp"
#include "inject/tally.hpp"

namespace cupilot::inject {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t most_parameter_bytes = 32764;
constexpr std::uint64_t searched_bytes = 4096;  // of what a pointer names, for more pointers

struct Arguments {
  Bytes bytes{};
  std::vector<std::uint64_t> parameters{};  // offset and size of each, in turn
  std::vector<std::uint64_t> pointers{};    // offsets of words that name device memory
};

CUresult parameter(const Known& known, CUfunction function, std::size_t index, std::size_t& offset,
                   std::size_t& size) {
  if (known.is_kernel)
    return CUPILOT_CALL(cuKernelGetParamInfo, reinterpret_cast<CUkernel>(function), index, &offset,
                        &size);
  return CUPILOT_CALL(cuFuncGetParamInfo, function, index, &offset, &size);
}

// The block of arguments as the kernel gets it; false: its layout is unknown.
bool gather(const Request& request, const Known& known, Arguments& out) {
  const void* block = nullptr;
  std::size_t block_bytes = 0;
  for (void** word = request.extra; word != nullptr && *word != CU_LAUNCH_PARAM_END; word += 2) {
    if (*word == CU_LAUNCH_PARAM_BUFFER_POINTER) block = word[1];
    if (*word == CU_LAUNCH_PARAM_BUFFER_SIZE)
      std::memcpy(&block_bytes, word[1], sizeof block_bytes);
  }
  if (block != nullptr) {
    const auto* from = static_cast<const std::uint8_t*>(block);
    out.bytes.assign(from, from + std::min(block_bytes, most_parameter_bytes));
    return true;
  }
  for (std::size_t i = 0;; ++i) {
    std::size_t offset = 0, size = 0;
    const CUresult code = parameter(known, request.function, i, offset, size);
    if (code == CUDA_ERROR_INVALID_VALUE) return true;  // there are no more
    if (code != CUDA_SUCCESS) return false;             // as of drivers before 12.4
    if (request.parameters == nullptr || offset + size > most_parameter_bytes) return false;
    out.bytes.resize(std::max(out.bytes.size(), offset + size));
    std::memcpy(out.bytes.data() + offset, request.parameters[i], size);
    out.parameters.push_back(offset);
    out.parameters.push_back(size);
  }
}

std::uint64_t word_at(const Bytes& bytes, std::size_t offset) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + offset, sizeof word);
  return word;
}

void add(std::vector<Region>& regions, const Region& one) {
  for (const Region& known : regions) {
    if (known.begin == one.begin) return;
  }
  regions.push_back(one);
}

std::uint64_t key_of(const Request& request, const Known& known, const Arguments& arguments) {
  Bytes masked = arguments.bytes;
  for (const std::uint64_t at : arguments.pointers) std::fill_n(masked.data() + at, 8, 0);
  const auto* name = reinterpret_cast<const std::uint8_t*>(known.name.data());
  std::uint64_t key =
      hash_of({name, known.name.size()}, reinterpret_cast<std::uintptr_t>(known.owner));
  key = hash_of(masked, key);
  const std::uint64_t shape[] = {request.grid[0],  request.grid[1],   request.grid[2],
                                 request.block[0], request.block[1],  request.block[2],
                                 request.shared,   request.cluster[0]};
  return hash_of({reinterpret_cast<const std::uint8_t*>(shape), sizeof shape}, key);
}

// Describes the device once; its number.
std::uint64_t note_device() {
  CUdevice device = 0;
  if (CUPILOT_CALL(cuCtxGetDevice, &device) != CUDA_SUCCESS) return 0;
  static std::mutex lock;
  static auto& noted = *new std::set<CUdevice>;
  const std::scoped_lock held(lock);
  const auto number = static_cast<std::uint64_t>(device);
  if (!noted.insert(device).second) return number;
  const auto value = [&](CUdevice_attribute which) {
    int one = 0;
    CUPILOT_CALL(cuDeviceGetAttribute, &one, which, device);
    return static_cast<std::uint64_t>(std::max(one, 0));
  };
  char name[256] = "";
  int driver = 0;
  CUPILOT_CALL(cuDeviceGetName, static_cast<char*>(name), static_cast<int>(sizeof name), device);
  CUPILOT_CALL(cuDriverGetVersion, &driver);
  append(Line("device")
             .number("device", number)
             .text("name", name)
             .number("driver", static_cast<std::uint64_t>(driver))
             .number("capability", 10 * value(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                                       value(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR))
             .number("sms", value(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT))
             .number("shared", value(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)));
  return number;
}

// True while the stream records a graph, or another one's recording forbids to look.
bool is_recording(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult code = CUPILOT_CALL(cuStreamIsCapturing, stream, &status);
  if (code == CUDA_ERROR_NOT_FOUND) return false;
  return code != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace

class Kept {
 public:
  Kept(std::uint64_t number, CUstream stream) : number_(number), stream_(stream) {}

  void before(const Request& request, const Known& known, const Arguments& arguments,
              std::vector<Region> regions);
  void after(CUresult asked);

 private:
  std::string folder() const { return "launch-" + std::to_string(number_); }
  std::string keep_regions();
  std::string keep_variables(void* owner);
  // Adds the regions that words at the begin of this region name.
  void search(const Region& region, const Bytes& content);
  std::uint64_t number_;
  CUstream stream_;
  std::vector<Region> regions_;
  std::vector<Bytes> contents_;
};

void KeptDeleter::operator()(Kept* kept) const { delete kept; }

void Kept::search(const Region& region, const Bytes& content) {
  const std::uint64_t end = std::min<std::uint64_t>(content.size(), searched_bytes);
  for (std::uint64_t at = (8 - region.kept_from % 8) % 8; at + 8 <= end; at += 8) {
    const std::uint64_t word = word_at(content, at);
    Region found;
    if (word >= 1ull << 32 && region_at(word, found)) add(regions_, found);
  }
}

std::string Kept::keep_regions() {
  std::string list = "[";
  for (std::size_t i = 0; i < regions_.size(); ++i) {  // search() adds to them
    const Region region = regions_[i];
    Bytes content;
    Line line;
    line.number("address", region.begin).number("bytes", region.bytes);
    line.number("kept_from", region.kept_from).number("kept", region.kept);
    if (!take_room(2 * region.kept)) {
      line.text("lost", "the folder is full");
    } else if (!read_region(region, stream_, content)) {
      line.text("lost", "the driver gave no copy");
      content.clear();
    } else {
      const std::string file = folder() + "/buffer-" + std::to_string(i) + ".before";
      if (write_file(file, content)) line.text("before", file);
      search(region, content);
    }
    contents_.push_back(std::move(content));
    list += (i > 0 ? ", " : "") + line.object();
  }
  return list + "]";
}

std::string Kept::keep_variables(void* owner) {
  std::string list = "[";
  for (const KnownVariable& one : known_variables(owner)) {
    Region region;
    region.begin = region.kept_from = one.address;
    region.bytes = region.kept = one.bytes;
    Bytes content;
    if (!take_room(one.bytes) || !read_region(region, stream_, content)) continue;
    const std::string file = folder() + "/variable-" + std::to_string(list.size()) + ".before";
    if (!write_file(file, content)) continue;
    list += (list.size() > 1 ? ", " : "") + Line()
                                                .text("name", one.name)
                                                .number("address", one.address)
                                                .number("bytes", one.bytes)
                                                .text("before", file)
                                                .object();
  }
  return list + "]";
}

void Kept::before(const Request& request, const Known& known, const Arguments& arguments,
                  std::vector<Region> regions) {
  regions_ = std::move(regions);
  const std::string buffers = keep_regions(), variables = keep_variables(known.owner);
  append(Line("launch")
             .number("number", number_)
             .number("device", note_device())
             .text("module", kept_image(known.owner))
             .text("entry", known.name)
             .numbers("grid", request.grid)
             .numbers("block", request.block)
             .numbers("cluster", request.cluster)
             .number("shared", request.shared)
             .json("cooperative", request.cooperative ? "true" : "false")
             .text("arguments", hexadecimal(arguments.bytes))
             .numbers("parameters", arguments.parameters)
             .numbers("pointers", arguments.pointers)
             .json("buffers", buffers)
             .json("variables", variables));
}

void Kept::after(CUresult asked) {
  const Aside aside;
  const Unrecorded unrecorded;
  CUresult result = asked;
  Line line("after");
  line.number("number", number_);
  const bool ended = asked == CUDA_SUCCESS && wait_for(stream_, result);
  const char* name = nullptr;
  CUPILOT_CALL(cuGetErrorName, result, &name);
  line.number("result", static_cast<std::uint64_t>(result))
      .text("name", name != nullptr ? name : "");
  std::string list = "[";
  for (std::size_t i = 0; ended && i < regions_.size(); ++i) {
    Bytes content;
    std::string file;
    if (!contents_[i].empty() && read_region(regions_[i], stream_, content)) {
      file = folder() + "/buffer-" + std::to_string(i) + ".before";
      if (content != contents_[i]) {
        file = folder() + "/buffer-" + std::to_string(i) + ".after";
        if (!write_file(file, content)) file.clear();
      }
    }
    list += (i > 0 ? ", " : "") + quoted(file);
  }
  append(line.json("buffers", list + "]"));
  if (result == CUDA_ERROR_NOT_READY)
    stand_aside("launch " + std::to_string(number_) + " did not end within 30 s");
}

KeptPtr keep_before(const Request& request) {
  const Aside aside;
  if (standing_aside()) return nullptr;
  count_process();
  if (is_recording(request.stream)) return count(Unkept::recorded), nullptr;
  if (is_full()) return count(Unkept::beyond), nullptr;
  const std::optional<Known> known = known_function(request.function);
  if (!known) return count(Unkept::unknown), nullptr;
  if (known->name.find(settings().entry) == std::string::npos) return count(Unkept::other), nullptr;
  const Unrecorded unrecorded;
  Arguments arguments;
  if (!gather(request, *known, arguments)) return count(Unkept::unknown), nullptr;
  std::vector<Region> regions;
  for (std::size_t at = 0; at + 8 <= arguments.bytes.size(); at += 8) {
    Region found;
    if (!region_at(word_at(arguments.bytes, at), found)) continue;
    add(regions, found);
    arguments.pointers.push_back(at);
  }
  const std::uint64_t number = number_of(key_of(request, *known, arguments));
  CUresult result = CUDA_SUCCESS;
  if (number == 0 || !wait_for(request.stream, result)) return nullptr;
  KeptPtr kept(new Kept(number, request.stream));
  kept->before(request, *known, arguments, std::move(regions));
  return kept;
}

void keep_after(Kept& kept, CUresult result) { kept.after(result); }

void count_graph() { count(Unkept::graph); }
void count_process() { note_process(); }

}  // namespace cupilot::inject
