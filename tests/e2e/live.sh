# SPDX-License-Identifier: GPL-3.0-or-later
# What tests of livestreams share: the receiver, whose port of RTMP is $rtmp, and livestreams.  Source it behind stack.sh.

live_begin() {
	stack_start live "$build/kinothek-live" --socket "$stack/run/live.sock"
	stack_until 20 eval "(exec 3<>/dev/tcp/127.0.0.1/$rtmp)" || stack_fail kinothek-live "$stack/log/live.log"
}

# made NAME [MEMBERS]: a livestream that is started; sets live_id, media_id, key, second and address.
made() {
	api POST /v2/livestreams -H 'Content-Type: application/json' -d "{\"name\":\"$1\"${2:-}}"
	status_is 201 || return 1
	live_id=$(json .data.id) media_id=$(json .data.mediaId)
	key=$(json '.data.inputs[] | select(.primary) | .streamKey') second=$(json '.data.inputs[] | select(.primary | not) | .streamKey')
	address=$(json '.data.inputs[0].url')
}
started() {
	api PUT "/v2/livestreams/$live_id/start" && status_is 200 && stack_until 10 is_now waitingForSignal &&
		api PUT "/v2/livestreams/$live_id/publish" && status_is 200
}
is_now() {
	api GET "/v2/livestreams/$live_id" && [ "$(json .data.status)" = "$1" ]
}

unpublish() {
	kill "$1" 2>/dev/null
	stack_gone "$1"
}
