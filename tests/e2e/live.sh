# SPDX-License-Identifier: GPL-3.0-or-later
# What tests of livestreams share: the receiver, whose port of RTMP is $rtmp, and livestreams.  Source it behind stack.sh.

# live_begin [PROGRAM…]: by that program, which starts it.
live_begin() {
	stack_start live "$@" "$build/kinothek-live" --socket "$stack/run/live.sock"
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

# Its last encoder that was refused came from here, and that is why.
told_why() {
	api GET "/v2/livestreams/$live_id" && [ "$(json .data.lastRefusal.reason)" = "$1" ] &&
		[ "$(json .data.lastRefusal.address)" = "${2:-127.0.0.1}" ]
}

# What is there of $live_id, $media_id: files, segments that are listed, and the address of the playlist of all.
folder() { echo "$stack/data/play/$media_id/live"/*; }
segments() { grep -c '^#EXTINF' "$(folder)/${1:-video}.m3u8" 2>/dev/null; }
has_segments() { [ "$(segments)" -ge "$1" ]; }
playlist() {
	api GET "/v2/livestreams/$live_id"
	json '.data.playlistUrl // empty'
}

# plays [WIDTH]: with picture and sound.
plays() {
	ffprobe -v error -show_entries stream=codec_name,width,sample_rate -of compact=p=0 "$(playlist)" >"$stack/streams" &&
		grep -q "codec_name=h264|width=${1:-320}" "$stack/streams" && grep -q 'codec_name=aac|sample_rate=48000' "$stack/streams"
}

# low NAME [QUERY]: asks for something beside the playlist of all, $edge; into $stack/low, its head into $stack/head.
low() {
	code=$(curl -sS -m 60 -D "$stack/head" -o "$stack/low" -w '%{http_code}' "${edge%/*}/$1${2:+?$2}")
}
has_parts() {
	low "low-$1.m3u8" && [ "$code" = 200 ] && grep -qx '#EXT-X-PART-INF:PART-TARGET=0.520' "$stack/low" &&
		grep -q '^#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.560' "$stack/low" &&
		grep -q '^#EXT-X-PRELOAD-HINT:TYPE=PART' "$stack/low" && [ "$(grep -c '^#EXT-X-PART:' "$stack/low")" -ge 4 ] &&
		awk -F '[=,]' '/^#EXT-X-PART:/ && $2 > 0.52 { exit 1 }' "$stack/low"
}
