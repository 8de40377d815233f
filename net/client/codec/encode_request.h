// Final step of every request of Encoder: turns the root into a body and the body into a frame.
#pragma once

#include <algorithm>

#include "net/client/codec/encode.h"
#include "net/client/codec/encode_parts.h"
#include "net/wire/frame.h"

namespace cellar::client {

constexpr uint16_t op_number(fb::Op op) { return static_cast<uint16_t>(op); }

template <class Root>
Request Encoder::finish(uint16_t op, flatbuffers::Offset<Root> root) {
  const Bytes body = wire::finish_body(builder_, root);
  builder_bytes_ = std::max<size_t>(builder_bytes_, body.size());
  Request request;
  request.frame = frame_string();
  request.frame.reserve(wire::kHeaderBytes + body.size());
  wire::FrameHeader header;
  header.op = op;
  header.body_bytes = static_cast<uint32_t>(body.size());
  wire::append_header(request.frame, header);
  request.frame.append(body);
  return request;
}

template <class Root>
Request Encoder::named(uint16_t op, std::string_view name) {
  auto& b = fresh();
  const auto text = string_of(b, name);
  typename Root::Builder out(b);
  out.add_name(text);
  return finish(op, out.Finish());
}

}  // namespace cellar::client
