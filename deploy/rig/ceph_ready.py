"""ceph_ready.py CONF OSDS SECONDS POOL=GROUPS...: makes the pools and waits until all OSDs are up and every pool takes writes.

A program of its own, because it runs in a namespace and because a call into librados cannot be interrupted: the caller bounds its time."""
import json
import sys
import time

import rados  # of Debian's python3-rados

OBJECTS = 24  # written to each pool, so that most placement groups have taken one


def main():
    conf, osds, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    until = time.monotonic() + seconds
    began = time.monotonic()
    cluster = rados.Rados(conffile=conf, name="client.admin")
    cluster.connect(timeout=seconds)

    def command(**words):
        code, out, said = cluster.mon_command(json.dumps({**words, "format": "json"}), b"", timeout=30)
        if code != 0:
            sys.exit(f"{words}: {said or code}")
        return json.loads(out) if out.strip() else None

    print(f"a quorum of {len(command(prefix='quorum_status')['quorum'])} after {time.monotonic() - began:.1f} s")
    while (up := command(prefix="osd stat")["num_up_osds"]) < osds:
        if time.monotonic() > until:
            sys.exit(f"{up} of {osds} OSDs are up after {seconds:.0f} s")
        time.sleep(0.2)
    print(f"{osds} OSDs up after {time.monotonic() - began:.1f} s")
    pools = dict(p.split("=") for p in sys.argv[4:])
    for pool, groups in pools.items():
        command(prefix="osd pool create", pool=pool, pg_num=int(groups), pgp_num=int(groups), pool_type="replicated")
        command(prefix="osd pool application enable", pool=pool, app="cellar", **{"yes_i_really_mean_it": True})
    for pool in pools:
        cluster.wait_for_latest_osdmap()
        with cluster.open_ioctx(pool) as io:
            for i in range(OBJECTS):
                io.write_full(f"ready.{i}", b"ready")
            for i in range(OBJECTS):
                io.remove_object(f"ready.{i}")
    print(f"pools {' '.join(pools)} take writes after {time.monotonic() - began:.1f} s")
    cluster.shutdown()


main()
