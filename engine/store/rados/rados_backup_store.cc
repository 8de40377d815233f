#include "engine/store/rados/rados_backup_store.h"

#include <charconv>
#include <optional>
#include <utility>

#include "engine/store/rados/rados_blob_names.h"
#include "engine/store/rados/rados_blob_store.h"
#include "io/base/crc32c.h"

namespace cellar::engine {
namespace {

constexpr std::string_view kSourceName = "SOURCE";
constexpr std::string_view kBackupPrefix = "backup/";
constexpr std::string_view kContent = "content/";

// The attributes of a backup's object.
struct BackupHead {
  std::string attempt;
  uint64_t size = 0;
  uint64_t pieces = 0;  // 0: the content is in the object
  uint32_t crc = 0;
};

std::string backup_head_name(std::string_view backup) {
  return fmt::format("{}{}", kBackupPrefix, backup);
}
std::string pieces_prefix(std::string_view backup) {
  return fmt::format("{}{}/", kContent, backup);
}
std::string content_name(std::string_view backup, std::string_view attempt, uint64_t number) {
  return fmt::format("{}{}/{:x}", pieces_prefix(backup), attempt, number);
}

template <class N>
bool parse_number(const std::string& text, N& number, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end == text.data() + text.size();
}

class RadosBackupStore final : public BackupStore {
 public:
  RadosBackupStore(RadosPort& port, Runtime& runtime, RadosPool pool, RadosPlace place)
      : objects_(port, runtime, pool), blobs_(objects_), place_(std::move(place)) {}

  Async<Result<void>> claim(std::string source) override {
    RadosWrite write;
    write.create_new().write_full(source + "\n");
    CO_TRY(const auto made, co_await objects_.write(std::string(kSourceName), std::move(write)));
    if (made == RadosObjects::Made::yes) co_return Result<void>();
    CO_TRY(const auto owner,
           co_await objects_.read(std::string(kSourceName), 0, source.size() + 2, false));
    if (owner.data == source + "\n") co_return Result<void>();
    co_return fail(Errc::failed_precondition,
                   "the backups in rados:{}/{} are of another data directory; take a name of its "
                   "own for each node",
                   place_.pool, place_.name);
  }

  Async<Result<std::vector<std::string>>> names() override {
    CO_TRY(std::vector<std::string> names, co_await objects_.list(std::string(kBackupPrefix)));
    for (std::string& name : names) name.erase(0, kBackupPrefix.size());
    co_return names;
  }

  Async<Result<std::string>> read(std::string name) override {
    CO_TRY_VOID(check_backup_name(name));
    CO_TRY(const auto head, co_await head_of(name));
    if (!head) co_return fail(Errc::not_found, "there is no backup '{}' in {}", name, text());
    std::string content;
    if (head->pieces == 0) {
      CO_TRY_VOID(co_await read_into(backup_head_name(name), content));
    }
    for (uint64_t i = 0; i < head->pieces; ++i) {
      CO_TRY_VOID(co_await read_into(content_name(name, head->attempt, i), content));
    }
    if (content.size() != head->size || crc32c(content) != head->crc) {
      co_return fail(Errc::data_loss, "backup '{}' in {} is damaged", name, text());
    }
    co_return content;
  }

  Async<Result<void>> write(std::string name, std::string content) override {
    CO_TRY_VOID(check_backup_name(name));
    CO_TRY(const auto before, co_await head_of(name));
    BackupHead head;
    head.attempt = objects_.attempt_id();
    head.size = content.size();
    head.crc = crc32c(content);
    if (content.size() > kRadosPieceBytes) {
      for (size_t at = 0; at < content.size(); at += kRadosPieceBytes) {
        const std::string to = content_name(name, head.attempt, head.pieces++);
        CO_TRY_VOID(co_await objects_.put(to, content.substr(at, kRadosPieceBytes)));
      }
      content.clear();
    }
    CO_TRY_VOID(co_await write_head(name, head, before, std::move(content)));
    if (!before || before->pieces == 0) co_return Result<void>();
    co_return co_await remove_pieces(name, before->attempt, before->pieces);
  }

  Async<Result<void>> remove(std::string name) override {
    CO_TRY_VOID(check_backup_name(name));
    CO_TRY_VOID(co_await objects_.remove(backup_head_name(name)));
    // Also those of a write that was interrupted.
    CO_TRY(const std::vector<std::string> pieces, co_await objects_.list(pieces_prefix(name)));
    for (const std::string& piece : pieces) {
      CO_TRY_VOID(co_await objects_.remove(piece));
    }
    co_return Result<void>();
  }

  // Content of attempts that no head names.
  Async<Result<void>> remove_remains() override {
    CO_TRY(const std::vector<std::string> pieces, co_await objects_.list(std::string(kContent)));
    std::string backup;  // of the head
    std::optional<std::string> attempt;
    for (const std::string& piece : pieces) {
      const size_t end = piece.find('/', kContent.size());
      if (end == std::string::npos) continue;
      const std::string name = piece.substr(kContent.size(), end - kContent.size());
      if (name != backup) {
        CO_TRY(const auto head, co_await head_of(name));
        backup = name;
        attempt = head ? std::optional(head->attempt) : std::nullopt;
      }
      if (attempt && piece.starts_with(fmt::format("{}{}/", pieces_prefix(name), *attempt))) {
        continue;
      }
      CO_TRY_VOID(co_await objects_.remove(piece));
    }
    co_return Result<void>();
  }

  BlobStore& blobs() override { return blobs_; }

 private:
  std::string text() const { return fmt::format("rados:{}/{}", place_.pool, place_.name); }

  // Nothing if there is none.
  Async<Result<std::optional<BackupHead>>> head_of(std::string name) {
    auto xattrs = co_await objects_.xattrs(backup_head_name(name));
    if (!xattrs && xattrs.error().code == Errc::not_found) co_return std::nullopt;
    if (!xattrs) co_return std::unexpected(std::move(xattrs).error());
    BackupHead head;
    head.attempt = (*xattrs)["attempt"];
    const bool whole = parse_number((*xattrs)["size"], head.size) &&
                       parse_number((*xattrs)["pieces"], head.pieces) &&
                       parse_number((*xattrs)["crc"], head.crc, 16);
    if (!whole) co_return fail(Errc::data_loss, "backup '{}' in {} is damaged", name, text());
    co_return head;
  }

  // Replaces the head that was found before and no other, so that a late copy of an earlier write
  // does not replace a newer one.
  Async<Result<void>> write_head(std::string name, BackupHead head,
                                 std::optional<BackupHead> before, std::string content) {
    RadosWrite write;
    if (before) {
      write.require_exists().require_xattr("attempt", before->attempt);
    } else {
      write.create_new();
    }
    write.write_full(std::move(content))
        .set_xattr("attempt", head.attempt)
        .set_xattr("size", std::to_string(head.size))
        .set_xattr("pieces", std::to_string(head.pieces))
        .set_xattr("crc", fmt::format("{:08x}", head.crc));
    CO_TRY(const auto made, co_await objects_.write(backup_head_name(name), std::move(write)));
    if (made == RadosObjects::Made::yes) co_return Result<void>();
    CO_TRY(const auto now, co_await head_of(name));
    if (now && now->attempt == head.attempt) co_return Result<void>();
    co_return fail(Errc::aborted, "backup '{}' in {} was written by another at the same time", name,
                   text());
  }

  Async<Result<void>> read_into(std::string object, std::string& content) {
    const auto bytes = co_await objects_.read(object, 0, kRadosPieceBytes, false);
    if (!bytes && bytes.error().code == Errc::not_found) {
      co_return fail(Errc::data_loss, "RADOS object '{}' in {} is missing", object, text());
    }
    if (!bytes) co_return std::unexpected(bytes.error());
    content.append(bytes->data);
    co_return Result<void>();
  }

  Async<Result<void>> remove_pieces(std::string name, std::string attempt, uint64_t pieces) {
    for (uint64_t i = 0; i < pieces; ++i) {
      CO_TRY_VOID(co_await objects_.remove(content_name(name, attempt, i)));
    }
    co_return Result<void>();
  }

  RadosObjects objects_;
  RadosBlobStore blobs_;
  const RadosPlace place_;
};

}  // namespace

Async<Result<std::unique_ptr<BackupStore>>> open_rados_backup_store(RadosPort& port,
                                                                    Runtime& runtime,
                                                                    RadosPlace place) {
  const std::string name_space = fmt::format("cellar-backup/{}", place.name);
  CO_TRY(const RadosPool pool, co_await port.open_pool(place.pool, name_space));
  co_return std::make_unique<RadosBackupStore>(port, runtime, pool, std::move(place));
}

}  // namespace cellar::engine
