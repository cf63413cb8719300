# SPDX-License-Identifier: GPL-3.0-or-later
# The ways in, request by request: PUT, object store and tus, by curl.  Source it after stack.sh.
#
#	now METHOD URL [curl arguments…]	sets status; the answer is in $stack/answer, told NAME is a header of it
#	later METHOD URL [curl arguments…]	the same beside us, slowly: $client; into later.status, later.answer and later.head
#	announce TYPE				makes an upload of the film; sets id and url
#	sign, address NAME			of one in parts
#	parts_begin, part N, parts_end		the same part by part; the last one makes the list in $stack/list
#	partial FILE				a tus upload that becomes part of another one; sets id and url

film=$stack/film
tus=(-H 'Tus-Resumable: 1.0.0')
patch=("${tus[@]}" -H 'Content-Type: application/offset+octet-stream')
declare -A etag=()

# Bytes that look like a film, and the same in three pieces, of which two are as long as parts that share a file.
make_film() {
	{ printf '\0\0\0\030ftypisom\0\0\2\0isomiso2'; head -c 12000000 /dev/urandom; } >"$film"
	size=$(stat -c %s "$film")
	head -c 5242880 "$film" >"$stack/part1"
	tail -c +5242881 "$film" | head -c 5242880 >"$stack/part2"
	tail -c +10485761 "$film" >"$stack/part3"
	cat "$stack/part2" "$stack/part3" >"$stack/rest"
}

quoted() { echo "UNHEX(REPLACE('$1', '-', ''))"; }
# now METHOD URL [curl arguments…]: to the upload program, whose address is all it wants; sets status, the answer is in $stack/answer.
now() {
	status=$(curl -s -X "$1" -o "$stack/answer" -D "$stack/answer.head" -w '%{http_code}' --max-time 120 "${@:3}" "$2")
}
# later METHOD URL [curl arguments…]: the same beside us, at 8 MB a second.
later() {
	curl -s -X "$1" -o "$stack/later.answer" -D "$stack/later.head" -w '%{http_code}' --max-time 120 --limit-rate 8M -H Expect: "${@:3}" "$2" \
		>"$stack/later.status" &
	client=$!
}
told() { sed -n "s/^$1: *\(.*\)\r$/\1/Ip" "$stack/answer.head"; }

announce() {
	api POST /v2/uploads -H 'Content-Type: application/json' -d "{\"fileName\":\"a.mp4\",\"type\":\"$1\",\"fileSize\":$size}"
	status_is 201 || stack_fail "POST /v2/uploads: $(cat "$BODY")"
	id=$(json .data.id)
	url=$(json .data.input.url)
}

# The addresses of an upload that clients of object stores sign: whole, read, begin, part1…3, end and abort, for an
# hour.
sign() {
	endpoint=$(json .data.input.endpoint) AWS_ACCESS_KEY_ID=$(json .data.input.accessKeyId) \
		AWS_SECRET_ACCESS_KEY=$(json .data.input.secretAccessKey) AWS_SESSION_TOKEN=$(json .data.input.sessionToken) \
		AWS_DEFAULT_REGION=us-east-1 /usr/bin/python3 - "$(json .data.input.key)" "${1:-}" >"$stack/addresses" <<-'PYTHON'
		import os, sys, boto3
		from botocore.config import Config
		s3 = boto3.client('s3', endpoint_url=os.environ['endpoint'], config=Config(signature_version='s3v4', s3={'addressing_style': 'path'}))
		of = {'Bucket': 'uploads', 'Key': sys.argv[1]}
		def say(name, operation, **more):
		    print(name, s3.generate_presigned_url(operation, Params={**of, **more}, ExpiresIn=3600))
		say('whole', 'put_object')
		say('begin', 'create_multipart_upload')
		say('read', 'get_object')
		if sys.argv[2]:
		    for n in (1, 2, 3):
		        say(f'part{n}', 'upload_part', UploadId=sys.argv[2], PartNumber=n)
		    say('end', 'complete_multipart_upload', UploadId=sys.argv[2])
		    say('abort', 'abort_multipart_upload', UploadId=sys.argv[2])
	PYTHON
}
address() { sed -n "s/^$1 //p" "$stack/addresses"; }

# Bytes n of three parts, of which two share a file.
parts_begin() {
	announce multipart
	sign
	now POST "$(address begin)" -d ''
	sign "$(sed -n 's|.*<UploadId>\(.*\)</UploadId>.*|\1|p' "$stack/answer")"
}
part() {
	now PUT "$(address "part$1")" -T "$stack/part$1"
	etag[$1]=$(told ETag)
	[ "$status" = 200 ]
}
parts_end() {
	local n
	echo '<CompleteMultipartUpload>' >"$stack/list"
	for n in 1 2 3; do
		echo "<Part><PartNumber>$n</PartNumber><ETag>${etag[$n]}</ETag></Part>" >>"$stack/list"
	done
	echo '</CompleteMultipartUpload>' >>"$stack/list"
}

# partial FILE: an upload that is to become part of another; sets id and url.
partial() {
	now POST "$KINOTHEK_URL/upload/tus" "${tus[@]}" -H "Authorization: Bearer $TOKEN" -H 'Upload-Concat: partial' \
		-H "Upload-Length: $(stat -c %s "$1")" -H 'Content-Type: application/offset+octet-stream' --data-binary "@$1"
	url=$(told Location)
	id=${url##*/}
	id=${id%%\?*}
	[ "$status" = 201 ]
}
# final ADDRESSES: makes one of them.
final() {
	now POST "$KINOTHEK_URL/upload/tus" "${tus[@]}" -H "Authorization: Bearer $TOKEN" -H 'Upload-Metadata: filename YS5tcDQ=' \
		-H "Upload-Concat: final;$1" -d ''
}
