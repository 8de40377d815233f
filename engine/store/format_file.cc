#include "engine/store/format_file.h"

#include <fmt/format.h>

#include <charconv>

#include "engine/store/hex_name.h"
#include "engine/store/manifest_file.h"
#include "io/base/crc32c.h"
#include "io/base/random.h"

namespace cellar::engine {
namespace {

constexpr std::string_view kHead = "cellar format ";
constexpr std::string_view kId = " id ";
constexpr size_t kIdDigits = 32;

Error unreadable() { return Error(Errc::data_loss, fmt::format("{} is damaged", kFormatPath)); }

Result<void> check_range(uint32_t version, FormatRange range) {
  if (version > range.newest) {
    return fail(
        Errc::failed_precondition,
        "{} says that the data is of format {}; this program reads formats {} to {}: take a "
        "newer program. Nothing was touched",
        kFormatPath, version, range.oldest, range.newest);
  }
  if (version < range.oldest) {
    return fail(
        Errc::failed_precondition,
        "{} says that the data is of format {}; this program reads formats {} to {}: upgrade "
        "it with a program in between. Nothing was touched",
        kFormatPath, version, range.oldest, range.newest);
  }
  return {};
}

Async<Result<bool>> has_manifest(FileSystem& fs) {
  CO_TRY(const std::optional<uint64_t> current, co_await read_current(fs));
  co_return current.has_value();
}

}  // namespace

std::string encode_format(const DirectoryFormat& format) {
  const std::string text = fmt::format("{}{}{}{}", kHead, format.version, kId, format.id);
  return fmt::format("{} {:08x}\n", text, crc32c(text));
}

Result<DirectoryFormat> decode_format(Bytes content) {
  const size_t blank = content.rfind(' ');
  if (blank == Bytes::npos || content.size() != blank + 10 || content.back() != '\n') {
    return std::unexpected(unreadable());
  }
  const Bytes text = content.substr(0, blank);
  const auto crc = parse_hex(content.substr(blank + 1, 8), 8);
  if (!crc || *crc != crc32c(text) || !text.starts_with(kHead)) {
    return std::unexpected(unreadable());
  }
  DirectoryFormat format;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + kHead.size(), last, format.version);
  const std::string_view rest(end, static_cast<size_t>(last - end));
  if (error != std::errc() || !rest.starts_with(kId)) return std::unexpected(unreadable());
  // A newer version may have more fields after the id.
  format.id = rest.substr(kId.size(), kIdDigits);
  return format;
}

Async<Result<std::optional<DirectoryFormat>>> read_format(FileSystem& fs, FormatRange range) {
  auto content = co_await read_file(fs, std::string(kFormatPath));
  if (!content && content.error().code == Errc::not_found) {
    co_return std::optional<DirectoryFormat>();
  }
  if (!content) co_return std::unexpected(std::move(content).error());
  CO_TRY(DirectoryFormat format, decode_format(*content));
  CO_TRY_VOID(check_range(format.version, range));
  co_return std::optional<DirectoryFormat>(std::move(format));
}

Async<Result<DirectoryFormat>> settle_format(FileSystem& fs, std::string new_id,
                                             FormatRange range) {
  CO_TRY(std::optional<DirectoryFormat> found, co_await read_format(fs, range));
  if (found) co_return *std::move(found);
  CO_TRY(const bool used, co_await has_manifest(fs));
  if (used) {
    co_return fail(Errc::data_loss,
                   "{} is missing, though there is a manifest: nothing tells of which format the "
                   "data is. Nothing was touched",
                   kFormatPath);
  }
  DirectoryFormat format{range.newest, std::move(new_id)};
  std::string content = encode_format(format);
  CO_TRY_VOID(co_await replace_file(fs, std::string(kFormatPath), std::move(content)));
  co_return format;
}

Async<Result<uint32_t>> upgrade_format(FileSystem& fs, FormatRange range) {
  CO_TRY(DirectoryFormat format, co_await settle_format(fs, new_directory_id(), range));
  const uint32_t before = format.version;
  if (before == range.newest) co_return before;
  format.version = range.newest;
  std::string content = encode_format(format);
  CO_TRY_VOID(co_await replace_file(fs, std::string(kFormatPath), std::move(content)));
  co_return before;
}

std::string new_directory_id() {
  return fmt::format("{:016x}{:016x}", entropy_seed(), entropy_seed());
}

}  // namespace cellar::engine
