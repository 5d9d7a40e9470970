// The command line of a bench, and what its main() does; the parser stays in command_line.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace whorl::bench {

/// What most benches take.
struct Common {
  std::string device = "cpu";
  std::string record;              ///< file that records are appended to; none if empty
  std::string commit = "unknown";  ///< of the library that is measured
  std::vector<std::string> only;   ///< all if empty
  bool quick = false;

  bool wants(const std::string& part) const;
};

/// Options by name. Values that a variable has before parse() are its defaults.
class CommandLine {
 public:
  CommandLine(int count, char** arguments, const std::string& name);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  CommandLine& add(const std::string& option, std::string& value, const std::string& help);
  CommandLine& add(const std::string& option, unsigned& value, const std::string& help);
  CommandLine& add(const std::string& option, int& value, const std::string& help);
  CommandLine& add(const std::string& option, std::uint64_t& value, const std::string& help);
  /// Several values with commas between.
  CommandLine& list(const std::string& option, std::vector<std::string>& values,
                    const std::string& help);
  CommandLine& list(const std::string& option, std::vector<std::uint64_t>& values,
                    const std::string& help);
  CommandLine& flag(const std::string& option, bool& value, const std::string& help);
  /// Words without a name, each one of `allowed`.
  CommandLine& words(const std::string& name, std::vector<std::string>& values,
                     const std::vector<std::string>& allowed);

  CommandLine& device(Common& common);
  CommandLine& record(Common& common);  ///< --record and --commit
  CommandLine& only(Common& common);    ///< --only A,B
  CommandLine& quick(Common& common);
  /// --device of a bench that is about kernels: the number of a GPU.
  CommandLine& gpu(int& ordinal);

  /// Reads all arguments. What is wrong with them, or --help, ends run_program.
  void parse();
  std::string help() const;

 private:
  template <class T>
  CommandLine& add_any(const std::string& option, T& value, const std::string& help);
  template <class T>
  CommandLine& list_any(const std::string& option, std::vector<T>& values, const std::string& help);
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

/// main(): gives `body` the command line to declare and parse. The exit status is that of `body`, 2
/// for arguments that are wrong, 1 for an exception, whose message goes to stderr.
int run_program(int count, char** arguments, const std::string& name,
                const std::function<int(CommandLine&)>& body);

}  // namespace whorl::bench
