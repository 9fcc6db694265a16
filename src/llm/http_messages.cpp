#include "llm/http_messages.hpp"

#include "backend/wire/body.hpp"

namespace cupilot {

std::string pack(const HttpRequest& request) {
  auto headers = request.headers;
  if (request.key != nullptr && !request.key->empty())
    headers.emplace_back(request.key_header, key_header_value(request.key_prefix, *request.key));
  std::vector<std::string> names, values;
  for (const auto& [name, value] : headers) names.push_back(name), values.push_back(value);
  BodyWriter body;
  body.put(request.tls).put(request.host).put(request.port).put(request.path);
  body.put(names).put(values).put(request.body).put(request.proxy_host).put(request.proxy_port);
  body.put(request.ca_file).put(request.seconds).put(request.silence);
  body.put(static_cast<bool>(request.events));
  return body.take();
}

std::optional<WiredRequest> unpack_http_request(std::string_view bytes) {
  BodyReader body(bytes);
  WiredRequest request;
  HttpRequest& http = request.http;
  http.tls = body.get<bool>();
  http.host = body.text();
  http.port = body.get<int>();
  http.path = body.text();
  const auto names = body.texts(), values = body.texts();
  for (std::size_t i = 0; i < std::min(names.size(), values.size()); ++i)
    http.headers.emplace_back(names[i], values[i]);
  http.body = body.text();
  http.proxy_host = body.text();
  http.proxy_port = body.get<int>();
  http.ca_file = body.text();
  http.seconds = body.get<double>();
  http.silence = body.get<double>();
  request.wants_events = body.get<bool>();
  if (!body.whole() || names.size() != values.size()) return std::nullopt;
  return request;
}

std::string pack(const HttpReply& reply) {
  std::vector<std::string> names, values;
  for (const auto& [name, value] : reply.headers) names.push_back(name), values.push_back(value);
  BodyWriter body;
  body.put(reply.fault).put(reply.detail).put(reply.status).put(names).put(values);
  body.put(reply.streamed).put(reply.body);
  return body.take();
}

std::optional<HttpReply> unpack_http_reply(std::string_view bytes) {
  BodyReader body(bytes);
  HttpReply reply;
  reply.fault = body.get<EndpointFault>();
  reply.detail = body.text();
  reply.status = body.get<int>();
  const auto names = body.texts(), values = body.texts();
  for (std::size_t i = 0; i < std::min(names.size(), values.size()); ++i)
    reply.headers[names[i]] = values[i];
  reply.streamed = body.get<bool>();
  reply.body = body.text();
  if (!body.whole() || names.size() != values.size()) return std::nullopt;
  return reply;
}

}  // namespace cupilot
