# SPDX-License-Identifier: GPL-3.0-or-later
# What the end-to-end tests speak: TAP, and API calls whose answers are kept for the check against the API document.
# Source it from bash.  KINOTHEK_URL is the server under test; KINOTHEK_RECORD, when set, is a directory for the answers.

tap_count=0
tap_failed=0
lib_dir=$(mktemp -d "${TMPDIR:-/tmp}/kinothek-e2e.XXXXXX")
STATUS=0	# status of the last api call
BODY=$lib_dir/body
HEADERS=$lib_dir/headers
TOKEN=${TOKEN:-}
AUTH_HEADER=
# The one without a surface starts in half the time; gojq does in a tenth of that of jq, for each of thousands of answers.
export CHROMIUM=${CHROMIUM:-$(command -v chromium-headless-shell || command -v chromium || echo /usr/bin/chromium)}
json_program=$(command -v gojq || echo jq)

# All spellings of addresses that no stranger may send us to, one a line.
inside_hosts() {
	sed -n '/^#define INSIDE_HOSTS/,/^$/p' "${KINOTHEK_SRC:?}/tests/inside.h" | grep -o '"[^"]*"' | tr -d '"'
}

# ok SENTENCE COMMAND…: one test, passed when the command succeeds.
ok() {
	local name=$1
	shift
	tap_count=$((tap_count + 1))
	if "$@" >"$lib_dir/out" 2>&1; then
		echo "ok $tap_count - $name"
	else
		echo "not ok $tap_count - $name"
		{
			echo "command: $*"
			head -c 2000 "$lib_dir/out"
			tail -c +2001 "$lib_dir/out" | tail -c 4000
			[ -z "${LAST_CALL:-}" ] || echo "last call: $LAST_CALL -> $STATUS"
		} | sed 's/^/# /'
		tap_failed=$((tap_failed + 1))
	fi
}

# skip SENTENCE REASON
skip() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
}

# Ends the test program: the plan, and the exit status.
finish() {
	echo "1..$tap_count"
	rm -rf "$lib_dir"
	[ "$tap_failed" -eq 0 ]
	exit
}

# api METHOD PATH [curl arguments…]: calls KINOTHEK_URL + PATH with $TOKEN, sets STATUS, fills $BODY and $HEADERS,
# and keeps method, path, status, headers and body as one JSON line.
api() {
	local method=$1 path=$2 type
	shift 2
	LAST_CALL="$method $path"
	local head=()
	[ "$method" != HEAD ] || head=(--head)
	: >"$BODY"
	STATUS=$(curl -sS --path-as-is -X "$method" "${head[@]}" -o "$BODY" -D "$HEADERS" -w '%{http_code}' --max-time 300 \
		${TOKEN:+-H "Authorization: Bearer $TOKEN"} "$@" "$KINOTHEK_URL$path") || STATUS=000
	[ -n "${KINOTHEK_RECORD:-}" ] || return 0
	[ "$method" != HEAD ] || : >"$BODY"
	type=$(header Content-Type)
	"$json_program" -nc --arg method "$method" --arg path "$path" --argjson status "$((10#$STATUS))" --arg type "$type" \
		--rawfile headers "$HEADERS" --rawfile body <(case $type in *json*) cat "$BODY" ;; esac) \
		'{$method, $path, $status, $type, $headers, $body}' >>"$KINOTHEK_RECORD/answers.$$.jsonl"
}

# header NAME: its value in the last answer.
header() {
	awk -v name="$1" 'BEGIN { name = tolower(name) ":" } tolower($1) == name { sub(/^[^:]*: */, ""); sub(/\r$/, ""); v = $0 }
		END { print v }' "$HEADERS"
}

# json FILTER: from the last answer's body.
json() {
	"$json_program" -r "$1" "$BODY"
}

status_is() {
	[ "$STATUS" = "$1" ]
}

# is FILTER VALUE: the last answer's body holds it.
is() {
	local got
	got=$(json "$1") && [ "$got" = "$2" ] || { echo "got: $got"; return 1; }
}
