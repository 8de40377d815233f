"""Servers that a comparison starts, loads with cellar-bench and stops: Cellar, redis, memcached and a bare echo."""
import json
import os
import signal
import statistics
import subprocess
import sys
import time

ALL = ("read", "sync", "periodic", "memory", "large", "scan", "busy")
KINDS = {  # the configurations that each server has
    "echo": ("read", "scan"),
    "redis": ("read", "sync", "periodic", "memory", "large", "busy"),
    "memcached": ("read", "memory"),
    "cellar": ALL,
    "cellar-epoll": ALL,  # cellard --io-sockets epoll
    "cellar-optimized": ALL,  # of ./run optimized
}
REDIS_LOG = {"sync": ("yes", "always"), "periodic": ("yes", "everysec"), "busy": ("yes", "everysec")}
LEVELS = {"read": "sync", "large": "memory", "scan": "memory", "busy": "periodic"}  # of Cellar's table, if not the configuration's name
SETTINGS = {"large": ("--memory-total", "6GiB"), "busy": ("--memory-memtable", "8MiB")}  # of cellard
VALUE_BYTES = {"scan": 1024, "busy": 1024}  # 100 in other configurations
START_S = 60


def fail(text):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {text}")


def on_core(core, command):
    return [str(word) for word in ([] if core is None else ["taskset", "-c", core]) + list(command)]


def add_options(parser):
    parser.add_argument("--cores", default="0,1" if (os.cpu_count() or 1) > 1 else "none")
    parser.add_argument("--dir", default=os.getcwd(), help="directory of the data (default: the current one)")


def complete(options):
    """Adds to parsed options what Server needs: cores, the programs of the build, free ports."""
    options.server_core, options.generator_core = (None, None) if options.cores == "none" else options.cores.split(",")
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    options.bin = os.environ.get("CELLAR_BIN") or os.path.join(root, "build", os.environ.get("CELLAR_PRESET", "release"), "bin")
    options.optimized = os.path.join(root, "build", "optimized", "bin")
    first = 20000 + os.getpid() % 12000  # below the ports that the system gives to clients
    options.free_ports = list(range(first, first + 64))


class Server:
    """A server process in one configuration, with data of its own. `settings`: further arguments of cellard."""

    def __init__(self, kind, configuration, options, directory, settings=()):
        self.kind, self.options = kind, options
        self.settings = [*settings, *SETTINGS.get(configuration, ()), *(("--io-sockets", "epoll") if kind == "cellar-epoll" else ())]
        self.program = kind.split("-")[0]
        self.configuration = configuration
        self.directory = os.path.join(directory, f"{kind}-{configuration}")
        os.makedirs(self.directory, exist_ok=True)
        self.log_path = os.path.join(self.directory, "log")
        self.port = options.free_ports.pop()
        self.address = f"127.0.0.1:{self.port}"
        self.start()

    def start(self):
        """Starts the process and returns the seconds until it answers."""
        began = time.monotonic()
        with open(self.log_path, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(on_core(self.options.server_core, self.command()), stdout=log, stderr=subprocess.STDOUT)
        until = began + START_S
        while time.monotonic() < until and self.process.poll() is None:
            probe = subprocess.run(self.bench("--workload", "write", "--connections", 1, "--operations", 1, "--keys", 1), capture_output=True,
                                   text=True, check=False)
            if probe.returncode == 0:
                return time.monotonic() - began
            time.sleep(0.02)
        with open(self.log_path, encoding="utf-8") as log:
            fail(f"{self.kind} did not start: {log.read()[-2000:]}")

    def command(self):
        if self.kind == "echo":
            return [os.path.join(self.options.bin, "cellar-bench-echo"), "--port", self.port]
        if self.kind == "redis":
            appends, syncs = REDIS_LOG.get(self.configuration, ("no", "no"))
            return ["redis-server", "--port", self.port, "--bind", "127.0.0.1", "--dir", self.directory, "--save", "", "--appendonly", appends,
                    "--appendfsync", syncs, "--daemonize", "no"]
        if self.kind == "memcached":
            user = ["-u", "nobody"] if os.geteuid() == 0 else []
            return ["memcached", "-l", "127.0.0.1", "-p", self.port, "-t", 1, "-m", 1024, "-c", 2048, *user]
        programs = self.options.optimized if self.kind == "cellar-optimized" else self.options.bin
        return [os.path.join(programs, "cellard"), "--data-dir", os.path.join(self.directory, "data"), "--listen",
                f"127.0.0.1:{self.port}", "--http-listen", "", "--shards", 1, *self.settings]

    def bench(self, *arguments, table="bench", durability=None):
        """The command of cellar-bench against this server; by default the table of Cellar has the durability of the configuration."""
        command = [os.path.join(self.options.bin, "cellar-bench"), "--server", self.program, "--addr", self.address, "--value-bytes",
                   VALUE_BYTES.get(self.configuration, 100),
                   "--server-pid", self.process.pid, "--json", *arguments]
        if self.program == "cellar":
            durability = durability or LEVELS.get(self.configuration, self.configuration)
            command += ["--table", table, "--durability", durability]
        return on_core(self.options.generator_core, command)

    def measure(self, *arguments, **options):
        done = subprocess.run(self.bench(*arguments, **options), capture_output=True, text=True, check=False)
        if done.returncode not in (0, 8):  # 8: the generator was late; the result says so
            fail(f"cellar-bench with {self.kind}: {done.stderr}{done.stdout[:500]}")
        return json.loads(done.stdout)

    def stop(self, with_signal=signal.SIGTERM):
        self.process.send_signal(with_signal)
        try:
            self.process.wait(START_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def spread(values):
    return {"median": statistics.median(values), "least": min(values), "most": max(values)}
