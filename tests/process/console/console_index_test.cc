// Indexes in the console: their section of a table, and the query of one.
#include "tests/process/support/console_bed.h"

namespace cellar::process {
namespace {

class ConsoleIndexes : public Console {
 protected:
  // Table users with indexes of mail addresses, and of points as 64-bit numbers.
  void make_indexes() {
    fill("users", 0);
    make("by_mail", "mail", {}, 2 * 3'600'000'000);
    make("by_points", "points", client::IndexType::int64, {});
    auto client = connect();
    for (int i = 0; i < 20; ++i) {
      client::Mutation mutation(fmt::format("user{:04}", i));
      mutation.set("f", "name", fmt::format("Name {}", i), 5000);
      mutation.set("f", "mail", fmt::format("now-{:02}", i));
      std::string points(8, '\0');
      points[7] = static_cast<char>(i);
      if (i == 0) points = std::string(8, '\xff');  // -1
      mutation.set("f", "points", i == 19 ? "many" : points, 5000);
      ASSERT_TRUE(client->mutate_row("users", mutation));
    }
    // Written behind the index, and not found: one is not the newest, one past the own age.
    client::Mutation early("user0003");
    early.set("f", "mail", "early-03", 6000);
    ASSERT_TRUE(client->mutate_row("users", early));
    client::Mutation old("user0099");
    old.set("f", "mail", "old-99", 6000);
    ASSERT_TRUE(client->mutate_row("users", old));
  }
  void make(const std::string& name, const std::string& qualifier,
            std::optional<client::IndexType> type, std::optional<int64_t> max_age_us) {
    client::IndexSpec index;
    index.name = name;
    index.family = "f";
    index.qualifier = qualifier;
    index.parts = {client::IndexPart::value, client::IndexPart::time};
    index.type = type;
    index.max_age_us = max_age_us;
    if (!type) index.parts.pop_back();
    index.covered = {{"f", "name"}};
    const auto made = connect()->create_index("users", index);
    ASSERT_TRUE(made) << made.error().message;
  }
  // The values of the hits that are shown.
  std::string hits() { return said("return " + std::string(kHits)); }
  static constexpr std::string_view kHits =
      "[...document.querySelectorAll('#hits td.value')].map(e => e.innerText).join()";
  bool wait_for_hits(const std::string& values) {
    return browser_->wait_for(std::string(kHits) + " === '" + values + "'");
  }
  void set(const std::string& id, const std::string& value) {
    browser_->run(
        fmt::format("const e = document.getElementById('{}'); e.value = '{}'; "
                    "e.dispatchEvent(new Event('input')); "
                    "e.dispatchEvent(new Event('change'))",
                    id, value));
  }
  void find() {
    browser_->run("document.getElementById('index-find').focus()");
    browser_->keys(kEnter);
  }
};

TEST_F(ConsoleIndexes, AreShownWithTheirTable) {
  NEEDS_BROWSER();
  start();
  fill("visits", 2);
  make_indexes();
  ASSERT_TRUE(connect()->flush_table("users"));
  ASSERT_NO_FATAL_FAILURE(browse());
  visit("tables");
  const std::string section = "document.querySelector('[data-indexes=users]').innerText";
  ASSERT_TRUE(browser_->wait_for(section + ".includes('\\t20\\t')", 20'000)) << text();
  const std::string shown = said("return " + section);
  for (const char* part :
       {"by_mail", "f:mail", "by value; newest version", "covers f:name", "2 h", "ready",
        "Older cells live on and are not found. A rule that kills earlier is accepted.",
        "by value as a 64-bit number, then time, newest first; newest version",
        "Finds cells for as long as they live."}) {
    EXPECT_NE(shown.find(part), std::string::npos) << part << " is not in\n" << shown;
  }
  EXPECT_EQ(said("return document.querySelector('[data-indexes=users] tbody tr:nth-child(2) "
                 "td:nth-child(7)').innerText"),
            "1")
      << "a value that is no number is skipped";
  expect_text("cellar index create visits NAME on=FAMILY:QUALIFIER order=value");
  // What the own age does under each rule; how far an index is.
  EXPECT_EQ(said("return import('/console/indexes.js').then(m => "
                 "[null, {max_age_us: 36e8}, {max_age_us: 72e8}, {max_age_us: 144e8},"
                 "{any_of: [{max_versions: 2}, {max_age_us: 36e8}]},"
                 "{all_of: [{max_versions: 2}, {max_age_us: 36e8}]}].map(rule => m.ageWords("
                 "{family: 'f', max_age_us: 72e8, tighter_base: 'refuse'},"
                 "{families: [{name: 'f', rule}]})[1].split(/[.:,]/)[0]).join())"),
            "Older cells live on and are not found,Without effect,The rule kills at that age too,"
            "Older cells are not found,Without effect,Older cells live on and are not found");
  EXPECT_EQ(said("return import('/console/indexes.js').then(m => m.stateCell("
                 "{name: 'i', state: {ready: false, done: 0.437}}).innerText)"),
            "43 % entered");
  keep("table-indexes-light");
  browser_->run("document.getElementById('theme').click()");
  browser_->run("document.getElementById('theme').click()");
  keep("table-indexes-dark");
  browser_->resize(390, 900);
  EXPECT_LE(number("return document.documentElement.scrollWidth - innerWidth"), 0);
  browser_->run("document.querySelector('[data-indexes=users]').scrollIntoView()");
  keep("table-indexes-narrow");
  browser_->run("document.querySelector('[data-indexes=users] a').click()");
  EXPECT_TRUE(browser_->wait_for("document.body.dataset.loaded === 'indexes'")) << text();
  EXPECT_EQ(said("return location.hash"), "#indexes?table=users&index=by_mail");
  expect_quiet();
}

TEST_F(ConsoleIndexes, AreAsked) {
  NEEDS_BROWSER();
  start();
  make_indexes();
  ASSERT_NO_FATAL_FAILURE(browse());
  browser_->open("http://" + http_ + "/#indexes?table=users&index=by_points&as=int64&limit=3");
  ASSERT_TRUE(wait_for_hits("-1,1,2")) << text();
  expect_text("Name 0");
  browser_->run("document.getElementById('more-hits').click()");
  EXPECT_TRUE(wait_for_hits("-1,1,2,3,4,5")) << hits();
  // Numbers have their own form, also negative ones.
  set("index-value", "between");
  set("index-value-from", "-5");
  set("index-value-to", "2");
  find();
  EXPECT_TRUE(wait_for_hits("-1,1")) << text();
  browser_->run("document.getElementById('index-reversed').click()");
  find();
  EXPECT_TRUE(wait_for_hits("1,-1")) << text();
  EXPECT_EQ(said("return location.hash"),
            "#indexes?table=users&index=by_points&value=between&value_from=-5&value_to=2&limit=3"
            "&as=int64&reversed=1");
  set("index-value-from", "one");
  find();
  EXPECT_TRUE(
      browser_->wait_for("document.body.innerText.includes('\"one\" is no 64-bit number.')"))
      << text();
  set("index-value", "any");
  set("index-since", "1970-01-01 00:01");
  find();
  EXPECT_TRUE(browser_->wait_for("document.body.innerText.includes('Nothing is found.')"))
      << text();
  expect_quiet();
}

TEST_F(ConsoleIndexes, TellWhatHidesACandidate) {
  NEEDS_BROWSER();
  start();
  make_indexes();
  ASSERT_NO_FATAL_FAILURE(browse());
  visit("indexes");
  ASSERT_TRUE(browser_->wait_for("document.querySelectorAll('#hits tbody tr').length === 20"))
      << text();
  set("index-value", "is");
  set("index-value-is", "old-99");
  find();
  EXPECT_TRUE(browser_->wait_for("document.body.innerText.includes('Nothing is found.')"))
      << text();
  browser_->run("document.getElementById('index-explain').click()");
  find();
  EXPECT_TRUE(wait_for_hits("old-99")) << text();
  expect_text("older than the index's own age");
  set("index-value-as", "hex");
  set("index-value-is", "65 61 72 6c 79 2d 30 33");
  find();
  EXPECT_TRUE(wait_for_hits("early-03")) << text();
  expect_text("a newer version of the column counts");
  set("index-value", "any");
  set("index-limit", "50");
  find();
  ASSERT_TRUE(browser_->wait_for("document.querySelectorAll('#hits tbody tr').length === 22"))
      << text();
  keep("index-query-light");
  browser_->run("document.getElementById('theme').click()");
  browser_->run("document.getElementById('theme').click()");
  keep("index-query-dark");
  browser_->resize(390, 900);
  EXPECT_LE(number("return document.documentElement.scrollWidth - innerWidth"), 0);
  keep("index-query-narrow");
  EXPECT_EQ(said("return [...document.querySelectorAll('button, input, select, a')].filter(e => "
                 "!(e.innerText || e.ariaLabel || e.labels?.length)).map(e => e.outerHTML).join()"),
            "");
  set("index-name", "by_points");
  EXPECT_EQ(said("return document.getElementById('index-value').value"), "any");
  find();
  EXPECT_TRUE(browser_->wait_for("document.querySelectorAll('#hits tbody tr').length === 19"))
      << text();
  EXPECT_TRUE(hits().starts_with("-1,1,2,")) << hits();
  expect_quiet();
}

}  // namespace
}  // namespace cellar::process
