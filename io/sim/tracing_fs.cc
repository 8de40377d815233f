#include "io/sim/tracing_fs.h"

#include "io/sim/drops_unsynced.h"

namespace cellar {
namespace {

class TracingFile final : public File, public DropsUnsynced {
 public:
  TracingFile(std::unique_ptr<File> base, Trace& trace) : base_(std::move(base)), trace_(trace) {}

  void submit(IoOp& op) override {
    if (op.kind == IoOp::Kind::sync) {
      trace_.add(fmt::format("sync {}", path()));
    } else if (op.kind == IoOp::Kind::write) {
      trace_.add(
          fmt::format("write {} {}+{}{}", path(), op.offset, op.size, op.dsync ? " dsync" : ""));
    } else if (trace_.with_reads) {
      trace_.add(fmt::format("read {} {}+{}", path(), op.offset, op.size));
    }
    base_->submit(op);
  }
  Async<Result<void>> allocate(uint64_t offset, uint64_t size) override {
    trace_.add(fmt::format("allocate {} {}+{}", path(), offset, size));
    return base_->allocate(offset, size);
  }
  Async<Result<void>> truncate(uint64_t size) override {
    trace_.add(fmt::format("truncate {} {}", path(), size));
    return base_->truncate(size);
  }
  Async<Result<uint64_t>> size() override {
    if (trace_.with_reads) trace_.add(fmt::format("size {}", path()));
    return base_->size();
  }
  Async<Result<void>> close() override {
    trace_.add(fmt::format("close {}", path()));
    return base_->close();
  }
  size_t alignment() const override { return base_->alignment(); }
  const std::string& path() const override { return base_->path(); }
  void drop_unsynced() override {
    if (auto* loses = dynamic_cast<DropsUnsynced*>(base_.get())) loses->drop_unsynced();
  }

 private:
  const std::unique_ptr<File> base_;
  Trace& trace_;
};

// The root has an empty path.
std::string_view shown(const std::string& path) { return path.empty() ? "." : path.c_str(); }

}  // namespace

std::string Trace::text() const {
  std::string all;
  for (const std::string& line : lines) all += line + '\n';
  return all;
}

Async<Result<std::unique_ptr<File>>> TracingFs::open(std::string path, OpenOptions options) {
  const bool creates = options.mode == OpenOptions::Mode::create_new;
  if (creates) {
    trace_.add(fmt::format("create {}", path));
  } else if (trace_.with_reads || options.mode == OpenOptions::Mode::read_write) {
    trace_.add(fmt::format("open {}", path));
  }
  CO_TRY(auto base, co_await base_->open(std::move(path), options));
  co_return std::make_unique<TracingFile>(std::move(base), trace_);
}

Async<Result<void>> TracingFs::remove(std::string path) {
  trace_.add(fmt::format("remove {}", path));
  return base_->remove(std::move(path));
}

Async<Result<void>> TracingFs::rename(std::string from, std::string to) {
  trace_.add(fmt::format("rename {} -> {}", from, to));
  return base_->rename(std::move(from), std::move(to));
}

Async<Result<void>> TracingFs::create_dir(std::string path) {
  trace_.add(fmt::format("create_dir {}", path));
  return base_->create_dir(std::move(path));
}

Async<Result<void>> TracingFs::sync_dir(std::string path) {
  trace_.add(fmt::format("sync_dir {}", shown(path)));
  return base_->sync_dir(std::move(path));
}

Async<Result<std::vector<DirEntry>>> TracingFs::list(std::string path) {
  if (trace_.with_reads) trace_.add(fmt::format("list {}", shown(path)));
  return base_->list(std::move(path));
}

Async<Result<std::unique_ptr<FileLock>>> TracingFs::lock(std::string path) {
  trace_.add(fmt::format("lock {}", path));
  return base_->lock(std::move(path));
}

}  // namespace cellar
