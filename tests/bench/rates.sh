# SPDX-License-Identifier: GPL-3.0-or-later
# How many requests a second, and what one costs.  Source it from bash after stack.sh and assets.sh.
#
#	rate_begin		before the rest
#	rate NAME		asks for $url and each address of $stack/NAME.paths, for $seconds, with $token or $stack/NAME.token
#	rate_all		the same for all of $names, $rounds times in turn; leaves medians in $NAME (a second) and $NAME_cpu (µs),
#				and prints them for $n assets
#	heard_well NAME		fewer than one of a hundred answers of wrk was none

rate_begin() {
	# For wrk: another address of the file with every request.  PATCH: each of its threads has a share of the file.
	cat >"$stack/each.lua" <<'LUA'
local paths, n, step, count, threads = {}, 0, 1, 0, {}
function setup(thread) thread:set('number', #threads) threads[#threads + 1] = thread end
function init(args)
	for line in io.lines(args[1]) do paths[#paths + 1] = line end
	if args[2] then n, step = number, tonumber(args[2]) end
end
function request()
	n = n + step
	if step == 1 then return wrk.format(nil, paths[n % #paths + 1]) end
	count = count + 1
	return wrk.format('PATCH', paths[n % #paths + 1], { ['Content-Type'] = 'application/json', ['Authorization'] = wrk.headers.Authorization },
		'{"description":"As seen by ' .. number .. ' for the ' .. count .. 'th time"}')
end
LUA
}

# Processor time so far of all of the stack's processes, or of those named; microseconds.  Each was started as a session of
# its own.
cpu() {
	local own=${stack_pid[*]}
	[ $# -eq 0 ] || own=${stack_pid[$1]}
	cat /proc/[0-9]*/stat 2>/dev/null | awk -v own=" $own " -v tick="$(getconf CLK_TCK)" '{ sub(/^.*\) /, "") }
		index(own, " " $4 " ") { sum += $12 + $13 } END { printf "%d", sum * 1000000 / tick }'
}

# A tenant with many slow requests hears 503, and on a machine that does other things many are slow: such a round does not
# count.  False then; where half of the answers are no good something is broken.
heard_well() {	# NAME
	read -r total refused < <(awk '/requests in/ { n = $1 } /Non-2xx/ { bad = $NF } END { print n + 0, bad + 0 }' "$stack/wrk")
	[ $((refused * 2)) -lt "$total" ] || stack_fail "$1: of $total answers $refused were no 2xx" "$stack/log/api.log"
	[ "$refused" -eq 0 ] || echo "# $1: of $total answers $refused were no 2xx" >&2
	[ $((refused * 100)) -le "$total" ]
}

# NAME: keeps requests a second, the stack's processor time for one with what wrk itself takes, and the database's part.
rate() {
	local all db wrk total refused as=$token
	[ ! -s "$stack/$1.token" ] || as=$(<"$stack/$1.token")
	all=$(cpu) db=$(cpu db)
	wrk=$({ TIMEFORMAT='%U %S'; time wrk -t1 -c16 -d"${seconds}s" -H "Authorization: Bearer $as" -s "$stack/each.lua" \
		"$url/" -- "$stack/$1.paths" >"$stack/wrk"; } 2>&1)
	all=$(($(cpu) - all)) db=$(($(cpu db) - db))
	heard_well "$1" || return 0
	awk '/Requests\/sec/ { print $2 }' "$stack/wrk" >>"$stack/$1.rates"
	awk -v wrk="$wrk" -v us=$all '/requests in/ { split(wrk, w, " "); print (us + (w[1] + w[2]) * 1000000) / $1 }' \
		"$stack/wrk" >>"$stack/$1.cpu"
	awk -v us=$db '/requests in/ { print us / $1 }' "$stack/wrk" >>"$stack/$1.db"
}

rate_all() {
	local name i
	for name in $names; do
		: >"$stack/$name.rates"
		seconds=1 rate "$name"
	done
	for name in $names; do : >"$stack/$name.rates"; : >"$stack/$name.cpu"; : >"$stack/$name.db"; done
	for ((i = 0; i < rounds; i++)); do
		for name in $names; do
			rate "$name"
		done
	done
	for name in $names; do
		declare -g "$name=$(median <"$stack/$name.rates")" "${name}_cpu=$(median <"$stack/$name.cpu")"
		printf '%s assets, %-8s %8.0f requests/s, processor time %4.0f µs, of which the database %4.0f\n' "$n" "$name" \
			"${!name}" "$(median <"$stack/$name.cpu")" "$(median <"$stack/$name.db")" >&2
	done
}
