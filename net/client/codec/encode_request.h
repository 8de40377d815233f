// Final steps of the requests of Encoder: the root becomes a body and the body a frame, and the
// request learns its table and how it may be repeated.
#pragma once

#include <algorithm>

#include "net/client/codec/encode.h"
#include "net/client/codec/encode_parts.h"
#include "net/client/codec/frame_parts.h"
#include "net/wire/frame.h"

namespace cellar::client {

constexpr uint16_t op_number(fb::Op op) { return static_cast<uint16_t>(op); }

inline Request changing(Request request, Repeat repeat = Repeat::unless_applied) {
  request.writes = true;
  request.repeat = repeat;
  return request;
}

// A request of rows: the handle of its frame names the table.
inline Request by_handle(std::string_view table, Request request) {
  request.table = table;
  request.by_handle = true;
  return request;
}

// A request whose body names one table. The dispatcher sends it to the node that has the table.
template <class Root>
Request of_table(Request request) {
  const Root& body = body_of<Root>(request);
  const flatbuffers::String* name = [&body] {
    if constexpr (requires { body.table(); }) {
      return body.table();
    } else {
      return body.name();
    }
  }();
  request.table = wire::text(name);
  return request;
}

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
