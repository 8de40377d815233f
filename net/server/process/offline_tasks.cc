#include "net/server/process/offline_tasks.h"

#include "engine/backup/backup.h"
#include "engine/store/local/format_file.h"
#include "engine/store/local/local_stores.h"
#include "engine/store/local/unfinished_directory.h"
#include "io/base/random.h"
#include "io/disk/pool_fs.h"
#include "io/loop/shard_loop.h"
#include "net/server/backup_places.h"
#include "net/server/config/settings.h"
#include "net/server/process/program.h"
#include "net/server/process/say.h"

namespace cellar::server {
namespace {

constexpr std::string_view kLockName = "LOCK";

// The newest one if no name is given.
Async<Result<std::string>> choose(engine::BackupStore& store, std::string name) {
  if (!name.empty()) co_return name;
  CO_TRY(const auto all, co_await engine::list_backups(store));
  if (all.empty()) co_return fail(Errc::not_found, "there is no backup");
  co_return all.back().name;
}

// What a restore may fill: an empty directory, one of the present format, or what an interrupted
// restore has left. Touches nothing.
Async<Result<void>> check_format(FileSystem& to) {
  CO_TRY(const bool unfinished, co_await engine::is_unfinished(to));
  if (unfinished) co_return Result<void>();
  CO_TRY_VOID(co_await engine::read_format(to));
  co_return Result<void>();
}

// A start may have made the directory, but nothing has been written to it. REQUIRES: the lock.
Async<Result<void>> check_has_no_store(FileSystem& to) {
  CO_TRY_VOID(co_await check_format(to));
  CO_TRY(const bool unfinished, co_await engine::is_unfinished(to));
  if (unfinished) co_return Result<void>();
  CO_TRY(const auto manifest, co_await engine::open_local_manifest_store(to, {}));
  const auto entries = co_await manifest->load();
  CO_TRY_VOID(co_await manifest->close());
  CO_TRY_VOID(entries);
  if (entries->empty()) co_return Result<void>();
  co_return fail(Errc::failed_precondition,
                 "the data directory holds a store already; a backup is restored into a new one");
}

Async<Result<std::string>> restore(engine::BackupStore& store, FileSystem& to, std::string name,
                                   const Clock& clock, ShardLoop& loop) {
  CO_TRY(const auto lock, co_await to.lock(std::string(kLockName)));
  CO_TRY_VOID(co_await check_has_no_store(to));
  CO_TRY(name, co_await choose(store, std::move(name)));
  CO_TRY_VOID(co_await engine::begin_directory(to));
  CO_TRY_VOID(co_await engine::clear_unfinished(to));
  const auto blobs = engine::make_local_blob_store(to);
  CO_TRY(const auto manifest, co_await engine::open_local_manifest_store(to, {}));
  engine::BackupProgress progress;
  auto done =
      co_await engine::restore_directory(store, std::move(name), *blobs, *manifest, clock.wall_us(),
                                         loop.timers(), loop.executor(), progress);
  const Result<void> closed = co_await manifest->close();
  if (!done) co_return std::unexpected(std::move(done).error());
  if (!closed) co_return std::unexpected(closed.error());
  CO_TRY_VOID(co_await engine::finish_directory(to, engine::new_directory_id()));
  co_return fmt::format("holds backup '{}' now: {} tables, {} in {} files, read again and compared",
                        done->name, done->tables.size(),
                        format_size(static_cast<int64_t>(done->bytes)), done->blobs);
}

Result<std::string> run(const Config& config, const Clock& clock) {
  const std::string& directory = config.options.data_dir;
  TRY_VOID(make_root_directory(directory));
  BlockingPool pool(2);
  ShardLoop loop;
  Result<std::string> done = std::string();
  {
    TRY(const auto fs, PoolFs::create(loop, directory, pool));
    if (const auto fit = block_on(loop, check_format(*fs)); !fit) {
      return fail(fit.error().code, "data directory '{}': {}", directory, fit.error().message);
    }
    TrustedClock trusted(clock);
    Random random(entropy_seed());
    const Runtime runtime{loop.executor(), loop.timers(), trusted, random};
    // The operator of this machine names the place: any directory is permitted.
    const std::string& place = config.task.restore_from;
    TRY(const OpenedPlace from,
        block_on(loop, open_backup_place(loop, runtime, pool, config.options.ceph,
                                         {place, {place}, false})));
    done = block_on(loop, restore(from->store(), *fs, config.task.restore_name, clock, loop));
    block_on(loop, from->close());
  }
  pool.stop();
  return done;
}

}  // namespace

int run_task(const Config& config, const Clock& clock) {
  const Result<std::string> done = run(config, clock);
  if (!done) {
    say(stderr, "cellard: {}\n", done.error().message);
    return kExitCannotStart;
  }
  say(stdout, "cellard: '{}' {}\n", config.options.data_dir, *done);
  return 0;
}

}  // namespace cellar::server
