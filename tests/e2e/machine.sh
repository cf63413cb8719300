# SPDX-License-Identifier: GPL-3.0-or-later
# A fresh Debian for tests of the installation: a root by debootstrap with namespaces of its own for processes, mounts and
# the network.  Source it after stack.sh.  Downloads are kept in KINOTHEK_INSTALL_CACHE (/var/cache/kinothek-install).
#
#	machine_begin			unpacks it and sets machine, the directory of its root
#	machine_apt ARGUMENTS…		apt-get there, with the network of this machine
#	machine COMMAND…		runs it there as root, without a network but its own
#	machine_boot			boots it with systemd instead, from then on
#	machine_database, machine_unit NAME, machine_web lighttpd|apache	start what systemd would
#	machine_signal NAME SIGNAL	to one of these

cache=${KINOTHEK_INSTALL_CACHE:-/var/cache/kinothek-install}
machine= machine_pid= machine_root=
declare -A machine_unit_pid

machine_can() {
	[ "$(id -u)" = 0 ] || { echo 'needs root'; return 1; }
	command -v debootstrap >/dev/null || { echo 'debootstrap is not installed'; return 1; }
	unshare --mount --pid --net --uts --fork true 2>/dev/null || { echo 'no namespaces may be made here'; return 1; }
}

# The base, once a month.
machine_base() {
	mkdir -p "$cache/archives/partial"
	find "$cache" -maxdepth 1 -name base.tar.zst -mtime +30 -delete
	[ ! -s "$cache/base.tar.zst" ] || return 0
	rm -rf "$cache/base"
	debootstrap --variant=minbase --include=ca-certificates,sudo bookworm "$cache/base" "${KINOTHEK_MIRROR:-http://deb.debian.org/debian}" \
		>"$stack/debootstrap.log" 2>&1 || stack_fail debootstrap "$stack/debootstrap.log"
	printf '#!/bin/sh\nexit 101\n' >"$cache/base/usr/sbin/policy-rc.d"
	chmod 755 "$cache/base/usr/sbin/policy-rc.d"
	echo force-unsafe-io >"$cache/base/etc/dpkg/dpkg.cfg.d/trial"	# nothing of it has to survive a power failure
	tar -C "$cache/base" --zstd -cf "$cache/base.tar.zst.new" . && mv "$cache/base.tar.zst.new" "$cache/base.tar.zst"
	rm -rf "$cache/base"
}

machine_begin() {
	local security=http://deb.debian.org/debian-security
	machine_base
	machine=$(mktemp -d /var/tmp/kinothek-machine.XXXXXX)
	chmod 755 "$machine"
	machine_root=$machine
	trap machine_end EXIT
	tar -C "$machine" --zstd -xf "$cache/base.tar.zst"
	cp /etc/resolv.conf "$machine/etc/resolv.conf"
	echo "deb $security bookworm-security main" >"$machine/etc/apt/sources.list.d/security.list"
	printf '127.0.0.1 localhost kinothek-trial media.example.org\n' >"$machine/etc/hosts"
	cp -r /usr/local/share/ca-certificates "$machine/usr/local/share/"	# of a proxy that this machine trusts
	unshare --mount --pid --net --uts --fork --kill-child sh -c '
		mount --make-rprivate / && hostname kinothek-trial && mount -t proc proc "$0/proc" &&
		mkdir -p "$0/dev/pts" "$0/dev/shm" && mount -t devpts -o newinstance,ptmxmode=0666 devpts "$0/dev/pts" &&
		ln -sf pts/ptmx "$0/dev/ptmx" && mount -t tmpfs shm "$0/dev/shm" &&
		mount --bind "$1" "$0/var/cache/apt/archives" && ip link set lo up && touch "$0/run/begun" && exec sleep infinity' \
		"$machine" "$cache/archives" >"$stack/machine.log" 2>&1 &
	machine_pid=$!
	stack_until 20 test -e "$machine/run/begun" || stack_fail 'the machine does not begin' "$stack/machine.log"
	machine_pid=$(pgrep -P "$machine_pid" | head -n 1)
	machine update-ca-certificates >"$stack/log/certificates.log" 2>&1
	machine_apt update
}

# False, with the reason, where it does not work.  systemd-nspawn of 252 does not know the calls of Landlock as harmless.
machine_boot() {
	kill -KILL "$machine_pid"
	rm -f "$machine/usr/sbin/policy-rc.d"
	systemd-nspawn --quiet --register=no --keep-unit --boot --private-network --directory="$machine" \
		--system-call-filter='landlock_create_ruleset landlock_add_rule landlock_restrict_self' >"$stack/log/boot.log" 2>&1 </dev/null &
	machine_spawn=$!
	machine_root=/
	machine_booted() {
		machine_pid=$(pgrep -P "$machine_spawn" | tail -n 1) && machine systemctl is-system-running 2>/dev/null | grep -qE 'running|degraded'
	}
	stack_until 60 machine_booted || { tail -n 5 "$stack/log/boot.log"; return 1; }
}

machine_end() {
	local status=$?
	exec 2>/dev/null	# the shell tells of each that is killed
	[ -z "$machine_pid" ] || kill -KILL "$machine_pid"
	sleep 0.2
	[ -z "$machine" ] || grep -q " $machine" /proc/mounts || rm -rf --one-file-system "$machine"
	(exit $status)
	stack_end
}

# machine_enter NAMESPACE…: sets entered, the words in front of a command there.
machine_enter() {
	entered=(nsenter -t "$machine_pid" "$@" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
		LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive chroot "$machine_root")
}

machine() {
	machine_enter --mount --pid --net --uts
	"${entered[@]}" "$@" </dev/null
}

machine_online() {
	machine_enter --mount --pid --uts
	"${entered[@]}" "$@" </dev/null
}

machine_apt() {
	machine_online apt-get -qq -y -o APT::Keep-Downloaded-Packages=true -o Binary::apt-get::APT::Keep-Downloaded-Packages=true \
		-o Dpkg::Use-Pty=0 "$@" >>"$stack/log/apt.log" 2>&1
}

# machine_start NAME COMMAND…: in the background there.
machine_start() {
	local name=$1
	shift
	machine_enter --mount --pid --net --uts
	"${entered[@]}" "$@" >>"$stack/log/$name.log" 2>&1 </dev/null &
	machine_unit_pid[$name]=$!
}

machine_database() {
	machine install -d -o mysql -g mysql /run/mysqld
	machine_start mariadb mariadbd --user=mysql
	stack_until 30 machine mariadb-admin ping || stack_fail MariaDB "$stack/log/mariadb.log"
}

# As systemd would start it: its socket, its account, its environment.
machine_unit() {
	nsenter -t "$machine_pid" --mount --pid --net --uts "$src/tests/e2e/unit" "$machine" "$1" >>"$stack/log/$1.log" 2>&1 </dev/null &
	machine_unit_pid[$1]=$!
}

machine_web() {
	case $1 in
	lighttpd) machine_start web lighttpd -D -f /etc/lighttpd/lighttpd.conf ;;
	apache) machine_start web sh -c '. /etc/apache2/envvars; mkdir -p "$APACHE_RUN_DIR"; exec apache2 -D FOREGROUND' ;;
	esac
}

# The program is the child of the one that entered.
machine_signal() {
	kill "-$2" "$(pgrep -P "${machine_unit_pid[$1]}")"
}

machine_stop() {
	machine_signal "$1" TERM
	wait "${machine_unit_pid[$1]}" 2>/dev/null
}

# Clients are on this machine, with its network: as if they stood beside it.
curl() {
	nsenter -t "$machine_pid" --net curl --insecure --resolve '*:443:127.0.0.1' --resolve '*:80:127.0.0.1' "$@"
}
