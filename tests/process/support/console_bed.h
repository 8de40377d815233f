// Console: the console of a real node in a real browser. CELLAR_SCREENSHOTS names a directory for
// screenshots.
#pragma once

#include <cstdlib>

#include "tests/process/support/http_bed.h"
#include "tests/process/support/web_driver.h"

namespace cellar::process {

inline constexpr std::string_view kTab = "\uE004";
inline constexpr std::string_view kEnter = "\uE007";
inline constexpr std::string_view kEscape = "\uE00C";
inline constexpr std::string_view kRight = "\uE014";

class Console : public HttpBed {
 protected:
  void browse(bool dark = false) {
    browser_ = std::make_unique<WebDriver>(scratch_.string(), dark);
    ASSERT_TRUE(browser_->started()) << browser_->problem();
    browser_->resize(1400, 900);
  }
  void visit(const std::string& view) {
    browser_->open("http://" + http_ + "/#" + view);
    const bool loaded = browser_->wait_for("document.body.dataset.loaded === '" + view + "'");
    ASSERT_TRUE(loaded) << view << ": " << text();
  }
  std::string text() { return said("return document.body.innerText"); }
  std::string said(std::string_view script) {
    const json::value value = browser_->run(script);
    return value.is_string() ? std::string(value.as_string()) : json::serialize(value);
  }
  double number(std::string_view script) {
    const json::value value = browser_->run(script);
    return value.is_number() ? value.to_number<double>() : -1;
  }
  void expect_text(std::string_view part) {
    EXPECT_NE(text().find(part), std::string::npos) << part << " is not in\n" << text();
  }
  // No foreign resources, no violations of the content policy, no errors.
  void expect_quiet() {
    for (const json::value& line : browser_->log()) {
      ADD_FAILURE() << "the browser's console: " << json::serialize(line);
    }
    EXPECT_EQ(said("return performance.getEntriesByType('resource').map(e => e.name)"
                   ".filter(n => !n.startsWith(location.origin + '/')).join(' ')"),
              "");
  }
  void keep(const std::string& name) {
    const char* folder = std::getenv("CELLAR_SCREENSHOTS");
    if (folder != nullptr) browser_->screenshot(std::string(folder) + "/" + name + ".png");
  }

  std::unique_ptr<WebDriver> browser_;
};

#define NEEDS_BROWSER() \
  if (!WebDriver::available()) GTEST_SKIP() << "chromium or chromium-driver is not installed"

}  // namespace cellar::process
