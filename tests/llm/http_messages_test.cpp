// Requests and replies between the library and the worker that carries them.
#include "llm/http_messages.hpp"

#include "catch.hpp"

namespace cupilot {
namespace {

TEST_CASE("a request reaches the worker whole, its key among the headers") {
  const Secret key("sk-0123456789");
  HttpRequest request;
  request.tls = false;
  request.host = "localhost";
  request.port = 8080;
  request.path = "/v1/chat";
  request.headers = {{"content-type", "application/json"}};
  request.key_header = "authorization";
  request.key_prefix = "Bearer ";
  request.key = &key;
  request.body = std::string("{\0}", 3);
  request.proxy_host = "proxy";
  request.proxy_port = 3128;
  request.ca_file = "ca.pem";
  request.seconds = 2.5;
  request.silence = 1.5;
  request.events = [](std::string_view) { return true; };
  const std::string packed = pack(request);
  const auto back = unpack_http_request(packed);
  REQUIRE(back);
  CHECK_FALSE(back->http.tls);
  CHECK(back->http.host == "localhost");
  CHECK(back->http.port == 8080);
  CHECK(back->http.path == "/v1/chat");
  REQUIRE(back->http.headers.size() == 2);
  CHECK(back->http.headers[1] ==
        std::pair<std::string, std::string>("authorization", "Bearer sk-0123456789"));
  CHECK(back->http.body == request.body);
  CHECK(back->http.proxy_host == "proxy");
  CHECK(back->http.proxy_port == 3128);
  CHECK(back->http.ca_file == "ca.pem");
  CHECK(back->http.seconds == 2.5);
  CHECK(back->http.silence == 1.5);
  CHECK(back->wants_events);
  for (std::size_t length = 0; length < packed.size(); ++length)
    CHECK_FALSE(unpack_http_request(std::string_view(packed).substr(0, length)));
}

TEST_CASE("a reply comes back whole or not at all") {
  HttpReply reply;
  reply.fault = EndpointFault::cut;
  reply.detail = "why";
  reply.status = 200;
  reply.headers = {{"a", "1"}, {"b", ""}};
  reply.streamed = true;
  reply.body = "body";
  const std::string packed = pack(reply);
  const auto back = unpack_http_reply(packed);
  REQUIRE(back);
  CHECK(back->fault == EndpointFault::cut);
  CHECK(back->detail == "why");
  CHECK(back->status == 200);
  CHECK(back->headers == reply.headers);
  CHECK(back->streamed);
  CHECK(back->body == "body");
  for (std::size_t length = 0; length < packed.size(); ++length)
    CHECK_FALSE(unpack_http_reply(std::string_view(packed).substr(0, length)));
  CHECK_FALSE(unpack_http_reply(packed + "x"));
}

TEST_CASE("a worker that cannot be had is said") {
  HttpRequest request;
  request.tls = false;
  request.host = "localhost";
  request.port = 9;
  const HttpReply reply = post(request, "/nothing/cupilot-worker");
  CHECK(reply.fault == EndpointFault::unreachable);
  CHECK_THAT(reply.detail, Catch::Contains("cupilot-worker"));
}

TEST_CASE("a worker that ends at once is no reply") {
  HttpRequest request;
  request.tls = false;
  request.host = "localhost";
  request.port = 9;
  const HttpReply reply = post(request, "/bin/false");
  CHECK(reply.fault == EndpointFault::unreachable);
  CHECK_FALSE(reply.detail.empty());
}

}  // namespace
}  // namespace cupilot
