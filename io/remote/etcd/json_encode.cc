#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "io/remote/etcd/base64.h"
#include "io/remote/etcd/json_codec.h"

namespace cellar::etcd {
namespace {

namespace json = boost::json;

std::string number(int64_t value) { return std::to_string(value); }

json::object object_of(const Range& range) {
  json::object out;
  out["key"] = to_base64(range.keys.begin);
  if (!range.keys.end.empty()) out["range_end"] = to_base64(range.keys.end);
  if (range.at != kLatest) out["revision"] = number(range.at.value());
  out["limit"] = number(range.limit);
  if (range.keys_only) out["keys_only"] = true;
  if (range.count_only) out["count_only"] = true;
  if (range.serializable) out["serializable"] = true;
  return out;
}

json::object object_of(const Compare& compare) {
  static constexpr const char* kHow[] = {"EQUAL", "NOT_EQUAL", "GREATER", "LESS"};
  static constexpr const char* kWhat[] = {"VERSION", "CREATE", "MOD", "LEASE", "VALUE"};
  static constexpr const char* kField[] = {"version", "create_revision", "mod_revision", "lease"};
  json::object out;
  out["key"] = to_base64(compare.key);
  out["result"] = kHow[static_cast<size_t>(compare.how)];
  out["target"] = kWhat[static_cast<size_t>(compare.what)];
  if (compare.what == Compare::What::value) {
    out["value"] = to_base64(compare.value);
  } else {
    out[kField[static_cast<size_t>(compare.what)]] = number(compare.number);
  }
  return out;
}

json::object object_of(const Op& op) {
  json::object body;
  if (const auto* put = std::get_if<Put>(&op)) {
    body["key"] = to_base64(put->key);
    body["value"] = to_base64(put->value);
    if (put->lease != kNoLease) body["lease"] = number(put->lease.value());
    return {{"request_put", std::move(body)}};
  }
  if (const auto* removal = std::get_if<Delete>(&op)) {
    body["key"] = to_base64(removal->keys.begin);
    if (!removal->keys.end.empty()) body["range_end"] = to_base64(removal->keys.end);
    return {{"request_delete_range", std::move(body)}};
  }
  return {{"request_range", object_of(std::get<Range>(op))}};
}

template <class T>
json::array array_of(const std::vector<T>& list) {
  json::array out;
  for (const T& one : list) out.push_back(object_of(one));
  return out;
}

}  // namespace

std::string encode(const Range& request) { return json::serialize(object_of(request)); }

std::string encode(const Txn& request) {
  json::object out;
  out["compare"] = array_of(request.compares);
  out["success"] = array_of(request.then);
  out["failure"] = array_of(request.otherwise);
  return json::serialize(out);
}

std::string encode(const WatchRequest& request, Revision from) {
  json::object create;
  create["key"] = to_base64(request.keys.begin);
  if (!request.keys.end.empty()) create["range_end"] = to_base64(request.keys.end);
  create["start_revision"] = number(from.value());
  create["progress_notify"] = true;
  create["fragment"] = true;
  if (request.before) create["prev_kv"] = true;
  return json::serialize(json::object{{"create_request", std::move(create)}});
}

std::string encode_compaction(Revision at) {
  return json::serialize(json::object{{"revision", number(at.value())}});
}

std::string encode_grant(LeaseId id, int64_t ttl_s) {
  json::object out{{"TTL", number(ttl_s)}};
  if (id != kNoLease) out["ID"] = number(id.value());
  return json::serialize(out);
}

std::string encode_lease(LeaseId id) {
  return json::serialize(json::object{{"ID", number(id.value())}});
}

std::string encode_time_to_live(LeaseId id) {
  return json::serialize(json::object{{"ID", number(id.value())}, {"keys", true}});
}

std::string encode_user(const std::string& name, const std::string& password) {
  return json::serialize(json::object{{"name", name}, {"password", password}});
}

}  // namespace cellar::etcd
