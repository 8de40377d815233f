// Client: access to a node. Every operation is asynchronous, takes an Asio completion token
// (use_awaitable, deferred, use_future, a callback, ...) and completes with one Result<T>:
//
//   Client client(env, {.address = "127.0.0.1:7420"});
//   Mutation m("row");
//   m.set("family", "qualifier", "value");
//   Result<MutateReply> r = co_await client.async_mutate_row("table", m, asio::use_awaitable);
//
// Requests are pipelined over few connections, which are opened at the first request and reopened
// automatically. Arguments are read before the call returns and need not live longer.
//
// Errors. `code` and `message` come from the server, or are UNAVAILABLE, DEADLINE_EXCEEDED,
// CANCELLED or RESOURCE_EXHAUSTED from the client. `applied` is not_applied if the request cannot
// have had an effect, and maybe_applied if the outcome is unknown.
//
// Retries. A request that failed with a transient error is sent again within its deadline if that
// is safe: see retry_policy.h and ClientOptions::retry. An error returned to the caller is final. A
// write without a token that may have been applied is not retried: it fails as maybe_applied;
// `draw_tokens` gives every write a token.
//
// Order. Concurrent writes of one row (async_mutate_row, check-and-mutate, read-modify-write) share
// a connection and apply in the order of the calls, unless one was retried. A MutateRows and other
// writes of its rows are ordered only if the caller waits.
//
// One loop: call the client there; handlers without an executor of their own run there. An
// operation can be cancelled through its handler's cancellation slot; the server is notified.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/async_result.hpp>

#include "net/client/api/admin.h"
#include "net/client/api/cells.h"
#include "net/client/api/operate.h"
#include "net/client/api/options.h"
#include "net/client/calls/mutate_rows.h"
#include "net/client/calls/read_stream.h"
#include "net/client/codec/decode.h"
#include "net/client/codec/encode.h"
#include "net/client/codec/requests.h"
#include "net/client/connections/connection.h"
#include "net/client/connections/dispatcher.h"

namespace cellar::client {

class Client {
 public:
  Client(ClientEnv env, ClientOptions options);
  // Calls close(). Operations created with `deferred` must not be initiated afterwards.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Completes pending operations with CANCELLED and closes the connections, for which the loop must
  // take a few more turns. No calls may follow.
  void close();

  const ClientOptions& options() const { return options_; }
  ClientStats stats() const;

  // For components built on a client that share its loop.
  ShardExecutor executor() const { return env_.executor; }
  Timers& timers() const { return env_.timers; }
  const std::shared_ptr<BlockPool>& pool() const { return pool_; }

  // ---- data ----
  template <class T>  // void(Result<MutateReply>)
  auto async_mutate_row(std::string_view table, const Mutation& m, const CallOptions& o,
                        T&& token) {
    return data<MutateReply>(encoder_->mutate_row(table, m, with_defaults(o)), o, &decode_mutate,
                             token);
  }
  template <class T>
  auto async_mutate_row(std::string_view table, const Mutation& m, T&& token) {
    return async_mutate_row(table, m, CallOptions(), token);
  }
  // void(Result<EntryResults>): one result per entry. An error of the whole request applies to all.
  template <class T>
  auto async_mutate_rows(std::string_view table, const std::vector<Mutation>& entries,
                         const CallOptions& o, T&& token) {
    return asio::async_initiate<T, void(Result<EntryResults>)>(
        [this](auto handler, std::shared_ptr<MutateRowsOp> op) {
          this->launch_rows(std::move(handler), std::move(op));
        },
        token,
        std::make_shared<MutateRowsOp>(*dispatcher_, table, entries, with_defaults(o),
                                       deadline_of(o), waits(o)));
  }
  // void(Result<std::optional<Row>>): empty if the row has no cell that passes the filter.
  template <class T>
  auto async_read_row(std::string_view table, const ReadRow& r, const CallOptions& o, T&& token) {
    return data<std::optional<Row>>(encoder_->read_row(table, r.row, r.filter, r.notes), o,
                                    &decode_row, token, true);
  }
  template <class T>
  auto async_read_row(std::string_view table, Bytes row, T&& token) {
    return data<std::optional<Row>>(encoder_->read_row(table, row, {}, {}), CallOptions(),
                                    &decode_row, token, true);
  }
  // ClientOptions::request_deadline_us does not apply to scans.
  ReadStream read_rows(std::string_view table, const ReadRows& r, const CallOptions& o = {});
  // FAILED_PRECONDITION with the share done: the index is not ready.
  ReadStream read_index(std::string_view table, const ReadIndex& r, const CallOptions& o = {});
  // void(Result<DropReply>)
  template <class T>
  auto async_drop_row_range(std::string_view table, const DropRows& d, const CallOptions& o,
                            T&& token) {
    return data<DropReply>(encoder_->drop_row_range(table, d, with_defaults(o)), o, &decode_drop,
                           token);
  }
  template <class T>  // void(Result<CheckAndMutateReply>)
  auto async_check_and_mutate(std::string_view table, const CheckAndMutate& c, const CallOptions& o,
                              T&& token) {
    return data<CheckAndMutateReply>(encoder_->check_and_mutate(table, c, with_defaults(o)), o,
                                     &decode_check, token);
  }
  template <class T>  // void(Result<Row>): the new cells
  auto async_read_modify_write(std::string_view table, const ReadModifyWrite& m,
                               const CallOptions& o, T&& token) {
    return data<Row>(encoder_->read_modify_write(table, m, with_defaults(o)), o, &decode_modified,
                     token, true);
  }
  template <class T>  // void(Result<std::vector<SplitPoint>>)
  auto async_sample_row_keys(std::string_view table, T&& token) {
    return data<std::vector<SplitPoint>>(encoder_->sample_row_keys(table), {}, &decode_samples,
                                         token);
  }

  // ---- tables and the node; bound by ClientOptions::admin_deadline_us ----
  template <class T>  // void(Result<TableDescription>)
  auto async_create_table(const TableSpec& spec, T&& token) {
    return admin<TableDescription>(encoder_->create_table(spec), &decode_table, token);
  }
  template <class T>  // void(Result<TableDescription>)
  auto async_alter_table(const TableChange& change, T&& token) {
    return admin<TableDescription>(encoder_->alter_table(change), &decode_table, token);
  }
  template <class T>  // void(Result<void>)
  auto async_drop_table(std::string_view name, T&& token) {
    return admin<void>(encoder_->drop_table(name), &decode_nothing, token);
  }
  template <class T>  // void(Result<TableDescription>)
  auto async_restore_table(std::string_view name, T&& token) {
    return admin<TableDescription>(encoder_->restore_table(name), &decode_table, token);
  }
  template <class T>  // void(Result<std::vector<TableSummary>>)
  auto async_list_tables(const ListTables& list, T&& token) {
    return admin<std::vector<TableSummary>>(encoder_->list_tables(list), &decode_list, token);
  }
  template <class T>  // void(Result<TableDescription>)
  auto async_describe_table(std::string_view name, T&& token) {
    return admin<TableDescription>(encoder_->describe_table(name), &decode_table, token);
  }
  // void(Result<PreviewReply>). `progress`, if set, is called on the loop several times a second
  // while the node counts, and not after the completion; counts restart if the request is retried.
  // Default deadline: admin_deadline_us.
  template <class T>
  auto async_preview_rule(const PreviewRule& preview,
                          std::function<void(const PreviewProgress&)> progress,
                          const CallOptions& o, T&& token) {
    Request request = encoder_->preview_rule(preview, progress != nullptr);
    request.deadline_us =
        o.deadline_us == kDefaultDeadline ? options_.admin_deadline_us : o.deadline_us;
    request.wait = waits(o);
    if (progress) {
      request.on_chunk = [tell = std::move(progress)](Bytes body) {
        if (const auto so_far = decode_progress(body)) tell(*so_far);
      };
    }
    return start(std::move(request), &decode_preview, false, token);
  }
  template <class T>  // void(Result<RuleHistory>)
  auto async_rule_history(std::string_view table, std::string_view family, T&& token) {
    return admin<RuleHistory>(encoder_->rule_history(table, family), &decode_history, token);
  }
  // void(Result<TableDescription>): the table after the newest undoable rule change was reverted.
  // FAILED_PRECONDITION if there is none or the schema version differs from the expected one.
  template <class T>
  auto async_undo_rule(const UndoRule& undo, T&& token) {
    return admin<TableDescription>(encoder_->undo_rule(undo), &decode_table, token);
  }
  // void(Result<TableDescription>): the index exists, and is built in the background until
  // async_describe_indexes reports it ready.
  template <class T>
  auto async_create_index(std::string_view table, const IndexSpec& index, T&& token) {
    return admin<TableDescription>(encoder_->create_index(table, index), &decode_table, token);
  }
  template <class T>  // void(Result<TableDescription>)
  auto async_alter_index(const AlterIndex& change, T&& token) {
    return admin<TableDescription>(encoder_->alter_index(change), &decode_table, token);
  }
  template <class T>  // void(Result<TableDescription>)
  auto async_drop_index(std::string_view table, std::string_view name, T&& token) {
    return admin<TableDescription>(encoder_->drop_index(table, name), &decode_table, token);
  }
  template <class T>  // void(Result<std::vector<IndexDescription>>): by name
  auto async_describe_indexes(std::string_view table, T&& token) {
    return admin<std::vector<IndexDescription>>(encoder_->describe_indexes(table), &decode_indexes,
                                                token);
  }
  // void(Result<IndexCheck>). `progress` and the deadline are as in async_preview_rule.
  template <class T>
  auto async_check_index(const CheckIndex& check, std::function<void(const IndexCheck&)> progress,
                         const CallOptions& o, T&& token) {
    Request request = encoder_->check_index(check, progress != nullptr);
    request.deadline_us =
        o.deadline_us == kDefaultDeadline ? options_.admin_deadline_us : o.deadline_us;
    request.wait = waits(o);
    if (progress) {
      request.on_chunk = [tell = std::move(progress)](Bytes body) {
        if (const auto so_far = decode_check_progress(body)) tell(*so_far);
      };
    }
    return start(std::move(request), &decode_index_check, false, token);
  }
  template <class T>  // void(Result<AuditPage>)
  auto async_audit_log(const AuditLog& log, T&& token) {
    return admin<AuditPage>(encoder_->audit_log(log), &decode_audit, token);
  }
  template <class T>  // void(Result<void>)
  auto async_flush_table(std::string_view name, T&& token) {
    return admin<void>(encoder_->flush_table(name), &decode_nothing, token);
  }
  template <class T>  // void(Result<void>)
  auto async_compact_table(std::string_view name, T&& token) {
    return admin<void>(encoder_->compact_table(name), &decode_nothing, token);
  }
  // void(Result<std::vector<TabletDescription>>): the parts, sorted by start.
  template <class T>
  auto async_split_tablet(const SplitTablet& split, T&& token) {
    return admin<std::vector<TabletDescription>>(encoder_->split_tablet(split), &decode_reshape,
                                                 token);
  }
  // void(Result<std::vector<TabletDescription>>): the merged tablet.
  template <class T>
  auto async_merge_tablets(std::string_view table, uint64_t left, uint64_t right, T&& token) {
    return admin<std::vector<TabletDescription>>(encoder_->merge_tablets(table, left, right),
                                                 &decode_reshape, token);
  }
  // void(Result<std::vector<TabletDescription>>): the tablet in its new place.
  template <class T>
  auto async_move_tablet(std::string_view table, uint64_t tablet_id, uint32_t shard, T&& token) {
    return admin<std::vector<TabletDescription>>(encoder_->move_tablet(table, tablet_id, shard),
                                                 &decode_reshape, token);
  }
  template <class T>  // void(Result<TabletPage>)
  auto async_list_tablets(const ListTablets& list, T&& token) {
    return admin<TabletPage>(encoder_->list_tablets(list), &decode_tablets, token);
  }
  template <class T>  // void(Result<ClockReport>)
  auto async_clock(T&& token) {
    return data<ClockReport>(encoder_->confirm_time(std::nullopt), {}, &decode_clock, token);
  }
  // void(Result<ClockReport>): releases held time, so that cells due by then expire.
  // FAILED_PRECONDITION if more than `max_held_us` is held.
  template <class T>
  auto async_confirm_time(int64_t max_held_us, T&& token) {
    return admin<ClockReport>(encoder_->confirm_time(max_held_us), &decode_clock, token);
  }
  // void(Result<BackupStatus>): of the job that it started, or of the current or last one.
  template <class T>
  auto async_backup(const BackupCommand& command, T&& token) {
    return admin<BackupStatus>(encoder_->backup(command), &decode_backup, token);
  }
  template <class T>  // void(Result<ControlStatus>)
  auto async_control(ControlAction action, T&& token) {
    return admin<ControlStatus>(encoder_->control(action), &decode_control, token);
  }
  // void(Result<ReclaimReport>). NOT_FOUND: no such table. UNIMPLEMENTED: an older node.
  template <class T>
  auto async_reclaim_report(const ReclaimQuestion& question, T&& token) {
    return admin<ReclaimReport>(encoder_->reclaim_report(question), &decode_reclaim, token);
  }
  template <class T>  // void(Result<ServerInfo>)
  auto async_server_info(T&& token) {
    return data<ServerInfo>(encoder_->server_info(), {}, &decode_info, token);
  }
  template <class T>  // void(Result<Pong>)
  auto async_ping(T&& token) {
    return data<Pong>(encoder_->ping(), {}, &decode_ping, token);
  }

 private:
  template <class T>
  using Decoder = Result<T> (*)(const Answer&);

  template <class T, class Token>
  auto data(Request request, const CallOptions& options, Decoder<T> decode, Token& token,
            bool chunks = false) {
    request.deadline_us = deadline_of(options);
    request.wait = waits(options);
    return start(std::move(request), decode, chunks, token);
  }
  template <class T, class Token>
  auto admin(Request request, Decoder<T> decode, Token& token) {
    request.deadline_us = options_.admin_deadline_us;
    request.wait = options_.wait_for_connection;
    return start(std::move(request), decode, false, token);
  }
  template <class T, class Token>
  auto start(Request request, Decoder<T> decode, bool chunks, Token& token) {
    return asio::async_initiate<Token, void(Result<T>)>(
        [this](auto handler, Request r, Decoder<T> d, bool c) {
          this->launch(std::move(handler), std::move(r), d, c);
        },
        token, std::move(request), decode, chunks);
  }
  template <class T, class Handler>
  void launch(Handler handler, Request request, Decoder<T> decode, bool chunks) {
    auto slot = asio::get_associated_cancellation_slot(handler);
    Completion<T>* completion =
        HandlerCompletion<T, Handler>::make(pool_, env_.executor, std::move(handler));
    Call* call =
        UnaryCall<T>::make(pool_, env_.timers, std::move(request), decode, chunks, completion);
    if (slot.is_connected()) {
      slot.assign([call](asio::cancellation_type) { Dispatcher::cancel(*call); });
    }
    dispatcher_->submit(*call);
  }
  ReadStream stream(std::unique_ptr<StreamPlan> plan, const CallOptions& o);
  template <class Handler>
  void launch_rows(Handler handler, std::shared_ptr<MutateRowsOp> op) {
    auto slot = asio::get_associated_cancellation_slot(handler);
    auto* completion =
        HandlerCompletion<EntryResults, Handler>::make(pool_, env_.executor, std::move(handler));
    if (slot.is_connected()) {
      slot.assign([op](asio::cancellation_type) { op->cancel(); });
    }
    op->start(completion);
  }
  int64_t deadline_of(const CallOptions& options) const {
    return options.deadline_us == kDefaultDeadline ? options_.request_deadline_us
                                                   : options.deadline_us;
  }
  // Fills in values that the call leaves to the client's options.
  CallOptions with_defaults(CallOptions options) const {
    options.draw_tokens = options.draw_tokens.value_or(options_.draw_tokens);
    options.sole_writer = options.sole_writer.value_or(options_.sole_writer);
    return options;
  }
  bool waits(const CallOptions& options) const {
    return options.wait_for_connection.value_or(options_.wait_for_connection);
  }

  ClientEnv env_;
  ClientOptions options_;
  std::shared_ptr<Encoder> encoder_;
  std::shared_ptr<BlockPool> pool_;
  std::optional<Dispatcher> dispatcher_;  // created when options_ is complete
};

}  // namespace cellar::client
