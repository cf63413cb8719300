# SPDX-License-Identifier: GPL-3.0-or-later
# A whole private Kinothek for tests: MariaDB, the programs, and one of the web servers on a loopback port, with the
# configurations of httpd-conf as they are.  Source it after lib.sh; stack_end runs at exit.
#
#	stack_begin			everything but the web server
#	stack_server lighttpd		or proxy_fcgi, or fcgid; the one before it is stopped
#	stack_send FILE			uploads it as any client would; sets upload_id, media_id
#	stack_wait ID			until its ingest is over
#	stack_in_bucket			do objects lie in a bucket (tests/with-ceph)?
#	stack_holds KEY FILE		the store has that object, on the disk or in the bucket
#	stack_lists PREFIX		prints the keys of all that lies below it, which ends in a slash; false: nobody can tell
#	stack_is_clear PREFIX		there is nothing
#	stack_copy PREFIX FOLDER	gets all of that
#	stack_put FILE KEY		puts an object there by hand
#	stack_days_later COMMAND…	by whose clock all that lies there is two days old

PATH=$PATH:/usr/sbin
src=${KINOTHEK_SRC:?} build=${KINOTHEK_BUILD:?}
stack=$(mktemp -d "${TMPDIR:-/tmp}/kinothek-stack.XXXXXX")
chmod 755 "$stack"
port=${KINOTHEK_PORT:-}
declare -A stack_pid
media_id= upload_id=
stack_as=()

stack_end() {
	local status=$? name
	trap '' EXIT
	stack_no_server
	for name in "${!stack_pid[@]}"; do
		[ -z "${stack_pid[$name]}" ] || kill "${stack_pid[$name]}" 2>/dev/null
	done
	for name in "${!stack_pid[@]}"; do
		[ -z "${stack_pid[$name]}" ] || stack_gone "${stack_pid[$name]}" || kill -KILL "${stack_pid[$name]}" 2>/dev/null
	done
	if [ -n "${KINOTHEK_ARTIFACTS:-}" ]; then
		mkdir -p "$KINOTHEK_ARTIFACTS/log-${0##*/}" && cp "$stack"/log/* "$KINOTHEK_ARTIFACTS/log-${0##*/}/" 2>/dev/null
	fi
	[ ! -L "$stack/db" ] || rm -rf "$(readlink "$stack/db")"
	rm -rf "$stack"
	exit $status
}
trap stack_end EXIT

stack_fail() {
	echo "Bail out! $1"
	[ -z "${2:-}" ] || tail -n 20 "$2" | sed 's/^/# /'
	exit 1
}

# stack_until SECONDS COMMAND…: waits for it; at least two minutes, since machines do other things, too.
stack_until() {
	stack_within $(($1 > 120 ? $1 : 120)) "${@:2}"
}

# stack_within SECONDS COMMAND…: no longer, where that is what is tested.  What the command says in the end is shown.
stack_within() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || { echo "waited in vain for: $*"; "$@"; return 1; }
		sleep 0.05
	done
}

stack_gone() {
	stack_until 20 eval "! kill -0 $1"
}

# stack_start NAME COMMAND…
stack_start() {
	local name=$1
	shift
	setsid "$@" >>"$stack/log/$name.log" 2>&1 </dev/null &
	stack_pid[$name]=$!
}

# stack_hold NAME: it and what it has started stand still, and no row is locked; until stack_release NAME.
stack_hold() {
	stack_until 120 stack_held "$1" || stack_fail "$1 cannot be held"
}

stack_held() {
	kill -STOP -- "-${stack_pid[$1]}"
	[ "$(sql 'SELECT COUNT(*) FROM information_schema.innodb_trx')" = 0 ] && return
	stack_release "$1"
	sleep 0.2	# so long the server tells of transactions that are over
	return 1
}

stack_release() {
	kill -CONT -- "-${stack_pid[$1]}"
}

# stack_take_port VARIABLE: sets it to a port that nobody has, nor takes as long as this program or what it started runs.
stack_take_port() {
	local try fd locks
	locks=/tmp/kinothek-ports-$(id -u)
	mkdir -p "$locks" || stack_fail "cannot make $locks"
	for try in $(seq $((18000 + $$ % 2000)) 19999) $(seq 18000 20500); do
		exec {fd}>"$locks/$try" || stack_fail "cannot lock $locks/$try"
		if flock -n "$fd" && ! (exec 3<>"/dev/tcp/127.0.0.1/$try") 2>/dev/null; then
			printf -v "$1" %s "$try"
			return
		fi
		exec {fd}>&-
	done
	stack_fail 'no port is free'
}

sql() {
	mariadb --no-defaults --default-character-set=utf8mb4 -uroot -S "$stack/run/db.sock" -N -B kinothek -e "$1"
}

# stack_mariadb [OPTION…]: the server, on what it has: once more after it was stopped, too.
stack_mariadb() {
	local root=()
	[ "$(id -u)" != 0 ] || root=(--user=root)
	stack_start db mariadbd --no-defaults "${root[@]}" --datadir="$stack/db" --tmpdir="$stack" --socket="$stack/run/db.sock" \
		--pid-file="$stack/db.pid" --skip-networking --innodb-log-file-size=8M --innodb-flush-log-at-trx-commit=2 \
		--character-set-server=utf8mb4 --collation-server=utf8mb4_unicode_520_ci "$@"
	stack_until 60 mariadb-admin --no-defaults -uroot -S "$stack/run/db.sock" ping || stack_fail MariaDB "$stack/log/db.log"
}

stack_database() {
	local root=()
	ln -s "$(mktemp -d "$("$src/tests/room")/kinothek-db.XXXXXX")" "$stack/db"
	[ "$(id -u)" != 0 ] || root=(--user=root)
	mariadb-install-db --no-defaults "${root[@]}" --datadir="$stack/db" --tmpdir="$stack" --auth-root-authentication-method=normal \
		--skip-test-db --force --innodb-log-file-size=8M >"$stack/log/install-db.log" 2>&1 ||
		stack_fail mariadb-install-db "$stack/log/install-db.log"
	stack_mariadb
	mariadb --no-defaults -uroot -S "$stack/run/db.sock" -e \
		'CREATE DATABASE kinothek CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci'
}

# The lines that put the store into the bucket of KINOTHEK_TEST_S3="endpoint bucket key secret" (tests/with-ceph).
stack_bucket() {
	local endpoint bucket key secret
	read -r endpoint bucket key secret <<<"$KINOTHEK_TEST_S3"
	echo "$secret" >"$stack/store.secret"
	cat <<-CONF
		store = s3
		store.endpoint = $endpoint
		store.bucket = $bucket
		store.key = $key
		store.secret_file = $stack/store.secret
		store.prefix = stack-$$/
	CONF
}

# The program $stack/object KEY prints the bytes of an object, from the disk or from the bucket; false: there is none.
stack_object() {
	local endpoint bucket key secret
	if [ -n "${KINOTHEK_TEST_S3:-}" ]; then
		read -r endpoint bucket key secret <<<"$KINOTHEK_TEST_S3"
		cat <<-PROGRAM
			#!/bin/bash
			exec curl -sf --aws-sigv4 aws:amz:us-east-1:s3 -H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' \\
				--user '$key:$secret' "$endpoint/$bucket/stack-$$/\$1"
		PROGRAM
	else
		printf '#!/bin/bash\nexec cat "%s/data/$1" 2>/dev/null\n' "$stack"
	fi >"$stack/object"
	chmod 755 "$stack/object"
}

stack_in_bucket() { [ -n "${KINOTHEK_TEST_S3:-}" ]; }

# stack_s3 ARGUMENT…: s3cmd on the bucket; the last of them is a key.
stack_s3() {
	local endpoint bucket key secret
	read -r endpoint bucket key secret <<<"$KINOTHEK_TEST_S3"
	s3cmd -c /dev/null --no-ssl --no-progress --host="${endpoint#*://}" --host-bucket= --access_key="$key" --secret_key="$secret" \
		"${@:1:$#-1}" "s3://$bucket/stack-$$/${!#}"
}

stack_lists() {
	local listed
	if stack_in_bucket; then
		listed=$(stack_s3 ls -r "$1") || return 1
		sed -n "s|.* s3://[^/]*/stack-$$/||p" <<<"$listed"
	elif [ -d "$stack/data/$1" ]; then
		find "$stack/data/$1" -type f -printf "$1%P\n" | LC_ALL=C sort
	fi
}

# No empty folder either.
stack_is_clear() {
	local left
	left=$(stack_lists "$1") && [ -z "$left" ] && [ ! -e "$stack/data/$1" ] || { echo "$left"; return 1; }
}

stack_copy() {
	local key
	mkdir -p "$2"
	while read -r key; do
		"$stack/object" "$key" >"$2/${key//\//,}" || return 1
	done < <(stack_lists "$1")
}

stack_put() {
	if stack_in_bucket; then
		stack_s3 put "$1" "$2"
	else
		mkdir -p "$(dirname "$stack/data/$2")" && cp "$1" "$stack/data/$2"
	fi
}

# Nobody can say of an object how old it is, but lists can.
stack_days_later() {
	local endpoint aged_port
	if ! stack_in_bucket; then
		find "$stack/data/play" "$stack/data/originals" -type f -exec touch -d '2 days ago' {} +
		"$@"
		return
	fi
	if [ -z "${stack_pid[aged]:-}" ]; then
		stack_take_port aged_port
		read -r endpoint _ <<<"$KINOTHEK_TEST_S3"
		stack_start aged "$src/tests/e2e/aged" "$aged_port" "${endpoint#*://}"
		stack_until 20 eval "(exec 3<>/dev/tcp/127.0.0.1/$aged_port)" || stack_fail aged "$stack/log/aged.log"
		stack_aged=http://127.0.0.1:$aged_port
	fi
	KINOTHEK_STORE_ENDPOINT=$stack_aged "$@"
}

# stack_stored KEY: there is one.
stack_stored() {
	"$stack/object" "$1" >"$lib_dir/object"
}

# stack_holds KEY FILE: there is one with those bytes.
stack_holds() {
	stack_stored "$1" && cmp "$2" "$lib_dir/object"
}

# Lines of settings may follow as arguments.
stack_settings() {
	head -c 32 /dev/urandom | od -An -vtx1 | tr -d ' \n' >"$stack/play.key"
	echo >>"$stack/play.key"
	cat >"$stack/kinothek.conf" <<-CONF
		public_url = http://127.0.0.1:$port
		data_dir = $stack/data
		run_dir = $stack/run
		web_dir = $stack/web
		play.key_file = $stack/play.key
		db.socket = $stack/run/db.sock
		db.user = root
		http.trusted_proxies = 127.0.0.2
		video.preset = ultrafast
		free_space = 100M
	CONF
	[ -z "${KINOTHEK_TEST_S3:-}" ] || [[ "$*" == *store* ]] || stack_bucket >>"$stack/kinothek.conf"
	printf '%s\n' "$@" >>"$stack/kinothek.conf"
	stack_object
	export KINOTHEK_CONF=$stack/kinothek.conf
}

stack_tenant() {
	local made
	made=$("$build/kinothek" tenant create test --name 'Test tenant' --json 2>"$stack/log/tenant.log") ||
		stack_fail 'kinothek tenant create' "$stack/log/tenant.log"
	KINOTHEK_TENANT=$(jq -r .tenantShortcode <<<"$made")
	KINOTHEK_CLIENT_ID=$(jq -r .clientId <<<"$made")
	KINOTHEK_CLIENT_SECRET=$(jq -r .clientSecret <<<"$made")
}

stack_begin() {
	[ -n "$port" ] || stack_take_port port
	KINOTHEK_URL=http://127.0.0.1:$port
	mkdir -p "$stack"/{run,run/fcgid,log,data,conf}
	cp -r "$build/www" "$stack/web"
	stack_settings "$@"
	stack_database
	"$build/kinothek" init --schema "$src/schema" >"$stack/log/init.log" 2>&1 || stack_fail 'kinothek init' "$stack/log/init.log"
	stack_tenant
	stack_start api "$build/kinothek-api" --socket "$stack/run/api.sock" --workers 8
	stack_start events "$build/kinothek-events" --socket "$stack/run/events.sock"
	stack_start upload "$build/kinothek-upload" --socket "$stack/run/upload.sock"
	stack_start jobs "$build/kinothek-jobs"
	stack_until 20 test -S "$stack/run/api.sock" || stack_fail kinothek-api "$stack/log/api.log"
	stack_until 20 test -S "$stack/run/events.sock" || stack_fail kinothek-events "$stack/log/events.log"
	stack_until 20 test -S "$stack/run/upload.sock" || stack_fail kinothek-upload "$stack/log/upload.log"
}

# stack_fill FILE: the placeholders of httpd-conf.
stack_fill() {
	sed -e "s|@listen@|127.0.0.1|g; s|@port@|$port|g; s|@run_dir@|$stack/run|g; s|@data_dir@|$stack/data|g
		s|@web_dir@|$stack/web|g; s|@conf_dir@|$stack/conf|g; s|@log_dir@|$stack/log|g; s|@libexec_dir@|$build|g
		s|@conf_file@|$stack/kinothek.conf|g; s|@play_key_file@|$stack/play.key|g; s|@web_user@|$(id -un)|g" \
		"$src/httpd-conf/$1.in"
}

stack_no_server() {
	local name pid
	[ -z "${stack_pid[web]:-}" ] || { kill "${stack_pid[web]}" 2>/dev/null; stack_gone "${stack_pid[web]}"; }
	stack_pid[web]=
	if [ -s "$stack/run/apache.pid" ]; then
		pid=$(<"$stack/run/apache.pid")
		kill "$pid" 2>/dev/null && stack_gone "$pid"
	fi
	rm -f "$stack/run/apache.pid"
}

stack_lighttpd() {
	stack_fill errors.lua >"$stack/conf/errors.lua"
	stack_fill play.lua >"$stack/conf/play.lua"
	stack_fill lighttpd-site.conf >"$stack/conf/lighttpd-site.conf"
	stack_fill lighttpd.conf | sed '/^server\.\(username\|groupname\) /d' >"$stack/conf/lighttpd.conf"
	[ $# -eq 0 ] || printf '%s\n' "$@" >>"$stack/conf/lighttpd.conf"
	stack_start web lighttpd -D -f "$stack/conf/lighttpd.conf"
}

stack_apache() {
	local module modules='mpm_event authz_core authz_host alias headers mime setenvif reqtimeout dir rewrite unique_id' user=
	case $1 in
	proxy_fcgi) modules+=' proxy proxy_fcgi lua' ;;
	fcgid) modules+=' fcgid' ;;
	esac
	# Apache refuses to serve as root; the files of the trial are then given to its account.
	if [ "$(id -u)" = 0 ]; then
		user=www-data
		chmod 666 "$stack"/run/*.sock
		[ "$1" != fcgid ] || chown -R www-data "$stack/data" "$stack/run/fcgid" "$stack/log"
	fi
	{
		for module in $modules; do
			echo "LoadModule ${module}_module /usr/lib/apache2/modules/mod_$module.so"
		done
		[ -z "$user" ] || printf 'User %s\nGroup %s\n' "$user" "$user"
		printf '%s\n' "ServerName localhost" "ServerRoot \"$stack\"" "PidFile \"$stack/run/apache.pid\"" \
			"DefaultRuntimeDir \"$stack/run\"" "ErrorLog \"$stack/log/apache-main.log\"" "Listen 127.0.0.1:$port" \
			'TypesConfig /etc/mime.types' 'ServerLimit 5' 'ThreadsPerChild 64' 'MaxRequestWorkers 320'
		stack_fill "apache-$1.conf"
	} >"$stack/conf/apache.conf"
	stack_fill play-apache.lua >"$stack/conf/play-apache.lua"
	stack_fill apache-errors.conf >"$stack/conf/apache-errors.conf"
	stack_fill apache-site.conf >"$stack/conf/apache-site.conf"
	chmod 644 "$stack"/conf/* "$stack/play.key" "$stack/kinothek.conf"
	apache2 -f "$stack/conf/apache.conf" -k start >>"$stack/log/apache-main.log" 2>&1 ||
		stack_fail "Apache" "$stack/log/apache-main.log"
}

stack_server() {
	stack_no_server
	stack_until 10 eval "! (exec 3<>/dev/tcp/127.0.0.1/$port)"
	case $1 in
	lighttpd) stack_lighttpd "${@:2}" ;;
	*) stack_apache "$1" ;;
	esac
	stack_until 20 curl -sf "$KINOTHEK_URL/readyz" || stack_fail "$1 does not answer" "$stack/log/api.log"
}

stack_token() {
	TOKEN=
	api POST "/realms/$KINOTHEK_TENANT/protocol/openid-connect/token" \
		-u "$KINOTHEK_CLIENT_ID:$KINOTHEK_CLIENT_SECRET" -d grant_type=client_credentials
	TOKEN=$(json '.access_token // empty')
	[ -n "$TOKEN" ]
}

# stack_announce FILE: POST /v2/uploads.  Sets upload_id, upload_url (with the host) and upload_headers.
stack_announce() {
	local line
	api POST /v2/uploads -H 'Content-Type: application/json' -d "$(jq -nc --arg name "$(basename "$1")" \
		--argjson size "$(stat -c %s "$1")" '{fileName: $name, fileSize: $size, type: "put"}')"
	status_is 201 || { cat "$BODY"; return 1; }
	upload_id=$(json .data.id)
	upload_url=$(json .data.input.url)
	upload_headers=()
	while IFS= read -r line; do
		upload_headers+=(-H "$line")
	done < <(json '.data.input.headers // {} | to_entries[] | "\(.key): \(.value)"')
}

stack_complete() {
	api PUT "/v2/uploads/$1/complete" -H 'Content-Type: application/json' -d '{}'
	media_id=$(json '.data.mediaId // empty')
	[ -n "$media_id" ] || { cat "$BODY"; return 1; }
}

stack_send() {
	media_id=
	stack_announce "$1" && curl -fsS --max-time 600 "${upload_headers[@]}" -T "$1" "$upload_url" -o "$stack/put.json" &&
		stack_complete "$upload_id"
}

stack_ingest_over() {
	api GET "/v2/media/$1"
	case $(json '.data.ingestJob.status // ""') in
	succeeded | failed | cancelled) ;;
	*) return 1 ;;
	esac
}

stack_wait() {
	[ -n "$1" ] || return 1
	stack_until "${2:-300}" stack_ingest_over "$1"
	is .data.status ready
}

# play_token ID EXPIRY: signed by the key of this stack.
play_token() {
	printf '%s.%s' "$2" "$(printf '%s/%s/' "$2" "$1" | openssl dgst -sha256 -mac HMAC \
		-macopt "hexkey:$(<"$stack/play.key")" | sed 's/.* //')"
}
