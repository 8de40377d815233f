#include "engine/store/local/format_file.h"

#include <fmt/format.h>

#include <charconv>

#include "engine/store/blob/blob_files.h"
#include "engine/store/file/hex_name.h"
#include "engine/store/local/unfinished_directory.h"
#include "engine/store/log/log_files.h"
#include "engine/store/manifest/manifest_file.h"
#include "io/base/crc32c.h"
#include "io/base/random.h"

namespace cellar::engine {
namespace {

constexpr std::string_view kHead = "cellar format ";
constexpr std::string_view kId = " id ";
constexpr size_t kIdDigits = 32;

Error unreadable() {
  return Error(Errc::data_loss,
               fmt::format("{} is damaged; this program reads format {} only. Nothing was "
                           "touched",
                           kFormatPath, kDirectoryFormat));
}

Result<void> check_version(uint32_t version) {
  if (version == kDirectoryFormat) return {};
  return fail(
      Errc::failed_precondition,
      "{} says that the data is of format {}; this program reads format {} only. Nothing was "
      "touched",
      kFormatPath, version, kDirectoryFormat);
}

// Whether a folder of a store has any file.
Async<Result<bool>> has_data(FileSystem& fs) {
  for (const std::string_view folder : {kManifestDirectory, kLogDirectory, kBlobDirectory}) {
    const auto files = co_await fs.list(std::string(folder));
    if (!files && files.error().code == Errc::not_found) continue;
    if (!files) co_return std::unexpected(files.error());
    if (!files->empty()) co_return true;
  }
  co_return false;
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

Async<Result<std::optional<DirectoryFormat>>> read_format(FileSystem& fs) {
  auto content = co_await read_file(fs, std::string(kFormatPath));
  if (!content && content.error().code == Errc::not_found) {
    CO_TRY(const bool used, co_await has_data(fs));
    if (!used) co_return std::optional<DirectoryFormat>();
    if (co_await read_file(fs, std::string(kUnfinishedPath))) {
      co_return fail(Errc::data_loss,
                     "{} is missing: a restore or a repair that fills this directory has not "
                     "ended. Begin it again. Nothing was touched",
                     kFormatPath);
    }
    co_return fail(Errc::data_loss,
                   "{} is missing, though there is data: nothing tells of which format it is; this "
                   "program reads format {} only. Nothing was touched",
                   kFormatPath, kDirectoryFormat);
  }
  if (!content) co_return std::unexpected(std::move(content).error());
  CO_TRY(DirectoryFormat format, decode_format(*content));
  CO_TRY_VOID(check_version(format.version));
  co_return std::optional<DirectoryFormat>(std::move(format));
}

Async<Result<DirectoryFormat>> resolve_format(FileSystem& fs, std::string new_id) {
  CO_TRY(std::optional<DirectoryFormat> found, co_await read_format(fs));
  if (found) co_return *std::move(found);
  DirectoryFormat format{.id = std::move(new_id)};
  CO_TRY_VOID(co_await replace_file(fs, std::string(kFormatPath), encode_format(format)));
  co_return format;
}

std::string new_directory_id() {
  return fmt::format("{:016x}{:016x}", entropy_seed(), entropy_seed());
}

}  // namespace cellar::engine
