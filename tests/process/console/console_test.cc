// The console in a real browser. CELLAR_SCREENSHOTS names a directory for screenshots.
#include <algorithm>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "engine/gc/reclaim_reason.h"
#include "tests/process/support/console_bed.h"

namespace cellar::process {
namespace {

const char* const kViews[] = {"overview", "retention", "tables",  "tablets", "compactions",
                              "slow",     "cells",     "indexes", "backups", "audit",
                              "doctor",   "nodes",     "settings"};

TEST_F(Console, ShowsEveryViewAndAsksNobodyElse) {
  NEEDS_BROWSER();
  start({"--slow-request", "1us"});
  fill("users", 60);
  ASSERT_NO_FATAL_FAILURE(browse());
  visit("overview");
  // The best of a few, because other load of the machine does not count.
  double paint_ms = 1e9;
  for (int i = 0; i < 5 && paint_ms >= 1000; ++i) {
    browser_->open("about:blank");
    visit("overview");
    const double took_ms = number(
        "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null");
    if (took_ms > 0) paint_ms = std::min(paint_ms, took_ms);
  }
  EXPECT_LT(paint_ms, 1000);
  EXPECT_LT(
      number("return performance.getEntriesByType('resource').concat("
             "performance.getEntriesByType('navigation'))"
             ".filter(e => !e.name.includes('/api/')).reduce((s, e) => s + e.transferSize, 0)"),
      300 * 1024);
  expect_text("ready");
  expect_text("Shards");
  keep("overview");
  for (const char* view : kViews) {
    visit(view);
    keep(std::string(view) + "-light");
    EXPECT_EQ(number("return document.querySelectorAll('h1').length"), 1) << view;
    EXPECT_EQ(said("return document.querySelector('.tabs a[aria-current]').hash"),
              "#" + std::string(view));
    EXPECT_EQ(
        said("return [...document.querySelectorAll('button, input, select, a')].filter(e => "
             "!(e.innerText || e.ariaLabel || e.labels?.length)).map(e => e.outerHTML).join()"),
        "")
        << view << ": something has no name";
    EXPECT_LE(number("return document.documentElement.scrollWidth - innerWidth"), 0) << view;
  }
  visit("tables");
  expect_text("Keeps the newest 2 versions of a column.");
  expect_text("live");
  visit("cells");
  expect_text("user0000");
  expect_text("pushed out by newer versions");
  visit("slow");
  expect_text("put");
  browser_->run("document.querySelector('[data-group^=\"put users\"]').click()");
  EXPECT_TRUE(browser_->wait_for("document.querySelectorAll('.sheet').length === 2"));
  expect_text("Queued");
  visit("audit");
  expect_text("table created");
  visit("settings");
  expect_text("memory.total");
  expect_quiet();
}

TEST_F(Console, IsUsableByKeyboardAlone) {
  NEEDS_BROWSER();
  start();
  fill("users", 20);
  ASSERT_NO_FATAL_FAILURE(browse());
  visit("tables");
  browser_->run("document.querySelector('[id^=edit-]').focus()");
  browser_->keys(kEnter);
  ASSERT_TRUE(browser_->wait_for("document.getElementById('dialog').open"));
  EXPECT_EQ(said("return document.activeElement.id"), "rule");
  EXPECT_TRUE(
      browser_->wait_for("[...document.querySelectorAll('dialog button')]"
                         ".find(b => b.innerText === 'Apply').disabled"))
      << "nothing is applied that was not previewed";
  browser_->keys("maxversions=0");
  EXPECT_TRUE(browser_->wait_for("document.querySelector('#rule-words.problem')"));
  browser_->run("const r = document.getElementById('rule'); r.focus(); r.select()");
  browser_->keys("maxversions=1");
  expect_text("Keeps the newest version of a column.");
  browser_->keys(kEnter);
  ASSERT_TRUE(
      browser_->wait_for("document.querySelector('dialog .result')?.innerText"
                         ".includes('Kills 20 cells')"))
      << text();
  keep("editor");
  // Pressing Enter twice does not apply a rule.
  EXPECT_EQ(said("return document.activeElement.id"), "rule");
  for (int i = 0; i < 6 && said("return document.activeElement.innerText") != "Apply"; ++i) {
    browser_->keys(kTab);
  }
  browser_->keys(kEnter);
  ASSERT_TRUE(browser_->wait_for("!document.getElementById('dialog').open"));
  ASSERT_TRUE(
      browser_->wait_for("document.querySelector('.families')?.innerText"
                         ".includes('Keeps the newest version of a column.')"))
      << text();
  expect_text("can be undone");
  browser_->run("document.querySelector('[id^=edit-]').focus()");
  browser_->keys(kEnter);
  ASSERT_TRUE(browser_->wait_for("document.getElementById('dialog').open"));
  browser_->keys(kEscape);
  EXPECT_TRUE(browser_->wait_for("!document.getElementById('dialog').open"));
  visit("tablets");
  ASSERT_TRUE(browser_->wait_for("document.querySelector('[data-tablet]')"));
  browser_->run("document.querySelector('[data-tablet]').focus()");
  browser_->keys(kRight);
  browser_->keys(kEnter);
  EXPECT_TRUE(browser_->wait_for("!document.getElementById('tablet').hidden"));
  browser_->open("about:blank");
  visit("overview");
  browser_->keys(kTab);
  EXPECT_EQ(said("return document.activeElement.innerText"), "Skip to the content");
  expect_quiet();
}

TEST_F(Console, TellsWhyWhatIsDeadIsStillOnDisk) {
  NEEDS_BROWSER();
  start();
  fill("users", 60);
  ASSERT_TRUE(connect()->flush_table("users"));
  const HttpAnswer applied = post("/api/v1/retention/apply",
                                  R"({"table":"users","family":"f","rule":{"max_versions":1}})");
  ASSERT_EQ(applied.status, 200) << applied.body;
  ASSERT_NO_FATAL_FAILURE(browse());
  visit("tables");
  EXPECT_EQ(number("return document.querySelectorAll('#missed').length"), 0);
  ASSERT_TRUE(browser_->wait_for("document.querySelector('[id^=why-]')")) << text();
  browser_->run("document.querySelector('[id^=why-]').focus()");
  browser_->keys(kEnter);
  ASSERT_TRUE(browser_->wait_for("document.querySelector('#why td')")) << text();
  expect_text("Its reclaim deadline is met.");
  expect_text("a change of the rule can still be undone; that ends in ");
  keep("why");
  browser_->keys(kEscape);
  EXPECT_TRUE(browser_->wait_for("!document.getElementById('dialog').open"));
  // Text that a healthy node does not show.
  EXPECT_EQ(said("return import('/console/reclaim.js').then(m => m.missedLine(new Map("
                 "[['t', {name: 't', missed_since_us: 0}]]), 180000000).textContent)"),
            "The reclaim deadline is missed by t (for 3 min).");
  std::string names;
  for (size_t i = 0; i < engine::kReclaimReasons; ++i) {
    const auto name = engine::reclaim_reason_name(static_cast<engine::ReclaimReason>(i));
    if (!name.empty()) names += fmt::format("'{}',", name);
  }
  // Every reason has a text, without unfilled places.
  EXPECT_EQ(said("return import('/console/reclaim.js').then(m => [" + names +
                 "].map(reason => [reason, m.reasonWords({reason, count: 2, since_us: null, "
                 "until_us: null, done_us: null, other: 'o', error: 'e'}, 0)])"
                 ".filter(([reason, words]) => words === reason || /undefined|null/.test(words))"
                 ".join())"),
            "");
  expect_quiet();
}

TEST_F(Console, FindsTablesAndShowsTheirEarlierRules) {
  NEEDS_BROWSER();
  start();
  fill("users", 20);
  fill("visits", 5);
  const HttpAnswer applied = post("/api/v1/retention/apply",
                                  R"({"table":"users","family":"f","rule":{"max_versions":1}})");
  ASSERT_EQ(applied.status, 200) << applied.body;
  ASSERT_NO_FATAL_FAILURE(browse());
  visit("tables");
  const std::string shown =
      "[...document.querySelectorAll('[data-table]')]"
      ".map(e => e.dataset.table).join()";
  EXPECT_EQ(said("return " + shown), "users,visits");
  browser_->run("document.getElementById('tables-search').focus()");
  browser_->keys("VIS");
  EXPECT_TRUE(browser_->wait_for(shown + " === 'visits'"));
  browser_->keys("x");
  EXPECT_TRUE(browser_->wait_for("document.body.innerText.includes('No table has such a name.')"));
  // A refresh leaves the field and what is typed in it alone.
  browser_->run("document.dispatchEvent(new Event('cellar:changed'))");
  browser_->keys("y");
  EXPECT_EQ(said("return document.getElementById('tables-search').value"), "VISxy");
  browser_->run(
      "const e = document.getElementById('tables-search'); e.value = ''; "
      "e.dispatchEvent(new Event('input'))");
  // A closed table stays closed.
  browser_->run("document.querySelector('[data-table=users] summary').click()");
  EXPECT_TRUE(browser_->wait_for("!document.querySelector('[data-table=users]').open"));
  browser_->run("document.dispatchEvent(new Event('cellar:changed'))");
  EXPECT_TRUE(browser_->wait_for("!document.querySelector('[data-table=users]').open"));
  browser_->run("document.querySelector('[data-table=users] summary').click()");
  browser_->run("document.querySelector('[data-table=users] [id^=history-]').click()");
  ASSERT_TRUE(browser_->wait_for("document.querySelectorAll('dialog tbody tr').length === 2"))
      << text();
  expect_text("Keeps the newest 2 versions of a column.");
  expect_text("more, by Edit rule");
  keep("rules");
  browser_->keys(kEscape);
  expect_quiet();
}

TEST_F(Console, TellsWhatDiesWhen) {
  NEEDS_BROWSER();
  start();
  ASSERT_EQ(post("/api/v1/tables/create",
                 R"({"table":"short","families":[{"name":"f","rule":{"max_age_us":18000000000}}]})")
                .status,
            200);
  ASSERT_EQ(post("/api/v1/tables/create", R"({"table":"long","families":[{"name":"f"}]})").status,
            200);
  auto client = connect();
  for (int i = 0; i < 50; ++i) {
    for (const char* table : {"short", "long"}) {
      client::Mutation mutation(fmt::format("row{:03}", i));
      mutation.set("f", "q", std::string(200, 'v'));
      ASSERT_TRUE(client->mutate_row(table, mutation));
    }
  }
  ASSERT_NO_FATAL_FAILURE(browse());
  visit("retention");
  const std::string cells =
      "[...document.querySelectorAll('#dying tbody tr')].map(r => [...r.cells].slice(0, 4)"
      ".map(c => c.innerText).join(' ')).join(', ')";
  browser_->run("document.getElementById('count-cells').click()");
  EXPECT_TRUE(browser_->wait_for(cells + " === 'short 0 50 50, long 0 0 0'", 10'000))
      << said("return " + cells);
  expect_text("In all tables 0 in the next hour, 50 in the next day, 50 in the next week.");
  browser_->run("document.getElementById('by-hour').focus()");
  browser_->keys(kEnter);
  EXPECT_TRUE(browser_->wait_for(cells + " === 'long 0 0 0, short 0 50 50'"))
      << said("return " + cells);
  keep("retention-filled");
  expect_quiet();
}

TEST_F(Console, ChangesTheSchema) {
  NEEDS_BROWSER();
  start();
  ASSERT_NO_FATAL_FAILURE(browse());
  visit("tables");
  browser_->run("document.getElementById('new-table').focus()");
  browser_->keys(kEnter);
  ASSERT_TRUE(browser_->wait_for("document.getElementById('dialog').open"));
  EXPECT_EQ(said("return document.activeElement.id"), "table-name");
  browser_->keys("clicks");
  browser_->keys(kTab);
  browser_->keys("f");
  browser_->run("const r = document.getElementById('family-rule'); r.focus(); r.select()");
  browser_->keys("maxage=30d");
  expect_text("Keeps cells for 30 days.");
  keep("new-table");
  browser_->keys(kEnter);
  ASSERT_TRUE(browser_->wait_for("document.querySelector('[data-table=clicks]')")) << text();
  // What the node refuses stays in the dialog, with its sentence.
  browser_->run("document.querySelector('[id^=add-]').click()");
  browser_->keys("f");
  browser_->keys(kEnter);
  EXPECT_TRUE(browser_->wait_for("document.querySelector('dialog .result.error')")) << text();
  browser_->run("document.getElementById('family-name').value = 'g'");
  browser_->run("document.getElementById('family-name').focus()");
  browser_->keys(kEnter);
  EXPECT_TRUE(browser_->wait_for("!document.getElementById('dialog').open")) << text();
  EXPECT_TRUE(browser_->wait_for("document.querySelectorAll('.families tbody tr').length === 2"));
  browser_->run("document.querySelector('[id^=reclaim-]').click()");
  EXPECT_EQ(said("return document.getElementById('reclaim-within').value"), "1h");
  browser_->run("document.getElementById('reclaim-within').value = '90m'");
  browser_->keys(kEnter);
  EXPECT_TRUE(browser_->wait_for("!document.getElementById('dialog').open")) << text();
  EXPECT_TRUE(
      browser_->wait_for("document.body.innerText.includes('dead bytes leave within 1 h 30 min')"));
  // Nothing is dropped before its name is typed.
  browser_->run("document.querySelector('[id$=-g][id^=drop-]').click()");
  browser_->keys(kEnter);
  EXPECT_EQ(said("return document.getElementById('dialog').open"), "true");
  browser_->keys("g");
  browser_->keys(kEnter);
  EXPECT_TRUE(browser_->wait_for("document.querySelectorAll('.families tbody tr').length === 1"))
      << text();
  browser_->run("document.querySelector('[id^=droptable-]').click()");
  browser_->keys("click");
  browser_->keys(kEnter);
  EXPECT_EQ(said("return document.getElementById('dialog').open"), "true");
  expect_text("It can be restored for 1 d.");
  browser_->keys("s");
  browser_->keys(kEnter);
  EXPECT_TRUE(browser_->wait_for("document.body.innerText.includes('There are no tables yet.')"))
      << text();
  browser_->run("document.getElementById('dropped').click()");
  ASSERT_TRUE(browser_->wait_for("document.querySelector('[data-restore=clicks]')")) << text();
  keep("dropped");
  browser_->run("document.querySelector('[data-restore=clicks]').click()");
  EXPECT_TRUE(browser_->wait_for("document.querySelector('[data-table=clicks]')")) << text();
  // The browser's console names refused requests.
  (void)browser_->log();
}

TEST_F(Console, FiltersCells) {
  NEEDS_BROWSER();
  start();
  fill("users", 20);
  ASSERT_NO_FATAL_FAILURE(browse());
  const std::string shown =
      "[...document.querySelectorAll('td.value')].map(e => e.innerText).join()";
  browser_->open("http://" + http_ + "/#cells?table=users&prefix=user0003&value=.*%5B13%5D");
  EXPECT_TRUE(browser_->wait_for(shown + " === 'mail-3-3,mail-3-1'")) << text();
  browser_->run("document.getElementById('cells-value').value = ''");
  browser_->run("document.getElementById('cells-versions').value = '1'");
  browser_->run("document.getElementById('cells-versions').focus()");
  browser_->keys(kEnter);
  EXPECT_TRUE(browser_->wait_for(shown + " === 'mail-3-4'")) << text();
  EXPECT_EQ(said("return location.hash"), "#cells?table=users&prefix=user0003&versions=1");
  browser_->run("document.getElementById('cells-since').value = 'noon'");
  browser_->run("document.getElementById('cells-since').focus()");
  browser_->keys(kEnter);
  EXPECT_TRUE(browser_->wait_for("document.body.innerText.includes('\"noon\" is no time')"))
      << text();
  browser_->run("document.getElementById('cells-since').value = '1970-01-01 00:00:01'");
  browser_->run("document.getElementById('cells-since').focus()");
  browser_->keys(kEnter);
  EXPECT_TRUE(browser_->wait_for("document.body.innerText.includes('No cells there.')")) << text();
  keep("filters");
  expect_quiet();
}

// The first minute of the map is over only after a minute: the view is given one.
TEST_F(Console, MapsTheLoadOfTabletsOverTime) {
  NEEDS_BROWSER();
  start();
  fill("users", 20);
  ASSERT_NO_FATAL_FAILURE(browse());
  visit("tablets");
  expect_text("The first minute is being measured.");
  EXPECT_EQ(
      said(
          "return import('/console/tablets.js').then(async m => {"
          "const get = async (path) => (await fetch('/api/v1/' + path)).json();"
          "const [tables, all] = [await get('tables'), await get('tablets')];"
          "document.getElementById('pause').click();"
          "const id = all.tablets[0].id;"
          "const sample = (at, load) => ({at_us: at, span_us: 6e7, tablets: [{id, per_second: "
          "load}]});"
          "m.tablets().show([tables, all, {samples: [sample(6e7, 5), sample(12e7, 80)]}],"
          "document.getElementById('content'));"
          "return [...document.querySelectorAll('#heat .heat-line')].map(line =>"
          "line.querySelector('button').ariaLabel + ' ' + line.querySelectorAll('i').length).join()"
          ".replace(String(id), 'N') })"),
      "tablet N, users · first row, at most 80 requests a second 2");
  browser_->run("document.querySelector('[data-heat]').click()");
  EXPECT_TRUE(browser_->wait_for("!document.getElementById('tablet').hidden")) << text();
  keep("heat");
  expect_quiet();
}

TEST_F(Console, TheDoctorFindsWhatIsWrong) {
  NEEDS_BROWSER();
  start();
  fill("users", 5);
  ASSERT_NO_FATAL_FAILURE(browse());
  visit("doctor");
  expect_text("every shard takes writes");
  expect_text("every table meets its deadline");
  EXPECT_EQ(
      said("return import('/console/doctor.js').then(async m => {"
           "const get = async (path) => (await fetch('/api/v1/' + path)).json();"
           "const all = [await get('node'), await get('shards'), await get('tables'),"
           "await get('reclaim'), await get('backups'), await get('history?range=day')];"
           "all[0].state = 'read-only'; all[0].clock.held_us = 5e6; all[0].disk_free_bytes = 1;"
           "all[0].certificate_expires_us = all[0].now_us - 1; all[1].shards[0].read_only = true;"
           "all[1].shards[0].longest_stall_us = 2e6; all[3].tables[0].missed_since_us = 1;"
           "all[2].tables[0].figures.damaged_sstables = 2; all[4].failed = 1;"
           "return m.findings(...all).filter(f => f.level !== 'good')"
           ".map(f => f.check + ' ' + f.level).join() })"),
      "node problem,writes problem,clock warning,disk problem,tls problem,backups warning,"
      "backups warning,reclaim problem,damage problem,stalls warning");
  expect_quiet();
}

class Consoles : public Console {
 protected:
  // Ports that were free a moment ago.
  static std::string free_address() {
    boost::asio::io_context loop;
    boost::asio::ip::tcp::acceptor acceptor(
        loop, {boost::asio::ip::make_address("127.0.0.1"), uint16_t{0}});
    return fmt::format("127.0.0.1:{}", acceptor.local_endpoint().port());
  }
};

TEST_F(Consoles, OfSeveralNodesShowEachOther) {
  NEEDS_BROWSER();
  const std::string one = free_address();
  const std::string two = free_address();
  const std::string nodes = fmt::format("http://{} http://{}", one, two);
  const auto node = [&](const char* name, const std::string& http) {
    const std::vector<std::string> extra = {"--shards",     "2",  "--memory-total", "128MiB",
                                            "--http-nodes", nodes};
    auto process = std::make_unique<cases::NodeProcess>(bin() / "cellard", scratch_ / name, extra);
    process->serve_http(http);
    process->drain_within("0s");
    const auto started = process->start();
    EXPECT_TRUE(started) << started.error().message;
    return process;
  };
  const auto other = node("other", two);
  node_ = node("data", one);
  http_ = one;
  fill("users", 5);
  ASSERT_NO_FATAL_FAILURE(browse());
  visit("nodes");
  EXPECT_TRUE(browser_->wait_for("document.querySelectorAll('.pill[data-state=ready]').length > 2"))
      << text();
  keep("nodes-two");
  browser_->run("document.querySelector('[data-node=\"http://" + two + "\"]').click()");
  EXPECT_TRUE(browser_->wait_for("document.body.dataset.loaded === 'overview'")) << text();
  EXPECT_EQ(said("return document.getElementById('node-choice').value"), "http://" + two);
  EXPECT_EQ(said("return document.title"), other->address() + " · Cellar");
  // A change goes to the node that is shown.
  browser_->run("location.hash = '#tables'");
  EXPECT_TRUE(browser_->wait_for("document.body.innerText.includes('There are no tables yet.')"))
      << text();
  browser_->run("document.getElementById('new-table').click()");
  browser_->keys("there");
  browser_->keys(kTab);
  browser_->keys("f");
  browser_->keys(kEnter);
  EXPECT_TRUE(browser_->wait_for("document.querySelector('[data-table=there]')")) << text();
  EXPECT_EQ(get("/api/v1/table?name=there").status, 404);
  EXPECT_EQ(http_get(two, "/api/v1/table?name=there").status, 200);
}

TEST_F(Console, ALinkShowsTheSameCells) {
  NEEDS_BROWSER();
  start();
  fill("users", 20);
  ASSERT_NO_FATAL_FAILURE(browse());
  browser_->open("http://" + http_ + "/#cells?table=users&prefix=user0003&as=hex&numbers=1");
  ASSERT_TRUE(browser_->wait_for("document.querySelector('td.value')")) << text();
  EXPECT_EQ(said("return document.getElementById('cells-prefix').value"), "user0003");
  EXPECT_EQ(said("return [...new Set([...document.querySelectorAll('tr.row-start td')]"
                 ".filter((e, i) => i % 5 === 0).map(e => e.innerText))].join()"),
            "user0003");
  EXPECT_EQ(said("return [...document.querySelectorAll('td.value')]"
                 ".filter(e => !/^([0-9a-f]{2} ?)+$/.test(e.innerText)).length + ' '"
                 " + [...document.querySelectorAll('td:nth-child(3)')]"
                 ".filter(e => !/^[0-9]+$/.test(e.innerText)).length"),
            "0 0")
      << text();
  browser_->run(
      "const e = document.getElementById('cells-as'); e.value = 'text'; "
      "e.dispatchEvent(new Event('change'))");
  EXPECT_EQ(said("return location.hash"), "#cells?table=users&prefix=user0003&numbers=1");
  browser_->open("about:blank");
  browser_->open("http://" + http_ + "/#cells?table=absent");
  EXPECT_TRUE(browser_->wait_for("document.body.innerText.includes('There is no table absent.')"))
      << text();
  expect_quiet();
}

TEST_F(Console, ChartsTellTheirValuesAndTheThemeIsChosen) {
  NEEDS_BROWSER();
  start();
  fill("users", 60);
  ASSERT_NO_FATAL_FAILURE(browse());
  visit("overview");
  ASSERT_TRUE(browser_->wait_for("document.querySelector('svg.chart')", 30'000)) << text();
  browser_->run("document.querySelector('svg.chart').focus()");
  browser_->keys("\uE012");  // to the left
  EXPECT_TRUE(
      browser_->wait_for("/20[0-9-]+ [0-9:]+Z: reads .*, writes .*, errors /.test("
                         "document.querySelector('svg.chart').getAttribute('aria-label'))"))
      << said("return document.querySelector('svg.chart').getAttribute('aria-label')");
  browser_->run("document.getElementById('range-day').click()");
  EXPECT_TRUE(browser_->wait_for("document.body.innerText.includes('Data on disk')"));
  const std::string page = "getComputedStyle(document.body).backgroundColor";
  EXPECT_EQ(said("return " + page), "rgb(247, 246, 244)");
  browser_->run("document.getElementById('theme').click()");
  EXPECT_EQ(said("return document.getElementById('theme').innerText"), "Theme: light");
  browser_->run("document.getElementById('theme').click()");
  EXPECT_EQ(said("return " + page), "rgb(23, 22, 20)");
  visit("tables");
  EXPECT_EQ(said("return " + page), "rgb(23, 22, 20)") << "it is kept";
  expect_quiet();
}

TEST_F(Console, IsDarkWhereThatIsAskedFor) {
  NEEDS_BROWSER();
  start();
  fill("users", 20);
  ASSERT_NO_FATAL_FAILURE(browse(true));
  visit("overview");
  EXPECT_EQ(said("return matchMedia('(prefers-color-scheme: dark)').matches"), "true");
  EXPECT_EQ(said("return getComputedStyle(document.body).backgroundColor"), "rgb(23, 22, 20)");
  for (const char* view : kViews) {
    visit(view);
    keep(std::string(view) + "-dark");
  }
  browser_->resize(390, 900);
  for (const char* view : kViews) {
    visit(view);
    keep(std::string(view) + "-narrow");
    EXPECT_LE(number("return document.documentElement.scrollWidth - innerWidth"), 0) << view;
  }
  expect_quiet();
}

TEST_F(Console, SaysWhatIsEmptyAndWhatIsWrong) {
  NEEDS_BROWSER();
  start();
  ASSERT_NO_FATAL_FAILURE(browse());
  visit("tables");
  expect_text("There are no tables yet.");
  keep("empty");
  node_->kill_now();
  EXPECT_TRUE(browser_->wait_for("!document.getElementById('banner').hidden"));
  expect_text("The node does not answer.");
  keep("lost");
}

}  // namespace
}  // namespace cellar::process
