#include "engine/model/token.h"

#include "io/base/check.h"
#include "io/base/coding.h"

namespace cellar {
namespace {

// On disk: never renumber.
constexpr uint8_t kVersion = 1;
constexpr uint8_t kMatched = 1;
constexpr uint8_t kCellsLeftOut = 2;

}  // namespace

Result<void> validate_token(const WriteToken& token) {
  if (token.token.size() > kMaxTokenBytes) {
    return fail(Errc::invalid_argument, "a token of {} bytes is over the limit of {}",
                token.token.size(), kMaxTokenBytes);
  }
  if (token.client.empty()) {
    return fail(Errc::invalid_argument,
                "a write has a token, but the connection's hello named no client id");
  }
  CHECK(token.client.size() <= kMaxTokenClientBytes, "a token's client of {} bytes",
        token.client.size());
  return {};
}

std::string token_id(Bytes client, Bytes token) {
  std::string id;
  id.reserve(1 + client.size() + token.size());
  put_u8(id, static_cast<uint8_t>(client.size()));
  id.append(client);
  id.append(token);
  return id;
}

bool split_token_id(Bytes id, Bytes& client, Bytes& token) {
  Reader in(id);
  client = in.take(in.u8());
  token = in.rest();
  return in.ok() && !token.empty();
}

void append_token_record(std::string& out, const TokenRecord& record) {
  put_u8(out, kVersion);
  put_u8(out, (record.matched ? kMatched : 0) | (record.cells_left_out ? kCellsLeftOut : 0));
  put_varint(out, zigzag(record.until_us));
  put_u64(out, record.content.low);
  put_u64(out, record.content.high);
  put_varint(out, record.cells.size());
  for (const Mutation& cell : record.cells) {
    put_bytes(out, cell.family);
    put_bytes(out, cell.qualifier);
    put_varint(out, zigzag(cell.timestamp_us));
    put_bytes(out, cell.value);
  }
}

bool parse_token_record(Bytes encoded, TokenRecord& out) {
  out = TokenRecord();
  Reader in(encoded);
  if (in.u8() != kVersion) return false;
  const uint8_t flags = in.u8();
  if ((flags & ~(kMatched | kCellsLeftOut)) != 0) return false;
  out.matched = (flags & kMatched) != 0;
  out.cells_left_out = (flags & kCellsLeftOut) != 0;
  out.until_us = in.signed_varint();
  out.content.low = in.u64();
  out.content.high = in.u64();
  const uint64_t count = in.varint();
  for (uint64_t i = 0; i < count && in.ok(); ++i) {
    Mutation& cell = out.cells.emplace_back();
    cell.family = in.bytes();
    cell.qualifier = in.bytes();
    cell.timestamp_us = in.signed_varint();
    cell.value = in.bytes();
  }
  return in.ok() && in.at_end();
}

bool parse_token_until(Bytes encoded, int64_t& until_us) {
  Reader in(encoded);
  if (in.u8() != kVersion) return false;
  (void)in.u8();
  until_us = in.signed_varint();
  return in.ok();
}

}  // namespace cellar
