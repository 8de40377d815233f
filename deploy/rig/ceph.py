"""Ceph of the rig: monitors, OSDs on small files, pools. From nothing to a writable pool, without cephadm and without a manager.

The monitors are made with a map of the OSDs and their keys already in it, so that no OSD has to be registered. Each OSD is a host of its
own in the CRUSH map: two reporters on different hosts are what marks an OSD down.
"""
import base64
import json
import os
import struct
import subprocess
import time
import uuid

from machine import RigError, address, call, members, write

POOLS = {"meta": 8, "log": 16, "sst": 8}  # placement groups
OSD_BYTES = 4 << 30  # of a sparse file
OSD_MEMORY = 900 << 20  # a target, not a bound; what Ceph takes as the least is 896 MiB

CONF = """[global]
fsid = {fsid}
mon host = {mon_host}
public network = 10.77.0.0/24
keyring = {state}/ceph/$name.keyring
run dir = {state}/ceph
admin socket = {state}/ceph/$name.asok
log file = /dev/null
mon cluster log file = /dev/null
log to stderr = true
err to stderr = true
crash dir = {state}/ceph
debug rocksdb = 0/0
debug bluestore = 0/0
debug bluefs = 0/0
debug bdev = 0/0
debug osd = 0/0
debug mon = 0/0
debug paxos = 0/0
debug ms = 0/0
osd pool default size = 3
osd pool default min size = 2
osd pool default pg autoscale mode = off
osd crush update on start = false
osd crush chooseleaf type = 1
# Silence of an OSD is noticed after 6 s, not 20.
osd heartbeat grace = 6
osd heartbeat interval = 1
mon osd down out interval = 600
mon allow pool delete = true
mon warn on pool no redundancy = false
mon data avail warn = 2
mon data avail crit = 1
mon clock drift allowed = 0.5

[mon]
mon data = {state}/ceph/mon-$id
keyring = {state}/ceph/mon-$id/keyring
mon cluster log to stderr = false

[osd]
osd data = {state}/ceph/osd-$id
osd objectstore = bluestore
bluestore block size = {osd_bytes}
bluestore fsck quick fix on mount = false
osd memory target = {osd_memory}
osd class update on start = false

[mgr]
mgr data = {state}/ceph/mgr-$id
"""


def new_key():
    # A CryptoKey: type 1 (AES), a time of creation, 16 bytes.
    return base64.b64encode(struct.pack("<hiih", 1, int(time.time()), 0, 16) + os.urandom(16)).decode()


def entry(name, key, caps):
    return f"[{name}]\n\tkey = {key}\n" + "".join(f'\tcaps {who} = "{what}"\n' for who, what in caps.items())


def crush_text():
    """A CRUSH map with one host for each OSD."""
    osds = range(len(members("osd")))
    lines = ["tunable choose_local_tries 0", "tunable choose_local_fallback_tries 0", "tunable choose_total_tries 50",
             "tunable chooseleaf_descend_once 1", "tunable chooseleaf_vary_r 1", "tunable chooseleaf_stable 1",
             "tunable straw_calc_version 1", "tunable allowed_bucket_algs 54"]
    lines += [f"device {i} osd.{i} class ssd" for i in osds]
    lines += ["type 0 osd", "type 1 host", "type 11 root"]
    lines += [f"host host{i + 1} {{ id {-2 - i} alg straw2 hash 0 item osd.{i} weight 1.000 }}" for i in osds]
    lines += ["root default { id -1 alg straw2 hash 0 " + " ".join(f"item host{i + 1} weight 1.000" for i in osds) + " }"]
    lines += ["rule replicated_rule { id 0 type replicated min_size 1 max_size 10 step take default "
              "step chooseleaf firstn 0 type host step emit }"]
    return "\n".join(lines) + "\n"


class Ceph:
    def __init__(self, rig):
        self.rig = rig
        self.mons = members("mon")
        self.osds = members("osd")

    def conf(self):
        return self.rig.path("ceph", "ceph.conf")

    def words(self, program, *more):
        return [program, "-c", self.conf(), *more]

    def write_files(self):
        os.makedirs(self.rig.path("ceph"))
        fsid = str(uuid.uuid4())
        hosts = ",".join(f"[v2:{address(m)}:3300,v1:{address(m)}:6789]" for m in self.mons)
        write(self.conf(), CONF.format(fsid=fsid, mon_host=hosts, state=self.rig.state, osd_bytes=OSD_BYTES, osd_memory=OSD_MEMORY))
        every = {"mon": "allow *", "osd": "allow *", "mgr": "allow *", "mds": "allow *"}
        of_pools = {"mon": "allow r", "osd": ", ".join(f"allow rw pool={p}" for p in POOLS)}
        keys = {"client.admin": every, "client.cellar": of_pools,
                "mgr.x": {"mon": "allow profile mgr", "osd": "allow *", "mds": "allow *"},
                **{f"osd.{i}": {"mon": "allow profile osd", "mgr": "allow profile osd", "osd": "allow *"} for i in range(len(self.osds))}}
        entries = {name: entry(name, new_key(), caps) for name, caps in keys.items()}
        for name, text in entries.items():
            write(self.rig.path("ceph", name + ".keyring"), text, 0o600)
        write(self.rig.path("ceph", "all.keyring"), entry("mon.", new_key(), {"mon": "allow *"}) + "".join(entries.values()), 0o600)
        monmap = self.rig.path("ceph", "monmap")
        call(["monmaptool", "--create", "--clobber", "--fsid", fsid,
              *[w for m in self.mons for w in ("--addv", m, f"[v2:{address(m)}:3300,v1:{address(m)}:6789]")], monmap])
        osdmap, crush = self.rig.path("ceph", "osdmap"), self.rig.path("ceph", "crush")
        write(crush + ".txt", crush_text())
        call(["crushtool", "-c", crush + ".txt", "-o", crush])
        call(["osdmaptool", "--createsimple", str(len(self.osds)), "--clobber", osdmap])
        call(["osdmaptool", osdmap, "--import-crush", crush])
        return fsid

    def make_disks(self):
        """The directories of monitors and OSDs, all at once."""
        fsid = self.write_files()
        making = {}
        for m in self.mons:
            os.mkdir(self.rig.path("ceph", "mon-" + m))
            making[m] = self.words("ceph-mon", "--mkfs", "-i", m, "--monmap", self.rig.path("ceph", "monmap"),
                                   "--osdmap", self.rig.path("ceph", "osdmap"), "--keyring", self.rig.path("ceph", "all.keyring"))
        for i, m in enumerate(self.osds):
            os.mkdir(self.rig.path("ceph", f"osd-{i}"))
            making[m] = self.words("ceph-osd", "--mkfs", "--no-mon-config", "-i", str(i), "--osd-uuid", str(uuid.uuid4()),
                                   "--fsid", fsid, "--keyring", self.rig.path("ceph", f"osd.{i}.keyring"))
        with_logs = []
        for m, words in making.items():
            with open(self.rig.path("log", m + ".mkfs.log"), "ab") as log:
                with_logs.append((m, subprocess.Popen(self.rig.words_inside(m, words), stdin=subprocess.DEVNULL, stdout=log, stderr=log)))
        for m, process in with_logs:
            try:
                code = process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                code = "no end within 60 s"
            if code != 0:
                raise RigError(f"mkfs of {m} failed ({code}); its log ends:\n{self.rig.end_of_log(m + '.mkfs')}")

    def start(self):
        for m in self.mons:
            self.rig.start(m, self.words("ceph-mon", "-f", "-i", m, "--public-addr", address(m)))
        # Who asks a monitor before it listens asks again 10 s later.
        for m in self.mons:
            self.rig.wait_for(f"{m} listens", lambda m=m: self.rig.reaches("client", address(m), 3300), 30, self.mons)
        for i, m in enumerate(self.osds):
            self.rig.start(m, self.words("ceph-osd", "-f", "-i", str(i), "--public-addr", address(m)))

    def start_manager(self):
        os.mkdir(self.rig.path("ceph", "mgr-x"))
        self.rig.start("mgr", self.words("ceph-mgr", "-f", "-i", "x"))

    def command(self, *words, timeout=20):
        """A command of the administrator: the parsed answer."""
        call_words = self.words("ceph", "--connect-timeout", "5", "-f", "json", *words)
        return json.loads(call(self.rig.words_inside("client", call_words), timeout=timeout) or "null")

    def wait(self, seconds):
        """Until pools exist and take a write of every placement group."""
        script = os.path.join(os.path.dirname(__file__), "ceph_ready.py")
        pools = [f"{name}={groups}" for name, groups in POOLS.items()]
        words = ["/usr/bin/python3", script, self.conf(), str(len(self.osds)), str(seconds), *pools]
        said = call(self.rig.words_inside("client", words), timeout=seconds + 10)
        self.rig.say("ceph: " + said.strip().replace("\n", "; "))
