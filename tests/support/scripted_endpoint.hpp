// A server on loopback that reads a request and answers with whatever bytes its script says,
// well-formed or not.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <cupilot/rng.hpp>

namespace cupilot::testing {

struct ScriptStep {
  enum class Then {
    close,
    hang,
    drip,
    repeat,
    trickle
  };  // drip: one byte of `more` each 20 ms; repeat: `more` without end; trickle: `more` once, a
      // byte each 2 ms
  std::string bytes{};
  Then then = Then::close;
  std::string more{};
};

// Serves one connection after another, a step each; the last step is repeated.
class ScriptedEndpoint {
 public:
  ScriptedEndpoint() {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
    ::listen(listener_, 16);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~ScriptedEndpoint() {
    ending_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  int port() const { return port_; }
  std::string url(const std::string& scheme = "http") const {
    return scheme + "://127.0.0.1:" + std::to_string(port_);
  }
  // Bytes go out in pieces drawn from `seed`.
  void play(std::vector<ScriptStep> steps, std::uint64_t seed = 1) {
    const std::lock_guard hold(mutex_);
    steps_ = std::move(steps);
    next_ = 0;
    seed_ = seed;
    requests_.clear();
  }
  std::vector<std::string> requests() const {
    const std::lock_guard hold(mutex_);
    return requests_;
  }

 private:
  void serve() {
    while (!ending_) {
      const int peer = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (peer < 0) continue;
      answer(peer);
      ::close(peer);
    }
  }

  void answer(int peer) {
    std::string request = read_request(peer);
    if (request.empty()) return;
    ScriptStep step;
    Rng rng(0);  // of this answer's pieces: the next play() may begin while it still goes out
    {
      const std::lock_guard hold(mutex_);
      rng = Rng::of(seed_, "pieces " + std::to_string(next_));
      requests_.push_back(std::move(request));
      if (!steps_.empty()) step = steps_[std::min(next_++, steps_.size() - 1)];
    }
    if (!write_pieces(peer, step.bytes, rng)) return;
    switch (step.then) {
      case ScriptStep::Then::close:
        drain(peer);
        break;
      case ScriptStep::Then::hang:
        wait_for_close(peer);
        break;
      case ScriptStep::Then::drip:
        drip(peer, step.more);
        break;
      case ScriptStep::Then::trickle:
        trickle(peer, step.more);
        break;
      case ScriptStep::Then::repeat:
        while (!ending_ && write_all(peer, step.more)) continue;
        break;
    }
  }

  static std::string read_request(int peer) {
    std::string text;
    char buffer[65536];
    for (;;) {
      const std::size_t end = text.find("\r\n\r\n");
      if (end != text.npos) {
        const std::size_t length = text.find("Content-Length: ");
        const std::size_t body = length == text.npos ? 0 : std::stoul(text.substr(length + 16, 12));
        if (text.size() >= end + 4 + body) return text;
      }
      const ssize_t count = ::recv(peer, buffer, sizeof buffer, 0);
      if (count <= 0) return "";
      text.append(buffer, static_cast<std::size_t>(count));
      if (text[0] != 'P') return "";  // a TLS handshake
    }
  }

  static bool write_all(int peer, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(peer, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }

  static bool write_pieces(int peer, std::string_view bytes, Rng& rng) {
    while (!bytes.empty()) {
      const std::size_t piece =
          bytes.size() > 100000 ? bytes.size() : 1 + static_cast<std::size_t>(rng.below(400));
      if (!write_all(peer, bytes.substr(0, piece))) return false;
      bytes.remove_prefix(std::min(piece, bytes.size()));
    }
    return true;
  }

  void trickle(int peer, const std::string& more) const {
    for (std::size_t i = 0; i < more.size() && !ending_; ++i) {
      if (!write_all(peer, more.substr(i, 1))) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    drain(peer);
  }

  void drip(int peer, const std::string& bytes) {
    for (std::size_t i = 0; !ending_ && write_all(peer, bytes.substr(i % bytes.size(), 1)); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  // Closing while bytes of the peer are unread would take back what was sent.
  static void drain(int peer) {
    ::shutdown(peer, SHUT_WR);
    wait_for_close(peer);
  }

  static void wait_for_close(int peer) {
    char buffer[4096];
    while (::recv(peer, buffer, sizeof buffer, 0) > 0) continue;
  }

  int listener_ = -1, port_ = 0;
  std::atomic<bool> ending_{false};
  mutable std::mutex mutex_;
  std::vector<ScriptStep> steps_;
  std::size_t next_ = 0;
  std::uint64_t seed_ = 1;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace cupilot::testing
