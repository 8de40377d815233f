// The calls of the public client. Each starts a call of net/client on the client's thread.
#include <cellar/client.h>

#include "net/client/library/core.h"

namespace cellar {
CELLAR_VERSIONED {
  using internal::Core;
  using library::to_internal;

  namespace {

  // Calls of one kind: `begin` on the thread, then the converted result.
  template <class T, class Internal, class Begin>
  Result<T> waited(Core& core, Begin begin) {
    return core.wait<T>(
        [&](Callback<T> done) { core.run<T, Internal>(std::move(begin), std::move(done)); });
  }

  auto begin_mutate_row(const std::string& table, const Mutation& mutation,
                        const CallOptions& options) {
    return [table, made = to_internal(mutation), with = to_internal(options)](
               client::Client& client, auto handler) {
      client.async_mutate_row(table, made, with, std::move(handler));
    };
  }

  auto begin_mutate_rows(const std::string& table, const std::vector<Mutation>& mutations,
                         const CallOptions& options) {
    std::vector<client::Mutation> made;
    made.reserve(mutations.size());
    for (const Mutation& mutation : mutations) made.push_back(to_internal(mutation));
    return [table, made = std::move(made), with = to_internal(options)](client::Client& client,
                                                                        auto handler) {
      client.async_mutate_rows(table, made, with, std::move(handler));
    };
  }

  auto begin_read_row(const std::string& table, const std::string& row,
                      const std::optional<Filter>& filter, const CallOptions& options) {
    client::ReadRow read;
    read.row = row;
    if (filter) read.filter = to_internal(*filter);
    return [table, read = std::move(read), with = to_internal(options)](client::Client& client,
                                                                        auto handler) {
      client.async_read_row(table, read, with, std::move(handler));
    };
  }

  auto begin_check(const std::string& table, const CheckAndMutate& check,
                   const CallOptions& options) {
    return [table, made = to_internal(check), with = to_internal(options)](client::Client& client,
                                                                           auto handler) {
      client.async_check_and_mutate(table, made, with, std::move(handler));
    };
  }

  auto begin_modify(const std::string& table, const ReadModifyWrite& modify,
                    const CallOptions& options) {
    return [table, made = to_internal(modify), with = to_internal(options)](client::Client& client,
                                                                            auto handler) {
      client.async_read_modify_write(table, made, with, std::move(handler));
    };
  }

  auto begin_drop(const std::string& table, const DropRows& drop, const CallOptions& options) {
    return [table, made = to_internal(drop), with = to_internal(options)](client::Client& client,
                                                                          auto handler) {
      client.async_drop_row_range(table, made, with, std::move(handler));
    };
  }

  auto begin_alter(client::TableChange change) {
    return [change = std::move(change)](client::Client& client, auto handler) {
      client.async_alter_table(change, std::move(handler));
    };
  }

  }  // namespace

  // ---- Client

  Client::Client(Options options) : core_(std::make_shared<Core>(to_internal(options))) {}

  Client::~Client() { core_->stop(); }

  Result<Commit> Client::mutate_row(const std::string& table, const Mutation& mutation,
                                    const CallOptions& options) {
    return waited<Commit, client::MutateReply>(*core_, begin_mutate_row(table, mutation, options));
  }

  void Client::async_mutate_row(const std::string& table, const Mutation& mutation,
                                const CallOptions& options, Callback<Commit> done) {
    core_->run<Commit, client::MutateReply>(begin_mutate_row(table, mutation, options),
                                            std::move(done));
  }

  Result<std::vector<Result<void>>> Client::mutate_rows(const std::string& table,
                                                        const std::vector<Mutation>& mutations,
                                                        const CallOptions& options) {
    return waited<std::vector<Result<void>>, client::EntryResults>(
        *core_, begin_mutate_rows(table, mutations, options));
  }

  void Client::async_mutate_rows(const std::string& table, const std::vector<Mutation>& mutations,
                                 const CallOptions& options,
                                 Callback<std::vector<Result<void>>> done) {
    core_->run<std::vector<Result<void>>, client::EntryResults>(
        begin_mutate_rows(table, mutations, options), std::move(done));
  }

  Result<std::optional<Row>> Client::read_row(const std::string& table, const std::string& row,
                                              const std::optional<Filter>& filter,
                                              const CallOptions& options) {
    return waited<std::optional<Row>, std::optional<client::Row>>(
        *core_, begin_read_row(table, row, filter, options));
  }

  void Client::async_read_row(const std::string& table, const std::string& row,
                              const std::optional<Filter>& filter,
                              Callback<std::optional<Row>> done, const CallOptions& options) {
    core_->run<std::optional<Row>, std::optional<client::Row>>(
        begin_read_row(table, row, filter, options), std::move(done));
  }

  Scanner Client::read_rows(const std::string& table, const ReadRows& read,
                            const CallOptions& options) {
    const auto begin = [table, made = to_internal(read), with = to_internal(options)](
                           client::Client& client) { return client.read_rows(table, made, with); };
    return Scanner(core_, core_->open(begin));
  }

  Result<Checked> Client::check_and_mutate(const std::string& table, const CheckAndMutate& check,
                                           const CallOptions& options) {
    return waited<Checked, client::CheckAndMutateReply>(*core_, begin_check(table, check, options));
  }

  void Client::async_check_and_mutate(const std::string& table, const CheckAndMutate& check,
                                      const CallOptions& options, Callback<Checked> done) {
    core_->run<Checked, client::CheckAndMutateReply>(begin_check(table, check, options),
                                                     std::move(done));
  }

  Result<Modified> Client::read_modify_write(
      const std::string& table, const ReadModifyWrite& modify, const CallOptions& options) {
    return waited<Modified, client::Row>(*core_, begin_modify(table, modify, options));
  }

  void Client::async_read_modify_write(const std::string& table, const ReadModifyWrite& modify,
                                       const CallOptions& options, Callback<Modified> done) {
    core_->run<Modified, client::Row>(begin_modify(table, modify, options), std::move(done));
  }

  Result<Commit> Client::drop_row_range(const std::string& table, const DropRows& drop,
                                        const CallOptions& options) {
    return waited<Commit, client::DropReply>(*core_, begin_drop(table, drop, options));
  }

  void Client::async_drop_row_range(const std::string& table, const DropRows& drop,
                                    const CallOptions& options, Callback<Commit> done) {
    core_->run<Commit, client::DropReply>(begin_drop(table, drop, options), std::move(done));
  }

  Result<Table> Client::create_table(const TableSpec& spec) {
    const auto begin = [made = to_internal(spec)](client::Client& client, auto handler) {
      client.async_create_table(made, std::move(handler));
    };
    return waited<Table, client::TableDescription>(*core_, begin);
  }

  Result<Table> Client::alter_table(const TableChange& change) {
    return waited<Table, client::TableDescription>(*core_, begin_alter(to_internal(change)));
  }

  Result<Table> Client::describe_table(const std::string& name) {
    const auto begin = [name](client::Client& client, auto handler) {
      client.async_describe_table(name, std::move(handler));
    };
    return waited<Table, client::TableDescription>(*core_, begin);
  }

  Result<std::vector<std::string>> Client::list_tables(const std::string& prefix) {
    const auto begin = [prefix](client::Client& client, auto handler) {
      client::ListTables list;
      list.prefix = prefix;
      client.async_list_tables(list, std::move(handler));
    };
    return waited<std::vector<std::string>, std::vector<client::TableSummary>>(*core_, begin);
  }

  Result<void> Client::drop_table(const std::string& name) {
    const auto begin = [name](client::Client& client, auto handler) {
      client.async_drop_table(name, std::move(handler));
    };
    return waited<void, void>(*core_, begin);
  }

  Result<Table> Client::restore_table(const std::string& name) {
    const auto begin = [name](client::Client& client, auto handler) {
      client.async_restore_table(name, std::move(handler));
    };
    return waited<Table, client::TableDescription>(*core_, begin);
  }

  Result<Preview> Client::preview_rule(const std::string& table, const std::string& family,
                                       const std::optional<Rule>& rule) {
    client::PreviewRule preview;
    preview.table = table;
    preview.family = family;
    preview.rule = to_internal(rule);
    const auto begin = [preview = std::move(preview)](client::Client& client, auto handler) {
      client.async_preview_rule(preview, nullptr, {}, std::move(handler));
    };
    return waited<Preview, client::PreviewReply>(*core_, begin);
  }

  Result<Table> Client::set_rule(const std::string& table, const std::string& family,
                                 const std::optional<Rule>& rule) {
    TableChange change;
    change.name = table;
    change.alter.emplace_back(family, rule);
    return alter_table(change);
  }

  Result<Table> Client::undo_rule(const std::string& table, const std::string& family) {
    const auto begin = [table, family](client::Client& client, auto handler) {
      client.async_undo_rule({table, family}, std::move(handler));
    };
    return waited<Table, client::TableDescription>(*core_, begin);
  }

  Result<Table> Client::create_index(const std::string& table, const Index& index) {
    const auto begin = [table, made = to_internal(index)](client::Client& client, auto handler) {
      client.async_create_index(table, made, std::move(handler));
    };
    return waited<Table, client::TableDescription>(*core_, begin);
  }

  Result<Table> Client::alter_index(const std::string& table, const IndexChange& change) {
    const auto begin = [made = to_internal(table, change)](client::Client& client, auto handler) {
      client.async_alter_index(made, std::move(handler));
    };
    return waited<Table, client::TableDescription>(*core_, begin);
  }

  Result<Table> Client::drop_index(const std::string& table, const std::string& name) {
    const auto begin = [table, name](client::Client& client, auto handler) {
      client.async_drop_index(table, name, std::move(handler));
    };
    return waited<Table, client::TableDescription>(*core_, begin);
  }

  Result<std::vector<IndexState>> Client::describe_indexes(const std::string& table) {
    const auto begin = [table](client::Client& client, auto handler) {
      client.async_describe_indexes(table, std::move(handler));
    };
    return waited<std::vector<IndexState>, std::vector<client::IndexDescription>>(*core_, begin);
  }

  Scanner Client::read_index(const std::string& table, const ReadIndex& read,
                             const CallOptions& options) {
    const auto begin = [table, made = to_internal(read), with = to_internal(options)](
                           client::Client& client) { return client.read_index(table, made, with); };
    return Scanner(core_, core_->open(begin));
  }

  Result<std::int64_t> Client::ping() {
    const auto begin = [](client::Client& client, auto handler) {
      client.async_ping(std::move(handler));
    };
    return waited<std::int64_t, client::Pong>(*core_, begin);
  }

  // ---- Scanner

  Scanner::Scanner(std::shared_ptr<Core> core, std::uint64_t number)
      : core_(std::move(core)), number_(number) {}
  Scanner::Scanner(Scanner && other) noexcept = default;
  Scanner& Scanner::operator=(Scanner&& other) noexcept {
    if (this != &other) {
      end();
      core_ = std::move(other.core_);
      number_ = other.number_;
    }
    return *this;
  }
  Scanner::~Scanner() { end(); }

  void Scanner::end() {
    if (core_) core_->close(number_);
    core_.reset();
  }

  Result<std::vector<Row>> Scanner::next() {
    return core_->wait<std::vector<Row>>(
        [this](Callback<std::vector<Row>> done) { core_->next(number_, std::move(done)); });
  }

  void Scanner::async_next(Callback<std::vector<Row>> done) {
    core_->next(number_, std::move(done));
  }

}  // namespace v0
}  // namespace cellar
