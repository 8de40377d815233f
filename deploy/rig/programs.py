"""etcd, cellard and HAProxy of the rig."""
import glob
import http.client
import json
import os

from machine import RigError, address, members, read, write

ETCD_LEAST_BYTES = 2 << 30  # its quota
FAKETIME = "/usr/lib/*/faketime/libfaketimeMT.so.1"


# ---- etcd ----
def etcd_endpoints():
    return [f"http://{address(m)}:2379" for m in members("etcd")]


def start_etcd(rig):
    cluster = ",".join(f"{m}=http://{address(m)}:2380" for m in members("etcd"))
    for m in members("etcd"):
        rig.start(m, ["etcd", "--name", m, "--data-dir", rig.path("etcd", m),
                      "--listen-client-urls", f"http://{address(m)}:2379", "--advertise-client-urls", f"http://{address(m)}:2379",
                      "--listen-peer-urls", f"http://{address(m)}:2380", "--initial-advertise-peer-urls", f"http://{address(m)}:2380",
                      "--initial-cluster", cluster, "--initial-cluster-token", rig.name, "--initial-cluster-state", "new",
                      "--quota-backend-bytes", str(ETCD_LEAST_BYTES)])


def get(rig, member, port, path, timeout=2):
    """Status and body of a page of a member, as the client sees it."""
    with rig.inside("client"):
        connection = http.client.HTTPConnection(address(member), port, timeout=timeout)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        except http.client.HTTPException as error:
            raise RigError(f"{member} answers no HTTP: {error!r}") from error
        finally:
            connection.close()


def etcd_healthy(rig, member):
    status, body = get(rig, member, 2379, "/health")
    return status == 200 and json.loads(body).get("health") == "true"


def wait_for_etcd(rig, seconds):
    for m in members("etcd"):
        rig.wait_for(f"health of {m}", lambda m=m: etcd_healthy(rig, m), seconds, members("etcd"))


# ---- nodes ----
def clock_file(rig, member):
    return rig.path("clock", member)


def set_clock(rig, member, seconds):
    """libfaketime reads the file anew every second. It is replaced as a whole, so that no half of it is read."""
    write(clock_file(rig, member) + ".new", f"{seconds:+}\n")
    os.rename(clock_file(rig, member) + ".new", clock_file(rig, member))


def clock_environment(rig, member):
    library = sorted(glob.glob(FAKETIME))
    if not library:
        return {}
    os.makedirs(rig.path("clock"), exist_ok=True)
    set_clock(rig, member, 0)
    return {"LD_PRELOAD": library[0], "FAKETIME_TIMESTAMP_FILE": clock_file(rig, member), "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


def start_nodes(rig, binaries, fake_clocks):
    owners = [f'{m}*={address(m)}:7420' for m in members("node")]
    for m in members("node"):
        os.makedirs(rig.path(m))
        config = rig.path(m, "cellard.toml")
        write(config, f"""data_dir = "{rig.path(m, 'data')}"
listen = "{address(m)}:7420"
advertise = "{address(m)}:7420"
shards = 1
pin = false
drain_within = "2s"
[memory]
total = "256MiB"
[proxy]
trusted = ["{address('proxy')}"]
[http]
listen = "{address(m)}:7421"
[agent]
listen = "{address(m)}:7422"
[security]
insecure = true
[cluster]
owners = {json.dumps(owners)}
""")
        rig.start(m, [os.path.join(binaries, "cellard"), "--config", config], clock_environment(rig, m) if fake_clocks else {})


def wait_for_nodes(rig, seconds):
    for m in members("node"):
        rig.wait_for(f"{m} is ready", lambda m=m: get(rig, m, 7421, "/readyz")[0] == 200, seconds, [m])


# ---- proxy ----
def start_proxy(rig):
    source = os.path.join(os.path.dirname(__file__), "..", "haproxy.cfg")
    socket = rig.path("haproxy.sock")
    if len(socket) > 90:
        raise RigError(f"the path of a socket takes 107 bytes at most: {socket}; a shorter --state is needed", 2)
    write(rig.path("haproxy.cfg"), read(source).replace("global\n", f"global\n  stats socket {socket}\n", 1))
    rig.start("proxy", ["haproxy", "-db", "-f", rig.path("haproxy.cfg")])


def wait_for_proxy(rig, seconds):
    def up():
        status, page = get(rig, "proxy", 8404, "/metrics")
        lines = [line for line in page.splitlines() if line.startswith("haproxy_server_status{") and 'state="UP"' in line]
        return status == 200 and len(lines) >= 2 * len(members("node")) and all(line.endswith(" 1") for line in lines)
    rig.wait_for("the proxy forwards to every node", up, seconds, ["proxy"])
