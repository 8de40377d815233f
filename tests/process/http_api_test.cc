// The API of a running node: its answers match its description, and changes are protected.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include <boost/json.hpp>

#include "net/http/metric_table.h"
#include "net/http/routes.h"
#include "net/security/token.h"
#include "tests/process/support/http_bed.h"

namespace cellar::process {
namespace {

namespace json = boost::json;

// The part of JSON Schema that the description uses; a mismatch is reported with its position.
class Schema {
 public:
  explicit Schema(const json::value& document) : document_(document) {}

  std::string problem(const json::value& value, const json::value& schema,
                      const std::string& at) const {
    const json::object& rules = schema.as_object();
    if (const auto* target = rules.if_contains("$ref")) {
      std::string name(target->as_string());
      name = name.substr(name.rfind('/') + 1);
      return problem(value, document_.at("components").at("schemas").at(name), at);
    }
    if (const auto* choices = rules.if_contains("oneOf")) {
      std::string all;
      for (const json::value& one : choices->as_array()) {
        const std::string why = problem(value, one, at);
        if (why.empty()) return "";
        all += why + "; ";
      }
      return at + " fits nothing: " + all;
    }
    if (const auto* type = rules.if_contains("type"); type != nullptr && !is(value, *type)) {
      return at + " is no " + json::serialize(*type) + ": " + json::serialize(value);
    }
    if (value.is_array()) return items(value, rules, at);
    if (value.is_object()) return members(value, rules, at);
    return "";
  }

 private:
  static bool is(const json::value& value, const json::value& type) {
    if (type.is_array()) {
      for (const json::value& one : type.as_array()) {
        if (is(value, one)) return true;
      }
      return false;
    }
    const std::string name(type.as_string());
    if (name == "integer") return value.is_int64() || value.is_uint64();
    if (name == "number") return value.is_number();
    if (name == "string") return value.is_string();
    if (name == "boolean") return value.is_bool();
    if (name == "null") return value.is_null();
    if (name == "array") return value.is_array();
    return name == "object" && value.is_object();
  }
  std::string items(const json::value& value, const json::object& rules,
                    const std::string& at) const {
    for (size_t i = 0; i < value.as_array().size(); ++i) {
      const std::string why =
          problem(value.as_array()[i], rules.at("items"), fmt::format("{}[{}]", at, i));
      if (!why.empty()) return why;
    }
    return "";
  }
  std::string members(const json::value& value, const json::object& rules,
                      const std::string& at) const {
    const json::object& properties = rules.at("properties").as_object();
    for (const json::value& name : rules.at("required").as_array()) {
      if (!value.as_object().contains(name.as_string())) {
        return at + " lacks " + std::string(name.as_string());
      }
    }
    for (const auto& member : value.as_object()) {
      const std::string name(member.key());
      const auto* schema = properties.if_contains(name);
      if (schema == nullptr) return at + " has " + name + ", which the description does not know";
      const std::string why = problem(member.value(), *schema, at + "." + name);
      if (!why.empty()) return why;
    }
    return "";
  }

  const json::value& document_;
};

const json::value& answer_schema(const json::value& document, const std::string& path,
                                 const std::string& method) {
  return document.at("paths")
      .at(path)
      .at(method)
      .at("responses")
      .at("200")
      .at("content")
      .at("application/json")
      .at("schema");
}

class HttpApi : public HttpBed {
 protected:
  void SetUp() override {
    start({"--slow-request", "1us"});
    fill("users", 40);
    document_ = json::parse(get("/api/v1/openapi.json").body);
  }
  // Sends a request and checks the answer against the description.
  json::value ask(const std::string& target) {
    const HttpAnswer answer = get(target);
    EXPECT_EQ(answer.status, 200) << target << " " << answer.body;
    const json::value value = json::parse(answer.body);
    const std::string path = target.substr(0, target.find('?'));
    EXPECT_EQ(Schema(document_).problem(value, answer_schema(document_, path, "get"), path), "");
    return value;
  }
  // "by_mail" of users, on the value and time of f:mail; waits until it is ready.
  void make_index() {
    auto client = connect();
    client::IndexSpec index;
    index.name = "by_mail";
    index.family = "f";
    index.qualifier = "mail";
    index.parts = {client::IndexPart::value, client::IndexPart::time};
    index.covered = {{"f", "name"}};
    const auto made = client->create_index("users", index);
    ASSERT_TRUE(made) << made.error().message;
    for (int i = 0; i < 500; ++i) {
      const auto all = client->describe_indexes("users");
      ASSERT_TRUE(all) << all.error().message;
      if (all->at(0).ready) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    FAIL() << "the index does not become ready";
  }
  // Sends a request and expects a refusal.
  int refusal(const std::string& target) {
    const HttpAnswer answer = get(target);
    EXPECT_EQ(Schema(document_).problem(json::parse(answer.body),
                                        document_.at("components").at("schemas").at("Error"), ""),
              "")
        << answer.body;
    return answer.status;
  }
  json::value change(const std::string& path, const std::string& body) {
    const HttpAnswer answer = post(path, body);
    EXPECT_EQ(answer.status, 200) << path << " " << answer.body;
    const json::value value = json::parse(answer.body);
    EXPECT_EQ(Schema(document_).problem(value, answer_schema(document_, path, "post"), path), "");
    return value;
  }

  json::value document_;
};

TEST_F(HttpApi, TheDescriptionNamesEveryRouteAndNoOther) {
  std::set<std::string> described;
  for (const auto& path : document_.at("paths").as_object()) {
    for (const auto& method : path.value().as_object()) {
      described.insert(std::string(method.key()) + " " + std::string(path.key()));
    }
  }
  std::set<std::string> routed;
  for (const http::Route& route : http::routes()) {
    routed.insert((route.method == http::Method::post ? "post " : "get ") +
                  std::string(route.path));
  }
  EXPECT_EQ(described, routed);
}

TEST_F(HttpApi, EveryAnswerIsAsDescribed) {
  make_index();
  const std::map<std::string, std::string> queries = {
      {"/api/v1/table", "?name=users"},
      {"/api/v1/cells", "?table=users&limit=50"},
      {"/api/v1/indexes/cells", "?table=users&index=by_mail&limit=50"},
      {"/api/v1/retention/history", "?table=users&family=f"}};
  size_t asked = 0;
  for (const http::Route& route : http::routes()) {
    const std::string path(route.path);
    if (route.method != http::Method::get || !path.starts_with("/api/v1/") ||
        path.ends_with("openapi.json")) {
      continue;
    }
    ask(path + (queries.contains(path) ? queries.at(path) : ""));
    ++asked;
  }
  EXPECT_GE(asked, 17u);
  EXPECT_GT(ask("/api/v1/slow-requests").at("requests").as_array().size(), 10u);
  EXPECT_EQ(get("/api/v1/table?name=nobody").status, 404);
  EXPECT_EQ(get("/api/v1/cells?table=users&limit=many").status, 400);
}

TEST_F(HttpApi, CellsTellTheirFate) {
  const json::value page = ask("/api/v1/cells?table=users&prefix=user0007");
  const json::array& cells = page.at("cells").as_array();
  ASSERT_EQ(cells.size(), 4u);
  EXPECT_EQ(cells[0].at("value").as_string(), "mail-7-4");
  EXPECT_FALSE(cells[0].at("dead").as_bool());
  EXPECT_TRUE(cells[3].at("dead").as_bool());
  EXPECT_EQ(cells[3].at("cause").as_string(), "max_versions");
  EXPECT_EQ(ask("/api/v1/cells?table=users&prefix=user0007&dead=0").at("cells").as_array().size(),
            2u);
  // Over all pages every row comes once.
  std::set<std::string> rows;
  std::string after;
  for (int pages = 0; pages < 60; ++pages) {
    const json::value some = ask("/api/v1/cells?table=users&limit=10&after=" + after);
    for (const json::value& cell : some.at("cells").as_array()) {
      rows.insert(std::string(cell.at("row").as_string()));
    }
    if (!some.at("more").as_bool()) break;
    after = some.at("next").as_string();
    EXPECT_EQ(after, *rows.rbegin());
    EXPECT_FALSE(some.at("cut").as_bool());
  }
  EXPECT_EQ(rows.size(), 40u);
}

// A row of three versions is larger than a page of two cells: it is cut, and the reply says so.
TEST_F(HttpApi, ARowThatIsLargerThanAPageIsCut) {
  const json::value cut = ask("/api/v1/cells?table=users&prefix=user0007&limit=2");
  EXPECT_TRUE(cut.at("cut").as_bool());
  EXPECT_TRUE(cut.at("more").as_bool());
  EXPECT_EQ(cut.at("cells").as_array().size(), 2u);
  const std::string row(cut.at("next").as_string());
  EXPECT_TRUE(row.starts_with("user0007")) << row;
  const json::value rest = ask("/api/v1/cells?table=users&prefix=user0007&limit=2&after=" + row);
  EXPECT_EQ(rest.at("cells").as_array().size(), 0u);
  EXPECT_FALSE(rest.at("more").as_bool());
}

// No cell matches: the rows were looked at nevertheless.
TEST_F(HttpApi, APageWithoutCellsSaysHowFarItLooked) {
  const json::value none = ask("/api/v1/cells?table=users&value=nobody");
  EXPECT_EQ(none.at("cells").as_array().size(), 0u);
  EXPECT_TRUE(none.at("next").as_string().starts_with("user0039")) << json::serialize(none);
}

TEST_F(HttpApi, CellsAreFiltered) {
  const auto found = [this](const std::string& filter) {
    std::string values;
    const json::value page = ask("/api/v1/cells?table=users&prefix=user0007&" + filter);
    for (const json::value& cell : page.at("cells").as_array()) {
      values += (values.empty() ? "" : " ") + std::string(cell.at("value").as_string());
    }
    return values;
  };
  EXPECT_EQ(found("versions=1"), "mail-7-4");
  EXPECT_EQ(found("value=mail-7-%5B13%5D"), "mail-7-3 mail-7-1");
  EXPECT_EQ(found("value=mail"), "") << "the expression is for the whole value";
  EXPECT_EQ(found("since_us=2000&until_us=4000"), "mail-7-3 mail-7-2");
  EXPECT_EQ(found("qualifier=m.*&versions=2"), "mail-7-4 mail-7-3");
  EXPECT_EQ(found("qualifier=x.*"), "");
  EXPECT_EQ(found("family=g"), "");
  EXPECT_EQ(found("family=f%7Cg&value=.*4&dead=0"), "mail-7-4");
  EXPECT_EQ(get("/api/v1/cells?table=users&value=%28").status, 400);
  EXPECT_EQ(get("/api/v1/cells?table=users&versions=some").status, 400);
}

TEST_F(HttpApi, CellsAreFoundThroughAnIndex) {
  make_index();
  client::Mutation named("user0007");
  named.set("f", "name", "Seven", 9000);
  ASSERT_TRUE(connect()->mutate_row("users", named));
  const std::string base = "/api/v1/indexes/cells?table=users&index=by_mail";
  const json::value one = ask(base + "&value=mail-7-4");
  ASSERT_EQ(one.at("hits").as_array().size(), 1u) << json::serialize(one);
  const json::value& hit = one.at("hits").at(0);
  EXPECT_EQ(hit.at("row").as_string(), "user0007");
  EXPECT_EQ(hit.at("timestamp").as_string(), "4000");
  EXPECT_TRUE(hit.at("found").as_bool());
  EXPECT_EQ(hit.at("covered").at(0).at("value").as_string(), "Seven");
  EXPECT_FALSE(one.at("more").as_bool());
  const auto values = [&](const std::string& conditions) {
    std::string all;
    const json::value page = ask(base + conditions);
    for (const json::value& each : page.at("hits").as_array()) {
      all += (all.empty() ? "" : " ") + std::string(each.at("value").as_string());
    }
    return all;
  };
  EXPECT_EQ(values("&value_from=mail-38&value_to=mail-39-4"), "mail-38-4");
  EXPECT_EQ(values("&value_from=mail-38&value_through=mail-39-4"), "mail-38-4 mail-39-4");
  EXPECT_EQ(values("&reversed=1&limit=1"), "mail-9-4");
  EXPECT_EQ(values("&reversed=1&limit=2&prefix=user003"), "mail-39-4 mail-38-4");
  EXPECT_EQ(values("&value=mail-7-3"), "");
  EXPECT_EQ(values("&value="), "");
  EXPECT_EQ(values("&value=mail-7-4&until_us=4000"), "");
  // The rule keeps the version before.
  const json::value why = ask(base + "&value_from=mail-7&value_to=mail-8&explain=1");
  std::map<std::string, std::string> causes;
  for (const json::value& each : why.at("hits").as_array()) {
    causes[std::string(each.at("value").as_string())] = each.at("cause").as_string();
    EXPECT_EQ(each.at("found").as_bool(), each.at("value").as_string() == "mail-7-4");
  }
  EXPECT_EQ(causes["mail-7-3"], "not_newest");
  // Over all pages every hit comes once, in order.
  std::vector<std::string> all;
  std::string after;
  for (int pages = 0; pages < 60; ++pages) {
    const json::value page = ask(base + "&limit=7&after=" + after);
    for (const json::value& each : page.at("hits").as_array()) {
      all.emplace_back(each.at("value").as_string());
    }
    if (!page.at("more").as_bool()) break;
    after = page.at("next").as_string();
  }
  EXPECT_EQ(all.size(), 40u);
  EXPECT_TRUE(std::ranges::is_sorted(all));
}

TEST_F(HttpApi, AnIndexRefusesWhatItCannotAnswer) {
  make_index();
  const std::string base = "/api/v1/indexes/cells?table=users&index=by_mail";
  EXPECT_EQ(refusal("/api/v1/indexes/cells?table=absent&index=by_mail"), 404);
  EXPECT_EQ(refusal("/api/v1/indexes/cells?table=users&index=absent"), 404);
  EXPECT_EQ(refusal("/api/v1/indexes/cells?table=users"), 404);
  for (const char* bad :
       {"&value=a&value_from=b", "&value_to=a&value_through=b", "&value_from=b&value_to=a",
        "&value=%5Cq", "&qualifier=mail", "&since_us=5&until_us=5", "&since_us=noon", "&limit=101",
        "&limit=many", "&after=0", "&after=xx", "&after=00"}) {
    EXPECT_EQ(refusal(base + bad), 400) << bad;
  }
}

TEST_F(HttpApi, TablesAndFamiliesComeAndGo) {
  change("/api/v1/tables/create",
         R"({"table":"made","families":[{"name":"a","rule":{"max_age_us":1000000}},)"
         R"({"name":"b","rule":null,"timestamps":"sequence"}],"reclaim_within_us":7200000000})");
  json::value table = ask("/api/v1/table?name=made");
  EXPECT_EQ(table.at("reclaim_within_us").as_int64(), 7'200'000'000);
  EXPECT_EQ(table.at("families").at(0).at("rule"), json::parse(R"({"max_age_us":1000000})"));
  EXPECT_EQ(table.at("families").at(1).at("timestamps").as_string(), "sequence");
  change("/api/v1/families/add", R"({"table":"made","families":[{"name":"c"}],)"
                                 R"("expected_version":1})");
  EXPECT_EQ(
      post("/api/v1/families/drop", R"({"table":"made","family":"c","expected_version":1})").status,
      409);
  change("/api/v1/families/drop", R"({"table":"made","family":"a"})");
  change("/api/v1/tables/reclaim",
         R"({"table":"made","reclaim_within_us":3600000000,"dead_slack":0.5})");
  table = ask("/api/v1/table?name=made");
  EXPECT_EQ(table.at("families").as_array().size(), 2u);
  EXPECT_EQ(table.at("families").at(1).at("name").as_string(), "c");
  EXPECT_EQ(table.at("reclaim_within_us").as_int64(), 3'600'000'000);
  EXPECT_EQ(table.at("dead_slack").as_double(), 0.5);
  EXPECT_EQ(post("/api/v1/tables/create", R"({"table":"made"})").status, 409);
  EXPECT_EQ(get("/api/v1/tablets?table=made").status, 200) << "whatever the readings know";
  change("/api/v1/tables/drop", R"({"table":"made"})");
  EXPECT_EQ(get("/api/v1/table?name=made").status, 404);
  const json::value dropped = ask("/api/v1/tables/dropped");
  ASSERT_EQ(dropped.at("tables").as_array().size(), 1u);
  EXPECT_EQ(dropped.at("tables").at(0).at("name").as_string(), "made");
  change("/api/v1/tables/restore", R"({"table":"made"})");
  EXPECT_EQ(ask("/api/v1/table?name=made").at("families").as_array().size(), 2u);
  EXPECT_EQ(ask("/api/v1/tables/dropped").at("tables").as_array().size(), 0u);
  EXPECT_EQ(post("/api/v1/tables/restore", R"({"table":"made"})").status, 404);
  for (const char* bad :
       {"", "[]", "{}", R"({"table":"no name"})", R"({"table":"t","families":{}})",
        R"({"table":"t","families":[3]})", R"({"table":"t","families":[{"name":""}]})",
        R"({"table":"t","families":[{"name":"f","rules":null}]})",
        R"({"table":"t","families":[{"name":"f","timestamps":"never"}]})",
        R"({"table":"t","reclaim_within_us":-1})", R"({"table":"t","reclaim_within_us":5})"}) {
    EXPECT_EQ(post("/api/v1/tables/create", bad).status, 400) << bad;
  }
  EXPECT_EQ(get("/api/v1/table?name=t").status, 404);
  for (const char* path :
       {"/api/v1/families/add", "/api/v1/families/drop", "/api/v1/tables/reclaim",
        "/api/v1/tables/drop", "/api/v1/tables/restore"}) {
    EXPECT_EQ(post(path, "{}").status, 400) << path;
    EXPECT_EQ(post(path, R"({"table":"absent","family":"f","families":[{"name":"f"}]})").status,
              404)
        << path;
  }
}

TEST_F(HttpApi, MergesTellTheirReason) {
  ASSERT_TRUE(connect()->flush_table("users"));
  ASSERT_TRUE(connect()->compact_table("users"));
  const json::value merges = ask("/api/v1/compactions");
  const json::array& recent = merges.at("recent").as_array();
  ASSERT_EQ(recent.size(), 1u);
  EXPECT_EQ(recent[0].at("reason").as_string(), "request");
  EXPECT_EQ(recent[0].at("table_name").as_string(), "users");
}

TEST_F(HttpApi, WithoutADirectoryNoBackupIsTaken) {
  EXPECT_EQ(ask("/api/v1/backups").at("into").as_string(), "");
  EXPECT_EQ(post("/api/v1/backups/take", "{}").status, 409);
}

TEST_F(HttpApi, ARuleIsPreviewedAppliedAndUndone) {
  const std::string rule = R"({"table":"users","family":"f","rule":{"max_versions":1}})";
  const json::value report = change("/api/v1/retention/preview", rule);
  EXPECT_EQ(report.at("kills").at("cells").as_int64(), 40);
  EXPECT_EQ(ask("/api/v1/table?name=users").at("version").as_int64(), 1);
  change("/api/v1/retention/apply", rule);
  const json::value table = ask("/api/v1/table?name=users");
  EXPECT_EQ(table.at("version").as_int64(), 2);
  EXPECT_EQ(table.at("families").at(0).at("rule"), json::parse(R"({"max_versions":1})"));
  EXPECT_EQ(ask("/api/v1/retention/history?table=users&family=f").at("past").as_array().size(), 1u);
  EXPECT_EQ(post("/api/v1/retention/apply",
                 R"({"table":"users","family":"f","rule":null,"expected_version":1})")
                .status,
            409);
  EXPECT_EQ(ask("/api/v1/audit?table=users").at("entries").at(0).at("client").as_string(), "http");
  change("/api/v1/retention/undo", R"({"table":"users","family":"f"})");
  EXPECT_EQ(ask("/api/v1/table?name=users").at("families").at(0).at("rule"),
            json::parse(R"({"max_versions":2})"));
  for (const char* bad : {"", "[]", "{", R"({"table":"users"})",
                          R"({"table":"users","family":"f","rule":{"max_versions":0}})",
                          R"({"table":"users","family":"f","rule":{"max_age":5}})",
                          R"({"table":"users","family":"f","rule":{"any_of":[]}})"}) {
    EXPECT_EQ(post("/api/v1/retention/preview", bad).status, 400) << bad;
  }
  std::string deep = "null";
  for (int i = 0; i < 30; ++i) deep = R"({"any_of":[)" + deep + "]}";
  EXPECT_EQ(
      post("/api/v1/retention/preview", R"({"table":"users","family":"f","rule":)" + deep + "}")
          .status,
      400);
}

TEST_F(HttpApi, ADrainIsShownAndTakenBack) {
  change("/api/v1/drain", R"({"drain":true})");
  EXPECT_EQ(get("/readyz").status, 404);
  EXPECT_TRUE(connect()->server_info()) << "it serves on";
  change("/api/v1/drain", R"({"drain":false})");
  EXPECT_EQ(get("/readyz").status, 200);
  change("/api/v1/reload", "{}");
  change("/api/v1/clock/release", R"({"max_held_us":0})");
}

// Requests that a form, a foreign page or an old browser can send change nothing.
TEST_F(HttpApi, ChangesTakeMoreThanAForm) {
  const std::string body = R"({"drain":true})";
  const std::string json_type = "Content-Type: application/json\r\n";
  const std::string marked = "X-Cellar-Request: 1\r\n";
  EXPECT_EQ(post("/api/v1/drain", body, json_type).status, 403);
  EXPECT_EQ(post("/api/v1/drain", body, marked).status, 415);
  EXPECT_EQ(post("/api/v1/drain", body, marked + "Content-Type: text/plain\r\n").status, 415);
  EXPECT_EQ(
      post("/api/v1/drain", body, json_type + marked + "Origin: http://evil.example\r\n").status,
      403);
  EXPECT_EQ(http_get(http_, "/api/v1/drain").status, 405);
  EXPECT_EQ(get("/readyz").status, 200);
}

// ---- metrics

struct Family {
  std::string type;
  size_t samples = 0;
};

TEST_F(HttpApi, MetricsAreWellFormedAndThoseOfTheTable) {
  make_index();
  // A reading is cached for a moment.
  const std::string last = R"(cellar_requests_total{op="put",code="ok"} 40)";
  HttpAnswer answer;
  for (int i = 0; i < 100 && answer.body.find(last) == std::string::npos; ++i) {
    answer = get("/metrics");
    ASSERT_EQ(answer.status, 200);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_NE(answer.head.find("text/plain; version=0.0.4"), std::string::npos);
  static const std::regex kSample(
      R"re(^([a-z_]+?)(_bucket|_sum|_count)?(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? (-?[0-9.e+-]+)$)re");
  std::map<std::string, Family> families;
  std::set<std::string> series;
  std::string open;
  std::istringstream in(answer.body);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("# HELP ")) continue;
    if (line.starts_with("# TYPE ")) {
      std::istringstream words(line.substr(7));
      words >> open;
      EXPECT_FALSE(families.contains(open)) << line;
      words >> families[open].type;
      continue;
    }
    std::smatch match;
    ASSERT_TRUE(std::regex_match(line, match, kSample)) << line;
    EXPECT_TRUE(line.starts_with(open)) << line << " under " << open;
    EXPECT_TRUE(series.insert(line.substr(0, line.rfind(' '))).second) << line;
    ++families[open].samples;
  }
  for (const http::Metric& metric : http::metrics()) {
    const std::string name(metric.name);
    ASSERT_TRUE(families.contains(name)) << name;
    EXPECT_EQ(families[name].type, http::name_of(metric.type)) << name;
    // There may be nothing due; the node has no TLS, takes no backups and has no table on disk.
    const std::set<std::string> maybe_absent = {
        "cellar_table_next_reclaim_seconds", "cellar_certificate_expiry_timestamp_seconds",
        "cellar_backup_newest_timestamp_seconds", "cellar_table_verified_age_seconds"};
    if (!maybe_absent.contains(name)) EXPECT_GT(families[name].samples, 0u) << name;
    EXPECT_EQ(metric.type == http::Metric::Type::counter, name.ends_with("_total")) << name;
  }
  EXPECT_EQ(families.size(), http::metrics().size());
  EXPECT_NE(answer.body.find(last), std::string::npos);
  EXPECT_NE(answer.body.find(R"(cellar_request_duration_seconds_count{op="put"} 40)"),
            std::string::npos);
  EXPECT_NE(answer.body.find(R"(cellar_table_tablets{table="users"} )"), std::string::npos);
  EXPECT_LT(series.size(), 2000u);
}

class HttpPeers : public HttpBed {};

// The console of another node may ask this one; any other page may not.
TEST_F(HttpPeers, AConsoleOfANamedNodeMayAsk) {
  start({"--http-nodes", "http://127.0.0.1:9 http://127.0.0.1:8"});
  const HttpAnswer page = get("/");
  EXPECT_NE(page.head.find("connect-src 'self' http://127.0.0.1:9 http://127.0.0.1:8;"),
            std::string::npos)
      << page.head;
  const std::string peer = "Origin: http://127.0.0.1:9\r\nSec-Fetch-Site: same-site\r\n";
  const std::string other = "Origin: http://127.0.0.1:7\r\nSec-Fetch-Site: same-site\r\n";
  const HttpAnswer node = http_call(http_, "GET", "/api/v1/node", peer);
  EXPECT_EQ(node.status, 200) << node.body;
  EXPECT_NE(node.head.find("Access-Control-Allow-Origin: http://127.0.0.1:9\r\n"),
            std::string::npos)
      << node.head;
  EXPECT_EQ(http_call(http_, "GET", "/api/v1/node", other).status, 403);
  const HttpAnswer asked = http_call(http_, "OPTIONS", "/api/v1/node", peer);
  EXPECT_EQ(asked.status, 200);
  EXPECT_NE(asked.head.find("Access-Control-Allow-Headers: Authorization, Content-Type, "
                            "X-Cellar-Request\r\n"),
            std::string::npos)
      << asked.head;
  const HttpAnswer foreign = http_call(http_, "OPTIONS", "/api/v1/node", other);
  EXPECT_EQ(foreign.status, 403);
  EXPECT_EQ(foreign.head.find("Access-Control-Allow"), std::string::npos) << foreign.head;
}

TEST_F(HttpPeers, ABackupIsTakenIntoTheScheduledDirectory) {
  const std::string into = scratch_ / "backups";
  std::filesystem::create_directories(into);
  start({"--backup-directories", into, "--backup-into", into});
  fill("users", 10);
  ASSERT_EQ(post("/api/v1/backups/take", "{}").status, 200);
  json::value told;
  for (int i = 0; i < 200; ++i) {
    told = json::parse(get("/api/v1/backups?list=1").body);
    if (told.at("taken").as_int64() == 1 && !told.at("job").at("running").as_bool()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ASSERT_EQ(told.at("taken").as_int64(), 1) << json::serialize(told);
  EXPECT_TRUE(told.at("job").at("error").is_null());
  ASSERT_EQ(told.at("backups").as_array().size(), 1u);
  EXPECT_EQ(told.at("backups").at(0).at("tables").as_int64(), 1);
  EXPECT_EQ(Schema(json::parse(get("/api/v1/openapi.json").body))
                .problem(told,
                         answer_schema(json::parse(get("/api/v1/openapi.json").body),
                                       "/api/v1/backups", "get"),
                         "backups"),
            "");
}

// The alert on failed backups sees it: no cluster is configured.
TEST_F(HttpPeers, AScheduledBackupWhosePlaceCannotBeOpenedIsAFailedOne) {
  start({"--backup-directories", "rados:p", "--backup-into", "rados:p/n1", "--backup-every", "1s"});
  json::value told;
  for (int i = 0; i < 200; ++i) {
    told = json::parse(get("/api/v1/backups").body);
    if (told.at("failed").as_int64() > 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(told.at("failed").as_int64(), 1) << json::serialize(told);
}

// A node with principals: they have the same permissions over HTTP as over the protocol.
class HttpPrincipals : public HttpBed {
 protected:
  void SetUp() override {
    std::ofstream(scratch_ / "principals.toml")
        << principal("boss", "", "admin") << principal("reader", "users", "read")
        << principal("everywhere", "", "read") << principal("maker", "", "schema");
    start({"--security-principals", scratch_ / "principals.toml"});
    client::ClientOptions options;
    options.address = node_->address();
    options.token = token("maker");
    client::SyncClient client(options);
    for (const char* name : {"users", "orders"}) {
      client::TableSpec spec;
      spec.name = name;
      spec.families.resize(1);
      spec.families[0].name = "f";
      const auto made = client.create_table(spec);
      ASSERT_TRUE(made) << made.error().message;
    }
  }
  static std::string token(std::string_view name) { return fmt::format("token-of-{}", name); }
  static std::string principal(std::string_view name, std::string_view prefix,
                               std::string_view role) {
    return fmt::format(
        "[[principal]]\nname = \"{}\"\ntokens = [\"{}\"]\n"
        "[[principal.grant]]\nprefix = \"{}\"\nroles = [\"{}\"]\n",
        name, security::hash_text(token(name)), prefix, role);
  }
  HttpAnswer ask(std::string_view who, const std::string& target) {
    const std::string header =
        who.empty() ? "" : fmt::format("Authorization: Bearer {}\r\n", token(who));
    return http_call(http_, "GET", target, header);
  }
};

TEST_F(HttpPrincipals, MayWhatTheyMayOverTheProtocol) {
  // Routes on the whole node or on every table: the role admin on the prefix "".
  for (const char* target :
       {"/api/v1/node", "/api/v1/shards", "/api/v1/compactions", "/api/v1/slow-requests",
        "/api/v1/history", "/api/v1/profile", "/api/v1/clock", "/api/v1/config", "/api/v1/audit",
        "/api/v1/reclaim", "/api/v1/reclaim?table=users", "/api/v1/audit?table=users",
        "/api/v1/tablets?table=users"}) {
    EXPECT_EQ(ask("boss", target).status, 200) << target;
    EXPECT_EQ(ask("reader", target).status, 403) << target;
    EXPECT_EQ(ask("everywhere", target).status, 403) << target;
    EXPECT_EQ(ask("", target).status, 401) << target << " for any local process";
    EXPECT_EQ(ask("nobody", target).status, 401) << target;
  }
  EXPECT_EQ(ask("reader", "/api/v1/cells?table=users").status, 200);
  EXPECT_EQ(ask("reader", "/api/v1/cells?table=orders").status, 403);
  EXPECT_EQ(ask("reader", "/api/v1/cells?table=absent").status, 403);
  EXPECT_EQ(ask("everywhere", "/api/v1/cells?table=absent").status, 404);
  EXPECT_EQ(ask("boss", "/api/v1/cells?table=users").status, 403);
  EXPECT_EQ(ask("reader", "/api/v1/indexes/cells?table=users&index=i").status, 404);
  EXPECT_EQ(ask("reader", "/api/v1/indexes/cells?table=orders&index=i").status, 403);
  EXPECT_EQ(ask("boss", "/api/v1/indexes/cells?table=users&index=i").status, 403);
  EXPECT_EQ(ask("", "/api/v1/indexes/cells?table=users&index=i").status, 401);
  EXPECT_EQ(ask("reader", "/api/v1/table?name=users").status, 200);
  EXPECT_EQ(ask("reader", "/api/v1/table?name=orders").status, 403);
  const std::string shown = ask("reader", "/api/v1/tables").body;
  EXPECT_NE(shown.find("\"users\""), std::string::npos) << shown;
  EXPECT_EQ(shown.find("\"orders\""), std::string::npos) << shown;
  EXPECT_EQ(ask("", "/metrics").status, 200);
  EXPECT_EQ(ask("", "/readyz").status, 200);
  const std::string change = "X-Cellar-Request: 1\r\nContent-Type: application/json\r\n";
  const auto drain = [&](std::string_view who) {
    return http_call(http_, "POST", "/api/v1/drain",
                     change + fmt::format("Authorization: Bearer {}\r\n", token(who)),
                     R"({"drain": false})")
        .status;
  };
  EXPECT_EQ(drain("everywhere"), 403);
  EXPECT_EQ(drain("boss"), 200);
  // The security log records both.
  std::string log;
  for (int i = 0; i < 100 && log.find("\"change\"") == std::string::npos; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::ifstream in(scratch_ / "data" / "security" / "audit-00000000000000000001.jsonl",
                     std::ios::binary);
    log.assign(std::istreambuf_iterator<char>(in), {});
  }
  EXPECT_NE(log.find("\"principal\":\"boss\""), std::string::npos) << log;
  EXPECT_NE(log.find("http /api/v1/drain"), std::string::npos) << log;
  EXPECT_NE(log.find("\"denied\""), std::string::npos) << log;
}

}  // namespace
}  // namespace cellar::process
