// Some names of cpp-httplib, with another layout than any version of it has.
#pragma once

#include <functional>
#include <string>

#include "owner.hpp"

namespace httplib {

enum class Error { Success };
struct Response {};
struct Request {
  void set_header(const std::string&, const std::string&) { only_the_owner("set_header"); }
};
struct ClientImpl {
  void set_connection_timeout(long, long) { only_the_owner("set_connection_timeout"); }
  void set_read_timeout(long, long) { only_the_owner("set_read_timeout"); }
  void set_write_timeout(long, long) { only_the_owner("set_write_timeout"); }
};
class Client {
 public:
  explicit Client(const std::string&) { only_the_owner("Client"); }
  ~Client() { only_the_owner("~Client"); }
  void set_socket_options(std::function<void(int)>) { only_the_owner("set_socket_options"); }
  void set_proxy(const std::string&, int) { only_the_owner("set_proxy"); }
  void set_keep_alive(bool) { only_the_owner("set_keep_alive"); }
  void set_follow_location(bool) { only_the_owner("set_follow_location"); }
  bool send(Request&, Response&, Error&) { return only_the_owner("send"), true; }

 protected:
  char padding_[3] = {};
};

}  // namespace httplib
