// Bodies: FlatBuffers that are verified once, at bounded cost, then viewed in place.
//
//   const fb::PingRequest* ping = verified<fb::PingRequest>(frame.body);   // null: refuse
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <string>
#include <string_view>
#include <type_traits>

#include "io/base/bytes.h"
#include "io/base/result.h"
#include "net/wire/body_id.h"

namespace cellar::wire {

// A flag of a schema as the bit of the field that holds it.
template <class Flag>
  requires std::is_enum_v<Flag>
constexpr uint8_t bit(Flag flag) {
  return static_cast<uint8_t>(flag);
}

inline constexpr size_t kMaxTableDepth = 8;
// A table takes at least 8 bytes, so the number of tables a verifier visits is bounded by the body
// size.
constexpr size_t max_tables(size_t body_bytes) { return body_bytes / 8 + 16; }

// Returns the root of a body, or null if the bytes are not valid. `body` must be 8-byte aligned;
// the root points into it.
template <class Root>
const Root* verified(Bytes body) {
  static_assert(kBodyId<Root> != nullptr, "give the table an identifier in body_id.h");
  if (body.size() < 16 || reinterpret_cast<uintptr_t>(body.data()) % 8 != 0) return nullptr;
  const auto* bytes = reinterpret_cast<const uint8_t*>(body.data());
  flatbuffers::Verifier verifier(bytes, body.size(), kMaxTableDepth,
                                 static_cast<flatbuffers::uoffset_t>(max_tables(body.size())));
  if (!verifier.VerifyBuffer<Root>(kBodyId<Root>)) return nullptr;
  return flatbuffers::GetRoot<Root>(bytes);
}

// The body of a frame in two parts that lie apart: `head`, then `tail`. The zeros that pad it to a
// multiple of 8 bytes may be missing.
struct BodyParts {
  Bytes head;
  Bytes tail;

  BodyParts(Bytes whole) : head(whole) {}  // NOLINT(google-explicit-constructor)
  BodyParts(Bytes first, Bytes second) : head(first), tail(second) {}
  size_t size() const { return head.size() + tail.size(); }
};

// Finishes `builder` with `root` as a body padded to a multiple of 8 bytes, ready to send.
template <class Root>
Bytes finish_body(flatbuffers::FlatBufferBuilder& builder, flatbuffers::Offset<Root> root) {
  static_assert(kBodyId<Root> != nullptr, "give the table an identifier in body_id.h");
  builder.ForceVectorAlignment(1, 1, 8);  // makes Finish pad to 8
  builder.Finish(root, kBodyId<Root>);
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

// Whether the structs of a vector are aligned for their type. The verifier checks only the vector's
// own alignment, and a hostile body may place 8-byte structs at an odd multiple of 4. Absent
// vectors are accepted, and so are empty ones, which builders do not align.
template <class T>
bool well_aligned(const flatbuffers::Vector<const T*>* v) {
  return v == nullptr || v->size() == 0 || reinterpret_cast<uintptr_t>(v->Data()) % alignof(T) == 0;
}

// The same for a vector of numbers.
template <class T>
  requires std::is_arithmetic_v<T>
bool well_aligned(const flatbuffers::Vector<T>* v) {
  return v == nullptr || v->size() == 0 || reinterpret_cast<uintptr_t>(v->Data()) % alignof(T) == 0;
}

template <class T>
Result<void> check_aligned(const flatbuffers::Vector<const T*>* v, std::string_view what) {
  if (well_aligned(v)) return {};
  return fail(Errc::invalid_argument, "the {} of the request do not lie at a multiple of {} bytes",
              what, alignof(T));
}

inline flatbuffers::Offset<flatbuffers::Vector<uint8_t>> byte_vector(
    flatbuffers::FlatBufferBuilder& builder, Bytes bytes) {
  return builder.CreateVector(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

// The arena of a body that is being built: the bytes that its spans refer to.
class ArenaBuilder {
 public:
  fb::Span add(Bytes bytes) {
    const fb::Span span(static_cast<uint32_t>(bytes_.size()), static_cast<uint32_t>(bytes.size()));
    bytes_.append(bytes);
    return span;
  }
  size_t size() const { return bytes_.size(); }
  flatbuffers::Offset<flatbuffers::Vector<uint8_t>> finish(
      flatbuffers::FlatBufferBuilder& builder) const {
    return byte_vector(builder, bytes_);
  }

 private:
  std::string bytes_;
};

inline std::string_view text(const flatbuffers::String* s) {
  return s ? std::string_view(s->data(), s->size()) : std::string_view();
}
inline Bytes bytes_of(const flatbuffers::Vector<uint8_t>* v) {
  return v ? Bytes(reinterpret_cast<const char*>(v->data()), v->size()) : Bytes();
}
// Resolves a span in its arena; false if it exceeds the arena.
inline bool view(const fb::Span& span, Bytes arena, Bytes& out) {
  if (span.size() > arena.size() || span.at() > arena.size() - span.size()) return false;
  out = {arena.data() + span.at(), span.size()};
  return true;
}

}  // namespace cellar::wire
