#include <charconv>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "io/remote/etcd/base64.h"
#include "io/remote/etcd/json_codec.h"

namespace cellar::etcd {
namespace {

namespace json = boost::json;

constexpr size_t kMaxDepth = 16;

// One object, read field by field. The first malformed field is remembered, and the fields after it
// read as absent. So a decoder reads all its fields and checks for an error once.
class Reader {
 public:
  explicit Reader(const json::object* object, std::string* wrong)
      : object_(object), wrong_(wrong) {}

  bool there() const { return object_ != nullptr; }
  bool has(std::string_view name) const { return find(name) != nullptr; }

  int64_t number(std::string_view name) const {
    const json::value* value = find(name);
    if (value == nullptr) return 0;
    if (value->is_int64()) return value->as_int64();
    if (value->is_string()) {
      const auto& text = value->as_string();
      int64_t parsed = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
      if (error == std::errc() && end == text.data() + text.size()) return parsed;
    }
    note(name);
    return 0;
  }
  // A number that etcd never makes negative.
  int64_t count(std::string_view name) const {
    const int64_t found = number(name);
    if (found < 0) note(name);
    return found < 0 ? 0 : found;
  }
  Revision revision(std::string_view name) const {
    const int64_t found = count(name);
    if (found > kMaxRevision) note(name);
    return Revision(found > kMaxRevision ? 0 : found);
  }
  uint64_t id(std::string_view name) const {
    const json::value* value = find(name);
    if (value == nullptr) return 0;
    if (value->is_string()) {
      const auto& text = value->as_string();
      uint64_t parsed = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
      if (error == std::errc() && end == text.data() + text.size()) return parsed;
    }
    note(name);
    return 0;
  }
  std::string bytes(std::string_view name) const {
    const json::value* value = find(name);
    if (value == nullptr) return {};
    if (value->is_string()) {
      const auto& text = value->as_string();
      if (auto decoded = from_base64({text.data(), text.size()})) return *std::move(decoded);
    }
    note(name);
    return {};
  }
  std::string text(std::string_view name) const {
    const json::value* value = find(name);
    if (value == nullptr) return {};
    if (value->is_string()) return {value->as_string().data(), value->as_string().size()};
    note(name);
    return {};
  }
  bool flag(std::string_view name) const {
    const json::value* value = find(name);
    if (value == nullptr) return false;
    if (value->is_bool()) return value->as_bool();
    note(name);
    return false;
  }
  Reader object(std::string_view name) const {
    const json::value* value = find(name);
    if (value == nullptr) return Reader(nullptr, wrong_);
    if (value->is_object()) return Reader(&value->as_object(), wrong_);
    note(name);
    return Reader(nullptr, wrong_);
  }
  std::vector<Reader> objects(std::string_view name) const {
    std::vector<Reader> list;
    for (const json::value& element : array(name)) {
      if (!element.is_object()) note(name);
      if (element.is_object()) list.emplace_back(&element.as_object(), wrong_);
    }
    return list;
  }
  std::vector<std::string> texts(std::string_view name, bool base64) const {
    std::vector<std::string> list;
    for (const json::value& element : array(name)) {
      std::optional<std::string> one;
      if (element.is_string()) {
        const std::string_view raw(element.as_string().data(), element.as_string().size());
        one = base64 ? from_base64(raw) : std::string(raw);
      }
      if (!one) note(name);
      if (one) list.push_back(*std::move(one));
    }
    return list;
  }
  void note(std::string_view name) const {
    if (wrong_->empty()) *wrong_ = name;
  }

 private:
  const json::value* find(std::string_view name) const {
    return object_ == nullptr ? nullptr : object_->if_contains({name.data(), name.size()});
  }
  const json::array& array(std::string_view name) const {
    static const json::array kNothing;
    const json::value* value = find(name);
    if (value == nullptr) return kNothing;
    if (value->is_array()) return value->as_array();
    note(name);
    return kNothing;
  }

  const json::object* object_;
  std::string* wrong_;
};

// A parsed answer and what is wrong in it.
class Document {
 public:
  explicit Document(std::string_view text) {
    json::parse_options options;
    options.max_depth = kMaxDepth;
    boost::system::error_code error;
    value_ = json::parse({text.data(), text.size()}, error, {}, options);
    if (error) wrong_ = error.message();
    if (!error && !value_.is_object()) wrong_ = "not an object";
  }
  Reader root() { return Reader(value_.is_object() ? &value_.as_object() : nullptr, &wrong_); }
  Result<void> done() const {
    if (wrong_.empty()) return {};
    return fail(Errc::data_loss, "etcd: the answer cannot be read: '{}'", wrong_);
  }

 private:
  json::value value_;
  std::string wrong_;
};

Revision revision_of(const Reader& answer) { return answer.object("header").revision("revision"); }

KeyValue key_value_of(const Reader& object) {
  KeyValue kv;
  kv.key = object.bytes("key");
  kv.value = object.bytes("value");
  kv.created = object.revision("create_revision");
  kv.modified = object.revision("mod_revision");
  kv.version = object.count("version");
  kv.lease = LeaseId(object.number("lease"));
  if (kv.key.empty()) object.note("key");
  return kv;
}

bool are_items_of(const Range& request, const std::vector<KeyValue>& items) {
  const auto most = static_cast<size_t>(request.count_only ? 0 : request.limit);
  if (items.size() > most) return false;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!request.keys.contains(items[i].key)) return false;
    if (i > 0 && items[i].key <= items[i - 1].key) return false;
  }
  return true;
}

RangeAnswer range_of(const Reader& object, const Range& request) {
  RangeAnswer answer;
  answer.revision = revision_of(object);
  for (const Reader& one : object.objects("kvs")) answer.items.push_back(key_value_of(one));
  answer.count = object.count("count");
  answer.more = object.flag("more");
  // next_page() relies on both: a page that does not go on would have no end.
  if (answer.more && answer.items.empty()) object.note("more");
  if (!are_items_of(request, answer.items)) object.note("kvs");
  return answer;
}

OpAnswer op_answer_of(const Reader& object, const Op& op) {
  if (std::holds_alternative<Put>(op)) {
    if (!object.object("response_put").there()) object.note("response_put");
    return PutAnswer{};
  }
  if (std::holds_alternative<Delete>(op)) {
    const Reader body = object.object("response_delete_range");
    if (!body.there()) object.note("response_delete_range");
    return DeleteAnswer{body.count("deleted")};
  }
  const Reader body = object.object("response_range");
  if (!body.there()) object.note("response_range");
  return range_of(body, std::get<Range>(op));
}

}  // namespace

Result<RangeAnswer> decode_range(std::string_view text, const Range& request) {
  Document document(text);
  RangeAnswer answer = range_of(document.root(), request);
  if (answer.revision.value() == 0) document.root().note("revision");
  TRY_VOID(document.done());
  return answer;
}

Result<TxnOutcome> decode_txn(std::string_view text, const Txn& request) {
  Document document(text);
  const Reader root = document.root();
  const bool held = root.flag("succeeded");
  const Revision revision = revision_of(root);
  if (revision.value() == 0) root.note("revision");
  const std::vector<Op>& branch = held ? request.then : request.otherwise;
  const std::vector<Reader> objects = root.objects("responses");
  if (objects.size() != branch.size()) root.note("responses");
  std::vector<OpAnswer> answers;
  for (size_t i = 0; i < objects.size() && i < branch.size(); ++i) {
    answers.push_back(op_answer_of(objects[i], branch[i]));
  }
  TRY_VOID(document.done());
  if (held) return Done{revision, std::move(answers)};
  return Refused{revision, std::move(answers)};
}

Result<void> decode_empty(std::string_view text) {
  Document document(text);
  if (!document.root().object("header").there()) document.root().note("header");
  return document.done();
}

Result<Granted> decode_grant(std::string_view text) {
  Document document(text);
  const Reader root = document.root();
  const Granted granted{LeaseId(root.number("ID")), root.count("TTL")};
  if (granted.id == kNoLease || granted.ttl_s == 0) root.note("ID");
  TRY_VOID(document.done());
  return granted;
}

Result<int64_t> decode_keep_alive(std::string_view text) {
  Document document(text);
  const Reader result = document.root().object("result");
  if (!result.there() || !result.has("ID")) document.root().note("result");
  const int64_t ttl_s = result.count("TTL");
  TRY_VOID(document.done());
  return ttl_s;
}

Result<std::optional<LeaseState>> decode_time_to_live(std::string_view text) {
  Document document(text);
  const Reader root = document.root();
  if (!root.has("ID")) root.note("ID");
  const int64_t left_s = root.number("TTL");
  LeaseState state{root.count("grantedTTL"), left_s, root.texts("keys", true)};
  TRY_VOID(document.done());
  if (left_s < 0) return std::nullopt;
  return state;
}

Result<std::vector<LeaseId>> decode_leases(std::string_view text) {
  Document document(text);
  if (!document.root().object("header").there()) document.root().note("header");
  std::vector<LeaseId> leases;
  for (const Reader& one : document.root().objects("leases")) {
    leases.emplace_back(one.number("ID"));
  }
  TRY_VOID(document.done());
  return leases;
}

Result<std::vector<Member>> decode_members(std::string_view text) {
  Document document(text);
  std::vector<Member> members;
  for (const Reader& one : document.root().objects("members")) {
    members.push_back({one.id("ID"), one.text("name"), one.texts("clientURLs", false)});
  }
  if (members.empty()) document.root().note("members");
  TRY_VOID(document.done());
  return members;
}

Result<MemberStatus> decode_status(std::string_view text) {
  Document document(text);
  const Reader root = document.root();
  MemberStatus status;
  status.member = root.object("header").id("member_id");
  status.leader = root.id("leader");
  status.version = root.text("version");
  status.db_bytes = root.count("dbSize");
  if (status.version.empty()) root.note("version");
  TRY_VOID(document.done());
  return status;
}

Result<std::string> decode_token(std::string_view text) {
  Document document(text);
  std::string token = document.root().text("token");
  // It becomes a line of a header.
  for (const char c : token) {
    if (c <= ' ' || c >= '\x7f') document.root().note("token");
  }
  if (token.empty()) document.root().note("token");
  TRY_VOID(document.done());
  return token;
}

std::optional<Refusal> decode_refusal(std::string_view text) {
  Document document(text);
  const Reader root = document.root();
  Refusal refusal;
  // An answer has its refusal in itself, a stream in a field of its own.
  const bool nested = document.done().has_value() && root.has("error") && !root.has("code");
  const Reader where = nested ? root.object("error") : root;
  refusal.grpc_code = static_cast<int>(where.number(nested ? "grpc_code" : "code"));
  refusal.message = where.text("message").substr(0, 256);
  if (!document.done() || refusal.grpc_code <= 0 || refusal.grpc_code > 16) return std::nullopt;
  return refusal;
}

namespace {

Change change_of(const Reader& event) {
  Change change;
  const std::string type = event.text("type");
  if (!type.empty() && type != "PUT" && type != "DELETE") event.note("type");
  change.kind = type == "DELETE" ? Change::Kind::removed : Change::Kind::put;
  change.now = key_value_of(event.object("kv"));
  if (event.has("prev_kv")) change.before = key_value_of(event.object("prev_kv"));
  if (change.now.modified.value() == 0) event.note("mod_revision");
  return change;
}

}  // namespace

Result<WatchMessage> decode_watch(std::string_view line) {
  Document document(line);
  const Reader root = document.root();
  WatchMessage message;
  if (root.has("error")) {
    message.refusal = decode_refusal(line);
    if (!message.refusal) root.note("error");
    TRY_VOID(document.done());
    return message;
  }
  const Reader result = root.object("result");
  if (!result.there()) root.note("result");
  message.revision = revision_of(result);
  message.created = result.flag("created");
  message.fragment = result.flag("fragment");
  message.cancelled = result.flag("canceled");
  message.compacted = result.revision("compact_revision");
  message.reason = result.text("cancel_reason").substr(0, 256);
  for (const Reader& event : result.objects("events")) message.changes.push_back(change_of(event));
  TRY_VOID(document.done());
  return message;
}

}  // namespace cellar::etcd
