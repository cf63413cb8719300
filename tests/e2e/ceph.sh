# SPDX-License-Identifier: GPL-3.0-or-later
# A private object store: Ceph RGW on one monitor and one OSD, which holds all objects in memory, or on the disk where
# ceph_objectstore says so.  Source it after stack.sh, whose end stops it; stack_begin need not have been called.
#
#	ceph_found			are its programs there?
#	ceph_begin			starts it; sets ceph_url, ceph_access_key, ceph_secret_key
#	ceph_bucket NAME		makes a bucket
#	ceph_s3 ARGUMENT…		s3cmd on it
#	ceph_gateway			starts the gateway, once more after it was killed, too (stack_pid[radosgw])
#	ceph_end			stops it before the test ends

# What the OSD may hold; nobody pays for what is not used.
ceph_bytes=${ceph_bytes:-4294967296}
# memstore, which keeps nothing; or bluestore, which is what an installation has: what it has acknowledged is on the disk.
ceph_objectstore=${ceph_objectstore:-memstore}
ceph_access_key=kinothek ceph_secret_key=not/a+secret

ceph_found() {
	local program
	for program in ceph ceph-authtool ceph-mon ceph-osd monmaptool radosgw radosgw-admin s3cmd; do
		command -v "$program" >/dev/null || { echo "no $program: script/packages test"; return 1; }
	done
}

# ceph_configure FSID.  No "public addr", which takes the ports that all monitors have.
ceph_configure() {
	cat >"$ceph/ceph.conf" <<-CONF
		[global]
		fsid = $1
		run dir = $ceph/run
		admin socket = $ceph/run/\$name.asok
		pid file = $ceph/run/\$name.pid
		log file = $stack/log/\$name.log
		crash dir = $ceph/run
		mon host = [v2:127.0.0.1:$ceph_mon_port,v1:127.0.0.1:$ceph_old_mon_port]
		public network = 127.0.0.0/8
		cluster network = 127.0.0.0/8
		auth cluster required = cephx
		auth service required = cephx
		auth client required = cephx
		keyring = $ceph/keyring
		osd pool default size = 1
		osd pool default min size = 1
		osd pool default pg num = 8
		osd crush chooseleaf type = 0
		mon allow pool size one = true
		mon data avail warn = 1
		mon data avail crit = 1
		mon osd full ratio = .99
		mon osd nearfull ratio = .98
		mon osd backfillfull ratio = .985
		ms bind port min = 21000
		ms bind port max = 24000
		ms bind ipv6 = false
		osd objectstore = $ceph_objectstore
		memstore device bytes = $ceph_bytes
		bluestore block size = $ceph_bytes
		[mon.a]
		host = localhost
		mon data = $ceph/mon
		[osd.0]
		osd data = $ceph/osd
		[client.rgw]
		rgw data = $ceph/rgw
		rgw frontends = beast endpoint=127.0.0.1:$ceph_port tcp_nodelay=1
		rgw dns name = localhost
		rgw enable ops log = false
	CONF
}

ceph_keys() {
	local key=(ceph-authtool "$ceph/keyring" --gen-key)
	ceph-authtool --create-keyring "$ceph/keyring" &&
		"${key[@]}" -n mon. --cap mon 'allow *' &&
		"${key[@]}" -n client.admin --cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *' &&
		"${key[@]}" -n client.rgw --cap mon 'allow rwx' --cap osd 'allow rwx' &&
		"${key[@]}" -n osd.0 --cap mon 'allow profile osd' --cap osd 'allow *'
}

ceph_ask() { timeout 120 ceph -c "$ceph/ceph.conf" --connect-timeout 60 "$@"; }
ceph_osd_up() { ceph_ask osd stat | grep -q '1 up'; }
ceph_answers() { curl -s -o /dev/null --max-time 5 "$ceph_url/"; }

ceph_gateway() {
	stack_start radosgw radosgw -f -c "$ceph/ceph.conf" -n client.rgw
	stack_until 60 ceph_answers || stack_fail radosgw "$stack/log/radosgw.log"
}

ceph_cluster() {
	local osd log=$stack/log/ceph.log
	osd=$(</proc/sys/kernel/random/uuid)
	ceph-mon -c "$ceph/ceph.conf" -i a --mkfs --monmap "$ceph/monmap" --keyring "$ceph/keyring" >>"$log" 2>&1 ||
		stack_fail 'ceph-mon --mkfs' "$log"
	stack_start ceph-mon ceph-mon -f -c "$ceph/ceph.conf" -i a
	ceph_ask osd new "$osd" >>"$log" 2>&1 || stack_fail 'ceph osd new' "$log"
	ceph-osd -c "$ceph/ceph.conf" -i 0 --mkfs --osd-uuid "$osd" >>"$log" 2>&1 || stack_fail 'ceph-osd --mkfs' "$log"
	stack_start ceph-osd ceph-osd -f -c "$ceph/ceph.conf" -i 0
	ceph_ask osd crush add osd.0 1.0 root=default host=localhost >>"$log" 2>&1 || stack_fail 'ceph osd crush add' "$log"
	stack_until 60 ceph_osd_up || stack_fail ceph-osd "$stack/log/ceph-osd.log"
}

ceph_begin() {
	local fsid ceph_mon_port ceph_old_mon_port
	ceph=$stack/ceph
	fsid=$(</proc/sys/kernel/random/uuid)
	mkdir -p "$ceph"/{mon,osd,rgw,run} "$stack/log"
	stack_take_port ceph_port
	stack_take_port ceph_mon_port
	stack_take_port ceph_old_mon_port
	ceph_url=http://127.0.0.1:$ceph_port
	ceph_configure "$fsid"
	monmaptool --create --fsid "$fsid" --addv a "[v2:127.0.0.1:$ceph_mon_port,v1:127.0.0.1:$ceph_old_mon_port]" \
		"$ceph/monmap" >"$stack/log/ceph.log" 2>&1 || stack_fail monmaptool "$stack/log/ceph.log"
	ceph_keys >>"$stack/log/ceph.log" 2>&1 || stack_fail ceph-authtool "$stack/log/ceph.log"
	ceph_cluster
	ceph_gateway
	radosgw-admin -c "$ceph/ceph.conf" user create --uid=kinothek --display-name=Kinothek --access-key="$ceph_access_key" \
		--secret-key="$ceph_secret_key" >>"$stack/log/ceph.log" 2>&1 || stack_fail 'radosgw-admin user create' "$stack/log/ceph.log"
}

ceph_s3() {
	s3cmd -c /dev/null --no-ssl --host="127.0.0.1:$ceph_port" --host-bucket= --access_key="$ceph_access_key" \
		--secret_key="$ceph_secret_key" --no-progress "$@"
}

ceph_bucket() { ceph_s3 mb "s3://$1"; }

# The gateway first, the monitor last; an OSD takes its time, and needs none: it has nothing to keep.
ceph_end() {
	local name
	for name in radosgw ceph-osd ceph-mon; do
		[ -n "${stack_pid[$name]:-}" ] || continue
		kill "${stack_pid[$name]}" 2>/dev/null
		stack_within 10 eval "! kill -0 ${stack_pid[$name]}" || kill -KILL "${stack_pid[$name]}" 2>/dev/null
		stack_pid[$name]=
	done
}
