# SPDX-License-Identifier: GPL-3.0-or-later
# Three nodes of a Galera cluster in the place of the one database of stack.sh, which is sourced before.
#
#	galera_found			is there a library for it?
#	node_command NUMBER		sets node_cmd: how that node is run
#	node_start NUMBER [OPTION…]	as stack_start does; it is called db, db2, db3
#	node_sql NUMBER QUERY
#	hosts NUMBER			value of db.hosts with that node first

galera=$(find /usr/lib -name libgalera_smm.so 2>/dev/null | head -1)
# Of each node: for clients, for the others, and for what it has missed.
for i in 1 2 3; do
	stack_take_port "client_port$i"
	stack_take_port "group_port$i"
	stack_take_port "state_port$i"
done
galera_found() { [ -n "$galera" ]; }
node_port() {	# KIND NUMBER
	local name=$1_port$2
	echo "${!name}"
}
group() { echo "127.0.0.1:$(node_port group "$1")"; }
node_socket() { [ "$1" = 1 ] && echo "$stack/run/db.sock" || echo "$stack/run/db$1.sock"; }
node_sql() { mariadb --no-defaults -uroot -S "$(node_socket "$1")" -N -B kinothek -e "$2"; }
synced() { mariadb --no-defaults -uroot -S "$(node_socket "$1")" -N -B -e "SHOW STATUS LIKE 'wsrep_local_state_comment'" | grep -q Synced; }

node_command() {
	local i=$1 user=()
	[ "$(id -u)" != 0 ] || user=(--user=root)
	node_cmd=("$src/tests/e2e/galera-node" mariadbd --no-defaults "${user[@]}" --datadir="$stack/db$i" --tmpdir="$stack" --socket="$(node_socket "$i")"
		--pid-file="$stack/db$i.pid" --bind-address=127.0.0.1 --port="$(node_port client "$i")" --skip-name-resolve --innodb-log-file-size=32M
		--innodb-buffer-pool-size=64M --innodb-flush-log-at-trx-commit=2 --innodb-autoinc-lock-mode=2 --binlog-format=ROW
		--character-set-server=utf8mb4 --collation-server=utf8mb4_unicode_520_ci --wsrep-on=ON --wsrep-provider="$galera"
		--wsrep-cluster-name="kinothek$$" --wsrep-cluster-address="gcomm://$(group 1),$(group 2),$(group 3)"
		--wsrep-sst-method=nothing --wsrep-node-name="n$i" --wsrep-node-address="$(group "$i")"
		--wsrep-provider-options="gmcast.listen_addr=tcp://$(group "$i");ist.recv_addr=127.0.0.1:$(node_port state "$i");gcache.size=256M;evs.keepalive_period=PT0.5S;evs.inactive_check_period=PT0.5S")
}

node_start() {
	node_command "$1"
	stack_start "db${1#1}" "${node_cmd[@]}" "${@:2}"
}

stack_database() {
	local i root=()
	[ "$(id -u)" != 0 ] || root=(--user=root)
	mariadb-install-db --no-defaults "${root[@]}" --datadir="$stack/db1" --tmpdir="$stack" --auth-root-authentication-method=normal \
		--skip-test-db --force --innodb-log-file-size=32M >"$stack/log/install-db.log" 2>&1 ||
		stack_fail mariadb-install-db "$stack/log/install-db.log"
	# What mariadb-server would bring along: it has nothing to send, since all begin as copies of a node that has ended, and
	# who comes back gets what it has missed from the others without it.
	mkdir "$stack/bin"
	cat >"$stack/bin/wsrep_sst_nothing" <<-'SCRIPT'
		#!/bin/sh
		arguments=" $* "
		while [ $# -gt 0 ]; do
			[ "$1" != --datadir ] || data=$2
			shift
		done
		state=$(cat "${data%/}/position")
		case $arguments in
		*' joiner '*) echo "ready 127.0.0.1"; echo "$state" ;;
		*) echo "done $state" ;;
		esac
	SCRIPT
	chmod +x "$stack/bin/wsrep_sst_nothing"
	PATH=$stack/bin:$PATH
	node_start 1 --wsrep-new-cluster
	stack_until 60 synced 1 || stack_fail 'the first node' "$stack/log/db.log"
	mariadb-admin --no-defaults -uroot -S "$(node_socket 1)" shutdown
	stack_gone "${stack_pid[db]}"
	cp -r "$stack/db1" "$stack/db2"
	cp -r "$stack/db1" "$stack/db3"
	rm "$stack"/db[23]/gvwstate.dat "$stack"/db[23]/galera.cache 2>/dev/null
	node_start 1 --wsrep-new-cluster
	stack_until 60 synced 1 || stack_fail 'node 1' "$stack/log/db.log"
	for i in 2 3; do
		node_start "$i"
		stack_until 180 joined "$i" || stack_fail "node $i" "$stack/log/db$i.log"
	done
	mariadb --no-defaults -uroot -S "$(node_socket 1)" -e 'CREATE DATABASE kinothek CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci'
}

# joined NUMBER: has it?  A node that does not hear of the others within half a minute ends, and a service manager starts it again.
joined() {
	synced "$1" && return
	kill -0 "${stack_pid[db$1]}" 2>/dev/null || node_start "$1"
	return 1
}

hosts() {
	local i list=
	for i in 0 1 2; do
		list+=,127.0.0.1:$(node_port client $((($1 - 1 + i) % 3 + 1)))
	done
	echo "${list:1}"
}
