#include <cupilot/backend.hpp>
#include <cupilot/evolve.hpp>
#include <cupilot/family.hpp>
#include <cupilot/parts/models.hpp>

#include <cstdio>
#include <stdexcept>

#include <Eigen/Core>
#include <nlohmann/json.hpp>

namespace {

// Makes each function of the program's own libraries a symbol of it.
void use_own_libraries() {
  called_by_owner = true;
  int sizes[3];
  Eigen::internal::queryCacheSizes(sizes[0], sizes[1], sizes[2]);
  Eigen::DenseStorage<double, -1, -1, -1, 0>().resize(1, 1, 1);
  Eigen::PlainObjectBase<Eigen::Matrix<double, -1, 1, 0, -1, 1>>().resize(1, 1);
  nlohmann::detail::exception::name("", 1);
  nlohmann::detail::output_string_adapter<char, std::string> adapter;
  adapter.write_character(' ');
  adapter.write_characters(" ", 1);
  called_by_owner = false;
}

// Nothing listens at the endpoint.
bool ask_a_model() {
  const auto config = cupilot::read_models(
      R"({"endpoints": [{"name": "none", "url": "http://127.0.0.1:9/v1", "retries": 0}],
          "models": [{"name": "m", "endpoint": "none", "model": "m"}], "roles": {"*": "m"}})",
      "models");
  if (!config) return std::printf("%s\n", config.error().message.c_str()), false;
  auto client = cupilot::open_models(*config, {});
  if (!client) return std::printf("%s\n", client.error().message.c_str()), false;
  cupilot::ChatRequest request;
  request.agent = "writer";
  request.messages = {{cupilot::ChatMessage::Role::user, "hello"}};
  const auto reply = (*client)->complete(request);
  return !reply && reply.error().code == cupilot::ErrorCode::endpoint;
}

// An exception of the program's own, thrown through the library, comes back as an error.
struct Thrower : cupilot::SearchObserver {
  void on_candidate(const cupilot::Candidate&) override {
    throw std::runtime_error("thrown by the observer");
  }
};

}  // namespace

int main() {
  use_own_libraries();
  // The library's own exceptions stay inside it.
  if (cupilot::read_models("{", "text")) return 1;
  if (!ask_a_model()) return 2;
  const auto task = cupilot::task_from_words({"gemm", "m=64", "n=64", "k=64"});
  const auto device = cupilot::open_backend("virtual:h200", {.worker_path = WORKER});
  if (!task || !device) return 4;
  Thrower thrower;
  const auto thrown =
      cupilot::evolve(*task, **device, {.search = {.max_evaluations = 2}, .observer = &thrower});
  if (thrown || thrown.error().message.find("thrown by the observer") == std::string::npos)
    return 5;
  const auto report = cupilot::evolve(*task, **device, {.search = {.max_evaluations = 2}});
  if (!report || !report->best) return 6;
  const auto& time = std::get<cupilot::Accepted>(report->best->candidate.outcome).measurement;
  std::printf("%.2f us %s\n", time.time_us, name_of(time.provenance).data());
}
