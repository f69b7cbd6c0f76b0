// The verbs of the `hone` tool. Each adds its subcommand; running it sets `exit_code` (see output.h).
#pragma once

namespace CLI {
class App;
}

namespace hone::cli {

void add_train(CLI::App& app, int& exit_code);
void add_evaluate(CLI::App& app, int& exit_code);
void add_predict(CLI::App& app, int& exit_code);
void add_inspect(CLI::App& app, int& exit_code);
void add_bench(CLI::App& app, int& exit_code);
void add_run(CLI::App& app, int& exit_code);
void add_compile(CLI::App& app, int& exit_code);
void add_bisect(CLI::App& app, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);
void add_cache(CLI::App& app, int& exit_code);

}  // namespace hone::cli
