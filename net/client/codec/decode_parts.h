// Parts of answers: their roots, texts, keys and lists.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <optional>
#include <string>
#include <vector>

#include "net/client/api/admin.h"
#include "net/wire/body.h"
#include "net/wire/frame.h"

namespace cellar::client {

namespace fb = wire::fb;

// A table without fields: each has its default.
inline const uint8_t* no_fields() {
  static const flatbuffers::DetachedBuffer kBuffer = [] {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(flatbuffers::Offset<void>(builder.EndTable(builder.StartTable())));
    return builder.Release();
  }();
  return kBuffer.data();
}

// The root of a body, or an error if it is invalid.
template <class Root>
Result<const Root*> root_of(const wire::Frame& frame) {
  if (frame.body.empty()) return flatbuffers::GetRoot<Root>(no_fields());
  const Root* root = wire::verified<Root>(frame.body);
  if (!root) {
    return fail(Errc::internal, "the server's answer to operation {} cannot be read",
                frame.header.op);
  }
  return root;
}

inline std::string text_of(const flatbuffers::String* text) {
  return std::string(wire::text(text));
}

template <class To, class From>
std::optional<To> enum_of(const flatbuffers::Optional<From>& value) {
  return value ? std::optional(static_cast<To>(*value)) : std::nullopt;
}

inline Error bad_arena() {
  return Error(Errc::internal, "the server's answer names bytes it did not send");
}

// The bytes of a span in the answer's arena.
inline Result<std::string> key_in(Bytes arena, const fb::Span& span) {
  Bytes key;
  if (!wire::view(span, arena, key)) return std::unexpected(bad_arena());
  return std::string(key);
}

// An absent list is empty.
template <class From, class To, class Of>
void each_of(const From* from, std::vector<To>& to, const Of& of) {
  if (from == nullptr) return;
  to.reserve(from->size());
  for (const auto* one : *from) to.push_back(of(*one));
}

Result<std::vector<IndexSpec>> indexes_of(const fb::TableDescription& table);

}  // namespace cellar::client
