// WebDriver: a headless Chromium, controlled by the WebDriver protocol (JSON over HTTP).
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include <boost/json.hpp>

namespace cellar::process {

namespace json = boost::json;

class WebDriver {
 public:
  // Starts chromedriver and a browser that writes below `scratch`. `dark`: the preferred colour
  // scheme.
  WebDriver(const std::string& scratch, bool dark);
  ~WebDriver();
  WebDriver(const WebDriver&) = delete;
  WebDriver& operator=(const WebDriver&) = delete;

  // Whether the programs are installed.
  static bool available();
  bool started() const { return !session_.empty(); }
  const std::string& problem() const { return problem_; }

  void open(const std::string& url);
  void resize(int width, int height);
  // The value of a script's return statement.
  json::value run(std::string_view script);
  // Waits until the script returns true; false after timeout_ms.
  bool wait_for(std::string_view script, int timeout_ms = 15'000);
  // Types into the focused element; "\uE004" is Tab.
  void keys(std::string_view text);
  void screenshot(const std::string& path);
  // New messages of the browser's console since the last call.
  json::array log();

 private:
  void begin_session(const std::string& profile, bool dark);
  json::value call(const std::string& method, const std::string& path, const json::value& body);

  pid_t pid_ = -1;
  std::string address_;
  std::string session_;
  std::string problem_;
};

}  // namespace cellar::process
