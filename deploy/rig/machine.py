"""The machine below the rig: network namespaces on one bridge, the processes in them, and what is written down of both.

Every member has a namespace of its own, named NAME-MEMBER, and one address. The bridge is in the namespace NAME-hub, so nothing of the
rig is in the namespace of the caller. The namespaces are also the list of what must go: a process of the rig is one that is in one of
them, whether or not the record of the rig still exists.
"""
import contextlib
import ctypes
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time

LACKING = 77  # exit code: a privilege or a package is missing, which a line says
FAILED = 1

NETWORK = "10.77.0."
MEMBERS = {
    "client": 1, "proxy": 2,
    "node1": 11, "node2": 12, "node3": 13,
    "mon1": 21, "mon2": 22, "mon3": 23, "mgr": 24,
    "osd1": 31, "osd2": 32, "osd3": 33, "osd4": 34,
    "etcd1": 41, "etcd2": 42, "etcd3": 43,
}
HUB = "hub"
DEFAULT_NAME = "cellar-rig"
# Nobody has this hardware address: what is sent there gets lost in silence, as on a broken line.
NOBODY = "02:00:00:00:00:99"
CLONE_NEWNET = 0x40000000


class RigError(Exception):
    """What went wrong, in a sentence."""

    def __init__(self, message, code=FAILED):
        super().__init__(message)
        self.code = code


def members(kind):
    """The members of a kind, in order: osd1, osd2, ..."""
    return [m for m in MEMBERS if m.rstrip("0123456789") == kind]


def address(member):
    return NETWORK + str(MEMBERS[member])


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8", opener=lambda p, flags: os.open(p, flags, mode)) as file:
        file.write(text)


def call(words, stdin=None, timeout=60):
    """The output of a command that must succeed."""
    try:
        done = subprocess.run(words, input=stdin, capture_output=True, text=True, timeout=timeout, check=False)
    except FileNotFoundError as error:
        raise RigError(f"there is no program {words[0]}", LACKING) from error
    except subprocess.TimeoutExpired as error:
        raise RigError(f"no end within {timeout} s: {' '.join(words)}") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[-600:]
        raise RigError(f"{' '.join(words[:8])} failed ({done.returncode}): {said}")
    return done.stdout


def namespaces():
    return [line.split()[0] for line in call(["ip", "netns", "list"]).splitlines() if line]


def state_of(pid):
    """The state letter of /proc/PID/stat; empty: there is no such process."""
    try:
        return read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def default_state(name):
    """Where the files of a rig are unless --state says otherwise: two names never share them."""
    return f"/var/tmp/{name}"


class Rig:
    def __init__(self, name=DEFAULT_NAME, state=None):
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}", name):
            raise RigError(f"'{name}' is no name of a rig: up to 40 small letters, digits and hyphens", 2)
        self.name = name
        self.state = os.path.abspath(state or default_state(name))
        self.began = time.monotonic()
        self.record = {"name": name, "processes": {}, "cuts": []}

    # ---- places ----
    def path(self, *parts):
        return os.path.join(self.state, *parts)

    def namespace(self, member):
        return f"{self.name}-{member}"

    @staticmethod
    def now():
        return time.monotonic()

    def say(self, text):
        print(f"[{self.now() - self.began:6.1f} s] {text}", flush=True)

    # ---- record ----
    def save(self):
        write(self.path("rig.json.new"), json.dumps(self.record, indent=1))
        os.rename(self.path("rig.json.new"), self.path("rig.json"))

    def load(self):
        try:
            self.record = json.loads(read(self.path("rig.json")))
        except (FileNotFoundError, NotADirectoryError, ValueError) as error:
            raise RigError(f"there is no rig in {self.state}: {error}") from error
        self.name = self.record["name"]
        return self

    # ---- network ----
    def make_network(self):
        """Namespaces, the bridge, a link and an address for each member."""
        every = [HUB, *MEMBERS]
        call(["ip", "-batch", "-"], "".join(f"netns add {self.namespace(m)}\n" for m in every))
        hub = "link set lo up\nlink add br0 type bridge\nlink set br0 up\n"
        for member in MEMBERS:
            hub += f"link add {member} type veth peer name eth0 netns {self.namespace(member)}\nlink set {member} master br0 up\n"
        call(["ip", "-n", self.namespace(HUB), "-batch", "-"], hub)
        for member in MEMBERS:
            call(["ip", "-n", self.namespace(member), "-batch", "-"],
                 f"link set lo up\naddr add {address(member)}/24 dev eth0\nlink set eth0 up\n")

    def own_namespaces(self):
        own = {self.namespace(m) for m in (HUB, *MEMBERS)}
        return [n for n in namespaces() if n in own]

    @contextlib.contextmanager
    def inside(self, member):
        """The calling thread is in the network of the member."""
        libc = ctypes.CDLL(None, use_errno=True)
        with open("/proc/thread-self/ns/net", "rb") as home, open(f"/run/netns/{self.namespace(member)}", "rb") as there:
            if libc.setns(there.fileno(), CLONE_NEWNET) != 0:
                raise RigError(f"entering the namespace of {member}: {os.strerror(ctypes.get_errno())}", LACKING)
            try:
                yield
            finally:
                libc.setns(home.fileno(), CLONE_NEWNET)

    def reaches(self, member, host, port):
        with self.inside(member):
            socket.create_connection((host, port), timeout=1).close()
        return True

    def words_inside(self, member, words):
        return ["ip", "netns", "exec", self.namespace(member), *words]

    def cut(self, one, other=None, one_way=False):
        """Between two members, or all links of one. With one_way what `one` sends is lost, the other way works."""
        if other is None:
            call(["ip", "-n", self.namespace(HUB), "link", "set", one, "down"])
        else:
            self._lose(one, other)
            if not one_way:
                self._lose(other, one)
        self.record["cuts"].append([one, other, one_way])
        self.save()

    def heal(self, one=None, other=None):
        """What was cut between these two; all cuts of one; all."""
        kept = []
        for cut in self.record["cuts"]:
            concerned = one is None or one in cut[:2]
            if concerned and (other is None or other in cut[:2]):
                self._heal(cut)
            else:
                kept.append(cut)
        self.record["cuts"] = kept
        for cut in kept:  # an overlapping cut stays
            if cut[1] is not None:
                self._lose(cut[0], cut[1])
                if not cut[2]:
                    self._lose(cut[1], cut[0])
        self.save()

    def _lose(self, sender, receiver):
        call(["ip", "-n", self.namespace(sender), "neigh", "replace", address(receiver), "lladdr", NOBODY, "dev", "eth0", "nud", "permanent"])

    def _heal(self, cut):
        one, other, one_way = cut
        if other is None:
            call(["ip", "-n", self.namespace(HUB), "link", "set", one, "up"])
            return
        for sender, receiver in [(one, other)] if one_way else [(one, other), (other, one)]:
            words = ["ip", "-n", self.namespace(sender), "neigh", "del", address(receiver), "dev", "eth0"]
            subprocess.run(words, capture_output=True, check=False)  # an overlapping cut was healed before

    # ---- processes ----
    def start(self, member, words, env=None):
        """A process in the namespace of its member, with a log of its own."""
        self.record["processes"][member] = {"words": words, "env": env or {}, "pid": 0}
        self.start_again(member)

    def start_again(self, member):
        entry = self.process(member)
        if self.running(member):
            raise RigError(f"{member} runs already")
        with open(self.path("log", member + ".log"), "ab") as log:
            process = subprocess.Popen(self.words_inside(member, entry["words"]), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       start_new_session=True, cwd=self.state, env={**os.environ, **entry["env"]})
        entry["pid"] = process.pid
        self.save()

    def process(self, member):
        try:
            return self.record["processes"][member]
        except KeyError:
            raise RigError(f"there is no process {member}; there are: {' '.join(self.record['processes'])}", 2) from None

    def running(self, member):
        pid = self.process(member)["pid"]
        # The number may have been given to another process since.
        return pid > 0 and state_of(pid) not in ("", "Z") and str(pid) in self.pids(member)

    def pids(self, member):
        return call(["ip", "netns", "pids", self.namespace(member)]).split()

    def signal(self, member, number):
        if not self.running(member):
            raise RigError(f"{member} does not run")
        os.kill(self.process(member)["pid"], number)

    def end_of_log(self, member, lines=12):
        try:
            return "\n".join(read(self.path("log", member + ".log")).splitlines()[-lines:])
        except FileNotFoundError:
            return ""

    def wait_for(self, what, check, seconds, watched=()):
        """Until `check` returns something true, which is returned. A watched process that ends is an error at once."""
        until = time.monotonic() + seconds
        last = ""
        while time.monotonic() < until:
            try:
                if found := check():
                    return found
            except (OSError, RigError, ValueError) as error:
                last = f" ({error})"
            for member in watched:
                if state_of(self.process(member)["pid"]) in ("", "Z"):
                    raise RigError(f"{member} ended while {what} was awaited; its log ends:\n{self.end_of_log(member)}")
            time.sleep(0.1)
        raise RigError(f"{what}: not within {seconds:.0f} s{last}")

    # ---- the end ----
    def remove(self):
        """Every process, namespace and file. Nothing needs to be there, or whole; but nothing of another rig."""
        self.check_name()
        for _ in range(100):
            pids = [pid for n in self.own_namespaces() for pid in call(["ip", "netns", "pids", n]).split()]
            pids = [int(p) for p in pids if state_of(p) not in ("", "Z")]
            if not pids:
                break
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
        else:
            raise RigError(f"processes do not end: {pids}")
        for name in self.own_namespaces():
            call(["ip", "netns", "del", name])
        if os.path.exists(self.path("rig.json")):
            self.check_owner()
            shutil.rmtree(self.state)

    def check_name(self):
        try:
            found = json.loads(read(self.path("rig.json")))["name"]
        except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
            return  # no record, or half of one
        if found != self.name:
            raise RigError(f"{self.state} holds the rig {found}, not {self.name}; another --state is needed", 2)

    def check_owner(self):
        """What root writes to and removes is nobody else's, and no link to somewhere else."""
        found = os.lstat(self.state)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != 0 or found.st_mode & 0o022:
            raise RigError(f"{self.state} is not a directory of root's alone; another --state is needed", 2)

    def claim(self):
        """The directory of the state: a new one, or an empty one."""
        os.makedirs(self.state, mode=0o755, exist_ok=True)
        self.check_owner()
        if os.listdir(self.state):
            raise RigError(f"{self.state} is not empty and holds no rig; another --state is needed", 2)
        self.save()  # first: from here on it is known as a rig, and is removed as one
        os.mkdir(self.path("log"))


def lacking_privilege():
    """Why this process cannot make namespaces; empty: it can."""
    if os.geteuid() != 0:
        return "not root: network namespaces need it"
    if not shutil.which("ip"):
        return "there is no `ip`; the Debian package is iproute2"
    probe = f"cellar-probe-{os.getpid()}"
    try:
        call(["ip", "netns", "add", probe])
    except RigError as error:
        return f"network namespaces are not permitted here: {error}"
    try:
        call(["ip", "-n", probe, "link", "add", "v0", "type", "veth", "peer", "name", "v1"])
        call(["ip", "-n", probe, "link", "add", "br0", "type", "bridge"])
    except RigError as error:
        return f"the kernel makes no veth or bridge: {error}"
    finally:
        subprocess.run(["ip", "netns", "del", probe], capture_output=True, check=False)
    return ""


def main_of(work):
    """Runs the body of a command: an error becomes a line and an exit code. A SIGTERM ends it as Ctrl-C does, so that it cleans up."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(work() or 0)
    except RigError as error:
        print(f"{os.path.basename(sys.argv[0])}: {error}", file=sys.stderr)
        sys.exit(error.code)
    except KeyboardInterrupt:
        sys.exit(130)
