#include "engine/manifest/table_item.h"

#include <algorithm>

#include "engine/manifest/decode.h"
#include "io/base/coding.h"

namespace cellar::engine {
namespace {

// On disk, beside the tags of TableMeta, which skips it: never renumber or reuse.
constexpr uint64_t kVerifiedTag = 100;

constexpr uint8_t kShared = 1;  // flag of an item; on disk

// 0 if there is none. REQUIRES: the facts were decoded.
int64_t verified_of(Bytes facts) {
  Reader in(facts);
  while (in.ok() && !in.at_end()) {
    const uint64_t tag = in.varint();
    const Bytes content = in.bytes();
    if (tag == kVerifiedTag && content.size() == sizeof(int64_t)) {
      return std::max<int64_t>(load_le<int64_t>(content.data()), 0);
    }
  }
  return 0;
}

}  // namespace

std::string encode_table_item(const TableItem& item) {
  std::string out;
  put_u8(out, TableItem::kVersion);
  put_u8(out, item.shared ? kShared : 0);
  put_bytes(out, item.rows.start);
  put_bytes(out, item.rows.end);
  out += encode_table_meta(item.meta);
  if (item.verified_us != 0) {
    std::string content;
    put_u64(content, static_cast<uint64_t>(item.verified_us));
    put_varint(out, kVerifiedTag);
    put_bytes(out, content);
  }
  return out;
}

Result<TableItem> decode_table_item(Bytes encoded) {
  TableItem item;
  Reader in(encoded);
  TRY_VOID(check_version(in, TableItem::kVersion, "table of a tablet"));
  const uint8_t flags = in.u8();
  if ((flags & ~kShared) != 0) {
    return fail(Errc::data_loss, "a tablet's table has the flags {:#x}", flags);
  }
  item.shared = flags == kShared;
  item.rows.start = in.bytes();
  item.rows.end = in.bytes();
  if (!in.ok() || item.rows.empty()) {
    return fail(Errc::data_loss, "the rows of a tablet's table are malformed");
  }
  const Bytes facts = encoded.substr(encoded.size() - in.remaining());
  TRY(item.meta, decode_table_meta(facts));
  item.verified_us = verified_of(facts);
  return item;
}

}  // namespace cellar::engine
